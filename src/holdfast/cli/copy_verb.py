"""`holdfast copy SOURCE TARGET`: namespaces from one store into another, file or server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.json_out import print_json
from holdfast.cli.options import JsonOption
from holdfast.cli.progress import bar

if TYPE_CHECKING:
    from holdfast.upkeep.reports import Copied

__all__ = ["copy"]

_SHOWN = 20
"""Namespaces that are listed one by one; of more only the sum."""


def copy(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A path or postgresql://…", show_default=False)],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Another one.", show_default=False)],
    namespace: Annotated[
        list[str] | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="Only this one; may come again.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Copy every namespace of a store, or those named, into another of any engine. Run again, it adds what is new.

    [dim]holdfast copy memory.db postgresql://holdfast@db.example/memory[/dim]
    """
    from holdfast.memory import Memory

    with bar("copying") as progress:
        made = Memory.copy(source, target, namespace or None, progress)
    if as_json:
        print_json(made)
    else:
        _show(made)


def _show(made: Copied) -> None:
    from holdfast.cli.show import calm, console, counted

    out = console()
    for one in made.namespaces[:_SHOWN]:
        told = f"{calm(one.namespace)}: {counted(one.turns, 'turn')} and {counted(one.acts, 'act')}"
        told += f", {one.known:,} known before" if one.known else ""
        told += f", {one.left_out:,} left out" if one.left_out else ""
        out.print(told + (f", {one.erased:,} erased there before" if one.erased else ""))
    turns = sum(one.turns for one in made.namespaces)
    out.print(
        f"copied {counted(len(made.namespaces), 'namespace')} with {counted(turns, 'new turn')} to "
        f"{calm(made.target)}, {made.seconds:.1f} s"
    )
