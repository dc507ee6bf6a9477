"""The calendar as spans of time: days, weeks, months, seasons and feasts, each with an exclusive end.

All of it is UTC; a week starts on Monday, seasons are those of the north. Outside years 1 to 9999 the calendar itself
raises ValueError or OverflowError.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from dateutil.relativedelta import relativedelta

__all__ = [
    "FEASTS", "SEASON_MONTH", "Stretch", "day_of", "easter", "feast_of", "midnight", "month_of", "quarter_of",
    "season_of", "week_of", "year_of",
]  # fmt: skip

Stretch = tuple[datetime, datetime]
"""A start and its exclusive end."""

SEASON_MONTH = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


def midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def day_of(at: datetime, days: int = 0) -> Stretch:
    start = midnight(at) + timedelta(days=days)
    return start, start + timedelta(days=1)


def week_of(at: datetime) -> Stretch:
    start = midnight(at) - timedelta(days=at.weekday())
    return start, start + timedelta(days=7)


def month_of(year: int, number: int) -> Stretch:
    start = datetime(year, number, 1, tzinfo=UTC)
    return start, start + relativedelta(months=1)


def quarter_of(year: int, number: int) -> Stretch:
    start = datetime(year, 3 * number - 2, 1, tzinfo=UTC)
    return start, start + relativedelta(months=3)


def season_of(year: int, name: str) -> Stretch:
    """The season that starts in the year: winter 2025 ends in March 2026."""
    start = datetime(year, SEASON_MONTH[name], 1, tzinfo=UTC)
    return start, start + relativedelta(months=3)


def year_of(number: int) -> Stretch:
    return datetime(number, 1, 1, tzinfo=UTC), datetime(number + 1, 1, 1, tzinfo=UTC)


def easter(number: int) -> datetime:
    """Easter Sunday of the western churches (the anonymous Gregorian computus)."""
    a, b, c = number % 19, number // 100, number % 100
    d, e, f = b // 4, b % 4, (b + 8) // 25
    h = (19 * a + b - d - (b - f + 1) // 3 + 15) % 30
    step = (32 + 2 * e + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * step) // 451
    months, days = divmod(h + step - 7 * m + 114, 31)
    return datetime(number, months, days + 1, tzinfo=UTC)


def feast_of(year: int, name: str) -> Stretch:
    """A feast of FEASTS in that year, with the days that people count to it."""
    return FEASTS[name](year)


def _fixed(number: int, in_month: int, days: int = 1) -> Callable[[int], Stretch]:
    def place(year: int) -> Stretch:
        start = datetime(year, in_month, number, tzinfo=UTC)
        return start, start + timedelta(days=days)

    return place


def _movable(from_easter: int, days: int = 1) -> Callable[[int], Stretch]:
    def place(year: int) -> Stretch:
        start = easter(year) + timedelta(days=from_easter)
        return start, start + timedelta(days=days)

    return place


def _weekday(in_month: int, weekday: int, nth: int, later: int = 0, days: int = 1) -> Callable[[int], Stretch]:
    """The nth such weekday of the month (or the last for -1), some days later."""

    def place(year: int) -> Stretch:
        first, end = month_of(year, in_month)
        if nth > 0:
            start = first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1) + later)
        else:
            start = end - timedelta(days=(end.weekday() - weekday - 1) % 7 + 1 - later)
        return start, start + timedelta(days=days)

    return place


def _new_year(year: int) -> Stretch:
    start = datetime(year, 1, 1, tzinfo=UTC) - timedelta(days=1)
    return start, start + timedelta(days=2)


FEASTS: dict[str, Callable[[int], Stretch]] = {
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
"""Feasts whose day follows from the year, in English. Those of other calendars (Eid, Diwali, the lunar new year) are
not computed, so they are never read as a time."""
