"""`holdfast janitor` and `holdfast doctor`: trust less what nobody finds, and see how healthy a store is."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.cli.options import (
    EmbedderOption,
    JsonOption,
    NamespaceOption,
    StoreOption,
    missing_store,
    open_memory,
    open_to_read,
)
from holdfast.cli.render import calm, console, counted
from holdfast.cli.run import bar, print_json
from holdfast.cli.serve_verbs import add_server_verbs
from holdfast.results import EraseResult, JanitorResult, Proof, Tended
from holdfast.upkeep.findings import Diagnosis, Finding

if TYPE_CHECKING:
    from holdfast.settings import Settings
    from holdfast.upkeep.findings import Diagnosis

_UNHEALTHY = 3
"""The exit code when there is more of something than is healthy."""
_Share = Annotated[float | None, typer.Option(metavar="SHARE", help="More is not healthy.", show_default=False)]


def janitor(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be done, and why.")] = False,
    cull: Annotated[bool, typer.Option("--cull", help="Hide what is not the user's own word instead.")] = False,
    undo: Annotated[
        str | None, typer.Option("--undo", metavar="RUN", help="Take a run back: 2026-W19.", show_default=False)
    ] = None,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Trust less what is old and was never found: one notch down, once a week; it can be taken back.

    [dim]holdfast janitor --dry-run · holdfast janitor · holdfast janitor --undo 2026-W19[/dim]
    """
    with open_to_read(store, namespace, "none") as memory:
        made = memory.janitor(dry_run, cull, undo)
    if as_json:
        print_json(made)
        return

    show_tidied(made)


def doctor(
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="[PATH]",
            help="Another system's memories: a mem0 export or history.db, MEMORY.md files, an MCP memory.",
            show_default=False,
        ),
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Derive anew from the log what is wrong and can be.")] = False,
    max_duplicates: _Share = None,
    max_near_duplicates: _Share = None,
    max_junk: _Share = None,
    max_stale: _Share = None,
    max_loops: _Share = None,
    max_secrets: _Share = None,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """How healthy a store is: rates, examples, a verdict. Ends with 3 when it is not healthy.

    [dim]holdfast doctor · holdfast doctor --fix · holdfast doctor mem0-export.json --max-junk 0.05[/dim]
    """
    from holdfast.errors import InputError
    from holdfast.settings import load_settings

    settings = load_settings()
    limits = {
        "max_duplicates": max_duplicates,
        "max_near_duplicates": max_near_duplicates,
        "max_junk": max_junk,
        "max_stale": max_stale,
        "max_loops": max_loops,
        "max_secrets": max_secrets,
    }
    given = {name: share for name, share in limits.items() if share is not None}
    settings = replace(settings, doctor=replace(settings.doctor, **given))  # type: ignore[arg-type]  # floats, all
    if path is not None and _is_ours(path):
        path, store = None, path
    if path is not None and fix:
        raise InputError("--fix derives views of our own store anew; another system's memories are only looked at")
    if path is None and (missing := missing_store(store)) is not None:
        raise InputError(f"there is no store at {missing} to look at: give --store PATH, or set HOLDFAST_STORE")
    if path is None:
        with open_to_read(store, namespace, embedder, settings) as memory, bar("deriving anew") as progress:
            found = memory.doctor(fix, progress)
    else:
        found = _audit(path, embedder, settings)
    if as_json:
        print_json(found)
    else:
        show_diagnosis(found)
    if not found.healthy:
        raise typer.Exit(_UNHEALTHY)


def _is_ours(path: str) -> bool:
    from holdfast.store.open import is_store_file

    return Path(path).is_file() and is_store_file(Path(path))


def _audit(path: str, embedder: str | None, settings: Settings) -> Diagnosis:
    from holdfast.memory import Memory

    return Memory.audit(path, embedder, settings)


# --- `holdfast erase`: destroy a session, a turn, a record or a whole namespace, and show that it is gone.


_FOUND = 3
"""The exit code when something of it was found again."""


def erase(
    session: Annotated[str | None, typer.Option(metavar="NAME", help="A conversation.", show_default=False)] = None,
    turn: Annotated[str | None, typer.Option(metavar="ID", help="One turn.", show_default=False)] = None,
    record: Annotated[str | None, typer.Option(metavar="ID", help="One record.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--everything", help="The whole namespace.")] = False,
    prove: Annotated[bool, typer.Option("--prove", help="Search every byte of the store for it afterwards.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Destroy what is named exactly, with everything derived from it. It cannot be taken back; forget can.

    [dim]holdfast erase --session support-chat --prove · holdfast erase --everything --namespace ana[/dim]
    """
    from holdfast.errors import InputError
    from holdfast.store.open import default_location
    from holdfast.upkeep.erase import read_scope

    if sum(one is not None for one in (session, turn, record)) + everything != 1:
        raise InputError("erase one thing: --session NAME, --turn ID, --record ID, or --everything of the namespace")
    scope, noun = read_scope(session, everything, turn, record)
    location = store or default_location()
    if "://" not in location and not os.path.exists(location):
        raise InputError(f"there is no store at {location} to erase from")
    with open_memory(location, namespace, embedder) as memory:
        if not yes:
            what = f"everything in the namespace {memory.namespace!r}" if everything else f"the {scope.value} {noun!r}"
            _ask(what)
        with bar("deriving anew") as progress:
            made = memory.erase(session, everything, turn, record, prove, progress)
    if as_json:
        print_json(made)
    else:
        show_erased(made)
    if made.proof is not None and made.proof.found:
        raise typer.Exit(_FOUND)


def _ask(what: str) -> None:
    from holdfast.errors import InputError

    if not sys.stdin.isatty():
        raise InputError(f"this destroys {what} for good, and there is nobody to ask; give --yes if it is meant")
    typer.confirm(f"Destroy {what} for good?", abort=True, err=True)


# --- `holdfast store …`: what is done to the store itself.


app = typer.Typer(no_args_is_help=True, help="Look after the store itself.")


@app.callback()
def _store() -> None:
    """Look after the store itself."""


add_server_verbs(app)


@app.command()
def rebuild(
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Drop every view of the namespace and derive it anew from the log; answers stay the same.

    [dim]holdfast store rebuild --namespace ana[/dim]
    """
    from holdfast.results import RebuildAnswer

    start = time.perf_counter()
    with open_to_read(store, namespace, embedder) as memory:
        with bar("deriving") as progress:
            memory.rebuild(progress)
        status = memory.status()
    answer = RebuildAnswer(status.namespace, status.turns, status.records, round(time.perf_counter() - start, 3))
    if as_json:
        print_json(answer)
        return
    from holdfast.cli import render as show

    show.show_rebuild(answer)


# --- What an erase says for a person's eyes.


def show_erased(made: EraseResult) -> None:
    out = console()
    out.print(
        f"erased {counted(made.turns, 'turn')}, {counted(made.records, 'record')}, {counted(made.acts, 'act')} and "
        f"{counted(made.digests, 'digest')} ({made.remade} made anew), {made.seconds:.1f} s"
    )
    if made.still_said:
        turns = ", ".join(made.still_said)
        out.print(f"the turns it was read out of stay, and still say it: {calm(turns)}")
    for path in made.copies:
        out.print(f"not touched: {calm(path)}")
    if made.pending:
        out.print(f"bytes of it may still lie in the files: {calm(made.pending)}")
    if made.degraded:
        out.print(f"what is left is not yet derived anew: {calm(made.degraded)}")
    if made.proof is not None:
        _show_proof(out, made.proof)


def _show_proof(out: Console, proof: Proof) -> None:
    out.print(
        f"looked for {counted(proof.strings, 'string')}, {counted(proof.vectors, 'vector')} and "
        f"{counted(proof.terms, 'term')} in {proof.bytes_read:,} bytes"
    )
    out.print(
        f"left out: {proof.not_distinctive:,} that what remains or the program has too, {proof.too_short:,} too short"
    )
    for file in proof.files:
        out.print(f"  {calm(file.path)}: {file.size_bytes:,} bytes, {file.found:,} found")
    for copy in proof.copies:
        out.print(f"  {calm(copy.path)} (a copy, not touched): {copy.found:,} found")
    out.print("found: nothing" if not proof.found else f"found: {proof.found:,}; see the files above")


# --- What the janitor and the doctor say for a person's eyes.


_SHOWN = 20
_SHOWN_CHARS = 100
_SAID = {
    "done before": "this week's run ({run}) was done before; there is one a week",
    "nothing to do": "nothing is old enough, or all of it was found",
    "undone": "{run} is taken back: every record is as it was",
    "undone before": "{run} was taken back before",
}


def show_tidied(made: JanitorResult) -> None:
    out = console()
    if made.did in _SAID:
        out.print(_SAID[made.did].format(run=calm(made.run)))
    else:
        would = "would be " if made.did == "dry run" else ""
        out.print(
            f"{made.run}: {made.demoted:,} {would}demoted, {made.culled:,} {would}culled, {made.seconds:.1f} s"
            + ("" if would else f"; holdfast janitor --undo {made.run} takes it back")
        )
    for one in made.records[:_SHOWN]:
        out.print(f"  {calm(one.id)}  {_change(one)}  {calm(_short(one.text))}")
        out.print(f"    {calm(one.why)}", style="dim")
    if len(made.records) > _SHOWN:
        out.print(f"  … and {len(made.records) - _SHOWN:,} more (--json lists them all)")
    for reason, count in made.spared.items():
        out.print(f"  left alone, {calm(reason)}: {count:,}")


def _change(one: Tended) -> str:
    before = f"{one.provenance.value} {one.confidence:g}"
    if one.new_provenance is None:
        return f"{before} → hidden"
    return f"{before} → {one.new_provenance.value} {one.new_confidence:g}"


def show_diagnosis(found: Diagnosis) -> None:
    out = console()
    whose = "" if found.namespace is None else f", namespace {calm(found.namespace)}"
    many = f"{found.memories:,} {'memory' if found.memories == 1 else 'memories'}"
    out.print(f"{calm(found.source)} ({found.system}{whose}): {many}, {found.seconds:.1f} s")
    table = Table(box=None, pad_edge=False)
    for name in ("", "looked for", "found", "of", "share", "limit"):
        table.add_column(name, justify="left" if name in ("", "looked for") else "right")
    for one in found.findings:
        mark = Text("✗", style="red") if one.over else Text("✓", style="green")
        table.add_row(mark, one.check, f"{one.count:,}", f"{one.of:,}", f"{one.rate:.1%}", f"{one.limit:.0%}")
    out.print(table)
    for one in found.findings:
        if one.count:
            _show_examples(one)
    if found.fixed:
        out.print(f"fixed: {', '.join(found.fixed)}")
    bad = [one.check for one in found.findings if one.over]
    out.print(
        "healthy" if found.healthy else f"not healthy: {', '.join(bad)}", style="green" if found.healthy else "red"
    )


def _show_examples(found: Finding) -> None:
    out = console()
    out.print(f"\n{found.check}: {found.advice}")
    for one in found.examples:
        said = f"  {calm(_short(one.text))}" if one.text else ""
        out.print(f"  {calm(one.id)}{said}")
        out.print(f"    {calm(one.why)}", style="dim")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
