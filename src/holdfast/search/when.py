"""Windows: the times a question names, with the words around them that open, move, part or blur them, in English.

Another language is another table of readers like NAMED and RELATIVE, and another set of the patterns below.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import MAXYEAR, UTC, datetime, timedelta
from enum import StrEnum

from holdfast.search.calendar import NAMED, RELATIVE, SHAPES, Shape, TimeQuery, TimeReading
from holdfast.text.time import TimeRange, day_of, year_of
from holdfast.text.words import compile_late

# --- Parts of a question besides its words: times, order, events, several things.


BEGINNING, END = datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
"""Ends of an open range ("until June"); a time beyond them is not taken for one."""

_CLOSE = timedelta(days=7)  # "when I was in Lisbon": people speak of it within days
_ANCHOR_CERTAINTY = 0.5  # the event was found by a search, and may be another one


class Relation(StrEnum):
    """Relation of the asked time to an event."""

    BEFORE = "before"
    AFTER = "after"
    DURING = "during"
    SINCE = "since"
    UNTIL = "until"


class Intent(StrEnum):
    """Kind of answer that a question asks for."""

    ORDINARY = "ordinary"
    THEMES = "themes"
    """What the talk was about, at all or in a time (RECALL-8)."""
    RECENT = "recent"
    """Recent talk as such: `recent` answers, inside the windows if there are any (RECALL-7)."""
    GATHER = "gather"
    """Many things: a summary, an order, a list or a number of what was said about a topic over time."""


@dataclass(frozen=True, slots=True)
class Window:
    """A time that the question names; the end is exclusive, `place` is the place of the phrase in the question."""

    start: datetime
    end: datetime
    certainty: float
    phrase: str
    place: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Anchor:
    """An event that defines the asked time: "after I started at Acme", "the week after the wedding".

    `distance` is how far from it ("two weeks after"), `reach` the length of the range next to it ("the week after").
    """

    relation: Relation
    words: str
    phrase: str
    place: tuple[int, int]
    distance: timedelta | None = None
    reach: timedelta | None = None

    def window(self, event: datetime, now: datetime) -> Window:
        """Return the asked time, given the moment of the event."""
        day = timedelta(days=1)
        event, now = max(BEGINNING, min(event, END)), max(BEGINNING, min(now, END))
        if self.distance is not None:
            centre = event - self.distance if self.relation is Relation.BEFORE else event + self.distance
            slack = max(day, self.distance / 4)
            start, end = centre - slack, centre + slack
        elif self.relation in (Relation.BEFORE, Relation.UNTIL):
            start, end = (event - self.reach if self.reach else BEGINNING), event + day
        elif self.relation in (Relation.AFTER, Relation.SINCE):
            start, end = event, (event + self.reach + day if self.reach else max(now, event) + day)
        else:
            start, end = event - _CLOSE, event + _CLOSE
        start = max(BEGINNING, min(start, END - day))
        return Window(start, max(start + day, min(end, END)), _ANCHOR_CERTAINTY, self.phrase, self.place)


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question with its times, events and other wishes."""

    text: str
    windows: tuple[Window, ...] = ()
    """Times that are asked for; several mean any of them."""
    anchors: tuple[Anchor, ...] = ()
    sides: tuple[str, ...] = ()
    """Events that a comparison needs, each to be fetched on its own (and read on its own: it may name a time)."""
    parts: tuple[str, ...] = ()
    """The questions inside a question of several parts."""
    intent: Intent = Intent.ORDINARY
    ahead: bool = False
    """The question looks ahead: what is planned was said before the window, not inside it."""


_MOST = 24  # times read in one question: what names more is a calendar
_LOOK = 48  # characters before a time that may belong to it


@dataclass(frozen=True, slots=True)
class TimeMention:
    """A time in the question: its place and its meaning."""

    start: int
    end: int
    reading: TimeReading


def read_windows(asking: TimeQuery) -> list[tuple[Window, TimeReading]]:
    """Return every window that the question names, in order."""
    found: list[TimeMention] = []
    for one in _in_named_year(_find(asking)):
        found.append(_shape(asking, one, found[-1].end if found else 0))
    windows: list[tuple[Window, TimeReading]] = []
    taken = 0
    for one in _join(asking, found):
        one = _open(asking, one, taken)
        taken = one.end
        start, end = one.reading.stretch
        if BEGINNING <= start < end <= END:
            phrase = asking.text[one.start : one.end]
            windows.append((Window(start, end, one.reading.certainty, phrase, (one.start, one.end)), one.reading))
    return windows


# Every time has a digit or one of these; most questions have none, and are spared the forty patterns.
_HINT = compile_late(
    r"\d|\b(?:jan|feb|mar|apr|may|ju[nl]|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|spring|summer|autumn|fall|winter"
    r"|christmas|xmas|boxing|new year|easter|good|ash|thanksgiving|black|memorial|labou?r|halloween|valentine|st|saint"
    r"|independence|fifties|sixties|seventies|eighties|nineties|yesterday|to(?:day|night|morrow)|last|past|previous"
    r"|current|this|these|next|coming|following|other day|weekend)"
    r"|\b(?:ago|back|days?|weeks?|months?|years?|quarter)\b",
    re.IGNORECASE,
)


def _find(asking: TimeQuery) -> list[TimeMention]:
    if not _HINT.search(asking.text):
        return []
    taken = bytearray(len(asking.text) + 1)
    found: list[TimeMention] = []
    for pattern, read in (*NAMED, *RELATIVE):
        for match in pattern.finditer(asking.text):
            if len(found) >= _MOST:
                break
            if any(taken[match.start() : match.end()]):
                continue
            try:
                reading = read(match, asking)
            except (ValueError, OverflowError, IndexError, StopIteration):
                continue  # the 31st of June, or a year that no calendar has: no time was named
            if reading is not None:
                found.append(TimeMention(match.start(), match.end(), reading))
                taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
    return sorted(found, key=lambda one: one.start)


_RANGE_START = compile_late(r"\b(?:between|from|since|anytime from)(?: the| about| around)* $", re.IGNORECASE)
_RANGE_GAP = compile_late(r" ?(?:to|until|till|through|thru|[-–])(?: the| about| around)* ?", re.IGNORECASE)
_RANGE_AND = compile_late(r" and (?:the )?", re.IGNORECASE)


def _join(asking: TimeQuery, found: list[TimeMention]) -> list[TimeMention]:
    """Two times with "between … and", "from … to" around them are one."""
    joined: list[TimeMention] = []
    at = 0
    while at < len(found):
        one = found[at]
        opening = _RANGE_START.search(asking.text[max(0, one.start - _LOOK) : one.start])
        after = found[at + 1] if at + 1 < len(found) else None
        gap = asking.text[one.end : after.start] if after and after.start - one.end < 24 else "?"
        if after and (_RANGE_GAP.fullmatch(gap) or (opening and _RANGE_AND.fullmatch(gap))):
            start = one.start - (opening.end() - opening.start() if opening else 0)
            joined.append(TimeMention(start, after.end, _range(one.reading, after.reading)))
            at += 2
        else:
            joined.append(one)
            at += 1
    return joined


def _range(first: TimeReading, last: TimeReading) -> TimeReading:
    """Read a range between two times; a first one without a year is the nearest before the last."""
    start, end = first.stretch[0], last.stretch[1]
    for year in (end.year - 2, end.year - 1, end.year):
        placed = _in_year(first, year)
        if placed and placed[0] <= last.stretch[0]:
            start = placed[0]
    return TimeReading((start, end), min(first.certainty, last.certainty), whole=True)


def _in_year(reading: TimeReading, year: int) -> TimeRange | None:
    """The time in that year; none if its words name a year, or if that year has no such day."""
    try:
        return reading.yearly(year) if reading.yearly else None
    except (ValueError, OverflowError):
        return None  # the fifth Friday of May 2023


def _is_year(stretch: TimeRange) -> bool:
    """A whole year; the last one of the calendar has no end, and is none."""
    first = stretch[0].year
    return first < MAXYEAR and stretch == year_of(first)


def _in_named_year(found: list[TimeMention]) -> list[TimeMention]:
    """The one year that is named elsewhere counts for what names none: "my Halloween costume in 2024"."""
    years = [one for one in found if _is_year(one.reading.stretch)]
    if len(years) != 1 or not any(one.reading.yearly for one in found):
        return found
    year = years[0].reading.stretch[0].year
    placed: list[TimeMention] = []
    for one in found:
        if stretch := _in_year(one.reading, year):
            one = replace(one, reading=replace(one.reading, stretch=stretch, yearly=None))
        elif one is years[0]:
            one = replace(one, reading=replace(one.reading, spent=True))
        placed.append(one)
    return placed


_DAYS_BEFORE = compile_late(
    r"\b(?:from |between )?(?:the )?(\d{1,2})(?:st|nd|rd|th)?(?: (?:to|and|until|till|through) | ?[-–] ?)(?:the )?$",
    re.IGNORECASE,
)
_DAYS_AFTER = compile_late(
    r"(?: (?:to|and|until|through) | ?[-–] ?)(?:the )?(\d{1,2})(?:st|nd|rd|th)?\b(?! \w+s\b)", re.I
)
_OPEN = compile_late(
    r"\b(?P<way>ever since|since|starting|after|before|prior to|until|till|(?<!been )up to|by|from)"
    r"(?: (?:in|on|at))?(?: the)? $",
    re.IGNORECASE,
)
_PLAIN = compile_late(
    r"\b(?:(?:back )?(?:in|on|at|during|over|from|of|within|throughout|through|as of|dated|year)(?: the| year)?|the) $",
    re.I,
)
_ONWARDS = compile_late(r" (?:on|onwards?|forward)\b", re.IGNORECASE)

_WAYS = {"before": Relation.BEFORE, "prior to": Relation.BEFORE, "until": Relation.UNTIL, "till": Relation.UNTIL,
         "up to": Relation.UNTIL, "by": Relation.UNTIL, "after": Relation.AFTER}  # fmt: skip


def _shape(asking: TimeQuery, one: TimeMention, after: int) -> TimeMention:
    """The time with the words before it that change it taken in: "early", "the week after", "about"."""
    one = _days_to(asking, one, after)
    for pattern, change in SHAPES:
        if match := _left(pattern, asking, one, after):
            try:
                one = _taken(one, match, _changed(match, one.reading, change))
            except (ValueError, OverflowError):
                continue  # the fifth Sunday of February: the month remains
    return one


def _changed(match: re.Match[str], reading: TimeReading, change: Shape) -> TimeReading:
    yearly = reading.yearly
    if yearly is None:
        return change(match, reading)

    def place(year: int) -> TimeRange:
        return change(match, replace(reading, stretch=yearly(year))).stretch

    return replace(change(match, reading), yearly=place)


def _open(asking: TimeQuery, one: TimeMention, after: int) -> TimeMention:
    """The time with "since", "before", "until" taken in; other small words before it only belong to the phrase."""
    match = None if one.reading.whole else _left(_OPEN, asking, one, after)
    if match:
        way, onwards = match["way"].lower(), _ONWARDS.match(asking.text, one.end)
        if way != "from" or onwards:
            stretch = opened(_WAYS.get(way, Relation.SINCE), one.reading.stretch, asking)
            reading = replace(one.reading, stretch=stretch, certainty=round(one.reading.certainty * 0.8, 2))
            one = _taken(one, match, reading)
            return replace(one, end=onwards.end()) if way == "from" and onwards else one
    match = _left(_PLAIN, asking, one, after)
    return _taken(one, match, one.reading) if match else one


def _left(pattern: re.Pattern[str], asking: TimeQuery, one: TimeMention, after: int) -> re.Match[str] | None:
    """The words right before the time, but not those of the time before it."""
    return pattern.search(asking.text[max(after, one.start - _LOOK) : one.start])


def _taken(one: TimeMention, match: re.Match[str], reading: TimeReading) -> TimeMention:
    return TimeMention(one.start - (match.end() - match.start()), one.end, reading)


def opened(relation: Relation, stretch: TimeRange, asking: TimeQuery) -> TimeRange:
    """Before, after, since or until a time; towards now it ends with today, unless the question looks ahead."""
    start, end = stretch
    last = END if asking.ahead else max(day_of(asking.now)[1], end)
    if relation is Relation.BEFORE:
        return BEGINNING, start
    if relation is Relation.UNTIL:
        return BEGINNING, end
    if relation is Relation.AFTER:
        return (end, last) if end < last else (start, last)
    return start, last


def _days_to(asking: TimeQuery, one: TimeMention, after: int) -> TimeMention:
    """Read "from 3 to 9 May", "3-9 May" and "May 3-9"."""
    start, end = one.reading.stretch
    if end - start != timedelta(days=1):
        return one
    try:
        match = _left(_DAYS_BEFORE, asking, one, after)
        if match and (first := start.replace(day=int(match[1]))) < start:
            return _taken(one, match, replace(one.reading, stretch=(first, end), whole=True))
        match = _DAYS_AFTER.match(asking.text, one.end)
        if match and (last := start.replace(day=int(match[1]))) > start:
            opening = _left(_RANGE_START, asking, one, after)
            begin = one.start - (len(opening[0]) if opening else 0)
            reading = replace(one.reading, stretch=(start, last + timedelta(days=1)), whole=True)
            return TimeMention(begin, match.end(), reading)
    except ValueError:
        pass  # no such day in the month: the number belongs to something else
    return one
