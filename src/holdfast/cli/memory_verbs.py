"""The verbs of one memory: each is the method of the same name, printed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Annotated

import typer

from holdfast.cli.json_out import print_json
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
from holdfast.errors import FlushTimeout, ModelError

__all__ = ["IdArgument", "forget", "recent", "remember", "search", "status", "thread", "why"]

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
        from holdfast.found import SearchAnswer

        print_json(SearchAnswer.of(hits))
        return
    from holdfast.cli import show

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
        from holdfast.answers import recent_answer

        print_json(recent_answer(found, kind))
        return
    from holdfast.cli import show

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
        from holdfast.answers import ThreadAnswer

        print_json(ThreadAnswer(session, tuple(turns)))
        return
    from holdfast.cli import show

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
    from holdfast.cli import show

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
    from holdfast.cli import show

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
    from holdfast.cli import show

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
        from holdfast.answers import StatusAnswer

        print_json(StatusAnswer.of(state, problems))
    else:
        from holdfast.cli import show

        show.show_status(state, problems)
    if problems:
        raise typer.Exit(1)
