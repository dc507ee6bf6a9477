"""`holdfast bench NAME`: the measurements of holdfast.evaluate, as a table and as a file."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.bench_admission import add_commands as add_admission
from holdfast.cli.bench_recall import add_commands as add_recall
from holdfast.cli.benching import DataOption, OutOption, check_files, check_folder, report, steps

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Measure quality, speed and safety on this machine, with files of yours.")


@app.callback()
def _bench() -> None:
    """Measure quality, speed and safety on this machine, with files of yours."""


@app.command()
def speed(
    records: Annotated[int, typer.Option("--records", min=100, metavar="N", help="Turns in the store.")] = 100_000,
    out: OutOption = None,
) -> None:
    """How long ingest and search take, each beside the floor it is measured against.

    [dim]holdfast bench speed --records 10000 --json speed.json[/dim]
    """
    from holdfast.evaluate.benchmarks import speed as bench

    check_folder(out)
    with steps() as progress:
        figures = bench.run(records=records, progress=progress)
    report(figures, out)


@app.command()
def hostile(
    data: DataOption,
    out: OutOption = None,
) -> None:
    """What hostile texts do to the store: nothing may be lost, crossed or obeyed.

    [dim]holdfast bench hostile --data texts.json --json hostile.json[/dim]
    """
    from holdfast.evaluate.benchmarks import hostile as bench

    check_folder(out)
    check_files(data)
    with steps() as progress:
        figures = bench.run(data, progress)
    report(figures, out)


add_recall(app)
add_admission(app)
