"""Commands that move data: export, import, backup, restore and copy."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.command import MemoryTarget, argument, command, json_text, option, print_json, progress_bar
from holdfast.cli.render import console, megabytes, plural, printable
from holdfast.errors import InputError
from holdfast.importers.source import ChatImport
from holdfast.results import ImportAnswer
from holdfast.settings import load_settings
from holdfast.upkeep.results import BackupResult, CopyResult, ExportResult, RestoreResult

if TYPE_CHECKING:
    from holdfast.memory import Memory

_STREAM = "-"
_BAD_SHOWN, _LINE = 5, 110
_SHOWN = 20  # namespaces that are listed one by one

Backup = Annotated[str, argument("A backup.", "FILE")]


@command(without=("embedder",))
def export(
    target: MemoryTarget, file: Annotated[str, argument('File to write; "-" is stdout.', "FILE")], as_json: bool = False
) -> None:
    """Write the whole log of a namespace to a file: every turn and every action, in order.

    [dim]holdfast export ana.jsonl · holdfast export - | gzip > ana.jsonl.gz[/dim]
    """
    streamed = file == _STREAM
    with replace(target, embedder="none").read() as memory, progress_bar("exporting") as progress:
        made = memory.export(sys.stdout.buffer if streamed else file, progress)
    if as_json and streamed:  # stdout holds the export
        print(json_text(made), file=sys.stderr)
    elif as_json:
        print_json(made)
    else:
        show_exported(made, to_stderr=streamed)


@command("transfer_verbs.show_imported")
def import_(
    target: MemoryTarget,
    file: Annotated[
        str, argument('A chat export, a folder of sessions, notes or our export; "-" reads stdin.', "FILE")
    ],
    from_: Annotated[
        str | None, option("Format, where it is not detected: chatgpt, claude-ai, …", "--from", metavar="FORMAT")
    ] = None,
    wait: Annotated[bool, option("Wait until the new messages are embedded.", "--wait/--no-wait")] = True,
) -> object:
    """Import chat exports, agents' sessions, other products' memories, or an export of Holdfast. Only what is new.

    [dim]holdfast import conversations.zip · holdfast import ~/.claude/projects · holdfast import ana.jsonl[/dim]
    """
    from holdfast.cli.ingest import wait_until_embedded
    from holdfast.importers.run import FORMATS, HOLDFAST, detect, import_chats

    if from_ is not None and from_ not in (*FORMATS, HOLDFAST):
        raise InputError(f"{from_!r} is no format; use one of {', '.join(FORMATS)}")
    path = Path(file).expanduser()
    form = from_ or (HOLDFAST if file == _STREAM else None if path.is_dir() or not path.exists() else detect(path))
    with (target if form == HOLDFAST else target.or_me).open() as memory:
        with progress_bar("importing") as progress:
            if form == HOLDFAST:
                made = memory.import_file(sys.stdin.buffer if file == _STREAM else path, progress)
            else:
                chats = import_chats(memory, path, from_, progress)
        degraded = wait_until_embedded(memory) if wait else None
        return ImportAnswer.of(made, degraded) if form == HOLDFAST else with_knowledge(memory, chats, degraded)


def with_knowledge(memory: Memory, made: ChatImport, degraded: str | None) -> ChatImport:
    from holdfast.importers.run import what_is_known

    return replace(made, degraded=degraded, knows=what_is_known(memory))


@command("transfer_verbs.show_backup", without=("namespace", "embedder"))
def backup(target: MemoryTarget, file: Annotated[str, argument("File to write.", "FILE")]) -> object:
    """Copy the whole store with all its namespaces while it is in use, and verify the copy.

    [dim]holdfast backup memory-2026-05-04.db[/dim]
    """
    from holdfast.upkeep.backup import back_up

    with closing(target.open_store("back up")) as opened, progress_bar("copying") as progress:
        return back_up(opened, file, progress)


@command("transfer_verbs.show_backup", without=("namespace", "embedder"))
def restore(
    target: MemoryTarget,
    file: Backup,
    force: Annotated[bool, option("Replace an existing store, which is kept under another name.", "--force")] = False,
) -> object:
    """Verify a backup and put it in the place of the store. A store in use is never replaced.

    [dim]holdfast restore memory-2026-05-04.db --store memory.db --force[/dim]
    """
    from holdfast.memory import Memory

    with progress_bar("copying") as progress:
        return Memory.restore(file, target.store or None, force, progress)


@command("transfer_verbs.show_copied", without=("store", "embedder"))
def copy(
    target: MemoryTarget,
    source: Annotated[str, argument("Store to read: a path or postgresql://…", "SOURCE")],
    destination: Annotated[str, argument("Store to write.", "TARGET")],
    namespace: Annotated[
        list[str] | None, option("Copy only this namespace; repeatable.", "--namespace", "-n", metavar="NAME")
    ] = None,
) -> object:
    """Copy namespaces (default: all) from one store to another of any engine. Run it again to add what is new.

    [dim]holdfast copy memory.db postgresql://holdfast@db.example/memory[/dim]
    """
    from holdfast.memory import Memory

    with progress_bar("copying") as progress:
        return Memory.copy(source, destination, namespace or None, progress)


# --- printing


def show_exported(made: ExportResult, to_stderr: bool) -> None:
    out = console()
    out.stderr = to_stderr
    out.print(
        f"exported {printable(made.namespace)}: {plural(made.turns, 'turn')} and {plural(made.acts, 'act')}, "
        f"{megabytes(made.size_bytes)}, {made.seconds:.1f} s"
    )


def show_imported(made: ImportAnswer | ChatImport) -> None:
    if isinstance(made, ChatImport):
        show_chats(made)
        return
    out = console()
    origin = "" if made.exported_from == made.namespace else f" from {printable(made.exported_from)}"
    out.print(
        f"imported{origin} into {printable(made.namespace)}: {plural(made.turns, 'turn')} and "
        f"{plural(made.acts, 'act')}, {made.known:,} known before, {made.seconds:.1f} s"
    )
    if made.left_out:
        out.print(f"skipped {plural(made.left_out, 'act')} that apply only to an empty log")
    if made.erased:
        out.print(f"skipped {plural(made.erased, 'line')} that had been erased here")
    if made.degraded:
        out.print(f"stored, but not embedded yet: {printable(made.degraded)}")


def show_chats(made: ChatImport) -> None:
    """Print what was stored, and what is known now, in about ten lines."""
    out = console()
    out.print(
        f"imported {printable(', '.join(made.formats) or 'nothing')} into {printable(made.namespace)}: "
        f"{plural(made.turns, 'turn')} of {plural(made.chats, 'conversation')}, "
        f"{plural(made.notes, 'memory', 'memories')}, {made.known:,} known before, {made.seconds:.1f} s"
    )
    for reason in made.reasons[:_BAD_SHOWN]:
        out.print(f"skipped {printable(reason)}")
    if made.skipped > _BAD_SHOWN:
        out.print(f"skipped {made.skipped - _BAD_SHOWN:,} more")
    if made.degraded:
        out.print(f"stored, but not embedded yet: {printable(made.degraded)}")
    if made.knows:
        out.print("What it knows now, among other things:")
    most = min(_LINE, out.width - len("  - "))  # a line each
    for one in made.knows:
        out.print(f"  - {printable(one if len(one) <= most else one[: most - 1] + '…')}")
    if load_settings().namespace is None:
        out.print(f"To use other commands without --namespace: holdfast init {printable(made.namespace)}")


def show_backup(made: BackupResult | RestoreResult) -> None:
    out = console()
    place = made.path if isinstance(made, BackupResult) else made.store
    held = f"{plural(made.turns, 'turn')} of {plural(made.namespaces, 'namespace')}, {megabytes(made.size_bytes)}"
    out.print(f"{printable(place)}: {held}, verified, {made.seconds:.1f} s")
    if isinstance(made, RestoreResult) and made.kept_aside is not None:
        out.print(f"the previous store is kept as {printable(made.kept_aside)}")


def show_copied(made: CopyResult) -> None:
    out = console()
    for one in made.namespaces[:_SHOWN]:
        extra = ((one.known, "known before"), (one.left_out, "skipped"), (one.erased, "erased there before"))
        rest = "".join(f", {count:,} {what}" for count, what in extra if count)
        out.print(f"{printable(one.namespace)}: {plural(one.turns, 'turn')} and {plural(one.acts, 'act')}{rest}")
    turns = sum(one.turns for one in made.namespaces)
    out.print(
        f"copied {plural(len(made.namespaces), 'namespace')} with {plural(turns, 'new turn')} to "
        f"{printable(made.target)}, {made.seconds:.1f} s"
    )
