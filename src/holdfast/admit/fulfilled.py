"""A plan that has come true or was given up: who passed the driving test no longer prepares for it."""

from __future__ import annotations

import re

from holdfast.admit.replacement import Replacement, reading_of
from holdfast.admit.topics import other_person, topics
from holdfast.admit.values import WordKind

__all__ = ["by_outcome"]

_PLAN = re.compile(
    r"\b(?:i|we)(?:['’](?:m|re|d|ll|ve))? (?:am |are |have |would |really |just |also |still |been ){0,4}"
    r"(?:want to|want a|need to|need a|need an|like to|plan(?:ning)? |hop(?:e|ing) to|intend(?:ing)? to|going to|will "
    r"|thinking (?:about|of)|considering|looking for|looking to|preparing (?:for|to)|studying for|training for"
    r"|waiting for|on the waiting list|expecting|dream(?:ing)? of|applying for|saving (?:up )?for|about to"
    r"|trying to (?:find|buy|get))|\b(?:i|we)['’]ll\b|\bmy (?:plan|goal|dream|aim) is to\b",
    re.IGNORECASE,
)
_STILL = re.compile(
    r"\b(?:want|need|plan|planning|hope|hoping|going to|will|'ll|would|could|might|should|if|started|starting|thinking"
    r"|considering|looking|try|trying)\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:finished|completed|passed|bought|signed|hired|opened|arrived|delivered|born|submitted|sent|accepted"
    r"|enrolled|graduated|got|went|told|received|brought|fixed|repaired|renewed|adopted|launched|visited|built|joined"
    r"|decided against|done|made it|happened)\b",
    re.IGNORECASE,
)
_MOST_SHORT = 1 / 3
"""Share of what a plan is about that its outcome need not repeat: "the trip" of "a trip to Norway with my sister"."""


def by_outcome(old: str, new: str) -> Replacement | None:
    """Why the new text tells the outcome of a plan; None when it does not, or only speaks of the plan again."""
    done = _DONE.search(new)
    if done is None or _PLAN.search(old) is None or _STILL.search(new):
        return None
    about, told = topics(old), topics(new)
    if not about or other_person(about, told) or len(about - told) > _MOST_SHORT * len(about):
        return None
    readings = reading_of(old), reading_of(new)
    if any(word.kind is WordKind.NEGATION for reading in readings for word in reading.words):
        return None
    return Replacement(False, f"what was planned has happened: {done.group()!r}", alone=True)
