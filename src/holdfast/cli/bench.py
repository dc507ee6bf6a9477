"""`holdfast bench NAME`: the measurements of holdfast.evaluate, as a table and as a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from holdfast.errors import InputError

__all__ = ["app"]

Step = Callable[[str, int, int], None]
"""Called with (step, done, total)."""

OutOption = Annotated[
    Path | None, typer.Option("--json", metavar="OUT", help="Write the figures to this file.", show_default=False)
]

app = typer.Typer(no_args_is_help=True, help="Measure speed and safety on this machine.")


@app.callback()
def _bench() -> None:
    """Measure speed and safety on this machine."""


@app.command()
def speed(
    records: Annotated[int, typer.Option("--records", min=100, metavar="N", help="Turns in the store.")] = 100_000,
    out: OutOption = None,
) -> None:
    """How long ingest and search take, each beside the floor it is measured against.

    [dim]holdfast bench speed --records 10000 --json speed.json[/dim]
    """
    from holdfast.evaluate.benchmarks import speed as bench

    _check_folder(out)
    with _steps() as progress:
        figures = bench.run(records=records, progress=progress)
    _report(figures, out)


@app.command()
def hostile(
    data: Annotated[
        list[Path],
        typer.Option("--data", metavar="FILE", help="Hostile texts; may be given more than once.", show_default=False),
    ],
    out: OutOption = None,
) -> None:
    """What hostile texts do to the store: nothing may be lost, crossed or obeyed.

    [dim]holdfast bench hostile --data hostile.json --json hostile.json[/dim]
    """
    from holdfast.evaluate.benchmarks import hostile as bench

    _check_folder(out)
    for path in data:
        if not path.is_file():
            raise InputError(f"there is no file {path}")
    with _steps() as progress:
        figures = bench.run(data, progress)
    _report(figures, out)


def _check_folder(out: Path | None) -> None:
    """A mistyped folder should not cost the minutes of a run."""
    if out is not None and not out.parent.is_dir():
        raise InputError(f"there is no folder {out.parent} to write {out.name} to")


@contextmanager
def _steps() -> Iterator[Step]:
    """One bar whose label is the step at hand; nothing when stderr is no terminal."""
    import sys

    if not sys.stderr.isatty():
        yield lambda step, done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None)
        yield lambda step, done, total: bars.update(task, description=step, completed=done, total=total)


def _report(figures: Mapping[str, object], out: Path | None) -> None:
    from holdfast.cli.show import show_figures

    show_figures(figures)
    if out is not None:
        out.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        typer.echo(f"written to {out}")
