"""Commands for one memory: search, recent, remember and the others that call the Memory method of the same name."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

from holdfast.cli.command import MemoryTarget, Output, argument, command, option, progress_bar
from holdfast.errors import FlushTimeout, InputError, ModelError, Refused
from holdfast.serve.reference import PARAMETERS as HELP

_EMBED_S = 2.0  # how long `remember` waits for the new record to be embedded

Id = Annotated[str, argument(HELP["why"]["id"], "ID")]
Session = Annotated[str, argument(HELP["thread"]["session"], "SESSION")]
Limit = Annotated[int, option(HELP["search"]["limit"], "--limit", "-l", metavar="N")]
Since = Annotated[str | None, option(HELP["search"]["since"], metavar="TIME")]
Until = Annotated[str | None, option(HELP["search"]["until"], metavar="TIME")]


@command("render.show_hits", "explain", "full")
def search(
    target: MemoryTarget,
    question: Annotated[str, argument(HELP["search"]["query"], "QUESTION")],
    limit: Limit = 10,
    kind: Annotated[str | None, option(HELP["search"]["kind"], metavar="KIND")] = None,
    session: Annotated[str | None, option(HELP["search"]["session"], "--session", "-s", metavar="NAME")] = None,
    since: Since = None,
    until: Until = None,
    as_of: Annotated[str | None, option(HELP["search"]["as_of"], "--as-of", metavar="TIME")] = None,
    rerank: Annotated[bool, option(HELP["search"]["rerank"], "--rerank")] = False,
) -> object:
    """Find what was said about something, best match first, with the reason for each result.

    [dim]holdfast search "which port does slipway use?" --limit 3 --explain[/dim]
    """
    from holdfast.model import SearchAnswer

    with target.read() as memory:
        hits = memory.search(question, limit, kind, session, since, until, as_of, rerank)
        status = None if hits else memory.status()
    return Output(SearchAnswer.of(hits), {"status": status})


@command("render.show_recent", "full")
def recent(
    target: MemoryTarget,
    limit: Limit = 20,
    kind: Annotated[str, option(HELP["recent"]["kind"], metavar="KIND")] = "turn",
    since: Since = None,
    until: Until = None,
    session: Annotated[str | None, option(HELP["recent"]["session"], "--session", "-s", metavar="NAME")] = None,
) -> object:
    """List the newest turns, exchanges or records, by the time they were said.

    [dim]holdfast recent --kind exchange --since "7 days ago"[/dim]
    """
    from holdfast.results import recent_answer

    with target.read() as memory:
        return recent_answer(memory.recent(limit, kind, since, until, session), kind)


@command("render.show_thread")
def thread(target: MemoryTarget, session: Session) -> object:
    """Print one session in order.

    [dim]holdfast thread 2026-09-15-a[/dim]
    """
    from holdfast.results import ThreadAnswer

    with target.read() as memory:
        return ThreadAnswer(session, tuple(memory.thread(session)))


@command("render.show_themes", "full")
def themes(
    target: MemoryTarget,
    since: Annotated[
        str, option('Start of the period: ISO 8601, relative such as "7 days ago", or always.', metavar="TIME")
    ] = "30 days ago",
    until: Annotated[str | None, option(HELP["themes"]["until"], metavar="TIME")] = None,
    limit: Annotated[int, option(HELP["themes"]["limit"], "--limit", "-l", metavar="N")] = 8,
    digest: Annotated[bool | None, option(HELP["themes"]["digest"], "--digest/--no-digest")] = None,
) -> object:
    """Summarise a period: the largest themes, the words that name them, and examples.

    [dim]holdfast themes --since "7 days ago"[/dim]
    """
    from holdfast.results import ThemesAnswer

    with target.read() as memory:
        return ThemesAnswer.of(memory.themes(None if since == "always" else since, until, limit, digest))


@command("render.show_record")
def remember(
    target: MemoryTarget,
    text: Annotated[str, argument(HELP["remember"]["text"], "TEXT")],
    kind: Annotated[str, option(HELP["remember"]["kind"], metavar="KIND")] = "fact",
    agent: Annotated[
        bool, option("Store it as an agent's note, not as the user's word.", "--agent", envvar="HOLDFAST_AGENT")
    ] = False,
    session: Annotated[str | None, option(HELP["remember"]["session"], "--session", "-s", metavar="NAME")] = None,
    key: Annotated[str | None, option(HELP["remember"]["key"], metavar="KEY")] = None,
    upsert: Annotated[bool, option(HELP["remember"]["upsert"], "--upsert")] = False,
) -> object:
    """Store an explicit memory; no gate judges it.

    [dim]holdfast remember "The spare key is with Zofia" --kind fact[/dim]
    """
    with target.open() as memory:
        origin = "agent" if agent else "user"
        record = memory.remember(text, kind, key, origin=origin, session=session, upsert=upsert)
        with suppress(ModelError, FlushTimeout):  # it is stored; the next command that opens the store continues
            memory.flush(_EMBED_S)
    return record


@command("render.show_record")
def update(
    target: MemoryTarget,
    id: Annotated[str, argument(HELP["update"]["id"], "ID")],
    text: Annotated[str | None, argument(HELP["update"]["text"], "TEXT")] = None,
    kind: Annotated[str | None, option(HELP["update"]["kind"], metavar="KIND")] = None,
    agent: Annotated[
        bool, option("Store it as an agent's note, not as the user's word.", "--agent", envvar="HOLDFAST_AGENT")
    ] = False,
) -> object:
    """Correct a record, or confirm it as it stands; the old one is forgotten for it.

    [dim]holdfast update r-017dcdf… "The spare key is with Ana"[/dim]
    """
    with target.open() as memory:
        if agent and memory.get(id).metadata.get("by") != "agent":
            raise Refused(f"{id} is not an agent's note; only the user corrects what the user said")
        record = memory.update(id, text, kind, origin="agent" if agent else "user")
        with suppress(ModelError, FlushTimeout):
            memory.flush(_EMBED_S)
    return record


@command("render.show_one")
def get(target: MemoryTarget, id: Id) -> object:
    """Print one turn or record in full.

    [dim]holdfast get r-017dcdf…[/dim]
    """
    with target.read() as memory:
        return memory.get(id)


@command("render.show_records", "full")
def records(
    target: MemoryTarget,
    query: Annotated[str | None, argument(HELP["records"]["query"], "WORDS")] = None,
    kind: Annotated[str | None, option(HELP["records"]["kind"], metavar="KIND")] = None,
    about: Annotated[str | None, option(HELP["records"]["about"], metavar="NAME")] = None,
    limit: Limit = 50,
    before: Annotated[str | None, option(HELP["records"]["before"], metavar="ID")] = None,
) -> object:
    """List the current records, newest first.

    [dim]holdfast records --about Ana --kind fact[/dim]
    """
    from holdfast.insight.lookup import RecordPage

    with target.read() as memory:
        return RecordPage.of(memory.records(kind, about, query, limit, before), limit)


@command("render.show_profile")
def profile(
    target: MemoryTarget,
    tokens: Annotated[int, option(HELP["profile"]["tokens"], "--tokens", metavar="N")] = 700,
    sensitive: Annotated[
        bool | None,
        option(HELP["profile"]["sensitive"] + " The default is yes, but no in a file.", "--sensitive/--no-sensitive"),
    ] = None,
    keep_in: Annotated[
        str | None, option("Keep the profile up to date in this Markdown file.", "--keep-in", metavar="FILE")
    ] = None,
) -> object:
    """Describe the owner of the memory: who they are, people, home, work, health, projects, tastes, plans and rules.

    [dim]holdfast profile --keep-in USER.md[/dim]
    """
    from holdfast.context.profile import keep_profile

    with target.read() as memory:
        page = memory.profile(tokens, keep_in is None if sensitive is None else sensitive)
    changed = None if keep_in is None else keep_profile(keep_in, page.text)
    return Output(page, {"file": keep_in, "changed": changed})


@command("render.show_standing")
def standing(
    target: MemoryTarget,
    tokens: Annotated[int | None, option(HELP["standing"]["tokens"], "--tokens", metavar="N")] = None,
) -> object:
    """Print the short prompt section with the standing rules and facts, as a model gets it.

    [dim]holdfast standing --tokens 300[/dim]
    """
    with target.read() as memory:
        return memory.standing(tokens)


@command("render.show_figures")
def gating(target: MemoryTarget, text: Annotated[str, argument(HELP["gating"]["text"], "TEXT")]) -> object:
    """Score how much a text deserves durable memory, signal by signal; nothing is stored.

    [dim]holdfast gating "We decided to deploy on Fridays"[/dim]
    """
    with target.read() as memory:
        return memory.gating_scalar(text).as_dict()


@command("render.show_forgotten")
def forget(
    target: MemoryTarget, id: Id, undo: Annotated[bool, option(HELP["forget"]["undo"], "--undo")] = False
) -> object:
    """Hide a turn or record from recall; the log keeps it, and --undo makes it visible again.

    [dim]holdfast forget t-1a1dfe… · holdfast forget t-1a1dfe… --undo[/dim]
    """
    with target.read() as memory:
        return Output(memory.forget(id, undo), {"noun_id": id})


@command("render.show_why")
def why(target: MemoryTarget, id: Id) -> object:
    """Explain every decision about a turn or record.

    [dim]holdfast why t-1a1dfe…[/dim]
    """
    with target.read() as memory:
        return memory.why(id)


@command("render_insight.show_history")
def history(target: MemoryTarget, id: Id) -> object:
    """Show what a record replaced and what replaced it; for a turn, the records made from it.

    [dim]holdfast history r-017dcdf…[/dim]
    """
    with target.read() as memory:
        return memory.history(id)


@command("render_insight.show_stats")
def stats(
    target: MemoryTarget, since: Annotated[str | None, option(HELP["stats"]["since"], metavar="TIME")] = None
) -> object:
    """Count what the gates did, day by day: turns judged, refused, merged, replaced and added.

    [dim]holdfast stats --since "30 days ago"[/dim]
    """
    with target.read() as memory:
        return memory.stats(since)


@command("render.show_status", exit_code=lambda answer: 1 if answer.problems else 0)
def status(
    target: MemoryTarget,
    check: Annotated[
        bool, option("Also check the integrity of the store; exit with 1 if it is damaged.", "--check")
    ] = False,
) -> object:
    """Report how much is stored, how far background work has come, and what is degraded.

    [dim]holdfast status --check[/dim]
    """
    from holdfast.results import StatusAnswer

    missing = target.missing
    with target.read() as memory:
        answer = StatusAnswer.of(memory.status(), tuple(memory.check()) if check else None)
    return answer if missing is None else replace(answer, store=missing, size_bytes=0)


@command("render.show_context", "explain")
def context(
    target: MemoryTarget,
    file: Annotated[str, argument('Messages as JSON; "-" reads stdin.', "FILE")] = "-",
    session: Annotated[str, option(HELP["context"]["session"], "--session", "-s", metavar="NAME")] = "default",
    budget: Annotated[int, option(HELP["context"]["budget"], "--budget", metavar="N")] = 1000,
    memory_budget: Annotated[
        int | None, option(HELP["context"]["memory_budget"], "--memory-budget", metavar="N")
    ] = None,
    prompt_budget: Annotated[
        int | None, option(HELP["context"]["prompt_budget"], "--prompt-budget", metavar="N")
    ] = None,
    rules: Annotated[list[str] | None, option("Rule file to include; repeatable.", "--rules", metavar="FILE")] = None,
    deadline: Annotated[
        float,
        option("Give up after this many seconds and return the messages unchanged.", "--deadline", metavar="SECONDS"),
    ] = 5.0,
) -> object:
    """Print what a model should know for these messages: rules, recent turns, guidance and memories, within a budget.

    The messages are a JSON array of {"role", "content"}, or an object that holds one under "messages".

    [dim]holdfast context messages.json --session s1 --rules AGENTS.md --explain[/dim]
    """
    from holdfast.results import ContextAnswer
    from holdfast.settings import load_settings

    messages = _read_messages(file)
    settings = load_settings()
    # A command starts cold and a person waits: the 300 ms of a host would be over before the model is loaded.
    patient = replace(settings, context=replace(settings.context, deadline_s=deadline, embedder_s=deadline / 2))
    with target.read(patient) as memory:
        given = (session, budget, rules or (), memory_budget, prompt_budget)
        return ContextAnswer.of(memory.context(messages, *given))


def _read_messages(name: str) -> list[dict[str, object]]:
    from holdfast.cli.ingest import open_source

    shown = "stdin" if name == "-" else name
    with open_source(name) as source:
        try:
            found = json.loads(source.read().decode("utf-8-sig"))
        except (UnicodeDecodeError, ValueError, RecursionError) as error:
            raise InputError(f"{shown} is not JSON: {error}") from error
    if isinstance(found, dict):
        found = found.get("messages")
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InputError(f'{shown} must hold an array of messages ({{"role", "content"}}), or {{"messages": [...]}}')
    return found


@command("render.show_compaction")
def compact(
    target: MemoryTarget, session: Session, force: Annotated[bool, option(HELP["compact"]["force"], "--force")] = False
) -> object:
    """Replace a session's old turns with digests. Rules stay word for word, and the log keeps every turn.

    [dim]holdfast compact support-chat --force[/dim]
    """
    with target.open() as memory, progress_bar("compacting") as progress:
        return memory.compact(session, force, progress)


@command("render.show_recent", "full")
def expand(target: MemoryTarget, id: Id) -> object:
    """Show the turns that a summary, or any other record, was made from.

    [dim]holdfast expand r-1a1dfe31dc71b51a758fc[/dim]
    """
    from holdfast.results import RecentTurns

    with target.read() as memory:
        return RecentTurns(tuple(memory.expand(id)))


@command("render.show_active", "full")
def active(target: MemoryTarget, session: Session) -> object:
    """Show what currently represents a session: digests and rules, then the remaining turns.

    [dim]holdfast active support-chat[/dim]
    """
    with target.read() as memory:
        return memory.active(session)
