"""The verbs that move and copy what is kept: export, import, backup, restore."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import EmbedderOption, JsonOption, NamespaceOption, StoreOption, open_memory, open_to_read
from holdfast.cli.render import calm, console, counted
from holdfast.cli.run import as_text, bar, print_json
from holdfast.results import BackupResult, ExportResult, ImportAnswer, RestoreResult

if TYPE_CHECKING:
    from holdfast.results import CopyResult

_STREAM = "-"


def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help='Where to write; "-" is stdout.', show_default=False)],
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the whole log of a namespace to a file: every turn and every act, in order.

    [dim]holdfast export ana.jsonl · holdfast export - | gzip > ana.jsonl.gz[/dim]
    """
    streamed = file == _STREAM
    with open_to_read(store, namespace, "none") as memory, bar("exporting") as progress:
        made = memory.export(sys.stdout.buffer if streamed else file, progress)
    if as_json and streamed:  # stdout is the export's
        print(as_text(made), file=sys.stderr)
    elif as_json:
        print_json(made)
    else:
        show_exported(made, to_stderr=streamed)


def import_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help='An export; "-" reads stdin.', show_default=False)],
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until all of it is found by meaning.")] = True,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take over the log of an export: all of it or nothing, and only what is not here yet.

    [dim]holdfast import ana.jsonl --namespace ana[/dim]
    """
    from holdfast.cli.ingest import wait_for_meaning
    from holdfast.results import ImportAnswer

    with open_memory(store, namespace, embedder) as memory:
        with bar("importing") as progress:
            made = memory.import_file(sys.stdin.buffer if file == _STREAM else file, progress)
        answer = ImportAnswer.of(made, wait_for_meaning(memory) if wait else None)
    if as_json:
        print_json(answer)
        return

    show_imported(answer)


def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to write it.", show_default=False)],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the whole store, every namespace in it, while others write to it; the copy is checked.

    [dim]holdfast backup memory-2026-05-04.db[/dim]
    """
    from holdfast.errors import InputError
    from holdfast.settings import load_settings
    from holdfast.store.open import default_location, open_store
    from holdfast.upkeep.backup import back_up

    location = store or default_location()
    if "://" not in location and not os.path.exists(location):
        raise InputError(f"there is no store at {location} to back up")
    with closing(open_store(location, load_settings().store)) as opened, bar("copying") as progress:
        made = back_up(opened, file, progress)
    if as_json:
        print_json(made)
        return

    show_backed_up(made)


def restore(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A backup.", show_default=False)],
    force: Annotated[bool, typer.Option("--force", help="Replace a store that is there; it is kept aside.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a backup where the store is, after checking it. A store in use is never replaced.

    [dim]holdfast restore memory-2026-05-04.db --store memory.db --force[/dim]
    """
    from holdfast.memory import Memory

    with bar("copying") as progress:
        made = Memory.restore(file, store or None, force, progress)
    if as_json:
        print_json(made)
        return

    show_restored(made)


# --- `holdfast copy SOURCE TARGET`: namespaces from one store into another, file or server.


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


def _show(made: CopyResult) -> None:
    from holdfast.cli.render import calm, console, counted

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


# --- What export, import, backup and restore say for a person's eyes.


def show_exported(made: ExportResult, to_stderr: bool = False) -> None:
    out = console()
    out.stderr = to_stderr
    out.print(
        f"exported {calm(made.namespace)}: {counted(made.turns, 'turn')} and {counted(made.acts, 'act')}, "
        f"{_size(made.size_bytes)}, {made.seconds:.1f} s"
    )


def show_imported(made: ImportAnswer) -> None:
    out = console()
    origin = "" if made.exported_from == made.namespace else f" from {calm(made.exported_from)}"
    out.print(
        f"imported{origin} into {calm(made.namespace)}: {counted(made.turns, 'turn')} and {counted(made.acts, 'act')}, "
        f"{made.known:,} known before, {made.seconds:.1f} s"
    )
    if made.left_out:
        out.print(f"left out {counted(made.left_out, 'act')} that mean nothing in a log that held something before")
    if made.erased:
        out.print(f"{counted(made.erased, 'line')} of what was erased here did not come back")
    if made.degraded:
        out.print(f"kept, but not yet found by meaning: {calm(made.degraded)}")


def show_backed_up(made: BackupResult) -> None:
    console().print(f"{calm(made.path)}: {_held(made)}, checked, {made.seconds:.1f} s")


def show_restored(made: RestoreResult) -> None:
    out = console()
    out.print(f"{calm(made.store)}: {_held(made)}, checked, {made.seconds:.1f} s")
    if made.kept_aside is not None:
        out.print(f"what was there is kept as {calm(made.kept_aside)}")


def _held(made: BackupResult | RestoreResult) -> str:
    return f"{counted(made.turns, 'turn')} of {counted(made.namespaces, 'namespace')}, {_size(made.size_bytes)}"


def _size(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB"
