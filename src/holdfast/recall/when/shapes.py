"""Words before a time that change it: "the first week of", "early", "the week after", "about", in English."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from dateutil.relativedelta import relativedelta

from holdfast.days import day_of, midnight, week_of
from holdfast.recall.when.reading import NUMBER, Reading, count_of, told
from holdfast.recall.when.relative import UNIT, WEEKDAY, back
from holdfast.spans import DAY_NUMBER

__all__ = ["SHAPES", "Shape"]

Shape = Callable[["re.Match[str]", Reading], Reading]

_ORDINAL = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5,
            "last": -1, "final": -1}  # fmt: skip
_FAR = re.compile(
    rf"\b(?P<count>{NUMBER}|the) (?P<unit>{UNIT}|weekend|{WEEKDAY})s? (?P<way>before|after|following|prior to) "
    r"(?:the )?$",
    re.IGNORECASE,
)
_NTH = re.compile(
    rf"\b(?:the )?(?P<nth>{'|'.join(_ORDINAL)}) (?P<unit>week|weekend|day|half|quarter|month|{WEEKDAY})"
    r" (?:of|in) (?:the )?$",
    re.IGNORECASE,
)
_SOME = re.compile(
    rf"\b(?:the )?(?P<nth>first|last) (?P<count>{NUMBER}) (?P<unit>{UNIT})s? (?:of|in) (?:the )?$", re.IGNORECASE
)
_THIRD = re.compile(
    r"\b(?:(?:in |at |towards? |around )?(?:the )?(?P<third>beginning|start|middle|end) of (?:the )?"
    r"|(?:the )?(?P<part>early|mid|late)[ -](?:in )?)$",
    re.IGNORECASE,
)
_WEEK_OF = re.compile(r"\b(?:the )?(?P<unit>week|weekend) of (?:the )?$", re.IGNORECASE)
_BLUR = re.compile(
    r"\b(?:about|around|roughly|approximately|circa|maybe|sometime|some time)(?: in| on| around| the)* $", re.IGNORECASE
)


def _nth(match: re.Match[str], reading: Reading) -> Reading:
    (start, end), number, unit = reading.stretch, _ORDINAL[told(match, "nth")], told(match, "unit")
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
    return Reading(stretch, round(reading.certainty * 0.95, 2))


def _some(match: re.Match[str], reading: Reading) -> Reading:
    """The first three months of 2024, the last two weeks of June."""
    (start, end), most, unit = reading.stretch, count_of(told(match, "count"))[1], told(match, "unit")
    stretch = (start, back(start, -most, unit)) if told(match, "nth") == "first" else (back(end, most, unit), end)
    if not start <= stretch[0] < stretch[1] <= end:
        raise ValueError(match[0])
    return replace(reading, stretch=stretch)


def _third(match: re.Match[str], reading: Reading) -> Reading:
    start, end = reading.stretch
    which = {"beginning": 0, "start": 0, "early": 0, "middle": 1, "mid": 1, "end": 2, "late": 2}[
        told(match, "third") or told(match, "part")
    ]
    step = (end - start) // 3
    return replace(
        reading,
        stretch=(midnight(start + step * which), midnight(start + step * (which + 1)) if which < 2 else end),
        certainty=round(reading.certainty * 0.8, 2),
    )


def _week_around(match: re.Match[str], reading: Reading) -> Reading:
    start, end = week_of(reading.stretch[0])
    return replace(
        reading, stretch=(start + timedelta(days=5), end) if told(match, "unit") == "weekend" else (start, end)
    )


def _far_from(match: re.Match[str], reading: Reading) -> Reading:
    """The week after Christmas is the seven days that follow; two weeks after it is a day, with some slack."""
    start, end = reading.stretch
    count, unit, ahead = told(match, "count"), told(match, "unit"), told(match, "way") in ("after", "following")
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


def _blurred(match: re.Match[str], reading: Reading) -> Reading:
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
