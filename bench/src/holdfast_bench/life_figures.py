"""Figures of the lives benchmark: their shapes, their mean over several lives, and bars that they must reach."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from typing_extensions import TypedDict  # pydantic supports typing.TypedDict only from Python 3.12 on

from holdfast.errors import InputError
from holdfast.probe.metrics import bootstrap_interval
from holdfast_bench.data import read_json, read_shape
from holdfast_bench.machine import RunInfo

Share = float | None
"""None if there was nothing to measure."""
_BAR = re.compile(r"[<>]= \d*\.?\d+")
_SECTIONS = ("records", "questions", "tasks", "standing", "echo", "bm25")
_TALLIES = ("verdicts", "noise_recorded_by_why", "follow_items", "listed", "first_3_by_kind")
"""Tables whose rows differ from life to life; they have no mean."""


class RecordFigures(TypedDict):
    """The live records next to what should have been kept. Lists are for reading; a bar counts their entries."""

    records: int
    per_user_turn: Share
    good: Share
    verdicts: Mapping[str, int]
    facts: int
    coverage: Share
    clean_coverage: Share
    self_contained: Share
    dangling: Share
    relative_days: Share
    wordiness: Share
    ended: int
    stale: Share
    ended_recorded: int
    noticed: Share
    retired: int
    lost: list[str]
    rules: int
    rules_covered: Share
    rules_of_kind_guidance: Share
    noise: int
    noise_recorded: Share
    noise_recorded_by_why: Mapping[str, int]
    same: int
    same_kept_once: Share
    copies: int
    missed: list[str]
    missed_rules: list[str]
    stale_list: list[str]
    listed: Mapping[str, list[str]]


class FoundFigures(TypedDict):
    """Shares of questions by rank of the first answer."""

    first_1: Share
    first_3: Share
    first_10: Share
    changed_new_first: Share
    changed_old_only: Share
    wide_facts_in_10: Share


class QuestionFigures(FoundFigures):
    n: int
    n_changed: int
    n_unknown: int
    context_1000: Share
    context_2000: Share
    context_old_without_new: Share
    unknown_silent: Share
    unknown_context_empty: Share
    turns_only: FoundFigures
    first_3_by_kind: Mapping[str, str]
    degraded: int
    search_ms_p50: float


class Bm25Figures(FoundFigures):
    context_1000: Share
    context_2000: Share


class TaskFigures(TypedDict):
    wanted: int
    present: Share
    as_rules: Share
    follow_items: Mapping[str, int]
    follow_not_a_rule: Share
    private: int
    leaked: Share
    misses: list[str]
    strays: list[str]
    leaks: list[str]


class StandingFigures(TypedDict):
    items: int
    rules: Share
    rules_as_rules: Share
    stale: int


class EchoFigures(TypedDict):
    """Pairs are before and after every question was asked once."""

    first_1: tuple[Share, Share]
    first_3: tuple[Share, Share]
    question_is_hit_1: Share
    records_made_of_questions: int


class AskedFigures(TypedDict):
    """Rank of the first answer and of the first outdated value, and of the first answer without records."""

    id: str
    kind: str
    new: int | None
    old: int | None
    new_turns_only: int | None


class LifeFigures(TypedDict):
    life: str
    turns: int
    sessions: int
    records: RecordFigures
    questions: QuestionFigures
    tasks: TaskFigures
    standing: StandingFigures
    echo: EchoFigures
    bm25: Bm25Figures
    asked: list[AskedFigures]
    seconds: float


class RecordsHelp(TypedDict):
    """Questions answered in the first 1 and 3 hits more often with records than without, with 95 % intervals."""

    n: int
    first_1: float
    first_1_ci: tuple[float, float]
    first_3: float
    first_3_ci: tuple[float, float]


class LivesFigures(RunInfo):
    """Output of `bench lives`: the mean over the lives, and each life."""

    set: str
    n: int
    mean: Mapping[str, object]
    records_help: RecordsHelp
    lives: list[LifeFigures]


def mean_of_lives(lives: Sequence[LifeFigures]) -> dict[str, object]:
    """Return the mean of every figure over the lives where it could be measured; a list of texts counts its entries."""
    rows = [dict(one) for one in lives]
    return {name: _mean([row[name] for row in rows]) for name in _SECTIONS}


def _mean(values: Sequence[object]) -> object:
    known = [value for value in values if value is not None]
    if not known:
        return None
    first = known[0]
    if isinstance(first, Mapping):
        tables = [value for value in known if isinstance(value, Mapping)]
        return {name: _mean([table.get(name) for table in tables]) for name in first if name not in _TALLIES}
    if isinstance(first, tuple):
        pairs = [value for value in known if isinstance(value, tuple)]
        return tuple(_mean(parts) for parts in zip(*pairs, strict=True))
    numbers = [_number(value) for value in known]
    return round(sum(number for number in numbers if number is not None) / len(numbers), 4)


def _number(value: object) -> float | None:
    """Return a figure as a number; a list counts by its length."""
    if isinstance(value, list):
        return float(len(value))
    return float(value) if isinstance(value, int | float) else None


def help_of_records(lives: Sequence[LifeFigures]) -> RecordsHelp:
    """Return how much more often the first hits answer with records than without, paired by question."""
    asked = [row for life in lives for row in life["asked"] if row["kind"] != "unknown"]
    figures = []
    for depth in (1, 3):
        gains = np.array([_within(row["new"], depth) - _within(row["new_turns_only"], depth) for row in asked], float)
        low, high = bootstrap_interval(gains)
        figures.append((round(float(gains.mean()), 4), (round(low, 4), round(high, 4))))
    (first, first_ci), (third, third_ci) = figures
    return {"n": len(asked), "first_1": first, "first_1_ci": first_ci, "first_3": third, "first_3_ci": third_ci}


def _within(rank: int | None, depth: int) -> int:
    return int(rank is not None and rank <= depth)


@dataclass(frozen=True, slots=True)
class BarResult:
    """One bar, such as `records.good >= 0.75`, and the value that was measured; None misses every bar."""

    name: str
    bar: str
    value: float | None
    lives: tuple[float | None, ...]

    @property
    def held(self) -> bool:
        sign, limit = self.bar.split()
        if self.value is None:
            return False
        return self.value >= float(limit) if sign == ">=" else self.value <= float(limit)


def read_bars(path: Path) -> dict[str, str]:
    """Read a file of bars: {"records.good": ">= 0.75", …}."""
    bars = read_shape(dict[str, str], read_json(path), path, "bars")
    for name, bar in bars.items():
        if not _BAR.fullmatch(bar):
            raise InputError(f"{path}: the bar of {name} is {bar!r}; write it like '>= 0.75' or '<= 0.05'")
    return bars


def check_bars(figures: LivesFigures, bars: Mapping[str, str]) -> list[BarResult]:
    """Compare the mean over the lives with the bars."""
    return [
        BarResult(name, bar, _figure(figures["mean"], name), tuple(_figure(one, name) for one in figures["lives"]))
        for name, bar in bars.items()
    ]


def _figure(figures: Mapping[str, object] | LifeFigures, name: str) -> float | None:
    """Return the figure of a dotted name, where a number picks an entry of a pair; None if it was not measured."""
    value: object = figures
    for part in name.split("."):
        if isinstance(value, tuple | list):
            value = value[int(part)] if part.isdigit() and int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, Mapping) else None
    return _number(value)
