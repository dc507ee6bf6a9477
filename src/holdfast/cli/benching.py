"""What every bench needs: its files, its progress, its report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from holdfast.errors import InputError

__all__ = ["DataOption", "OutOption", "Show", "Step", "check_files", "check_folder", "report", "steps"]

Step = Callable[[str, int, int], None]
"""Called with (step, done, total)."""
Show = Callable[[Mapping[str, object]], None]
"""Prints the figures of a bench."""

DataOption = Annotated[
    list[Path],
    typer.Option("--data", metavar="FILE", help="The set's file; may be given more than once.", show_default=False),
]
OutOption = Annotated[
    Path | None, typer.Option("--json", metavar="OUT", help="Write the figures to this file.", show_default=False)
]


def check_files(data: Sequence[Path]) -> None:
    for path in data:
        if not path.is_file():
            raise InputError(f"there is no file {path}")


def check_folder(out: Path | None) -> None:
    """A mistyped folder should not cost the minutes of a run."""
    if out is not None and not out.parent.is_dir():
        raise InputError(f"there is no folder {out.parent} to write {out.name} to")


@contextmanager
def steps() -> Iterator[Step]:
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


def report(figures: Mapping[str, object], out: Path | None, show: Show | None = None) -> None:
    """Show the figures, as a bench's own table where it has one, and write all of them."""
    from holdfast.cli.show import show_figures

    (show or show_figures)(figures)
    if out is not None:
        out.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        typer.echo(f"written to {out}")
