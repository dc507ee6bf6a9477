"""Asking: a search with its reasons, and what a time was about."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from holdfast.model import Hit, Kind
from holdfast.serve.inspector.asked import Asked
from holdfast.serve.inspector.desk import Desk

__all__ = ["search", "themes"]

_HITS = 20
_KINDS = tuple(kind.value for kind in Kind)
_PERIODS = (("7 days ago", "a week"), ("30 days ago", "30 days"), ("365 days ago", "a year"), ("all", "all"))


@dataclass(frozen=True)
class ShownHit:
    hit: Hit
    words: float
    meaning: float
    """Of the best hit by words, and by meaning, as a share: what the bars show."""


def search(desk: Desk, asked: Asked) -> Response:
    question = (asked.given("q") or "").strip()
    kind = asked.chosen("kind", _KINDS)
    given = {name: asked.given(name) for name in ("session", "since", "until", "as_of")}
    if not question:
        return desk.page("search.html", asked, q="", kind=kind, kinds=_KINDS, given=given, hits=None, receipt=None)
    with desk.memory(asked) as memory:
        found = memory.search(
            question, _HITS, kind, given["session"], given["since"], given["until"], given["as_of"]
        )  # fmt: skip
    best_words = max((hit.lexical for hit in found), default=0.0) or 1.0
    hits = [ShownHit(hit, max(hit.lexical, 0.0) / best_words, min(max(hit.semantic, 0.0), 1.0)) for hit in found]
    return desk.page(
        "search.html", asked, q=question, kind=kind, kinds=_KINDS, given=given, hits=hits, receipt=found.receipt
    )  # fmt: skip


def themes(desk: Desk, asked: Asked) -> Response:
    """Without a chat model's digest: a page that is opened must not call one."""
    since = asked.chosen("since", [name for name, _ in _PERIODS]) or "30 days ago"
    with desk.memory(asked) as memory:
        found = memory.themes(None if since == "all" else since, digest=False)
    return desk.page("themes.html", asked, themes=found, receipt=found.receipt, since=since, periods=_PERIODS)
