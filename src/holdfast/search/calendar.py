"""Times with a name in the calendar: dates, months, years, quarters, decades, seasons and feasts, in English.

A table of patterns and readers. A month, a season or a year alone is read only where the words before it say that it is
a time: "in June" is, "what did June cook" is not.
"""

from __future__ import annotations

import re
from calendar import isleap
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from dateutil.relativedelta import relativedelta

from holdfast.text.time import (
    COUNT,
    DAY_NUMBER,
    HOLIDAYS,
    MONTH,
    MONTH_NUMBER,
    TimeRange,
    day_of,
    holiday_of,
    midnight,
    month_of,
    quarter_of,
    season_of,
    week_of,
    year_of,
)
from holdfast.text.words import compile_late

# --- Shared by the readers of times: the query, the reading, and numbers in words.


NUMBER = (
    r"(?:\d{1,3}|a couple of|a couple|couple of|a few|few|several|an?|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|eleven|twelve)"
)
_LOOSE = {"a couple of": (2, 3), "a couple": (2, 3), "couple of": (2, 3), "a few": (2, 5), "few": (2, 5),
          "several": (3, 7)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TimeQuery:
    """A question's text with quotations blanked, the moment of asking, and whether it is about the future."""

    text: str
    now: datetime
    ahead: bool


@dataclass(frozen=True, slots=True)
class TimeReading:
    """A time as read."""

    stretch: TimeRange
    certainty: float
    yearly: Callable[[int], TimeRange] | None = None
    """The time in any year, where the words name none: another May is possible."""
    whole: bool = False
    """Runs up to now by itself, and so takes no "before" or "since"."""
    spent: bool = False
    """Only says the year of another time, and is no window of its own."""


Reader = Callable[["re.Match[str]", TimeQuery], TimeReading | None]


def group(match: re.Match[str], name: str) -> str:
    """Return a named group in lower case; "" if it is empty or the pattern has no such group."""
    return (match.groupdict().get(name) or "").strip().lower()


def count_of(words: str) -> tuple[int, int]:
    """The least and the most that a number may mean: "a few" is two to five."""
    if words in _LOOSE:
        return _LOOSE[words]
    count = int(words) if words.isdigit() else COUNT[words]
    return count, count


def _year_named(words: str, now: datetime) -> int:
    if words.isdigit():
        return int(words)
    if words.endswith(" ago"):
        return now.year - count_of(words.rsplit(" ", 2)[0])[0]
    return now.year + {"last": -1, "this": 0, "next": 1}[words.split()[0]]


def _recurring(
    match: re.Match[str], place: Callable[[int], TimeRange], asking: TimeQuery, certainty: float
) -> TimeReading:
    """One of the many Mays: the year if it is named, else what "last", "this", "next" or the tense choose."""
    if year := group(match, "year"):
        return TimeReading(place(_year_named(year, asking.now)), certainty)
    which = group(match, "which")
    return TimeReading(_nearest(which, place, asking), certainty, None if which else place)


def _nearest(which: str, place: Callable[[int], TimeRange], asking: TimeQuery) -> TimeRange:
    now = asking.now
    near = [place(now.year + step) for step in range(-2, 3)]
    if which == "this":
        return next((one for one in near if one[0] <= now < one[1]), near[2])
    if which in ("next", "coming", "the coming"):
        return next(one for one in near if one[0] > now)
    if which:  # last, past, previous
        return [one for one in near if one[1] <= now][-1]
    if asking.ahead:
        return next(one for one in near if one[1] > now)
    return [one for one in near if one[0] <= now][-1]


# Words before a month, a season or a year that means a time. Names of people are rarely after the first kind.
_SURELY = compile_late(
    r"\b(?:in|since|until|till|during|between|throughout|early|late|mid|of|end of|start of)[ -](?:the )?$",
    re.IGNORECASE,
)
_LIKELY = compile_late(
    r"\b(?:by|from|for|around|about|through|before|after|over|the|my|our|and|or|to|year|prior to|on)[ -](?:the )?$",
    re.IGNORECASE,
)
_CHAIN = compile_late(
    rf"\b(?:{MONTH}|(?:19|20)\d\d)(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?: (?:and|to|or|through|until|till) | ?[-–] ?)$",
    re.IGNORECASE,
)
_ON = compile_late(r"\b(?:on|the|before|after|since|until|by|around|of|to|and) $", re.IGNORECASE)
_TIME_BEFORE = compile_late(
    r"\b(?:before|after|by|through|over|(?:planned|scheduled|plans?|set|booked|due) for) $", re.IGNORECASE
)
_GOES_ON = compile_late(
    rf" on(?:wards?)?\b| (?:to|until|till|through) (?:early |late |mid[ -])?{MONTH}\b", re.IGNORECASE
)
_PEOPLE = {"jan", "april", "may", "june", "august", "march", "mar"}  # months that are names, verbs or "mar" too
_VERB_NEXT = compile_late(r" (?:[a-z]+ed|left|came|went|was|is|had|has|did|does|said|told|got|made|and I|will|be)\b")


def _before(asking: TimeQuery, start: int) -> str:
    return asking.text[max(0, start - 24) : start]


def _read_iso(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    return TimeReading(day_of(datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC)), 1.0)


def _read_iso_month(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    return TimeReading(month_of(int(match[1]), int(match[2])), 0.9)


def _read_dotted(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    """19.01.2024, or "on 5.1.24": a short year alone may be a version."""
    day, month, year = int(match[1]), int(match[2]), int(match[3])
    if year < 100 and not _ON.search(_before(asking, match.start())):
        return None
    return TimeReading(day_of(datetime(year + 2000 if year < 100 else year, month, day, tzinfo=UTC)), 1.0)


def _read_slashed(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    """7/22 or 22/7/2023; where both readings are possible, neither is taken."""
    first, second = int(match[1]), int(match[2])
    if (first > 12) == (second > 12):
        return None
    month, day = (first, second) if second > 12 else (second, first)
    if not group(match, "year") and not _ON.search(_before(asking, match.start())):
        return None
    return _recurring(match, _date(month, day), asking, 0.9)


def _date(month: int, day: int) -> Callable[[int], TimeRange]:
    def place(year: int) -> TimeRange:
        leap_day = (month, day) == (2, 29) and not isleap(year)
        return day_of(datetime(year, month, 28 if leap_day else day, tzinfo=UTC))

    return place


def _read_date(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    if match["month"] == "may" and not group(match, "year") and not _ON.search(_before(asking, match.start())):
        return None  # "we may 12 of them"
    place = _date(MONTH_NUMBER[group(match, "month")], int(match["day"]))
    return _recurring(match, place, asking, 0.95)


def _read_month(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    word, before = match["month"], _before(asking, match.start())
    if not group(match, "year") and not group(match, "which"):
        if not (_SURELY.search(before) or _CHAIN.search(before)):
            doubtful = word.lower() in _PEOPLE or not word[0].isupper()
            time_before = _TIME_BEFORE.search(before)
            if not time_before and _GOES_ON.match(asking.text, match.end()):
                time_before = re.search(r"\bfrom $", before, re.IGNORECASE)
            person = _VERB_NEXT.match(asking.text, match.end())
            if person or not (time_before if doubtful else _LIKELY.search(before)) or word == "may":
                return None
        elif re.search(r"\bof $", before) and not word[0].isupper():
            return None
    number = MONTH_NUMBER[word.lower()]
    return _recurring(match, lambda year: month_of(year, number), asking, 0.9)


def _read_season(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    name, before = group(match, "season"), _before(asking, match.start())
    if not group(match, "year") and not group(match, "which"):
        spoken = re.search(
            r"\b(?:in|over|during|since|until|till|by|before|after|of|from|throughout|through|all|early|late|mid)[ -]"
            r"(the )?$", before, re.IGNORECASE,
        )  # fmt: skip
        if spoken is None or (name in ("spring", "fall") and not spoken[1]):
            return None
    doubt = name == "winter" and group(match, "year") and not group(match, "slash")  # which end of the year?
    return _recurring(match, lambda year: season_of(year, name), asking, 0.5 if doubt else 0.7)


_FEAST_KEYS = {re.sub(r"['.]", "", name): name for name in HOLIDAYS}
_FEAST_KEYS |= {"xmas": "christmas", "thanksgiving day": "thanksgiving", "saint patricks day": "st patrick's day",
                "labour day": "labor day", "new year eve": "new year's eve",
                "new year day": "new year's day"}  # fmt: skip


def _read_feast(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    name = _FEAST_KEYS[re.sub(r"['’.]", "", group(match, "feast"))]
    if not group(match, "year") and not group(match, "which"):
        before = _before(asking, match.start())
        if not (_SURELY.search(before) or _LIKELY.search(before) or re.search(r"\bat $", before, re.IGNORECASE)):
            return None
    early, late = (timedelta(days=5), timedelta(days=7)) if group(match, "days") else (timedelta(0), timedelta(0))

    def place(year: int) -> TimeRange:
        start, end = holiday_of(year, name)
        return start - early, end + late

    return _recurring(match, place, asking, 0.8)


def _read_quarter(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    number = int(match["quarter"])
    return _recurring(match, lambda year: quarter_of(year, number), asking, 0.9)


def _read_times_ago(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    """Two summers ago, the Christmas before last."""
    name, count = group(match, "name") or group(match, "before"), count_of(group(match, "count") or "two")[0]
    feast = name.removesuffix("es") if name.startswith("christmas") else name.removesuffix("s")
    near = [
        holiday_of(asking.now.year - back, feast) if feast in HOLIDAYS else season_of(asking.now.year - back, feast)
        for back in range(count + 2)
    ]
    return TimeReading([one for one in near if one[1] <= asking.now][count - 1], 0.7)


def _read_half(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    year = int(group(match, "year"))
    return TimeReading(
        (quarter_of(year, 2 * int(match["half"]) - 1)[0], quarter_of(year, 2 * int(match["half"]))[1]), 0.9
    )


_DECADES = {"fifties": 1950, "sixties": 1960, "seventies": 1970, "eighties": 1980, "nineties": 1990}


def _read_decade(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    words = group(match, "decade").rstrip("s").rstrip("'’")
    first = int(words) if words.isdigit() else _DECADES[group(match, "decade")]
    if first < 100:
        first += 1900 if first >= 50 else 2000
    return TimeReading((year_of(first)[0], year_of(first + 9)[1]), 0.7)


_COUNTED = compile_late(r" ?(?:%|km\b|kg\b|euros?\b|dollars?\b|(?!was\b|is\b|has\b|does\b)[a-z]{3,}s\b)")


def _read_year(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    before = _before(asking, match.start())
    if not (_SURELY.search(before) or _LIKELY.search(before) or _CHAIN.search(before)):
        return None
    if _COUNTED.match(asking.text, match.end()):  # "about 2000 steps"
        return None
    return TimeReading(year_of(int(group(match, "year"))), 0.9)


_YEAR = rf"(?:(?:,? (?:of |in )?|,)(?P<year>(?:19|20)\d{{2}}|(?:last|this|next) year|{NUMBER} years? ago)\b)?"
_WHICH = r"(?:(?P<which>last|this past|this|next|past|previous|the coming|coming) )?"
_ORDINAL = r"(?:st|nd|rd|th)?"
_FEAST = (
    r"(?P<feast>christmas(?: eve| day)?|xmas|boxing day|new year(?>(?:['’]?s)?)(?: eve| day)?"
    r"|easter(?: sunday| monday)?|good friday|ash wednesday|thanksgiving(?: day)?|black friday|memorial day"
    r"|labou?r day|halloween"
    r"|valentine['’]?s(?: day)?|(?:st|saint)\.? patrick['’]?s day|independence day)"
)


def _pattern(text: str) -> re.Pattern[str]:
    return compile_late(text, re.IGNORECASE)


NAMED: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (
        _pattern(
            rf"\b(?P<count>{NUMBER}) (?P<name>(?:spring|summer|autumn|fall|winter|easter|thanksgiving|halloween)s?"
            r"|christmas(?:es)?) ago\b"
            r"|\bthe (?P<before>spring|summer|autumn|fall|winter|easter|christmas) before last\b"
        ),
        _read_times_ago,
    ),
    (_pattern(r"\b(\d{4})-(\d{2})-(\d{2})\b"), _read_iso),
    (_pattern(r"\b((?:19|20)\d{2})-(0[1-9]|1[0-2])\b(?!-)"), _read_iso_month),
    (_pattern(r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.((?:19|20)\d{2}|\d{2})\b(?!\.?\d)"), _read_dotted),
    (_pattern(r"\b(\d{1,2})/(\d{1,2})(?:/(?P<year>(?:19|20)\d{2}))?\b(?!/)"), _read_slashed),
    (_pattern(rf"\b(?P<day>\d{{1,2}}){_ORDINAL}(?: of)? (?P<month>{MONTH})\b\.?{_YEAR}"), _read_date),
    (_pattern(rf"\b{_WHICH}(?P<month>{MONTH})\.? (?:the )?(?P<day>\d{{1,2}}){_ORDINAL}\b(?!:){_YEAR}"), _read_date),
    (
        _pattern(rf"\b{_WHICH}{_FEAST}(?P<days> (?:break|holidays?|vacation|season))?\b(?! resolution){_YEAR}"),
        _read_feast,
    ),
    (
        _pattern(rf"\b{_WHICH}(?P<season>spring|summer|autumn|fall|winter)\b{_YEAR}(?P<slash>[/-]\d{{2,4}}\b)?"),
        _read_season,
    ),
    (_pattern(rf"\b{_WHICH}Q(?P<quarter>[1-4])\b{_YEAR}"), _read_quarter),
    (_pattern(r"\bH(?P<half>[12]) (?:of )?(?P<year>(?:19|20)\d{2})\b"), _read_half),
    (_pattern(rf"\b{_WHICH}(?P<month>{MONTH})\b(?!['’]s)\.?{_YEAR}"), _read_month),
    (
        _pattern(
            r"(?<=the |rly |ate |mid |mid-)"
            r"(?P<decade>(?:19|20)\d0['’]?s|[5-9]0['’]?s|fifties|sixties|seventies|eighties|nineties)\b"
        ),
        _read_decade,
    ),
    (_pattern(r"(?<![\d.,$€£#/])(?<!\d-)(?P<year>(?:19|20)\d{2})\b(?![\d:%/]|[.,]\d)"), _read_year),
)  # fmt: skip


# --- Times relative to the moment of asking: "yesterday evening", "three Fridays ago", "the past two weeks", in
# English.


UNIT = r"(?:day|week|fortnight|month|year|decade)"
WEEKDAY = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"

# Hours of the day with slack on both sides: the asker's clock is not known to be that of UTC.
_HOURS = {"morning": (3, 13), "afternoon": (10, 20), "evening": (15, 30), "night": (17, 32)}
_RELATIVE_COUNTED = {*COUNT} - {"few", "a few"}
_LOOSER = 0.15  # what "a few" takes from the certainty of a count


def back(now: datetime, count: int, unit: str) -> datetime:
    """Return the moment a number of units before now."""
    if unit in ("week", "weekend", "fortnight"):
        return now - timedelta(weeks=count * (2 if unit == "fortnight" else 1))
    if unit == "decade":
        return now - relativedelta(years=10 * count)
    return now - relativedelta(**{f"{unit}s": count})  # type: ignore[arg-type]


def _slack(count: int, unit: str) -> timedelta:
    """Return the slack around the exact day: more for larger units and counts, none for "two days"."""
    if unit == "day":
        return timedelta(days=0 if count <= 2 else max(1, count // 5))
    if unit in ("week", "fortnight"):
        return timedelta(days=3 + count // 2)
    return timedelta(days=min(12 + 3 * count, 45) if unit == "month" else 183)


_AGO_CERTAINTY = {"day": 0.9, "week": 0.8, "fortnight": 0.75, "month": 0.7, "year": 0.6, "decade": 0.4}


def _read_ago(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    (least, most), unit = count_of(group(match, "count")), group(match, "unit")
    if unit in ("hour", "minute"):
        step = timedelta(**{f"{unit}s": 1})
        return TimeReading((asking.now - step * (most * 1.5 + 1), asking.now - step * (least / 2)), 0.8)
    start = midnight(back(asking.now, most, unit)) - _slack(most, unit)
    end = midnight(back(asking.now, least, unit)) + _slack(least, unit) + timedelta(days=1)
    certainty = _AGO_CERTAINTY[unit] - (_LOOSER if least < most else 0)
    return TimeReading((start, min(end, _today(asking)[1])), round(certainty, 2))


def _read_half_ago(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    months = 6 if group(match, "half").startswith("half") else 18
    middle = midnight(back(asking.now, months, "month"))
    return TimeReading((middle - timedelta(days=45), middle + timedelta(days=45)), 0.6)


def _today(asking: TimeQuery) -> TimeRange:
    return day_of(asking.now)


_WORDS = {"the day before yesterday": -2, "yesterday": -1, "today": 0, "tonight": 0, "this": 0, "tomorrow": 1,
          "the day after tomorrow": 2, "last": -1, "earlier today": 0, "later today": 0}  # fmt: skip


def _read_word(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    stretch = day_of(asking.now, _WORDS[group(match, "word")])
    part = "night" if group(match, "word") == "tonight" else group(match, "part")
    return TimeReading(_part_of(stretch, part), 0.8 if part else 0.95)


def _part_of(day: TimeRange, part: str) -> TimeRange:
    if not part:
        return day
    first, last = _HOURS[part]
    return day[0] + timedelta(hours=first), day[0] + timedelta(hours=last)


def _read_other_day(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    return TimeReading((day_of(asking.now, -10)[0], _today(asking)[1]), 0.5)


def _read_rolling(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    """The past two weeks: from then up to today."""
    words = group(match, "count") or ("few" if group(match, "plural") else "one")  # "the past weeks"
    most, unit = count_of(words)[1], group(match, "unit")
    if unit == "hour":
        return TimeReading((asking.now - timedelta(hours=most), _today(asking)[1]), 0.8, whole=True)
    if unit == "weekend":
        return TimeReading((week_of(back(asking.now, most, "week"))[0], _today(asking)[1]), 0.7, whole=True)
    start = midnight(back(asking.now, most, unit))
    return TimeReading(
        (start, _today(asking)[1]), 0.8 if words.isdigit() or words in _RELATIVE_COUNTED else 0.65, whole=True
    )


def _read_ahead(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    """A time only in a question that looks ahead ("in two weeks"); else it is how long something took."""
    if not asking.ahead and not group(match, "time"):
        return None
    (least, most), unit = count_of(group(match, "count")), group(match, "unit")
    start = midnight(back(asking.now, -least, unit)) - _slack(least, unit)
    end = midnight(back(asking.now, -most, unit)) + _slack(most, unit) + timedelta(days=1)
    return TimeReading((max(start, _today(asking)[0]), end), 0.7)


_STEP = {"last": -1, "previous": -1, "this past": -1, "this": 0, "current": 0, "next": 1, "the coming": 1, "coming": 1,
         "the following": 1}  # fmt: skip


def _unit_at(now: datetime, step: int, unit: str) -> TimeRange:
    """Return the calendar week, month, … a number of steps from now."""
    if unit == "week":
        return week_of(now + timedelta(weeks=step))
    if unit == "weekend":
        start = week_of(now + timedelta(weeks=step))[0] + timedelta(days=5)
        return start, start + timedelta(days=2)
    there = back(now, -step * (3 if unit == "quarter" else 1), "month" if unit in ("month", "quarter") else "year")
    if unit == "month":
        return month_of(there.year, there.month)
    if unit == "quarter":
        return quarter_of(there.year, (there.month + 2) // 3)
    return year_of(now.year + step)


def _read_unit(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    step, unit = _STEP[group(match, "which")], group(match, "unit")
    start, end = _unit_at(asking.now, step, unit)
    part = group(match, "part")
    if part == "earlier":
        end = min(end, _today(asking)[1])
    elif part == "later":
        start = max(start, _today(asking)[0])
    return TimeReading((start, end), 0.85)


def _read_before_last(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    step = -2 if group(match, "way") == "before last" else 2
    unit = group(match, "unit")
    if unit in DAY_NUMBER:
        first = _weekday_back(asking.now, unit, 1)[0]
        return TimeReading(day_of(first, -7 if step < 0 else 14), 0.8)
    return TimeReading(_unit_at(asking.now, step, unit), 0.85)


def _weekday_back(now: datetime, name: str, count: int) -> TimeRange:
    """The last such weekday before today, or the one `count` - 1 weeks before it."""
    return day_of(now, (DAY_NUMBER[name[:3]] - now.weekday()) % 7 - 7 * count)


def _read_weekdays_ago(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    least, most = count_of(group(match, "count"))
    name = group(match, "day")
    return TimeReading((_weekday_back(asking.now, name, most)[0], _weekday_back(asking.now, name, least)[1]), 0.8)


def _read_weekday(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    now, name, which = asking.now, group(match, "day"), group(match, "which")
    ahead = (DAY_NUMBER[name[:3]] - now.weekday()) % 7
    part = group(match, "part")
    if group(match, "week") or group(match, "weeks"):
        weeks = -count_of(group(match, "weeks"))[0] if group(match, "weeks") else _STEP[group(match, "week")]
        monday = _unit_at(now, weeks, "week")[0]
        return TimeReading(_part_of(day_of(monday, DAY_NUMBER[name[:3]]), part), 0.9)
    if which in ("next", "coming", "the coming"):
        days = ahead or 7
    elif which == "this" and asking.ahead:
        days = ahead
    elif which:  # on Saturday "last Friday" may be yesterday or the one before
        days = ahead - 7
    else:
        days = ahead if asking.ahead else ahead - 7  # on a Monday, "on Monday" is a week ago: today is "today"
    doubtful = which == "last" and days >= -2
    return TimeReading(_part_of(day_of(now, days), part), 0.6 if doubtful else 0.85)


def _read_this_time(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    """A few days or weeks around the day ("this time last year")."""
    then = midnight(back(asking.now, 1, group(match, "unit")))
    slack = timedelta(days={"week": 1, "month": 4, "year": 14}[group(match, "unit")])
    return TimeReading((then - slack, then + slack + timedelta(days=1)), 0.7)


def _read_weekend(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    """The one that is, or was, or in a question that looks ahead is to come."""
    step = 0 if asking.ahead or asking.now.weekday() >= 5 else -1
    return TimeReading(_unit_at(asking.now, step, "weekend"), 0.75)


def _read_weekends_ago(match: re.Match[str], asking: TimeQuery) -> TimeReading | None:
    least, most = count_of(group(match, "count"))
    return TimeReading((_unit_at(asking.now, -most, "weekend")[0], _unit_at(asking.now, -least, "weekend")[1]), 0.8)


_PART = r"(?P<part> (?:morning|afternoon|evening|night))?"

RELATIVE: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (_pattern(r"\bthis time last (?P<unit>week|month|year)\b"), _read_this_time),
    (_pattern(r"\b(?P<half>half a year|(?:a|one) year and a half) ago\b"), _read_half_ago),
    (_pattern(rf"\b(?P<weeks>{NUMBER}) weeks? ago,? (?:on )?(?P<day>{WEEKDAY}){_PART}\b"), _read_weekday),
    (_pattern(r"\b(?:on|over|at) the weekend\b(?! of| before| after)"), _read_weekend),
    (_pattern(rf"\b(?P<count>{NUMBER}) (?P<unit>{UNIT}|hour|minute)s? (?:ago|back)\b"), _read_ago),
    (_pattern(rf"\b(?P<count>{NUMBER}) (?P<day>{WEEKDAY})s? ago\b"), _read_weekdays_ago),
    (_pattern(rf"\b(?P<count>{NUMBER}) weekends? ago\b"), _read_weekends_ago),
    (
        _pattern(rf"\bthe (?P<unit>weekend|week|month|quarter|year|{WEEKDAY}) (?P<way>before last|after next)\b"),
        _read_before_last,
    ),
    (
        _pattern(
            r"\b(?P<word>the day before yesterday|the day after tomorrow|yesterday|earlier today|later today|today"
            rf"|tonight|tomorrow){_PART}\b"
        ),
        _read_word,
    ),
    (_pattern(r"\b(?P<word>last)(?P<part> (?:night|evening))\b"), _read_word),
    (_pattern(r"\b(?P<word>this)(?P<part> (?:morning|afternoon|evening))\b"), _read_word),
    (_pattern(r"\bthe other day\b"), _read_other_day),
    (
        _pattern(
            rf"\b(?:the |these |this )?(?:past|last) (?P<count>{NUMBER}) (?P<unit>{UNIT}|weekend|hour)(?P<plural>s?)\b"
        ),
        _read_rolling,
    ),
    (
        _pattern(rf"\b(?:(?:the|these) (?:past|last)|past) (?P<unit>{UNIT})(?P<plural>s?)\b(?! (?:of|in)\b)"),
        _read_rolling,
    ),
    (_pattern(rf"\b(?P<day>{WEEKDAY}){_PART},? (?:of )?(?P<week>last|this|next) week\b"), _read_weekday),
    (_pattern(rf"\b(?P<week>last|this|next) week,? (?:on )?(?P<day>{WEEKDAY}){_PART}\b"), _read_weekday),
    (
        _pattern(
            r"\b(?:(?P<part>earlier|later) )?(?P<which>this past|last|this|next|previous|current|the coming|coming"
            rf"|the following) (?P<unit>weekend|week|month|quarter|year)\b(?! of\b|(?<=week) in {MONTH}\b)"
        ),
        _read_unit,
    ),
    (
        _pattern(
            r"(?<!every )(?<!each )(?<!\ba )\b(?:(?P<which>this past|last|next|this|past|previous|the coming|coming) )?"
            rf"(?P<day>{WEEKDAY}){_PART}\b"
            rf"(?! (?:mornings|afternoons|evenings|nights|before|after)\b| (?:of|in) {MONTH}\b)"
        ),
        _read_weekday,
    ),
    (_pattern(rf"\bin (?P<count>{NUMBER}) (?P<unit>{UNIT})s?(?P<time>['’]? time| from now)?\b"), _read_ahead),
)


# --- Words before a time that change it: "the first week of", "early", "the week after", "about", in English.


Shape = Callable[["re.Match[str]", TimeReading], TimeReading]

_SHAPES_ORDINAL = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5,
            "last": -1, "final": -1}  # fmt: skip
_FAR = compile_late(
    rf"\b(?P<count>{NUMBER}|the) (?P<unit>{UNIT}|weekend|{WEEKDAY})s? (?P<way>before|after|following|prior to) "
    r"(?:the )?$",
    re.IGNORECASE,
)
_NTH = compile_late(
    rf"\b(?:the )?(?P<nth>{'|'.join(_SHAPES_ORDINAL)}) (?P<unit>week|weekend|day|half|quarter|month|{WEEKDAY})"
    r" (?:of|in) (?:the )?$",
    re.IGNORECASE,
)
_SOME = compile_late(
    rf"\b(?:the )?(?P<nth>first|last) (?P<count>{NUMBER}) (?P<unit>{UNIT})s? (?:of|in) (?:the )?$", re.IGNORECASE
)
_THIRD = compile_late(
    r"\b(?:(?:in |at |towards? |around )?(?:the )?(?P<third>beginning|start|middle|end) of (?:the )?"
    r"|(?:the )?(?P<part>early|mid|late)[ -](?:in )?)$",
    re.IGNORECASE,
)
_WEEK_OF = compile_late(r"\b(?:the )?(?P<unit>week|weekend) of (?:the )?$", re.IGNORECASE)
_BLUR = compile_late(
    r"\b(?:about|around|roughly|approximately|circa|maybe|sometime|some time)(?: in| on| around| the)* $", re.IGNORECASE
)


def _nth(match: re.Match[str], reading: TimeReading) -> TimeReading:
    (start, end), number, unit = reading.stretch, _SHAPES_ORDINAL[group(match, "nth")], group(match, "unit")
    if unit in DAY_NUMBER or unit == "weekend":
        wanted = DAY_NUMBER.get(unit, 5)
        first = start + timedelta(days=(wanted - start.weekday()) % 7 + 7 * (number - 1))
        if number < 0:
            first = end - timedelta(days=(end.weekday() - wanted - 1) % 7 + 1)
        stretch = first, first + timedelta(days=2 if unit == "weekend" else 1)
    else:
        step = {"week": relativedelta(weeks=1), "day": relativedelta(days=1), "month": relativedelta(months=1),
                "half": relativedelta(months=6), "quarter": relativedelta(months=3)}[unit]  # fmt: skip
        if unit == "half" and end - start < timedelta(days=90):
            step = relativedelta(days=(end - start).days // 2)
        first = end - step if number < 0 else start + step * (number - 1)
        stretch = first, first + step
    if not start <= stretch[0] < end:
        raise ValueError(match[0])
    return TimeReading(stretch, round(reading.certainty * 0.95, 2))


def _some(match: re.Match[str], reading: TimeReading) -> TimeReading:
    """The first three months of 2024, the last two weeks of June."""
    (start, end), most, unit = reading.stretch, count_of(group(match, "count"))[1], group(match, "unit")
    stretch = (start, back(start, -most, unit)) if group(match, "nth") == "first" else (back(end, most, unit), end)
    if not start <= stretch[0] < stretch[1] <= end:
        raise ValueError(match[0])
    return replace(reading, stretch=stretch)


def _third(match: re.Match[str], reading: TimeReading) -> TimeReading:
    start, end = reading.stretch
    which = {"beginning": 0, "start": 0, "early": 0, "middle": 1, "mid": 1, "end": 2, "late": 2}[
        group(match, "third") or group(match, "part")
    ]
    step = (end - start) // 3
    return replace(
        reading,
        stretch=(midnight(start + step * which), midnight(start + step * (which + 1)) if which < 2 else end),
        certainty=round(reading.certainty * 0.8, 2),
    )


def _week_around(match: re.Match[str], reading: TimeReading) -> TimeReading:
    start, end = week_of(reading.stretch[0])
    return replace(
        reading, stretch=(start + timedelta(days=5), end) if group(match, "unit") == "weekend" else (start, end)
    )


def _far_from(match: re.Match[str], reading: TimeReading) -> TimeReading:
    """The week after Christmas is the seven days that follow; two weeks after it is a day, with some slack."""
    start, end = reading.stretch
    count, unit, ahead = group(match, "count"), group(match, "unit"), group(match, "way") in ("after", "following")
    certainty = round(reading.certainty * 0.85, 2)
    if unit in DAY_NUMBER:
        days = (DAY_NUMBER[unit] - end.weekday()) % 7 if ahead else -((start.weekday() - DAY_NUMBER[unit] - 1) % 7 + 1)
        return replace(reading, stretch=day_of(end if ahead else start, days), certainty=certainty)
    if count == "the":
        if unit == "weekend":
            edge = week_of(start)[0] + timedelta(days=5)
            first = (
                edge + timedelta(days=7)
                if ahead and edge < end
                else edge
                if ahead or edge < start
                else edge - timedelta(days=7)
            )
            return replace(reading, stretch=(first, first + timedelta(days=2)), certainty=certainty)
        stretch = (end, back(end, -1, unit)) if ahead else (back(start, 1, unit), start)
        return replace(reading, stretch=stretch, certainty=certainty)
    least, most = count_of(count)
    slack = timedelta(days={"day": 0, "week": 3, "weekend": 3, "fortnight": 4, "month": 10}.get(unit, 120))
    if ahead:
        return replace(
            reading,
            stretch=(back(end, -least, unit) - slack - timedelta(days=1), back(end, -most, unit) + slack),
            certainty=certainty,
        )
    return replace(
        reading,
        stretch=(back(start, most, unit) - slack, back(start, least, unit) + slack + timedelta(days=1)),
        certainty=certainty,
    )


def _blurred(match: re.Match[str], reading: TimeReading) -> TimeReading:
    start, end = reading.stretch
    more = timedelta(days=max(1, (end - start).days // 2))
    return replace(reading, stretch=(start - more, end + more), certainty=round(reading.certainty * 0.75, 2))


SHAPES: tuple[tuple[re.Pattern[str], Shape], ...] = (
    (_SOME, _some),
    (_NTH, _nth),
    (_THIRD, _third),
    (_WEEK_OF, _week_around),
    (_FAR, _far_from),
    (_BLUR, _blurred),
)
