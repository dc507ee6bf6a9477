"""Times with a name in the calendar: dates, months, years, quarters, decades, seasons and feasts, in English.

A table of patterns and readers. A month, a season or a year alone is read only where the words before it say that it is
a time: "in June" is, "what did June cook" is not.
"""

from __future__ import annotations

import re
from calendar import isleap
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from holdfast.days import FEASTS, Stretch, day_of, feast_of, month_of, quarter_of, season_of, year_of
from holdfast.recall.when.reading import NUMBER, Asking, Reader, Reading, count_of, told
from holdfast.spans import MONTH, MONTH_NUMBER

__all__ = ["NAMED"]


def _year_named(words: str, now: datetime) -> int:
    if words.isdigit():
        return int(words)
    if words.endswith(" ago"):
        return now.year - count_of(words.rsplit(" ", 2)[0])[0]
    return now.year + {"last": -1, "this": 0, "next": 1}[words.split()[0]]


def _recurring(match: re.Match[str], place: Callable[[int], Stretch], asking: Asking, certainty: float) -> Reading:
    """One of the many Mays: the year if it is named, else what "last", "this", "next" or the tense choose."""
    if year := told(match, "year"):
        return Reading(place(_year_named(year, asking.now)), certainty)
    which = told(match, "which")
    return Reading(_nearest(which, place, asking), certainty, None if which else place)


def _nearest(which: str, place: Callable[[int], Stretch], asking: Asking) -> Stretch:
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


# What may stand before a month, a season or a year that means a time. Names of people are rarely after the first kind.
_SURELY = re.compile(
    r"\b(?:in|since|until|till|during|between|throughout|early|late|mid|of|end of|start of)[ -](?:the )?$",
    re.IGNORECASE,
)
_LIKELY = re.compile(
    r"\b(?:by|from|for|around|about|through|before|after|over|the|my|our|and|or|to|year|prior to|on)[ -](?:the )?$",
    re.IGNORECASE,
)
_CHAIN = re.compile(
    rf"\b(?:{MONTH}|(?:19|20)\d\d)(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?: (?:and|to|or|through|until|till) | ?[-–] ?)$",
    re.IGNORECASE,
)
_ON = re.compile(r"\b(?:on|the|before|after|since|until|by|around|of|to|and) $", re.IGNORECASE)
_TIME_BEFORE = re.compile(
    r"\b(?:before|after|by|through|over|(?:planned|scheduled|plans?|set|booked|due) for) $", re.IGNORECASE
)
_GOES_ON = re.compile(rf" on(?:wards?)?\b| (?:to|until|till|through) (?:early |late |mid[ -])?{MONTH}\b", re.IGNORECASE)
_PEOPLE = {"jan", "april", "may", "june", "august", "march", "mar"}  # months that are names, verbs or "mar" too
_VERB_NEXT = re.compile(r" (?:[a-z]+ed|left|came|went|was|is|had|has|did|does|said|told|got|made|and I|will|be)\b")


def _before(asking: Asking, start: int) -> str:
    return asking.text[max(0, start - 24) : start]


def _read_iso(match: re.Match[str], asking: Asking) -> Reading | None:
    return Reading(day_of(datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC)), 1.0)


def _read_iso_month(match: re.Match[str], asking: Asking) -> Reading | None:
    return Reading(month_of(int(match[1]), int(match[2])), 0.9)


def _read_slashed(match: re.Match[str], asking: Asking) -> Reading | None:
    """7/22 or 22/7/2023; where both readings are possible, neither is taken."""
    first, second = int(match[1]), int(match[2])
    if (first > 12) == (second > 12):
        return None
    month, day = (first, second) if second > 12 else (second, first)
    if not told(match, "year") and not _ON.search(_before(asking, match.start())):
        return None
    return _recurring(match, _date(month, day), asking, 0.9)


def _date(month: int, day: int) -> Callable[[int], Stretch]:
    def place(year: int) -> Stretch:
        leap_day = (month, day) == (2, 29) and not isleap(year)
        return day_of(datetime(year, month, 28 if leap_day else day, tzinfo=UTC))

    return place


def _read_date(match: re.Match[str], asking: Asking) -> Reading | None:
    if match["month"] == "may" and not told(match, "year") and not _ON.search(_before(asking, match.start())):
        return None  # "we may 12 of them"
    place = _date(MONTH_NUMBER[told(match, "month")], int(match["day"]))
    return _recurring(match, place, asking, 0.95)


def _read_month(match: re.Match[str], asking: Asking) -> Reading | None:
    word, before = match["month"], _before(asking, match.start())
    if not told(match, "year") and not told(match, "which"):
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


def _read_season(match: re.Match[str], asking: Asking) -> Reading | None:
    name, before = told(match, "season"), _before(asking, match.start())
    if not told(match, "year") and not told(match, "which"):
        spoken = re.search(
            r"\b(?:in|over|during|since|until|till|by|before|after|of|from|throughout|through|all|early|late|mid)[ -]"
            r"(the )?$", before, re.IGNORECASE,
        )  # fmt: skip
        if spoken is None or (name in ("spring", "fall") and not spoken[1]):
            return None
    doubt = name == "winter" and told(match, "year") and not told(match, "slash")  # which end of the year?
    return _recurring(match, lambda year: season_of(year, name), asking, 0.5 if doubt else 0.7)


_FEAST_KEYS = {re.sub(r"['.]", "", name): name for name in FEASTS}
_FEAST_KEYS |= {"xmas": "christmas", "thanksgiving day": "thanksgiving", "saint patricks day": "st patrick's day",
                "labour day": "labor day", "new year eve": "new year's eve",
                "new year day": "new year's day"}  # fmt: skip


def _read_feast(match: re.Match[str], asking: Asking) -> Reading | None:
    name = _FEAST_KEYS[re.sub(r"['’.]", "", told(match, "feast"))]
    if not told(match, "year") and not told(match, "which"):
        before = _before(asking, match.start())
        if not (_SURELY.search(before) or _LIKELY.search(before) or re.search(r"\bat $", before, re.IGNORECASE)):
            return None
    early, late = (timedelta(days=5), timedelta(days=7)) if told(match, "days") else (timedelta(0), timedelta(0))

    def place(year: int) -> Stretch:
        start, end = feast_of(year, name)
        return start - early, end + late

    return replace(_recurring(match, place, asking, 0.8), stays=match.span("feast"))


def _read_quarter(match: re.Match[str], asking: Asking) -> Reading | None:
    number = int(match["quarter"])
    return _recurring(match, lambda year: quarter_of(year, number), asking, 0.9)


def _read_times_ago(match: re.Match[str], asking: Asking) -> Reading | None:
    """Two summers ago, the Christmas before last."""
    name, count = told(match, "name") or told(match, "before"), count_of(told(match, "count") or "two")[0]
    feast = name.removesuffix("es") if name.startswith("christmas") else name.removesuffix("s")
    near = [
        feast_of(asking.now.year - back, feast) if feast in FEASTS else season_of(asking.now.year - back, feast)
        for back in range(count + 2)
    ]
    return Reading([one for one in near if one[1] <= asking.now][count - 1], 0.7)


def _read_half(match: re.Match[str], asking: Asking) -> Reading | None:
    year = int(told(match, "year"))
    return Reading((quarter_of(year, 2 * int(match["half"]) - 1)[0], quarter_of(year, 2 * int(match["half"]))[1]), 0.9)


_DECADES = {"fifties": 1950, "sixties": 1960, "seventies": 1970, "eighties": 1980, "nineties": 1990}


def _read_decade(match: re.Match[str], asking: Asking) -> Reading | None:
    words = told(match, "decade").rstrip("s").rstrip("'’")
    first = int(words) if words.isdigit() else _DECADES[told(match, "decade")]
    if first < 100:
        first += 1900 if first >= 50 else 2000
    return Reading((year_of(first)[0], year_of(first + 9)[1]), 0.7)


_COUNTED = re.compile(r" ?(?:%|km\b|kg\b|euros?\b|dollars?\b|(?!was\b|is\b|has\b|does\b)[a-z]{3,}s\b)")


def _read_year(match: re.Match[str], asking: Asking) -> Reading | None:
    before = _before(asking, match.start())
    if not (_SURELY.search(before) or _LIKELY.search(before) or _CHAIN.search(before)):
        return None
    if _COUNTED.match(asking.text, match.end()):  # "about 2000 steps"
        return None
    return Reading(year_of(int(told(match, "year"))), 0.9)


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
    return re.compile(text, re.IGNORECASE)


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
