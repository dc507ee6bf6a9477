"""What lay ahead when it was said and has passed since, without a word of what came of it.

A date alone does not make a plan: a birthday comes again, a rent "from 1 July" begins then and goes on, "closed on
Sunday" is so each week, and 2026-07-28 may be the name of a version. Each sentence is read by itself, and in doubt it
is left alone: the doctor's advice is to forget, and a fact that is forgotten costs more than a plan that is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from holdfast.admit.sentences import sentences
from holdfast.spans import Span, read_spans

__all__ = ["last_day", "passed"]

_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_AGAIN = re.compile(
    rf"\b(?:every|each|always|usually|often|normally|generally|daily|nightly|weekly|fortnightly|monthly|quarterly"
    rf"|yearly|annual(?:ly)?|weekdays|weekends|{_WEEKDAY}s|anniversary|name ?day"
    r"|birthday(?! (?:party|dinner|lunch|brunch|trip|celebrations?)\b))\b",
    re.IGNORECASE,
)
"""What comes again does not pass with one of its days."""
_BEGINS = re.compile(
    r"\b(?:from|starting|beginning|as of|effective|since|after|once)(?: (?:from|on|in|with|the))?\s*+$", re.IGNORECASE
)
_GOES_ON = re.compile(r"(?:from|since)\b", re.IGNORECASE)  # "from June": the reader of times takes the word along
_ENDS = re.compile(r"\s*+(?:to|until|till|through|thru|[-–—])(?!\w)", re.IGNORECASE)
"""What begins at a time goes on after it, unless its end is named too."""
_NAMES = re.compile(
    r"(?:[\w/\\_-]|\b(?:versions?|releases?|editions?|revisions?|builds?|tags?|api|spec|drafts?|protocol)"
    r"(?: is| was|:)? *+)$",
    re.IGNORECASE,
)
_NAMED = re.compile(r"[\w/\\_-]|\.\w")
"""A date that is glued to other signs, or that such a word introduces, is part of a name."""
_SHORT = re.compile(r"\w+ (?:sun|sat|wed|mar)$")  # "this sun": a word, unless it is written as a name
_UNTIL = re.compile(r"\b(?:until|till|by|before)\s*+$", re.IGNORECASE)
_BARE = re.compile(rf"(?:on )?{_WEEKDAY}", re.IGNORECASE)
_SET = re.compile(
    r"\b(?:will|going to|gonna|plan(?:s|ned|ning)?|upcoming|due|ha(?:ve|s) to|needs? to|must"
    r"|(?:am|is|are|['’](?:m|s|re)) (?:\w+ing|(?:on |this |next )?" + _WEEKDAY + r"))\b|['’]ll\b",
    re.IGNORECASE,
)
"""A weekday without more ("closed on Sunday") is one day only in a sentence that sets something for it."""


def passed(text: str, said: datetime, before: datetime) -> Span | None:
    """The latest time of the text that lay ahead of when it was said and has ended before a moment; None if there is
    none, or if a time of it has not ended yet.
    """
    ahead = [span for sentence in sentences(text) for span in _ahead(sentence, said)]
    last = max(ahead, key=lambda span: span.end, default=None)
    return last if last is not None and last.end < before else None


def _ahead(sentence: str, said: datetime) -> Iterator[Span]:
    if _AGAIN.search(sentence):
        return
    done = 0
    for span in read_spans(sentence, said):
        start = sentence.index(span.phrase, done)
        done = start + len(span.phrase)
        if span.start > said and _is_plan(span.phrase.rstrip("."), sentence[:start], sentence[done:]):
            yield span


def _is_plan(phrase: str, before: str, after: str) -> bool:
    if _NAMES.search(before) or _NAMED.match(after) or _SHORT.match(phrase):
        return False
    if (_BEGINS.search(before) or _GOES_ON.match(phrase)) and not _ENDS.match(after):
        return False
    if not _BARE.fullmatch(phrase) or _UNTIL.search(before):
        return True
    return _SET.search(before + phrase + after) is not None


_DAY = timedelta(days=1)


def last_day(span: Span) -> str:
    """As people say it: a span's end is exclusive."""
    return str((span.end - _DAY).date())
