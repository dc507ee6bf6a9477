"""A plan that has come true or was given up: who passed the driving test no longer prepares for it."""

from __future__ import annotations

import re
from functools import lru_cache

from holdfast.admit.phrases import either
from holdfast.admit.replacement import REMEMBERED, Replacement, reading_of
from holdfast.admit.topics import other_person, topics
from holdfast.admit.values import WordKind

__all__ = ["by_outcome"]

_AIMS = (
    "want to|want a|need to|need a|need an|like to|plan(?:ning)? |hop(?:e|ing) to|intend(?:ing)? to|going to|will "
    "|thinking (?:about|of)|considering|looking for|looking to|preparing (?:for|to)|studying for|training for"
    "|waiting for|on the waiting list|expecting|dream(?:ing)? of|applying for|saving (?:up )?for|about to"
    "|trying to (?:find|buy|get)"
)
_PLAN = re.compile(
    r"\b(?:(?:i|we)(?:['’]ll\b|(?:['’](?:m|re|d|ll|ve))? "
    r"(?:am |are |have |would |really |just |also |still |been ){0,4}"
    rf"{either(_AIMS)})|my (?:plan|goal|dream|aim) is to\b)",
    re.IGNORECASE,
)
_NOT_YET = (
    "want|need|plan|planning|hope|hoping|going to|will|'ll|would|could|might|should|if|started|starting|thinking"
    "|considering|looking|try|trying"
)
_STILL = re.compile(rf"\b{either(_NOT_YET)}\b", re.IGNORECASE)
_OUTCOMES = (
    "finished|completed|passed|bought|signed|hired|opened|arrived|delivered|born|submitted|sent|accepted"
    "|enrolled|graduated|got|went|told|received|brought|fixed|repaired|renewed|adopted|launched|visited|built|joined"
    "|decided against|done|made it|happened"
)
_DONE = re.compile(rf"\b{either(_OUTCOMES)}\b", re.IGNORECASE)
_MOST_SHORT = 1 / 3
"""Share of what a plan is about that its outcome need not repeat: "the trip" of "a trip to Norway with my sister"."""


def by_outcome(old: str, new: str) -> Replacement | None:
    """Why the new text tells the outcome of a plan; None when it does not, or only speaks of the plan again."""
    done = _outcome(new)
    if done is None or not _planned(old):
        return None
    about, told = topics(old), topics(new)
    if not about or other_person(about, told) or len(about - told) > _MOST_SHORT * len(about):
        return None
    readings = reading_of(old), reading_of(new)
    if any(word.kind is WordKind.NEGATION for reading in readings for word in reading.words):
        return None
    return Replacement(False, f"what was planned has happened: {done!r}", alone=True)


@lru_cache(maxsize=REMEMBERED)
def _outcome(text: str) -> str | None:
    """The word by which it tells of an outcome; None if it still plans."""
    done = _DONE.search(text)
    return None if done is None or _STILL.search(text) else done.group()


@lru_cache(maxsize=REMEMBERED)
def _planned(text: str) -> bool:
    return _PLAN.search(text) is not None
