"""Time: what callers give as a time, the calendar as ranges of days, and times that a sentence names.

Everything is UTC; ranges have an exclusive end, weeks start on Monday, and seasons are those of the northern
hemisphere. Outside years 1 to 9999 the calendar raises ValueError or OverflowError.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dateutil.relativedelta import relativedelta

from holdfast.errors import BadTime
from holdfast.text.words import compile_late

Moment = datetime | str
"""A datetime (naive means UTC), an ISO string, or a relative time: "7 days ago", "yesterday"."""

TimeRange = tuple[datetime, datetime]
"""Start and exclusive end."""

_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_AGO = compile_late(r"(\d{1,9}|[a-z]+)\s+(second|minute|hour|day|week|month|year)s?\s+ago")
_NUMBERED = compile_late(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})")
_YEAR_MONTH = compile_late(r"\d{4}-\d{2}")
_LAST = compile_late(r"last\s+(week|month|year)")


def before(now: datetime, delta: timedelta) -> datetime:
    """Return the time that is so much earlier, or the first of the calendar: a clock may be at year 1."""
    first = datetime.min.replace(tzinfo=UTC)
    return now - delta if now - first > delta else first


def read_moment(value: Moment, now: datetime) -> datetime:
    """Convert what a caller gave to an aware UTC datetime; raises BadTime."""
    if isinstance(value, str):
        value = _read_text(value, now)
    elif not isinstance(value, datetime):
        raise BadTime(f"a time must be a datetime or a string, not {type(value).__name__}")
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise BadTime(f"{value.isoformat()} is outside the calendar in UTC") from error


def _read_text(text: str, now: datetime) -> datetime:
    words = text.strip().lower()
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        pass  # not ISO: the relative forms follow
    if words == "now":
        return now
    try:
        if found := _AGO.fullmatch(words):
            count = int(found[1]) if found[1].isdigit() else _NUMBERS[found[1]]
            return now - relativedelta(**{f"{found[2]}s": count})  # type: ignore[arg-type]
        if found := _LAST.fullmatch(words):
            return now - relativedelta(**{f"{found[1]}s": 1})  # type: ignore[arg-type]
    except (OverflowError, ValueError) as error:
        if now.year == 1:  # a clock that was reset: nothing is older
            return datetime.min.replace(tzinfo=UTC)
        raise BadTime(f"{text!r} is outside the calendar") from error
    except KeyError:
        pass  # "some days ago": an unknown number
    named = _numbered(words).removeprefix("the ").strip(" .")
    spans = read_spans(f"since {named}", now)  # the nearest in the past, unless it says otherwise
    if len(spans) == 1 and spans[0].phrase.removeprefix("since ").strip(" .") == named:
        return spans[0].start
    raise BadTime(
        f'cannot read the time {text[:80]!r}: give ISO ("2026-05-01", "2026-05-01T08:30:00Z"), a day ("19.01.2024", '
        '"3 May", "last Tuesday"), a month ("May 2024") or "7 days ago"'
    )


def _numbered(words: str) -> str:
    """Write a day in numbers, the day before the month, as ISO: 19.01.2024, 5.1.24, 5/1/2024; a month as its first."""
    if _YEAR_MONTH.fullmatch(words):
        return f"{words}-01"
    if not (found := _NUMBERED.fullmatch(words)):
        return "May".join(words.split("may"))  # a month here, never the verb
    day, month, year = (int(found[at]) for at in (1, 3, 4))
    return f"{year + 2000 if year < 100 else year:04}-{month:02}-{day:02}"


# The calendar as time ranges.

SEASON_MONTH = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


def midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def day_of(at: datetime, days: int = 0) -> TimeRange:
    return _days(midnight(at) + timedelta(days=days))


def week_of(at: datetime) -> TimeRange:
    return _days(midnight(at) - timedelta(days=at.weekday()), 7)


def month_of(year: int, number: int) -> TimeRange:
    return _months(year, number, 1)


def quarter_of(year: int, number: int) -> TimeRange:
    return _months(year, 3 * number - 2, 3)


def season_of(year: int, name: str) -> TimeRange:
    """Return the season that starts in the year: winter 2025 ends in March 2026."""
    return _months(year, SEASON_MONTH[name], 3)


def year_of(number: int) -> TimeRange:
    return datetime(number, 1, 1, tzinfo=UTC), datetime(number + 1, 1, 1, tzinfo=UTC)


def easter(number: int) -> datetime:
    """Return Easter Sunday of the western churches (the anonymous Gregorian computus)."""
    a, b, c = number % 19, number // 100, number % 100
    d, e, f = b // 4, b % 4, (b + 8) // 25
    h = (19 * a + b - d - (b - f + 1) // 3 + 15) % 30
    step = (32 + 2 * e + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * step) // 451
    months, days = divmod(h + step - 7 * m + 114, 31)
    return datetime(number, months, days + 1, tzinfo=UTC)


def holiday_of(year: int, name: str) -> TimeRange:
    """Return a holiday of HOLIDAYS in that year, with the days that people include."""
    return HOLIDAYS[name](year)


def _days(start: datetime, days: int = 1) -> TimeRange:
    return start, start + timedelta(days=days)


def _months(year: int, number: int, months: int) -> TimeRange:
    start = datetime(year, number, 1, tzinfo=UTC)
    return start, start + relativedelta(months=months)


def _fixed(day: int, month: int, days: int = 1) -> Callable[[int], TimeRange]:
    return lambda year: _days(datetime(year, month, day, tzinfo=UTC), days)


def _movable(from_easter: int, days: int = 1) -> Callable[[int], TimeRange]:
    return lambda year: _days(easter(year) + timedelta(days=from_easter), days)


def _weekday(in_month: int, weekday: int, nth: int, later: int = 0, days: int = 1) -> Callable[[int], TimeRange]:
    """Return the nth such weekday of the month (the last for -1), some days later."""

    def place(year: int) -> TimeRange:
        first, end = month_of(year, in_month)
        if nth > 0:
            start = first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1) + later)
        else:
            start = end - timedelta(days=(end.weekday() - weekday - 1) % 7 + 1 - later)
        return _days(start, days)

    return place


def _new_year(year: int) -> TimeRange:
    return _days(datetime(year, 1, 1, tzinfo=UTC) - timedelta(days=1), 2)


HOLIDAYS: dict[str, Callable[[int], TimeRange]] = {
    "christmas": _fixed(24, 12, 3),
    "christmas eve": _fixed(24, 12),
    "christmas day": _fixed(25, 12),
    "boxing day": _fixed(26, 12),
    "new year": _new_year,
    "new year's": _new_year,
    "new year's day": _fixed(1, 1),
    "new year's eve": _fixed(31, 12),
    "easter": _movable(-2, 4),
    "easter sunday": _movable(0),
    "easter monday": _movable(1),
    "good friday": _movable(-2),
    "ash wednesday": _movable(-46),
    "thanksgiving": _weekday(11, 3, 4, days=4),
    "black friday": _weekday(11, 3, 4, later=1),
    "memorial day": _weekday(5, 0, -1),
    "labor day": _weekday(9, 0, 1),
    "halloween": _fixed(31, 10),
    "valentine's day": _fixed(14, 2),
    "valentine's": _fixed(14, 2),
    "st patrick's day": _fixed(17, 3),
    "independence day": _fixed(4, 7),
}
"""Holidays whose day follows from the year, in English. Those of other calendars (Eid, Diwali, the lunar new year) are
not computed, so they are never read as a time."""


# Times that a sentence names ("yesterday", "in May", "next Thursday", "three weeks ago"), as ranges of days. A range
# covers what the words allow: "in May" is the whole of May, "on Tuesday" one day. Resolved against the time of the
# sentence, without a model, in linear time; what is not understood is ignored, never guessed.


@dataclass(frozen=True, slots=True)
class Span:
    """A phrase and the time it means; the end is exclusive."""

    phrase: str
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class _Reference:
    """Time of a sentence, and whether it looks back (-1), ahead (1) or neither (0)."""

    at: datetime
    tense: int


Reader = Callable[["re.Match[str]", _Reference], TimeRange | None]

_MAX_SPANS = 24  # of one text; a text with more is a calendar, not a sentence
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

# The tense decides which May "in May" means.
_PAST = compile_late(
    r"\b(?:was|were|had|did|went|came|got|made|took|been|met|left|began|since|ago"
    r"|[a-z]{2,}ed(?<![^gr]eed)(?<!hundred))\b",  # agreed and freed, but not need, speed, exceed
    re.IGNORECASE,
)
_PLANNED = compile_late(
    r"\b(?:will|going to|gonna|plan(?:s|ning)? to|planned for|next|tomorrow|upcoming|due|want to|hope to|starts?)\b"
    r"|['’]ll\b",
    re.IGNORECASE,
)


def read_spans(text: str, said_at: datetime) -> list[Span]:
    """Return every time that the text names, in order; of overlapping readings the more specific one."""
    said = _Reference(said_at.astimezone(UTC), -1 if _PAST.search(text) else 1 if _PLANNED.search(text) else 0)
    found: list[tuple[int, int, Span]] = []
    for pattern, read in _READERS:
        for match in pattern.finditer(text):
            if len(found) >= _MAX_SPANS:
                break
            if any(match.start() < end and start < match.end() for start, end, _ in found):
                continue
            try:
                span = read(match, said)
            except (ValueError, OverflowError):
                continue  # the 31st of June, or a year outside the calendar
            if span is not None:
                found.append((match.start(), match.end(), Span(match.group().strip(), *span)))
    return [span for _, _, span in sorted(found, key=lambda one: one[0])]


def _nearest_year(month: int, day: int, said: _Reference) -> int:
    """Return the year in which this day is nearest to the sentence: in December "5 January" is next year's."""
    at = said.at
    years = [year for year in (at.year - 1, at.year, at.year + 1) if 1 <= year <= 9999]
    days = {year: datetime(year, month, min(day, 28), tzinfo=UTC) for year in years}
    fitting = [year for year in years if said.tense == 0 or (days[year] <= at) == (said.tense < 0)]
    return min(fitting or years, key=lambda year: abs(days[year] - at))


def _read_day_month(match: re.Match[str], said: _Reference) -> TimeRange | None:
    month, day = MONTH_NUMBER[match["month"].lower()], int(match["day"])
    if match["month"] == "may" and not match["year"]:
        return None  # "we may 12 of them"
    year = int(match["year"]) if match["year"] else _nearest_year(month, day, said)
    return day_of(datetime(year, month, day, tzinfo=UTC))


def _read_month(match: re.Match[str], said: _Reference) -> TimeRange | None:
    month = MONTH_NUMBER[match["month"].lower()]
    if match["year"]:
        return month_of(int(match["year"]), month)
    which, at = (match["which"] or "").lower(), said.at
    if which == "last":
        return month_of(at.year if month < at.month else at.year - 1, month)
    if which == "next":
        return month_of(at.year if month > at.month else at.year + 1, month)
    return month_of(_nearest_year(month, 1 if said.tense < 0 else 15, said), month)


def _read_word(match: re.Match[str], said: _Reference) -> TimeRange | None:
    word = match[0].lower()
    days = {"yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0,
            "this evening": 0, "tomorrow": 1, "the day before yesterday": -2, "the day after tomorrow": 2}  # fmt: skip
    return day_of(said.at, days[word])


def _around(at: datetime, count: int, unit: str) -> TimeRange:
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


def _read_relative(match: re.Match[str], said: _Reference) -> TimeRange | None:
    at = said.at
    step = {"last": -1, "this": 0, "next": 1, "the past": -1, "past": -1}[match[1].lower()]
    unit = match[2].lower()
    if unit == "week":
        return week_of(at + timedelta(weeks=step))
    if unit == "weekend":
        return _days(week_of(at + timedelta(weeks=step))[0] + timedelta(days=5), 2)
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


def _read_weekday(match: re.Match[str], said: _Reference) -> TimeRange | None:
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
    return compile_late(text, re.IGNORECASE)


_READERS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (_pattern(r"\b(\d{4})-(\d{2})-(\d{2})\b"),
     lambda match, said: day_of(datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC))),
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
    (_pattern(rf"\b({_NUMBER}) ({_UNIT})s? (?:ago|back|earlier)\b"),
     lambda match, said: _around(said.at, -_count(match[1]), match[2].lower())),
    (_pattern(rf"\bin ({_NUMBER}) ({_UNIT})s?(?:' time|’ time| time)?\b"),
     lambda match, said: _around(said.at, _count(match[1]), match[2].lower())),
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
    (_pattern(rf"\b{_FROM} ((?:19|20)\d{{2}})\b"), lambda match, said: year_of(int(match[1]))),
)  # fmt: skip
