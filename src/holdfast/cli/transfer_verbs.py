"""The verbs that move and copy what is kept: export, import, backup, restore."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import Annotated

import typer

from holdfast.cli.json_out import as_text, print_json
from holdfast.cli.options import (
    EmbedderOption,
    JsonOption,
    NamespaceOption,
    StoreOption,
    open_memory,
    open_to_read,
)
from holdfast.cli.progress import bar

__all__ = ["backup", "export", "import_file", "restore"]

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
        from holdfast.cli.show_transfer import show_exported

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
    from holdfast.answers import ImportAnswer
    from holdfast.cli.ingest import wait_for_meaning

    with open_memory(store, namespace, embedder) as memory:
        with bar("importing") as progress:
            made = memory.import_file(sys.stdin.buffer if file == _STREAM else file, progress)
        answer = ImportAnswer.of(made, wait_for_meaning(memory) if wait else None)
    if as_json:
        print_json(answer)
        return
    from holdfast.cli.show_transfer import show_imported

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
    from holdfast.cli.show_transfer import show_backed_up

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
    from holdfast.cli.show_transfer import show_restored

    show_restored(made)
