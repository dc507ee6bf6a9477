"""`holdfast bench NAME`: the measurements of holdfast.evaluate, as a table and as a file."""

from __future__ import annotations

from pathlib import Path
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


@app.command("engines")
def compare_engines(
    store: Annotated[
        str, typer.Option("--store", metavar="URL", help="A PostgreSQL server: postgresql://…", show_default=False)
    ],
    records: Annotated[int, typer.Option("--records", min=100, metavar="N", help="Turns of the largest.")] = 10_000,
    admit: Annotated[bool, typer.Option("--admit/--no-admit", help="Make records of the turns too.")] = True,
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", metavar="FILE", help="Compare what both find in LoCoMo instead.", show_default=False),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Of its questions so many only.")
    ] = None,
    out: OutOption = None,
) -> None:
    """SQLite and PostgreSQL side by side: how fast they write and answer, and whether they answer the same.

    [dim]holdfast bench engines --store postgresql://holdfast@localhost/memory --json engines.json[/dim]
    """
    from holdfast.evaluate.asking import Ways
    from holdfast.evaluate.benchmarks import agreement, engines

    check_folder(out)
    check_files(data or [])
    with steps() as progress:
        if data:
            figures = agreement.run(store, data, Ways(records=admit, limit=limit), progress)
        else:
            figures = engines.run(store, records, admit, progress)
    report(figures, out)


@app.command()
def serve(
    seconds: Annotated[float, typer.Option("--seconds", min=1, metavar="S", help="How long each load lasts.")] = 60.0,
    clients: Annotated[int, typer.Option("--clients", min=1, metavar="N", help="Clients at once.")] = 50,
    records: Annotated[int, typer.Option("--records", min=100, metavar="N", help="Turns in the store.")] = 10_000,
    pace: Annotated[
        float, typer.Option("--pace", min=0.01, metavar="S", help="A client ingests and searches once in so long.")
    ] = 1.0,
    processes: Annotated[
        int, typer.Option("--processes", min=1, metavar="N", help="Of the server under load; one for each core.")
    ] = 1,
    out: OutOption = None,
) -> None:
    """How a server stands many clients at once, and what RPC and HTTP cost beside a plain call.

    [dim]holdfast bench serve --seconds 60 --json serve.json[/dim]
    """
    from holdfast.evaluate.benchmarks import serve as bench

    check_folder(out)
    with steps() as progress:
        figures = bench.run(seconds, clients, records, pace, processes, progress)
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
