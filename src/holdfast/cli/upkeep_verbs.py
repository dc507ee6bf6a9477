"""Commands that look after a memory and its store: janitor, doctor, erase, calibrate, tune and store."""

from __future__ import annotations

import json
import re
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from holdfast.cli.command import MemoryTarget, argument, command, option, progress_bar
from holdfast.cli.render import console, make_table, megabytes, plural, printable
from holdfast.errors import InputError
from holdfast.serve.reference import PARAMETERS as HELP

if TYPE_CHECKING:
    from holdfast.results import RebuildAnswer, StoreAnswer
    from holdfast.store.store import Store
    from holdfast.upkeep.findings import CheckResult, Diagnosis
    from holdfast.upkeep.results import EraseResult, JanitorChange, JanitorResult, Proof

_UNHEALTHY = _REMAINS = 3
"""Exit codes: the doctor found more than its limits allow; erase --prove found something again."""


@command("render.show_figures", without=("store", "namespace", "embedder"))
def init(
    target: MemoryTarget,
    name: Annotated[str, argument("Namespace to use where none is given, usually your name.", "NAME")],
) -> object:
    """Write your default namespace into the settings file, so that commands need no --namespace.

    [dim]holdfast init ana[/dim]
    """
    from holdfast.log.messages import check_name
    from holdfast.settings import Settings, config_file, load_settings
    from holdfast.store.open import default_location

    check_name("namespace", name, Settings().log)
    path = config_file()
    if path is None:
        raise InputError("there is no home folder for a settings file; set HOLDFAST_CONFIG to a path, or HOME")
    load_settings()  # a file that cannot be read is not changed
    file, line = Path(path), f"namespace = {json.dumps(name)}"
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    first = re.search(r"(?m)^\s*\[", before)  # keys of the file itself stand before its first table
    top, tables = (before, "") if first is None else (before[: first.start()], before[first.start() :].lstrip("\n"))
    kept = [one for one in top.splitlines() if not re.match(r"\s*namespace\s*=", one)]
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.write_text("\n".join([line, *kept]).rstrip() + "\n" + (f"\n{tables}" if tables else ""), encoding="utf-8")
    return {"namespace": name, "settings": path, "store": default_location()}


@command("upkeep_verbs.show_janitor", without=("embedder",))
def janitor(
    target: MemoryTarget,
    dry_run: Annotated[bool, option(HELP["janitor"]["dry_run"], "--dry-run")] = False,
    cull: Annotated[bool, option(HELP["janitor"]["cull"], "--cull")] = False,
    undo: Annotated[str | None, option("Undo this run, for example 2026-W19.", "--undo", metavar="RUN")] = None,
) -> object:
    """Lower the confidence of old records that were never retrieved. Runs at most once a week; --undo reverts a run.

    [dim]holdfast janitor --dry-run · holdfast janitor · holdfast janitor --undo 2026-W19[/dim]
    """
    with replace(target, embedder="none").read() as memory:
        return memory.janitor(dry_run, cull, undo)


def _limit(what: str) -> Any:
    return option(f"Fail if more than this share {what} (0–1).", metavar="SHARE")


@command("upkeep_verbs.show_diagnosis", exit_code=lambda found: 0 if found.healthy else _UNHEALTHY)
def doctor(
    target: MemoryTarget,
    path: Annotated[
        str | None,
        argument("Memories of another system: a mem0 export or history.db, MEMORY.md files, an MCP memory.", "[PATH]"),
    ] = None,
    fix: Annotated[bool, option("Rebuild damaged views from the log.", "--fix")] = False,
    max_duplicates: Annotated[float | None, _limit("are duplicates")] = None,
    max_near_duplicates: Annotated[float | None, _limit("are near-duplicates")] = None,
    max_junk: Annotated[float | None, _limit("is junk")] = None,
    max_stale: Annotated[float | None, _limit("is stale")] = None,
    max_loops: Annotated[float | None, _limit("is fed back by the memory itself")] = None,
    max_secrets: Annotated[float | None, _limit("holds secrets")] = None,
) -> object:
    """Examine a store: rates, examples and a verdict. Exits with status 3 if the store is unhealthy.

    [dim]holdfast doctor · holdfast doctor --fix · holdfast doctor mem0-export.json --max-junk 0.05[/dim]
    """
    from holdfast.memory import Memory
    from holdfast.settings import load_settings
    from holdfast.store.open import is_store_file

    limits = {
        "max_duplicates": max_duplicates,
        "max_near_duplicates": max_near_duplicates,
        "max_junk": max_junk,
        "max_stale": max_stale,
        "max_loops": max_loops,
        "max_secrets": max_secrets,
    }
    given = {name: share for name, share in limits.items() if share is not None}
    settings = load_settings()
    settings = replace(settings, doctor=replace(settings.doctor, **given))
    if path is not None and Path(path).is_file() and is_store_file(Path(path)):
        target, path = replace(target, store=path), None
    if path is not None:
        if fix:
            raise InputError("--fix rebuilds views of a Holdfast store; memories of another system are only examined")
        return Memory.audit(path, target.embedder, settings)
    target.check_exists("examine")
    with target.read(settings) as memory, progress_bar("rebuilding") as progress:
        return memory.doctor(fix, progress)


@command("upkeep_verbs.show_erased", exit_code=lambda made: _REMAINS if made.proof and made.proof.found else 0)
def erase(
    target: MemoryTarget,
    session: Annotated[str | None, option(HELP["erase"]["session"], metavar="NAME")] = None,
    turn: Annotated[str | None, option(HELP["erase"]["turn"], metavar="ID")] = None,
    record: Annotated[str | None, option(HELP["erase"]["record"], metavar="ID")] = None,
    everything: Annotated[bool, option(HELP["erase"]["namespace"], "--everything")] = False,
    last: Annotated[bool, option(HELP["erase"]["last"], "--last")] = False,
    prove: Annotated[bool, option(HELP["erase"]["prove"], "--prove")] = False,
    yes: Annotated[bool, option("Do not ask for confirmation.", "--yes", "-y")] = False,
) -> object:
    """Destroy a session, turn, record or namespace with everything derived from it. Cannot be undone, unlike forget.

    [dim]holdfast erase --session support-chat --prove · holdfast erase --everything --namespace ana[/dim]
    """
    if sum(one is not None for one in (session, turn, record)) + everything != 1:
        raise InputError("choose exactly one of --session, --turn, --record, --everything")
    target.check_exists("erase from")
    with target.open() as memory:
        if not yes:
            named = ((session, "session"), (turn, "turn"), (record, "record"))
            scope = next((f"{kind} {name!r}" for name, kind in named if name is not None), "everything")
            scope = f"the last turn of {scope}" if last else scope
            _confirm(f"{scope} in namespace {memory.namespace!r}")
        with progress_bar("rebuilding") as progress:
            return memory.erase(session, everything, turn, record, prove, progress, last)


def _confirm(what: str) -> None:
    if not sys.stdin.isatty():
        raise InputError(f"this destroys {what} permanently and there is no terminal to confirm it; add --yes")
    typer.confirm(f"Destroy {what} permanently?", abort=True, err=True)


@command("render_insight.show_calibration")
def calibrate(
    target: MemoryTarget,
    labels: Annotated[
        Path | None,
        option('One label per line: {"turn": ID, "useful": true} or {"g": 0.4, "useful": false}.', metavar="FILE"),
    ] = None,
) -> object:
    """Show the distribution of gate scores and, with labels, store how useful turns are at each score.

    [dim]holdfast calibrate --labels judged.jsonl[/dim]
    """
    from holdfast.gate.calibrate import labels_of_file

    read = None if labels is None else labels_of_file(labels)
    with target.read() as memory:
        return memory.calibrate(read)


@command("render_insight.show_tuning")
def similarity(
    target: MemoryTarget,
    threshold: Annotated[
        list[float] | None, option("Threshold to try; repeatable.", "--threshold", metavar="COSINE")
    ] = None,
    sample: Annotated[int, option("Number of pairs to judge.", metavar="N")] = 20,
    judged: Annotated[Path | None, option('Output of --json with every "same" filled in.', metavar="FILE")] = None,
) -> object:
    """Count how often each similarity threshold would fire, with pairs to judge; judged pairs give its error rate.

    [dim]holdfast tune similarity --json > pairs.json · holdfast tune similarity --judged pairs.json[/dim]
    """
    from holdfast.admit.tuning import judgements_of_file

    read = None if judged is None else judgements_of_file(judged)
    with target.read() as memory:
        return memory.tune_similarity(threshold or None, sample, read)


# --- `holdfast store …`

_STORE_ONLY = ("namespace", "embedder")


@command("upkeep_verbs.show_store", without=_STORE_ONLY)
def info(target: MemoryTarget) -> object:
    """Show the location, engine, schema and size of the store, and the server it is on.

    [dim]holdfast store info --store postgresql://holdfast@db.example/memory[/dim]
    """
    with closing(target.open_store()) as store:
        return _describe(store)


@command("upkeep_verbs.show_store", without=_STORE_ONLY)
def migrate(target: MemoryTarget) -> object:
    """Update the tables to the schema of this version, as opening the store does, and do nothing else.

    [dim]holdfast store migrate --store postgresql://holdfast@db.example/memory[/dim]
    """
    with closing(target.open_store()) as store:
        return _describe(store)


@command("upkeep_verbs.show_store", without=_STORE_ONLY)
def shard(target: MemoryTarget) -> object:
    """Distribute the store by namespace over the nodes of a PostgreSQL server with Citus.

    [dim]holdfast store shard --store postgresql://holdfast@db.example/memory[/dim]
    """
    with closing(target.open_store()) as store:
        store.shard()
        return _describe(store)


def _describe(store: Store) -> StoreAnswer:
    from holdfast.results import StoreAnswer

    return StoreAnswer(
        store.location, store.engine, store.schema, len(store.namespaces()), store.size(), store.server()
    )


@command("upkeep_verbs.show_rebuild")
def rebuild(target: MemoryTarget) -> object:
    """Drop every view of the namespace and rebuild it from the log; answers stay the same.

    [dim]holdfast store rebuild --namespace ana[/dim]
    """
    from holdfast.results import RebuildAnswer

    start = time.perf_counter()
    with target.read() as memory:
        with progress_bar("rebuilding") as progress:
            memory.rebuild(progress)
        status = memory.status()
    return RebuildAnswer(status.namespace, status.turns, status.records, round(time.perf_counter() - start, 3))


# --- printing

_SHOWN = 20
_SHOWN_CHARS = 100
_OUTCOMES = {
    "done before": "this week's run ({run}) was done already; there is one run per week",
    "nothing to do": "nothing to do: no record is old enough, or all of them were retrieved",
    "undone": "{run} is undone: every record is as it was before",
    "undone before": "{run} was undone already",
}


def show_store(answer: StoreAnswer) -> None:
    out = console()
    out.print(f"{printable(answer.store)}: {answer.engine}, schema {answer.schema}")
    out.print(f"{plural(answer.namespaces, 'namespace')}, {megabytes(answer.size_bytes)}")
    server = answer.server
    if server is not None:
        citus = f", Citus {server.citus}" if server.citus else ", no Citus"
        out.print(f"{server.version} as {printable(server.role)}, schema {printable(server.schema)}{citus}")
        if server.nodes is not None:
            out.print(f"distributed by namespace over {plural(server.nodes, 'node')}")


def show_rebuild(answer: RebuildAnswer) -> None:
    console().print(
        f"rebuilt {printable(answer.namespace)}: {plural(answer.turns, 'turn')} and "
        f"{plural(answer.records, 'record')} from the log, {answer.seconds:.1f} s"
    )


def show_erased(made: EraseResult) -> None:
    out = console()
    out.print(
        f"erased {plural(made.turns, 'turn')}, {plural(made.records, 'record')}, {plural(made.acts, 'act')} and "
        f"{plural(made.digests, 'digest')} ({made.remade} rebuilt), {made.seconds:.1f} s"
    )
    if made.still_said:
        out.print(f"the turns it was extracted from remain and still say it: {printable(', '.join(made.still_said))}")
    for path in made.copies:
        out.print(f"not touched: {printable(path)}")
    if made.pending:
        out.print(f"bytes of it may remain in the files: {printable(made.pending)}")
    if made.degraded:
        out.print(f"the rest is not rebuilt yet: {printable(made.degraded)}")
    if made.proof is not None:
        _show_proof(out, made.proof)


def _show_proof(out: Console, proof: Proof) -> None:
    out.print(
        f"searched for {plural(proof.strings, 'string')}, {plural(proof.vectors, 'vector')} and "
        f"{plural(proof.terms, 'term')} in {proof.bytes_read:,} bytes"
    )
    out.print(
        f"not searched for: {proof.not_distinctive:,} that also occur in other data or in the program, "
        f"{proof.too_short:,} too short"
    )
    for file in proof.files:
        out.print(f"  {printable(file.path)}: {file.size_bytes:,} bytes, {file.found:,} found")
    for copy in proof.copies:
        out.print(f"  {printable(copy.path)} (a copy, not touched): {copy.found:,} found")
    out.print("found: nothing" if not proof.found else f"found: {proof.found:,}; see the files above")


def show_janitor(made: JanitorResult) -> None:
    out = console()
    if made.did in _OUTCOMES:
        out.print(_OUTCOMES[made.did].format(run=printable(made.run)))
    else:
        would = "would be " if made.did == "dry run" else ""
        out.print(
            f"{made.run}: {made.demoted:,} {would}demoted, {made.culled:,} {would}culled, {made.seconds:.1f} s"
            + ("" if would else f"; to undo it: holdfast janitor --undo {made.run}")
        )
    for one in made.records[:_SHOWN]:
        out.print(f"  {printable(one.id)}  {_change(one)}  {_short(one.text)}")
        out.print(f"    {printable(one.why)}", style="dim")
    if len(made.records) > _SHOWN:
        out.print(f"  … and {len(made.records) - _SHOWN:,} more (--json lists them all)")
    for reason, count in made.spared.items():
        out.print(f"  unchanged, {printable(reason)}: {count:,}")


def _change(one: JanitorChange) -> str:
    before = f"{one.provenance.value} {one.confidence:g}"
    if one.new_provenance is None:
        return f"{before} → hidden"
    return f"{before} → {one.new_provenance.value} {one.new_confidence:g}"


def show_diagnosis(found: Diagnosis) -> None:
    out = console()
    namespace = "" if found.namespace is None else f", namespace {printable(found.namespace)}"
    memories = plural(found.memories, "memory", "memories")
    out.print(f"{printable(found.source)} ({found.system}{namespace}): {memories}, {found.seconds:.1f} s")
    table = make_table("", "check", "found", "of", "share", "limit", left=2)
    for one in found.findings:
        mark = Text("✗", style="red") if one.over else Text("✓", style="green")
        table.add_row(mark, one.check, f"{one.count:,}", f"{one.of:,}", f"{one.rate:.1%}", f"{one.limit:.0%}")
    out.print(table)
    for one in found.findings:
        if one.count:
            _show_examples(out, one)
    if found.fixed:
        out.print(f"fixed: {', '.join(found.fixed)}")
    bad = [one.check for one in found.findings if one.over]
    out.print(
        "healthy" if found.healthy else f"not healthy: {', '.join(bad)}", style="green" if found.healthy else "red"
    )


def _show_examples(out: Console, found: CheckResult) -> None:
    out.print(f"\n{found.check}: {found.advice}")
    for one in found.examples:
        out.print(f"  {printable(one.id)}  {_short(one.text)}".rstrip())
        out.print(f"    {printable(one.why)}", style="dim")


def _short(text: str) -> str:
    text = " ".join(printable(text).split())
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
