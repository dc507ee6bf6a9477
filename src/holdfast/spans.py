"""Times that a sentence names ("yesterday", "in May", "next Thursday", "three weeks ago"), as spans of days.

A span is what the words allow: "in May" is the whole of May, "on Tuesday" one day. Read against the moment it was said,
without a model, in linear time; what is not understood is left alone, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dateutil.relativedelta import relativedelta

from holdfast.days import day_of, month_of, season_of, week_of, year_of

__all__ = ["COUNT", "DAY_NUMBER", "MONTH", "MONTH_NUMBER", "Span", "read_spans"]


@dataclass(frozen=True, slots=True)
class Span:
    """A phrase and the time it means; the end is exclusive."""

    phrase: str
    start: datetime
    end: datetime


_MOST = 24  # times read in one text: what names more is a calendar, not a sentence
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
MONTH_NUMBER = {name[:length]: number for number, name in enumerate(_MONTHS, 1) for length in (3, len(name))}
MONTH_NUMBER["sept"] = 9
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DAY_NUMBER = {name[:length]: number for number, name in enumerate(_DAYS) for length in (3, len(name))}
COUNT = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "a couple of": 2, "couple of": 2, "a couple": 2, "a few": 3, "few": 3,
}  # fmt: skip

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_FROM = r"(?:in|since|until|by|during|from|of)"
_DAY = r"(?:mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thu(?:rs(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
_DAY_LONG = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_NUMBER = r"(?:\d{1,3}|a couple of|a couple|a few|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_UNIT = r"(?:day|week|fortnight|month|year|hour|minute)"

# What is told lies behind, what is planned ahead; it decides which May "in May" is.
_TOLD = re.compile(
    r"\b(?:was|were|had|did|went|came|got|made|took|been|met|left|began|since|ago"
    r"|[a-z]{2,}ed(?<![^gr]eed)(?<!hundred))\b",  # agreed and freed, but not need, speed, exceed
    re.IGNORECASE,
)
_PLANNED = re.compile(
    r"\b(?:will|going to|gonna|plan(?:s|ning)? to|planned for|next|tomorrow|upcoming|due|want to|hope to|starts?)\b"
    r"|['’]ll\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Said:
    """When a sentence was said, and whether it looks back (-1), ahead (1) or neither (0)."""

    at: datetime
    tense: int


Reader = Callable[["re.Match[str]", _Said], tuple[datetime, datetime] | None]


def read_spans(text: str, said_at: datetime) -> list[Span]:
    """Every time the text names, in the order it names them; overlapping readings keep the longer phrase."""
    said = _Said(said_at.astimezone(UTC), -1 if _TOLD.search(text) else 1 if _PLANNED.search(text) else 0)
    found: list[tuple[int, int, Span]] = []
    for pattern, read in _READERS:
        for match in pattern.finditer(text):
            if len(found) >= _MOST:
                break
            if any(match.start() < end and start < match.end() for start, end, _ in found):
                continue
            try:
                span = read(match, said)
            except (ValueError, OverflowError):
                continue  # the 31st of June, or a year no calendar has: no time was named
            if span is not None:
                found.append((match.start(), match.end(), Span(match.group().strip(), *span)))
    return [span for _, _, span in sorted(found, key=lambda one: one[0])]


def _nearest_year(month: int, day: int, said: _Said) -> int:
    """The year in which this day is nearest to when it was said: in December "5 January" is next year's."""
    at = said.at
    years = [year for year in (at.year - 1, at.year, at.year + 1) if 1 <= year <= 9999]
    days = {year: datetime(year, month, min(day, 28), tzinfo=UTC) for year in years}
    fitting = [year for year in years if said.tense == 0 or (days[year] <= at) == (said.tense < 0)]
    return min(fitting or years, key=lambda year: abs(days[year] - at))


def _read_iso(match: re.Match[str], said: _Said) -> tuple[datetime, datetime] | None:
    return day_of(datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC))


def _read_day_month(match: re.Match[str], said: _Said) -> tuple[datetime, datetime] | None:
    month, day = MONTH_NUMBER[match["month"].lower()], int(match["day"])
    if match["month"] == "may" and not match["year"]:
        return None  # "we may 12 of them"
    year = int(match["year"]) if match["year"] else _nearest_year(month, day, said)
    return day_of(datetime(year, month, day, tzinfo=UTC))


def _read_month(match: re.Match[str], said: _Said) -> tuple[datetime, datetime] | None:
    month = MONTH_NUMBER[match["month"].lower()]
    if match["year"]:
        return month_of(int(match["year"]), month)
    which, at = (match["which"] or "").lower(), said.at
    if which == "last":
        return month_of(at.year if month < at.month else at.year - 1, month)
    if which == "next":
        return month_of(at.year if month > at.month else at.year + 1, month)
    return month_of(_nearest_year(month, 15, said), month)


def _read_year(match: re.Match[str], said: _Said) -> tuple[datetime, datetime] | None:
    return year_of(int(match[1]))


def _read_word(match: re.Match[str], said: _Said) -> tuple[datetime, datetime] | None:
    word = match[0].lower()
    days = {"yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0,
            "this evening": 0, "tomorrow": 1, "the day before yesterday": -2, "the day after tomorrow": 2}  # fmt: skip
    return day_of(said.at, days[word])


def _read_ago(match: re.Match[str], said: _Said) -> tuple[datetime, datetime] | None:
    count, unit = _count(match[1]), match[2].lower()
    return _around(said.at, -count, unit)


def _read_in(match: re.Match[str], said: _Said) -> tuple[datetime, datetime] | None:
    return _around(said.at, _count(match[1]), match[2].lower())


def _around(at: datetime, count: int, unit: str) -> tuple[datetime, datetime]:
    if unit in ("hour", "minute"):
        return day_of(at + timedelta(**{f"{unit}s": count}))
    if unit == "day":
        return day_of(at, count)
    if unit in ("week", "fortnight"):
        return week_of(at + timedelta(weeks=count * (2 if unit == "fortnight" else 1)))
    if unit == "month":
        there = at + relativedelta(months=count)
        return month_of(there.year, there.month)
    return year_of(at.year + count)


def _read_relative(match: re.Match[str], said: _Said) -> tuple[datetime, datetime] | None:
    at = said.at
    step = {"last": -1, "this": 0, "next": 1, "the past": -1, "past": -1}[match[1].lower()]
    unit = match[2].lower()
    if unit == "week":
        return week_of(at + timedelta(weeks=step))
    if unit == "weekend":
        start = week_of(at + timedelta(weeks=step))[0] + timedelta(days=5)
        return start, start + timedelta(days=2)
    if unit == "month":
        there = at + relativedelta(months=step)
        return month_of(there.year, there.month)
    if unit == "year":
        return year_of(at.year + step)
    start, end = season_of(at.year, unit)
    if step < 0 and end > at:
        start, end = season_of(at.year - 1, unit)
    if step > 0 and start < at:
        start, end = season_of(at.year + 1, unit)
    return start, end


def _read_weekday(match: re.Match[str], said: _Said) -> tuple[datetime, datetime] | None:
    at = said.at
    wanted, today = DAY_NUMBER[match["day"].lower()[:3]], at.weekday()
    which = (match["which"] or "").lower()
    ahead = (wanted - today) % 7
    if which in ("last", "past"):
        return day_of(at, ahead - 7)
    if which == "next":
        return day_of(at, ahead or 7)
    if which == "this":
        return day_of(at, wanted - today)
    past = said.tense < 0 or (said.tense == 0 and ahead > 3)
    return day_of(at, ahead - 7 if past and ahead else ahead)


def _count(words: str) -> int:
    return int(words) if words.isdigit() else COUNT[words.lower()]


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_READERS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (_pattern(r"\b(\d{4})-(\d{2})-(\d{2})\b"), _read_iso),
    (
        _pattern(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{MONTH})\b\.?(?:,? (?P<year>\d{{4}}))?"),
        _read_day_month,
    ),
    (
        _pattern(rf"\b(?P<month>{MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,? (?P<year>\d{{4}}))?"),
        _read_day_month,
    ),
    (_pattern(r"\b(?:the day before yesterday|the day after tomorrow|yesterday|last night|today|tonight|tomorrow"
              r"|this (?:morning|afternoon|evening))\b"), _read_word),
    (_pattern(rf"\b({_NUMBER}) ({_UNIT})s? (?:ago|back|earlier)\b"), _read_ago),
    (_pattern(rf"\bin ({_NUMBER}) ({_UNIT})s?(?:' time|’ time| time)?\b"), _read_in),
    (
        _pattern(r"\b(last|this|next|the past|past) (weekend|week|month|year|spring|summer|autumn|fall|winter)\b"),
        _read_relative,
    ),
    (_pattern(rf"\b(?P<which>last|next|this|past) (?P<day>{_DAY})\b"), _read_weekday),
    (_pattern(rf"\b(?:on )?(?P<which>)(?P<day>{_DAY_LONG})\b(?!s)"), _read_weekday),
    (_pattern(rf"\b(?P<which>last|next|this) (?P<month>{MONTH})\b(?P<year>)"), _read_month),
    (
        _pattern(rf"\b{_FROM} (?:early |late |mid-?)?(?P<which>)(?P<month>{MONTH})\b\.?(?:,? (?P<year>\d{{4}}))?"),
        _read_month,
    ),
    (_pattern(rf"\b(?P<which>)(?P<month>{MONTH})\.? (?P<year>(?:19|20)\d{{2}})\b"), _read_month),
    (_pattern(rf"\b{_FROM} ((?:19|20)\d{{2}})\b"), _read_year),
)  # fmt: skip
