"""Audit types: one memory as input, examples and findings as output, and the doctor's diagnosis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.settings import DoctorSettings


@dataclass(frozen=True)
class DoctorSizes(DoctorSettings):
    """The settings of the doctor and the sizes of its samples."""

    stale_days: float = 7.0  # days after which a passed plan is stale
    sample: int = 500  # documents and records that are checked: a fault in 1 % of them is missed once in 150 times
    alike: int = 8
    """Earlier memories with the same deciding words that one is compared with. Of 2,000 sentences made of 32 phrases
    two had more, and one pair of 633 was missed; fifty thousand of the same words would take minutes."""
    wait_s: float = 30.0  # seconds to wait for derived work first; what is left then is a finding
    max_file_mb: int = 256  # size of another system's file, which is read whole
    max_files: int = 10_000  # files in another system's folder
    max_memories: int = 1_000_000  # memories of another system


_MAX_EXAMPLES = 5
_MAX_EXAMPLE_CHARS = 200


@dataclass(frozen=True)
class AuditItem:
    """One memory of any system."""

    id: str
    text: str
    at: datetime | None = None
    """Time at which it was said or written, if the system knows."""
    may_be_junk: bool = True
    """False for what a person stored on purpose: the quality floor does not apply to it."""


@dataclass(frozen=True)
class Example:
    id: str
    text: str
    why: str


@dataclass
class AuditResult:
    """Number of things checked, and the problems among them."""

    checked: int = 0
    problems: list[Example] = field(default_factory=list)


@dataclass(frozen=True)
class Check:
    """Definition of a check: its name, the largest healthy share, and advice if there is more."""

    name: str
    limit: float
    advice: str
    fixable: bool = False


@dataclass(frozen=True)
class CheckResult:
    """Result of one check."""

    check: str
    count: int
    of: int
    rate: float
    limit: float
    over: bool
    """True if the rate is above the limit."""
    fixable: bool
    """True if `--fix` repairs it."""
    advice: str
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Diagnosis:
    """The doctor's report on a store or file."""

    source: str
    system: str
    """`holdfast`, or the system that wrote the memories."""
    namespace: str | None
    memories: int
    healthy: bool
    findings: tuple[CheckResult, ...]
    """One per check, including checks that found nothing."""
    fixed: tuple[str, ...]
    """Checks that found something before `--fix` and nothing after it."""
    seconds: float


def make_finding(check: Check, total: int, examples: Iterable[Example], count: int | None = None) -> CheckResult:
    """Build a finding with secrets masked; pass `count` if it is not the number of examples."""
    from holdfast.admit.secrets import mask

    found = list(examples)
    many = len(found) if count is None else count
    rate = round(many / total, 4) if total else float(many > 0)
    shown = tuple(Example(one.id, mask(one.text).text[:_MAX_EXAMPLE_CHARS], one.why) for one in found[:_MAX_EXAMPLES])
    over = many > 0 and rate > check.limit
    return CheckResult(check.name, many, total, rate, check.limit, over, check.fixable, check.advice, shown)
