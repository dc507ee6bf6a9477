"""The shape of what `bench engines` writes: both engines measured, and what both find in a set (`--data`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from holdfast.evaluate.figures import Measures
from holdfast.evaluate.machine import Machine

__all__ = ["AgreementFigures", "EngineFigures", "engine_examples"]


class Times(TypedDict):
    p50: float
    p99: float


class EachRate(TypedDict):
    """Turns a second."""

    sqlite: float
    postgres: float


class EachTimes(TypedDict):
    """Milliseconds."""

    sqlite: Times
    postgres: Times


class EachSize(TypedDict):
    """Milliseconds by the turns of the namespace."""

    sqlite: Mapping[str, Times]
    postgres: Mapping[str, Times]


class Found(TypedDict):
    turn: Measures | None
    session: Measures | None


@dataclass(frozen=True)
class EngineFigures:
    """What `bench engines` writes at least; a ratio is PostgreSQL's p50 over SQLite's, by size."""

    set: str
    n: int
    """Turns of the largest namespace."""
    records: bool
    durable_per_s: EachRate
    """Single turns, each acknowledged before its writer's next, in a namespace for each writer."""
    durable_per_s_one_namespace: EachRate
    durable_per_s_deriving: EachRate
    """… with all that is derived of them made beside it on the same processors."""
    ingest_per_s: EachRate
    derived_per_s: EachRate
    search_ms: EachSize
    search_ratio: Mapping[str, float]
    recent_ms: EachSize
    recent_ratio: Mapping[str, float]
    thread_ms: EachSize
    thread_ratio: Mapping[str, float]
    top_10_agree: float
    machine: Machine
    seconds: float
    version: str


@dataclass(frozen=True)
class AgreementFigures:
    """What `bench engines --data` writes at least."""

    set: str
    n: int
    top_10_agree: float
    """The share of questions with the same first ten turns in the same order."""
    sqlite: Found
    postgres: Found
    farthest: float
    """The largest difference of any figure, in points of a hundred."""
    search_ms: EachTimes
    records: bool
    seconds: float
    version: str


def engine_examples() -> dict[str, object]:
    """The shape of a run, not a measurement: figures with their machine are in docs/scaling.md."""
    rate: EachRate = {"sqlite": 2000.0, "postgres": 1000.0}
    quick: Times = {"p50": 1.0, "p99": 2.0}
    slow: Times = {"p50": 2.0, "p99": 4.0}
    by_size: EachSize = {"sqlite": {"1000": quick}, "postgres": {"1000": slow}}
    twice = {"1000": 2.0}
    measures: Measures = {
        "any@5": 0.7, "all@5": 0.6, "recall@5": 0.65, "any@10": 0.8, "all@10": 0.7, "recall@10": 0.75, "mrr": 0.6,
    }  # fmt: skip
    found: Found = {"turn": measures, "session": None}
    return {
        "bench-engines": EngineFigures(
            "engines", 1000, True, rate, rate, rate, rate, rate, by_size, twice, by_size, twice, by_size, twice, 1.0,
            {"cores": 2, "load": 0.5, "loop_ms": 50.0}, 10.0, "0.1.0",
        ),
        "bench-engines-locomo": AgreementFigures(
            "engines-locomo", 100, 1.0, found, found, 0.0, {"sqlite": quick, "postgres": slow}, True, 10.0, "0.1.0"
        ),
    }  # fmt: skip
