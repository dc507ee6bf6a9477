"""`holdfast compact`, `holdfast expand`, `holdfast active`: old turns as digests, and back."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.json_out import print_json
from holdfast.cli.memory_verbs import IdArgument
from holdfast.cli.options import (
    EmbedderOption,
    FullOption,
    JsonOption,
    NamespaceOption,
    StoreOption,
    open_memory,
    open_to_read,
)
from holdfast.cli.progress import bar

__all__ = ["active", "compact", "expand"]

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
    from holdfast.cli.show_compaction import show_compaction

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
        from holdfast.answers import RecentTurns

        print_json(RecentTurns(tuple(turns)))
        return
    from holdfast.cli import show

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
    from holdfast.cli.show_compaction import show_active

    show_active(view, full)
