"""Time in questions, read without a model: windows, events to anchor on, sides of a comparison, the recent, the order.

`read_question` is a function of the text and the moment of asking. It reads in linear time, never raises, and leaves
alone what it does not know. The result is evidence for recall, not a filter.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from holdfast.recall.when.anchors import read_anchors
from holdfast.recall.when.asked import BEGINNING, END, Anchor, Asked, Recency, Relation, Window
from holdfast.recall.when.parts import read_parts
from holdfast.recall.when.reading import Asking, Reading
from holdfast.recall.when.relative import WEEKDAY
from holdfast.recall.when.sides import read_sides
from holdfast.recall.when.wants import asks_when, looks_ahead, read_order, read_recency, wants_several
from holdfast.recall.when.windows import opened, read_windows
from holdfast.spans import MONTH

__all__ = ["read_question"]

_READ_CHARS = 1000
"""So much of a text is read as a question; the rest goes into the topic as it is. A longer one is a document."""

_QUOTED = re.compile(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|‘[^’\n]{1,200}’|(?<![\w'])'[^'\n]{1,200}'(?!\w)")
_MEASURE = re.compile(  # asks how far, and is no topic; "how many days did I ski" is one
    r"\bhow (?:many (?:more )?(?:days|weeks|months|years|hours)|long|much time)"
    r" (?:ago|later|(?:(?:had|have|has) )?(?:passed|elapsed|gone by))\b"
    r"|\b(?:lately|recently|of late|these days|nowadays|right now|at the moment|just now)\b",
    re.IGNORECASE,
)
_NAME = re.compile(  # "in March" is said by turns too; "last week" is not what a turn of that week says
    rf"\b(?:{MONTH}|{WEEKDAY}|spring|summer|autumn|fall|winter)\b|\b(?:19|20)\d\d\b", re.IGNORECASE
)
_PRONOUN = re.compile(r"\b(?:it|them|one)\b")
_SPACES = re.compile(r"\s+")


def read_question(text: str, now: datetime) -> Asked:
    """What the question asks for besides its words, seen from the moment of asking."""
    read, rest = text[:_READ_CHARS], text[_READ_CHARS:]
    masked = _QUOTED.sub(lambda match: "\0" * len(match[0]), read.replace("\n", " "))
    if not BEGINNING.year + 20 < now.year < END.year - 20:
        return Asked(text, text.strip())  # a clock that is not set: no time can be told from it
    moment = now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)
    asking = Asking(masked, moment, looks_ahead(masked))
    found = read_windows(asking)
    bare = _blanked(masked, [window.place for window, _ in found])
    places = read_sides(read, bare)
    anchors = tuple(one for one in read_anchors(read, bare) if not _inside((one.place[0],) * 2, places))
    topic = _topic(read, masked, found, names=True)
    windows = [
        _beside(anchors, window, asking)
        for window, reading in found
        if not (reading.spent or _inside(window.place, places))
    ]
    core = _topic(read, masked, found, names=False)
    timed = any(window.start <= moment for window in windows)
    return Asked(
        text=text,
        topic=topic + rest if rest else topic.rstrip(" ,?"),
        windows=tuple(windows),
        anchors=anchors,
        sides=_sides([read[start:end] for start, end in places]),
        parts=() if places else read_parts(read, masked),
        recency=Recency.NONE if places or rest else read_recency(masked, core, timed, asking.ahead),
        order=read_order(bare),
        several=wants_several(bare),
        ahead=asking.ahead,
        asks_when=asks_when(masked),
    )


def _blanked(text: str, places: list[tuple[int, int]]) -> str:
    for start, end in places:
        text = text[:start] + "\0" * (end - start) + text[end:]
    return text


def _topic(read: str, masked: str, found: list[tuple[Window, Reading]], names: bool) -> str:
    """The question without its time words; what is quoted and the names of feasts stay, other names if they may."""
    cut: list[tuple[int, int, str]] = []
    for window, reading in found:
        start, end = window.place
        kept = read[slice(*reading.stays)] if reading.stays else ""
        cut.append((start, end, " ".join(_NAME.findall(read[start:end])) if names and not kept else kept))
    bare = _blanked(masked, [window.place for window, _ in found])
    cut += [(*match.span(), "") for match in _MEASURE.finditer(bare)]
    for start, end, kept in sorted(cut, reverse=True):
        read = f"{read[:start]} {kept} {read[end:]}"
    return _SPACES.sub(" ", read).replace(" ?", "?").replace(" ,", ",").lstrip(" ,?")


def _sides(sides: list[str]) -> tuple[str, ...]:
    """Each side as a text that can be fetched alone: "I bought it" takes along what it is."""
    whole = [side for side in sides if not _PRONOUN.search(side)]
    return tuple(side if side in whole or not whole else f"{side} ({whole[0]})" for side in sides)


def _inside(place: tuple[int, int], places: tuple[tuple[int, int], ...]) -> bool:
    return any(start <= place[0] and place[1] <= end for start, end in places)


def _beside(anchors: tuple[Anchor, ...], window: Window, asking: Asking) -> Window:
    """A time inside an event ("before the trip in May") is the event's: what is asked for lies before it."""
    for anchor in anchors:
        if anchor.relation is not Relation.DURING and _inside(window.place, (anchor.place,)):
            start, end = opened(anchor.relation, (window.start, window.end), asking)
            if BEGINNING <= start < end <= END:
                certainty = round(window.certainty * 0.8, 2)
                return Window(start, end, certainty, anchor.phrase, anchor.place)
    return window
