"""The finding that one statement replaces another, and the words every way to that finding needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from holdfast.admit.values import Reading, Word, WordKind, read
from holdfast.admit.vocabulary import word_set

__all__ = ["CONTENT", "IS", "MOST_DETAIL", "NOW", "REMEMBERED", "TIES", "Replacement", "keys_of", "reading_of", "said"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """What the comparison found; neither `sure` nor `alone` means: keep both, and say so."""

    sure: bool
    reason: str
    alone: bool = False
    """It holds if this is the only record it can mean: "the review has moved" ends the one review we know of."""


CONTENT = (WordKind.PLAIN, WordKind.NAME)
IS = frozenset({"is", "am", "are", "s"})
NOW = re.compile(r"\b(?:now|nowadays|these days|by now|meanwhile)\b", re.IGNORECASE)
MOST_DETAIL = 3
"""Words by which a statement may be more detailed than what ended it: tennis ends with tennis on Mondays."""
REMEMBERED = 8192
"""Sentences whose reading is kept: a candidate meets several neighbours, and neighbours meet several candidates."""

# Verbs that only tie a thing to its owner or its place; with the value gone nothing is left of the statement.
TIES = word_set(
    """me us have own use drive keep foster run work live study play write code on in at plan schedule due listen be
    sit start happen take-place call name say it attend take learn read wear prefer always daily weekly enjoy
    love want like expect set cost pay host base belong deploy go eat drink do need for from under over the will
    apply train practise practice you subscribe rent lease employ ride fly"""
)


@lru_cache(maxsize=REMEMBERED)
def reading_of(text: str) -> Reading:
    return read(text)


def keys_of(words: tuple[Word, ...]) -> tuple[str, ...]:
    return tuple(word.key for word in words)


def said(words: tuple[Word, ...]) -> str:
    return " ".join(word.said for word in words)
