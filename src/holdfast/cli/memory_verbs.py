"""The verbs of one memory: each is the method of the same name, printed."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

import typer

from holdfast.cli.options import (
    EmbedderOption,
    FullOption,
    JsonOption,
    LimitOption,
    NamespaceOption,
    SinceOption,
    StoreOption,
    UntilOption,
    missing_store,
    open_memory,
    open_to_read,
)
from holdfast.cli.run import bar, print_json
from holdfast.errors import FlushTimeout, ModelError

_WAIT_S = 2.0  # for a memory to be found by meaning before the command ends

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Of a turn or record, as search prints it.")]


def search(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="In your own words, or an exact identifier.")],
    limit: LimitOption = 10,
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="turn, fact, preference, decision, guidance, …", show_default=False),
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", "-s", metavar="NAME", help="In this one only.", show_default=False)
    ] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="TIME", help="As it was known then.", show_default=False)
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print how it was found, stage by stage.")] = False,
    full: FullOption = False,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find what was said about something, best first, with the reason for each hit.

    [dim]holdfast search "which port does slipway use?" --limit 3 --explain[/dim]
    """
    with open_to_read(store, namespace, embedder) as memory:
        hits = memory.search(question, limit, kind, session, since, until, as_of)
        waiting = 0 if hits else memory.status().behind
    if as_json:
        from holdfast.model import SearchAnswer

        print_json(SearchAnswer.of(hits))
        return
    from holdfast.cli import render as show

    show.show_hits(hits, full)
    if explain:
        show.show_receipt(hits.receipt)
    if waiting:  # just copied, or kept without waiting: this command has begun the work, and the next one goes on
        typer.echo(f"holdfast: {waiting:,} are not found by meaning yet; ask again, or see holdfast status", err=True)


def recent(
    limit: LimitOption = 20,
    kind: Annotated[str, typer.Option(metavar="KIND", help="turn, exchange, record or a kind of record.")] = "turn",
    since: SinceOption = None,
    until: UntilOption = None,
    session: Annotated[
        str | None, typer.Option("--session", "-s", metavar="NAME", help="In this one only.", show_default=False)
    ] = None,
    full: FullOption = False,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the newest turns, exchanges or records, by the time they were said.

    [dim]holdfast recent --kind exchange --since "7 days ago"[/dim]
    """
    with open_to_read(store, namespace, embedder) as memory:
        found = memory.recent(limit, kind, since, until, session)
    if as_json:
        from holdfast.results import recent_answer

        print_json(recent_answer(found, kind))
        return
    from holdfast.cli import render as show

    show.show_recent(found, full)


def thread(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Its name, as search and recent print it.")],
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print one conversation, in order.

    [dim]holdfast thread 2026-09-15-a[/dim]
    """
    with open_to_read(store, namespace, embedder) as memory:
        turns = memory.thread(session)
    if as_json:
        from holdfast.results import ThreadAnswer

        print_json(ThreadAnswer(session, tuple(turns)))
        return
    from holdfast.cli import render as show

    show.show_thread(session, turns)


def remember(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to keep.")],
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="fact, preference, decision, guidance, summary or episode.")
    ] = "fact",
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep an explicit memory: no gate judges it.

    [dim]holdfast remember "The spare key is with Zofia" --kind fact[/dim]
    """
    with open_memory(store, namespace, embedder) as memory:
        record = memory.remember(text, kind)
        with suppress(ModelError, FlushTimeout):  # kept all the same; whoever opens the store next goes on
            memory.flush(_WAIT_S)
    if as_json:
        print_json(record)
        return
    from holdfast.cli import render as show

    show.show_record(record)


def forget(
    noun_id: IdArgument,
    undo: Annotated[bool, typer.Option("--undo", help="Bring it back.")] = False,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hide a turn or record from recall; the log keeps it, and --undo brings it back.

    [dim]holdfast forget t-1a1dfe… · holdfast forget t-1a1dfe… --undo[/dim]
    """
    with open_to_read(store, namespace, embedder) as memory:
        decision = memory.forget(noun_id, undo)
    if as_json:
        print_json(decision)
        return
    from holdfast.cli import render as show

    show.show_forgotten(noun_id, decision)


def why(
    noun_id: IdArgument,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say everything that was decided about a turn or record, and why.

    [dim]holdfast why t-1a1dfe…[/dim]
    """
    with open_to_read(store, namespace, embedder) as memory:
        reasons = memory.why(noun_id)
    if as_json:
        print_json(reasons)
        return
    from holdfast.cli import render as show

    show.show_why(reasons)


def status(
    check: Annotated[
        bool, typer.Option("--check", help="Check the store's integrity too; exit code 1 if hurt.")
    ] = False,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how much is kept, how far derived work has come, and what is degraded.

    [dim]holdfast status --check[/dim]
    """
    missing = missing_store(store)
    with open_to_read(store, namespace, embedder) as memory:
        state = memory.status()
        problems = tuple(memory.check()) if check else None
    if missing is not None:
        state = replace(state, store=missing, size_bytes=0)
    if as_json:
        from holdfast.results import StatusAnswer

        print_json(StatusAnswer.of(state, problems))
    else:
        from holdfast.cli import render as show

        show.show_status(state, problems)
    if problems:
        raise typer.Exit(1)


# --- `holdfast context`: what a model should be handed for these messages.


def context(
    file: Annotated[str, typer.Argument(metavar="FILE", help='Messages as JSON; "-" reads stdin.')] = "-",
    session: Annotated[
        str, typer.Option("--session", "-s", metavar="NAME", help="The conversation they belong to.")
    ] = "default",
    budget: Annotated[int, typer.Option("--budget", metavar="N", help="The host's whole budget, in tokens.")] = 4000,
    memory_budget: Annotated[
        int | None,
        typer.Option("--memory-budget", metavar="N", help="Tokens for memory itself.", show_default=False),
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option("--rules", metavar="FILE", help="A rule file; may be given more than once.", show_default=False),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Every candidate: in or out, and why.")] = False,
    deadline: Annotated[float, typer.Option("--deadline", metavar="SECONDS", help="After it nothing is added.")] = 5.0,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what a model should know for these messages: rules, recent turns, guidance and memories, within a budget.

    The messages are a JSON array of {"role", "content"}, or an object that holds one under "messages".

    [dim]holdfast context messages.json --session s1 --rules AGENTS.md --explain[/dim]
    """
    from holdfast.settings import load_settings

    messages = _read(file)
    settings = load_settings()
    # A command starts cold, and a person waits: the host's 300 ms would be over before the model is loaded.
    patient = replace(settings, context=replace(settings.context, deadline_s=deadline, embedder_s=deadline / 2))
    with open_to_read(store, namespace, embedder, patient) as memory:
        made = memory.context(messages, session, budget, rules or (), memory_budget)
    if as_json:
        from holdfast.results import ContextAnswer

        print_json(ContextAnswer.of(made))
        return
    from holdfast.cli.render import show_context

    show_context(made, explain)


def _read(name: str) -> list[dict[str, object]]:
    from holdfast.cli.ingest import open_source
    from holdfast.errors import InputError

    shown = "stdin" if name == "-" else name
    with open_source(name) as source:
        try:
            found = json.loads(source.read().decode("utf-8-sig"))
        except (UnicodeDecodeError, ValueError, RecursionError) as error:
            raise InputError(f"{shown} is no JSON: {error}") from error
    if isinstance(found, dict):
        found = found.get("messages")
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InputError(f'{shown} must hold an array of messages ({{"role", "content"}}), or {{"messages": [...]}}')
    return found


# --- `holdfast themes`: what a time was about.


def themes(
    since: Annotated[
        str, typer.Option(metavar="TIME", help='Said at or after: "2026-05-01", "7 days ago", or always.')
    ] = "30 days ago",
    until: UntilOption = None,
    limit: LimitOption = 8,
    digest: Annotated[
        bool | None,
        typer.Option("--digest/--no-digest", help="Told by the chat model; as it is configured.", show_default=False),
    ] = None,
    full: FullOption = False,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a time was about: the largest themes, the words that name them, and what was said.

    [dim]holdfast themes --since "7 days ago"[/dim]
    """
    with open_to_read(store, namespace, embedder) as memory:
        found = memory.themes(None if since == "always" else since, until, limit, digest)
    if as_json:
        from holdfast.results import ThemesAnswer

        print_json(ThemesAnswer.of(found))
        return
    from holdfast.cli.render import show_themes

    show_themes(found, full)


# --- `holdfast compact`, `holdfast expand`, `holdfast active`: old turns as digests, and back.


SessionArgument = Annotated[str, typer.Argument(metavar="SESSION", help="The conversation's name.")]


def compact(
    session: SessionArgument,
    force: Annotated[bool, typer.Option("--force", help="Also when the budget is not passed.")] = False,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put digests in place of a conversation's old turns. Its rules stay word for word, every turn stays in the log.

    [dim]holdfast compact support-chat --force[/dim]
    """
    with open_memory(store, namespace, embedder) as memory, bar("compacting") as progress:
        made = memory.compact(session, force, progress)
    if as_json:
        print_json(made)
        return
    from holdfast.cli.render import show_compaction

    show_compaction(made)


def expand(
    noun_id: IdArgument,
    full: FullOption = False,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the turns that a summary, or any other record, was made of.

    [dim]holdfast expand r-1a1dfe31dc71b51a758fc[/dim]
    """
    with open_to_read(store, namespace, embedder) as memory:
        turns = memory.expand(noun_id)
    if as_json:
        from holdfast.results import RecentTurns

        print_json(RecentTurns(tuple(turns)))
        return
    from holdfast.cli import render as show

    show.show_recent(turns, full)


def active(
    session: SessionArgument,
    full: FullOption = False,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what stands for a conversation now: digests and rules, then the turns as they were said.

    [dim]holdfast active support-chat[/dim]
    """
    with open_to_read(store, namespace, embedder) as memory:
        view = memory.active(session)
    if as_json:
        print_json(view)
        return
    from holdfast.cli.render import show_active

    show_active(view, full)
