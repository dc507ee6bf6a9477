"""Decide without a model if a new statement replaces an old one (MERGE-4).

Precision comes first: a wrongly retired fact is lost to live recall, a stale one next to the new is only ranked lower.
So a replacement needs a reason that can be told: one frame with one value, or one attribute of one subject. Other
changes are the reader's to notice (admit/compare.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from holdfast.admit.attributes import adds_beside, by_attribute, claims_of, clauses
from holdfast.admit.frames import Holds, ValueType, align, measure, one_value, plain_value, same_key, value_type
from holdfast.admit.topics import NOW, REMEMBERED, TIES, Replacement, keys_of, reading_of, said, topics
from holdfast.admit.values import ParsedStatement, WordKind
from holdfast.text.vocabulary import word_set

MOST_CHARS = 600
"""A claim is a sentence. Longer texts are kept next to one another, never retired by rules made for sentences."""


def replaces(new: str, old: str) -> Replacement | None:
    """Why the new statement replaces the old one, or might; None when nothing says so."""
    if len(new) > MOST_CHARS or len(old) > MOST_CHARS or adds_beside(new):
        return None
    if not _signature(new) & _signature(old):
        return None  # the cheap refusal: nothing in common, neither a word nor an attribute
    before = reading_of(old)
    if not before.words or before.keys == reading_of(new).keys:
        return None
    doubt: Replacement | None = None
    for clause in clauses(new):
        if not _signature(clause) & _signature(old):
            continue
        for found in _by_clause(old, clause, new):
            if found is not None and found.sure:
                return found
            doubt = doubt or found
    return doubt


def _by_clause(old: str, clause: str, new: str) -> Iterator[Replacement | None]:
    """Yield the finding of each rule about one clause of the new text, lazily: a sure one ends the search."""
    before, after = reading_of(old), reading_of(clause)
    if _alike_at_an_end(before, after):
        yield _by_frame(before, after, new)
    yield by_attribute(old, clause)


def _alike_at_an_end(old: ParsedStatement, new: ParsedStatement) -> bool:
    """Return True if the sentences may share a frame: they begin or end alike."""
    if not new.words:
        return False
    if old.words[-1].key in new.keys:
        return True
    return any(same_key(old.words[0], word) for word in new.words[:_OPENING])


@lru_cache(maxsize=REMEMBERED)
def _signature(text: str) -> frozenset[str]:
    """Return the content words, attributes and tools of which two statements must share one to replace each other."""
    words = frozenset(
        word.key for word in reading_of(text).words if word.kind not in _SMALL and word.key not in _COMMON
    )
    held = frozenset(f"a {claim.attribute}" for part in clauses(text) for claim in claims_of(part))
    counted = frozenset(measure(word) for word in reading_of(text).words if word.kind is WordKind.NUMBER) - {""}
    return words | held | counted | topics(text)


_OPENING = 3
"""Words that may stand before the shared frame: "my new phone number" and "my phone number"."""
_SMALL = (WordKind.PERSON, WordKind.MODAL, WordKind.NEGATION)
_COMMON = TIES - word_set("work live study play code run train subscribe rent ride fly")


def _by_frame(old: ParsedStatement, new: ParsedStatement, clause: str) -> Replacement | None:
    frame = align(old, new)
    if frame is None:
        return None
    if any(word.kind in (WordKind.CONDITION, WordKind.HEDGE, WordKind.MODAL) for word in frame.new):
        return None
    was, now = said(frame.old), said(frame.new)
    ours, theirs = set(keys_of(frame.old)), set(keys_of(frame.new))
    if theirs <= ours or (ours <= theirs and not NOW.search(clause)):
        return None  # "London" and "London, England" are no two values
    holds = one_value(frame)
    if holds is Holds.UNKNOWN and plain_value(frame):
        fresh = _FRESH_TIME.search(clause) and value_type(frame.old) is not ValueType.PLAIN
        holds = Holds.ONE if fresh or _CORRECTS.search(clause) else holds
    if holds is Holds.MANY:
        moved = (
            value_type(frame.old) is value_type(frame.new) is ValueType.WHEN
            and frame.before
            and _FRESH_TIME.search(clause)
        )
        if not moved:
            return None
        holds = Holds.ONE
    if holds is Holds.ONE:
        return Replacement(True, f"the same statement with another value: {was!r} became {now!r}")
    near = len(frame.before) + len(frame.after) >= 2
    return Replacement(False, f"it may be another value of the same: {was!r} and {now!r}") if near else None


_FRESH_TIME = re.compile(r"\b(?:now|nowadays|these days|instead|from now on)\b", re.IGNORECASE)
_CORRECTS = re.compile(
    r"^(?:no|actually|correction|sorry)\b|\b(?:i meant|i was wrong|not .{1,40} any ?more|instead)\b", re.I
)
