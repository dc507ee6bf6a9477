"""Times told from the moment of asking: "yesterday evening", "three Fridays ago", "the past two weeks", in English."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from dateutil.relativedelta import relativedelta

from holdfast.days import Stretch, day_of, midnight, month_of, quarter_of, week_of, year_of
from holdfast.recall.when.reading import NUMBER, Asking, Reader, Reading, count_of, told
from holdfast.spans import COUNT, DAY_NUMBER, MONTH

__all__ = ["RELATIVE", "UNIT", "WEEKDAY", "back"]

UNIT = r"(?:day|week|fortnight|month|year|decade)"
WEEKDAY = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"

# Hours of the day with slack on both sides: the asker's clock is not known to be that of UTC.
_HOURS = {"morning": (3, 13), "afternoon": (10, 20), "evening": (15, 30), "night": (17, 32)}
_COUNTED = {*COUNT} - {"few", "a few"}
_LOOSER = 0.15  # what "a few" takes from the certainty of a count


def back(now: datetime, count: int, unit: str) -> datetime:
    """The moment so many units before now."""
    if unit in ("week", "weekend", "fortnight"):
        return now - timedelta(weeks=count * (2 if unit == "fortnight" else 1))
    if unit == "decade":
        return now - relativedelta(years=10 * count)
    return now - relativedelta(**{f"{unit}s": count})  # type: ignore[arg-type]


def _slack(count: int, unit: str) -> timedelta:
    """How far from the exact day people still say it: more for larger units and counts, nothing for "two days"."""
    if unit == "day":
        return timedelta(days=0 if count <= 2 else max(1, count // 5))
    if unit in ("week", "fortnight"):
        return timedelta(days=3 + count // 2)
    return timedelta(days=min(12 + 3 * count, 45) if unit == "month" else 183)


_AGO_CERTAINTY = {"day": 0.9, "week": 0.8, "fortnight": 0.75, "month": 0.7, "year": 0.6, "decade": 0.4}


def _read_ago(match: re.Match[str], asking: Asking) -> Reading | None:
    (least, most), unit = count_of(told(match, "count")), told(match, "unit")
    if unit in ("hour", "minute"):
        step = timedelta(**{f"{unit}s": 1})
        return Reading((asking.now - step * (most * 1.5 + 1), asking.now - step * (least / 2)), 0.8)
    start = midnight(back(asking.now, most, unit)) - _slack(most, unit)
    end = midnight(back(asking.now, least, unit)) + _slack(least, unit) + timedelta(days=1)
    certainty = _AGO_CERTAINTY[unit] - (_LOOSER if least < most else 0)
    return Reading((start, min(end, _today(asking)[1])), round(certainty, 2))


def _read_half_ago(match: re.Match[str], asking: Asking) -> Reading | None:
    months = 6 if told(match, "half").startswith("half") else 18
    middle = midnight(back(asking.now, months, "month"))
    return Reading((middle - timedelta(days=45), middle + timedelta(days=45)), 0.6)


def _today(asking: Asking) -> Stretch:
    return day_of(asking.now)


_WORDS = {"the day before yesterday": -2, "yesterday": -1, "today": 0, "tonight": 0, "this": 0, "tomorrow": 1,
          "the day after tomorrow": 2, "last": -1, "earlier today": 0, "later today": 0}  # fmt: skip


def _read_word(match: re.Match[str], asking: Asking) -> Reading | None:
    stretch = day_of(asking.now, _WORDS[told(match, "word")])
    part = "night" if told(match, "word") == "tonight" else told(match, "part")
    return Reading(_part_of(stretch, part), 0.8 if part else 0.95)


def _part_of(day: Stretch, part: str) -> Stretch:
    if not part:
        return day
    first, last = _HOURS[part]
    return day[0] + timedelta(hours=first), day[0] + timedelta(hours=last)


def _read_other_day(match: re.Match[str], asking: Asking) -> Reading | None:
    return Reading((day_of(asking.now, -10)[0], _today(asking)[1]), 0.5)


def _read_rolling(match: re.Match[str], asking: Asking) -> Reading | None:
    """The past two weeks: from then up to today."""
    words = told(match, "count") or ("few" if told(match, "plural") else "one")  # "the past weeks"
    most, unit = count_of(words)[1], told(match, "unit")
    if unit == "hour":
        return Reading((asking.now - timedelta(hours=most), _today(asking)[1]), 0.8, whole=True)
    if unit == "weekend":
        return Reading((week_of(back(asking.now, most, "week"))[0], _today(asking)[1]), 0.7, whole=True)
    start = midnight(back(asking.now, most, unit))
    return Reading((start, _today(asking)[1]), 0.8 if words.isdigit() or words in _COUNTED else 0.65, whole=True)


def _read_ahead(match: re.Match[str], asking: Asking) -> Reading | None:
    """A time only in a question that looks ahead ("in two weeks"); else it is how long something took."""
    if not asking.ahead and not told(match, "time"):
        return None
    (least, most), unit = count_of(told(match, "count")), told(match, "unit")
    start = midnight(back(asking.now, -least, unit)) - _slack(least, unit)
    end = midnight(back(asking.now, -most, unit)) + _slack(most, unit) + timedelta(days=1)
    return Reading((max(start, _today(asking)[0]), end), 0.7)


_STEP = {"last": -1, "previous": -1, "this past": -1, "this": 0, "current": 0, "next": 1, "the coming": 1, "coming": 1,
         "the following": 1}  # fmt: skip


def _unit_at(now: datetime, step: int, unit: str) -> Stretch:
    """The calendar's week, month, … that lies so many steps from now."""
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


def _read_unit(match: re.Match[str], asking: Asking) -> Reading | None:
    step, unit = _STEP[told(match, "which")], told(match, "unit")
    start, end = _unit_at(asking.now, step, unit)
    part = told(match, "part")
    if part == "earlier":
        end = min(end, _today(asking)[1])
    elif part == "later":
        start = max(start, _today(asking)[0])
    return Reading((start, end), 0.85)


def _read_before_last(match: re.Match[str], asking: Asking) -> Reading | None:
    step = -2 if told(match, "way") == "before last" else 2
    unit = told(match, "unit")
    if unit in DAY_NUMBER:
        first = _weekday_back(asking.now, unit, 1)[0]
        return Reading(day_of(first, -7 if step < 0 else 14), 0.8)
    return Reading(_unit_at(asking.now, step, unit), 0.85)


def _weekday_back(now: datetime, name: str, count: int) -> Stretch:
    """The last such weekday before today, or the one `count` - 1 weeks before it."""
    return day_of(now, (DAY_NUMBER[name[:3]] - now.weekday()) % 7 - 7 * count)


def _read_weekdays_ago(match: re.Match[str], asking: Asking) -> Reading | None:
    least, most = count_of(told(match, "count"))
    name = told(match, "day")
    return Reading((_weekday_back(asking.now, name, most)[0], _weekday_back(asking.now, name, least)[1]), 0.8)


def _read_weekday(match: re.Match[str], asking: Asking) -> Reading | None:
    now, name, which = asking.now, told(match, "day"), told(match, "which")
    ahead = (DAY_NUMBER[name[:3]] - now.weekday()) % 7
    part = told(match, "part")
    if told(match, "week") or told(match, "weeks"):
        weeks = -count_of(told(match, "weeks"))[0] if told(match, "weeks") else _STEP[told(match, "week")]
        monday = _unit_at(now, weeks, "week")[0]
        return Reading(_part_of(day_of(monday, DAY_NUMBER[name[:3]]), part), 0.9)
    if which in ("next", "coming", "the coming"):
        days = ahead or 7
    elif which == "this" and asking.ahead:
        days = ahead
    elif which:  # on Saturday "last Friday" may be yesterday or the one before
        days = ahead - 7
    else:
        days = ahead if asking.ahead else ahead - 7  # on a Monday, "on Monday" is a week ago: today is "today"
    doubtful = which == "last" and days >= -2
    return Reading(_part_of(day_of(now, days), part), 0.6 if doubtful else 0.85)


def _read_this_time(match: re.Match[str], asking: Asking) -> Reading | None:
    """A few days or weeks around the day ("this time last year")."""
    then = midnight(back(asking.now, 1, told(match, "unit")))
    slack = timedelta(days={"week": 1, "month": 4, "year": 14}[told(match, "unit")])
    return Reading((then - slack, then + slack + timedelta(days=1)), 0.7)


def _read_weekend(match: re.Match[str], asking: Asking) -> Reading | None:
    """The one that is, or was, or in a question that looks ahead is to come."""
    step = 0 if asking.ahead or asking.now.weekday() >= 5 else -1
    return Reading(_unit_at(asking.now, step, "weekend"), 0.75)


def _read_weekends_ago(match: re.Match[str], asking: Asking) -> Reading | None:
    least, most = count_of(told(match, "count"))
    return Reading((_unit_at(asking.now, -most, "weekend")[0], _unit_at(asking.now, -least, "weekend")[1]), 0.8)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


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
