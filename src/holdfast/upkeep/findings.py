"""One memory of any system, as an audit reads it, and what an audit finds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

_SHOWN = 5
"""Examples of each finding: enough to see what it means."""
_SHOWN_CHARS = 200


@dataclass(frozen=True)
class Memo:
    """A text that some system holds as a memory."""

    id: str
    text: str
    at: datetime | None = None
    """When it was said or written, if the system knows."""
    judged: bool = True
    """Whether the floor is asked about it: what a person put there on purpose is no junk."""


@dataclass(frozen=True)
class Example:
    id: str
    text: str
    why: str


@dataclass(frozen=True)
class Check:
    """Something that is looked for: its name, the largest share that is still healthy, and what to do about it."""

    name: str
    limit: float
    advice: str
    fixable: bool = False


@dataclass(frozen=True)
class Finding:
    """How much of something there is."""

    check: str
    count: int
    of: int
    rate: float
    limit: float
    over: bool
    """More than is healthy."""
    fixable: bool
    """`--fix` heals it."""
    advice: str
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor says of a store."""

    source: str
    system: str
    """`holdfast`, or the system whose memories these are."""
    namespace: str | None
    memories: int
    healthy: bool
    findings: tuple[Finding, ...]
    """One for each thing that was looked for, also where there was none of it."""
    fixed: tuple[str, ...]
    """What was wrong and is not any more."""
    seconds: float


def finding(check: Check, of: int, examples: Iterable[Example], count: int | None = None) -> Finding:
    """`count`: if there are more than there are examples of."""
    from holdfast.admit.secrets import mask

    found: Sequence[Example] = list(examples)
    many = len(found) if count is None else count
    rate = round(many / of, 4) if of else float(many > 0)
    shown = tuple(Example(one.id, mask(one.text).text[:_SHOWN_CHARS], one.why) for one in found[:_SHOWN])
    over = many > 0 and rate > check.limit
    return Finding(check.name, many, of, rate, check.limit, over, check.fixable, check.advice, shown)
