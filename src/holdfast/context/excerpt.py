"""A long text by the passages that a question is about: one page would take the place of ten memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

from holdfast.recall.passages import cut
from holdfast.settings import IndexSettings
from holdfast.words import terms

__all__ = ["ELLIPSIS", "excerpt"]

ELLIPSIS = "…"
_READ_CHARS = 100_000  # of a text: what is longer is a document, and cutting it takes longer than a turn may


_TELLING = 0.5  # a passage with less than this part of the best one's words is left out: it only fills


def excerpt(text: str, words: Set[str], passages: int, settings: IndexSettings) -> str:
    """So many of its passages, in order, with marks where something is left out; the whole if it is short.

    A word of the question that few passages of the text hold says more about which one is meant.
    """
    cuts = cut(text[:_READ_CHARS], settings.passage_words, settings.passages_from)
    if len(cuts) <= passages:
        return text
    held = [words & set(terms(text[start:stop])) for start, stop in cuts]
    counts = Counter(term for one in held for term in one)
    worth = [sum(1 / counts[term] for term in one) for one in held]
    ranked = sorted(range(len(cuts)), key=lambda number: (-worth[number], number))[:passages]
    best = sorted(number for number in ranked if worth[number] >= _TELLING * worth[ranked[0]])
    parts: list[str] = []
    after = 0
    for number in best:
        if number != after:
            parts.append(ELLIPSIS)
        start, stop = cuts[number]
        parts.append(text[start:stop])
        after = number + 1
    if after < len(cuts) or len(text) > _READ_CHARS:
        parts.append(ELLIPSIS)
    return " ".join(parts)
