"""Whether a new statement replaces an old one, decided without a model (MERGE-4).

Precision comes first: a wrongly retired fact is lost to live recall, a stale one beside the new is only ranked lower.
So a replacement needs a reason that can be told: one frame with one value, one attribute of one subject, an explicit
word of change, or the denial of what was said.
"""

from __future__ import annotations

import re

from holdfast.admit.amounts import by_amount
from holdfast.admit.changed_claims import by_attribute
from holdfast.admit.changed_things import by_change
from holdfast.admit.cues import adds_beside, clauses
from holdfast.admit.denied import denial
from holdfast.admit.frames import Holds, ValueType, align, one_value, plain_value, value_type
from holdfast.admit.replacement import NOW, Replacement, keys_of, reading_of, said
from holdfast.admit.values import Reading, WordKind

__all__ = ["Replacement", "replaces"]

MOST_CHARS = 600
"""A claim is a sentence. Longer texts are kept beside one another, never retired by rules made for sentences."""


def replaces(new: str, old: str) -> Replacement | None:
    """Why the new statement replaces the old one, or might; None when nothing says so."""
    if len(new) > MOST_CHARS or len(old) > MOST_CHARS or adds_beside(new):
        return None
    before = reading_of(old)
    if not before.words or before.keys == reading_of(new).keys:
        return None
    doubt: Replacement | None = None
    for clause in clauses(new):
        after = reading_of(clause)
        for found in (
            denial(before, after, clause),
            _by_frame(before, after, new),
            by_attribute(old, clause),
            by_amount(before, after, new) if clause == new.strip() else None,
            by_change(old, clause, reading_of(new)),
        ):
            if found is not None and found.sure:
                return found
            doubt = doubt or found
    return doubt


def _by_frame(old: Reading, new: Reading, clause: str) -> Replacement | None:
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
