"""What the readers of times share: the question they read, what they return, and numbers in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from holdfast.days import Stretch
from holdfast.spans import COUNT

__all__ = ["NUMBER", "Asking", "Reader", "Reading", "count_of", "told"]

NUMBER = (
    r"(?:\d{1,3}|a couple of|a couple|couple of|a few|few|several|an?|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|eleven|twelve)"
)
_LOOSE = {"a couple of": (2, 3), "a couple": (2, 3), "couple of": (2, 3), "a few": (2, 5), "few": (2, 5),
          "several": (3, 7)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asking:
    """The moment of asking, whether the question looks ahead, and its text with what is quoted blanked."""

    text: str
    now: datetime
    ahead: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """A time as read."""

    stretch: Stretch
    certainty: float
    yearly: Callable[[int], Stretch] | None = None
    """The time in any year, where the words name none: another May is possible."""
    whole: bool = False
    """Runs up to now by itself, and so takes no "before" or "since"."""
    spent: bool = False
    """Only says the year of another time, and is no window of its own."""
    stays: tuple[int, int] | None = None
    """Where a name stands that stays in the topic: a turn about Christmas says Christmas."""


Reader = Callable[["re.Match[str]", Asking], Reading | None]


def told(match: re.Match[str], name: str) -> str:
    """What the phrase says there, in lower case; "" if it says nothing or its pattern has no such place."""
    return (match.groupdict().get(name) or "").strip().lower()


def count_of(words: str) -> tuple[int, int]:
    """The least and the most that a number may mean: "a few" is two to five."""
    if words in _LOOSE:
        return _LOOSE[words]
    count = int(words) if words.isdigit() else COUNT[words]
    return count, count
