"""Which text tells of a gold point: the share of the point's content words that it covers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import Stemmer

from holdfast.words import FUNCTION_WORDS, fold

__all__ = ["ALIGNED", "Words", "best_cover", "content_words", "coverage"]

Words = frozenset[str]

ALIGNED = 0.4
"""A point aligns with the turn that covers this share of its content words (DESIGN, "What the benches mean")."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def content_words(text: str) -> Words:
    """The stems of the words that say what a text is about; not the index's terms, whose rules change with recall."""
    words = [word.removesuffix("'s") for word in _WORD.findall(fold(text))]
    return frozenset(Stemmer.Stemmer("english").stemWords([word for word in words if word not in FUNCTION_WORDS]))


def coverage(point: Words, text: Words) -> float:
    """The share of the point's words that the text has too; a point without words is covered by nothing."""
    return len(point & text) / len(point) if point else 0.0


def best_cover(point: Words, texts: Sequence[Words], least: float = ALIGNED) -> int | None:
    """The number of the text that covers most of the point, the first of equals; None if none covers enough."""
    best = max(range(len(texts)), key=lambda number: (coverage(point, texts[number]), -number), default=None)
    return best if best is not None and coverage(point, texts[best]) >= least else None
