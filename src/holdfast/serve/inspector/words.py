"""How numbers, times and texts are written on the pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

__all__ = ["FILTERS", "Cut", "anchor", "cut", "linked", "several", "size"]

_UNITS = ("bytes", "KB", "MB", "GB", "TB")
_STEP = 1024
_ID = re.compile(r"\b[rt]-[0-9a-f]{12,40}\b")


@dataclass(frozen=True)
class Cut:
    """A text as far as it is shown."""

    text: str
    left: int
    """Characters that are not."""


def cut(text: str, most: int) -> Cut:
    if len(text) <= most:
        return Cut(text, 0)
    return Cut(text[:most], len(text) - most)


def size(count: float) -> str:
    for unit in _UNITS:
        if count < _STEP or unit == _UNITS[-1]:
            break
        count /= _STEP
    return f"{count:,.0f} {unit}" if unit == _UNITS[0] else f"{count:,.1f} {unit}"


def several(count: int, noun: str, more: str = "") -> str:
    """1 turn, 2 turns."""
    return f"{count:,} {noun if count == 1 else more or noun + 's'}"


def anchor(noun_id: str) -> str:
    """An id that HTML and selectors take, whatever the noun is called."""
    return f"n-{blake2b(noun_id.encode(errors='surrogatepass'), digest_size=8).hexdigest()}"


def linked(text: str) -> list[tuple[str, str | None]]:
    """A reason in pieces, those that are ids of ours apart, so that a page can lead to them."""
    pieces: list[tuple[str, str | None]] = []
    end = 0
    for found in _ID.finditer(text):
        pieces += [(text[end : found.start()], None), (found[0], found[0])]
        end = found.end()
    return [*pieces, (text[end:], None)]


def _day(at: datetime) -> str:
    return f"{at:%A} {at.day} {at:%B} {at.year}"


def _date(at: datetime) -> str:
    return f"{at.day} {at:%b} {at.year}"


def _moment(at: datetime | None) -> str:
    return "never" if at is None else f"{_date(at)}, {at:%H:%M}"


def _clock(at: datetime) -> str:
    return f"{at:%H:%M}"


def _plain(name: object) -> str:
    """user_stated as a person would write it."""
    return str(name).replace("_", " ")


FILTERS = {
    "anchor": anchor,
    "clock": _clock,
    "cut": cut,
    "date": _date,
    "day": _day,
    "linked": linked,
    "moment": _moment,
    "number": lambda count: f"{count:,}",
    "percent": lambda share: f"{share:.0%}",
    "plain": _plain,
    "several": several,
    "size": size,
    "two": lambda value: f"{value:.2f}",
}
