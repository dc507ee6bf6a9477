"""Points in time: read from what a caller gives, kept as microseconds of UTC."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from dateutil.relativedelta import relativedelta

from holdfast.errors import BadTime

__all__ = ["Clock", "Moment", "from_micros", "read_moment", "to_micros", "utc_now"]

Clock = Callable[[], datetime]
"""The seam to time: a test passes its own."""

Moment = datetime | str
"""A datetime (naive is taken as UTC), or ISO, or relative: "7 days ago", "yesterday"."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_AGO = re.compile(r"(\d{1,9}|[a-z]+)\s+(second|minute|hour|day|week|month|year)s?\s+ago")
_LAST = re.compile(r"last\s+(week|month|year)")


def utc_now() -> datetime:
    return datetime.now(UTC)


def to_micros(at: datetime) -> int:
    """Microseconds since 1970 in UTC; exact over the whole calendar."""
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def read_moment(value: Moment, now: datetime) -> datetime:
    """An aware UTC datetime for what the caller gave; BadTime says what could not be read."""
    if isinstance(value, str):
        value = _read_text(value, now)
    elif not isinstance(value, datetime):
        raise BadTime(f"a time must be a datetime or a string, not {type(value).__name__}")
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise BadTime(f"{value.isoformat()} lies outside the calendar once it is turned into UTC") from error


def _read_text(text: str, now: datetime) -> datetime:
    words = text.strip().lower()
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        pass  # not ISO: the relative forms are tried next, and what is neither is refused below
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    named = {"now": now, "today": midnight, "yesterday": midnight - timedelta(days=1)}
    if words in named:
        return named[words]
    try:
        if found := _AGO.fullmatch(words):
            count = int(found[1]) if found[1].isdigit() else _NUMBERS[found[1]]
            return now - relativedelta(**{f"{found[2]}s": count})  # type: ignore[arg-type]
        if found := _LAST.fullmatch(words):
            return now - relativedelta(**{f"{found[1]}s": 1})  # type: ignore[arg-type]
    except (OverflowError, ValueError) as error:
        raise BadTime(f"{text!r} lies outside the calendar") from error
    except KeyError:
        pass  # "some days ago": no number that is known
    raise BadTime(
        f'cannot read the time {text[:80]!r}: give ISO ("2026-05-01", "2026-05-01T08:30:00Z") or "7 days ago"'
    )
