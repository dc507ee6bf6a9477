"""`holdfast themes`: what a time was about."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.json_out import print_json
from holdfast.cli.options import (
    EmbedderOption,
    FullOption,
    JsonOption,
    LimitOption,
    NamespaceOption,
    StoreOption,
    UntilOption,
    open_to_read,
)

__all__ = ["themes"]


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
        from holdfast.answers import ThemesAnswer

        print_json(ThemesAnswer.of(found))
        return
    from holdfast.cli.show_themes import show_themes

    show_themes(found, full)
