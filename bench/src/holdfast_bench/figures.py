"""The shape of what the benches of search write: any, all, recall and MRR, beside their baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from holdfast_bench.machine import Machine

Measures = TypedDict(
    "Measures",
    {
        "any@5": float,
        "all@5": float,
        "recall@5": float,
        "any@10": float,
        "all@10": float,
        "recall@10": float,
        "mrr": float,
    },
)
Interval = tuple[float, float]


class PackedFigures(TypedDict):
    """The share of questions all of whose evidence is inside; …_share: the mean share of the evidence."""

    ours: float
    ours_share: float
    top_k: float
    top_k_share: float


PackFigures = TypedDict(
    "PackFigures",
    {
        "set": str,
        "n": int,
        "1k": PackedFigures,
        "2k": PackedFigures,
        "4k": PackedFigures,
        "seconds": float,
        "embedder": str,
        "version": str,
    },
)
_PACKED: PackedFigures = {"ours": 0.9, "ours_share": 0.9, "top_k": 0.8, "top_k_share": 0.8}
_PACK: PackFigures = {
    "set": "pack",
    "n": 100,
    "1k": _PACKED,
    "2k": _PACKED,
    "4k": _PACKED,
    "seconds": 10.0,
    "embedder": "static",
    "version": "0.1.0",
}


@dataclass(frozen=True)
class CategoryFigures:
    n: int
    turn: Measures | None
    session: Measures | None


@dataclass(frozen=True)
class BaselineFigures:
    turn: Measures | None
    session: Measures | None
    by_category: Mapping[str, CategoryFigures]


@dataclass(frozen=True)
class Abstention:
    """Questions without an answer, the share of them for which search returned nothing, and that of all others."""

    unanswerable: int
    empty: float | None
    answerable_empty: float | None


@dataclass(frozen=True)
class Baselines:
    bm25: BaselineFigures
    vector: BaselineFigures


@dataclass(frozen=True)
class SearchTimes:
    p50: float
    p99: float


@dataclass(frozen=True)
class RetrievalFigures:
    """What the benches of search write at least; a level without gold is null."""

    set: str
    n: int
    turn: Measures | None
    session: Measures | None
    by_category: Mapping[str, CategoryFigures]
    baselines: Baselines
    ci: Mapping[str, Mapping[str, Interval] | None]
    abstention: Abstention
    search_ms: SearchTimes
    seconds: float
    embedder: str
    version: str


@dataclass(frozen=True)
class LongMemEvalFigures(RetrievalFigures):
    mode: str
    seed: int


_MEASURES: Measures = {
    "any@5": 0.8,
    "all@5": 0.6,
    "recall@5": 0.7,
    "any@10": 0.9,
    "all@10": 0.7,
    "recall@10": 0.8,
    "mrr": 0.6,
}
_CATEGORIES = {"multi-hop": CategoryFigures(100, _MEASURES, _MEASURES)}
_BASELINE = BaselineFigures(_MEASURES, _MEASURES, _CATEGORIES)
_RETRIEVAL = RetrievalFigures(
    set="locomo",
    n=100,
    turn=_MEASURES,
    session=_MEASURES,
    by_category=_CATEGORIES,
    baselines=Baselines(_BASELINE, _BASELINE),
    ci={level: dict.fromkeys(_MEASURES, (0.55, 0.65)) for level in ("turn", "session")},
    abstention=Abstention(20, 0.1, 0.0),
    search_ms=SearchTimes(1.0, 2.0),
    seconds=10.0,
    embedder="static",
    version="0.1.0",
)


def retrieval_examples() -> dict[str, RetrievalFigures | PackFigures]:
    """The shape of a run, not a measurement: figures are in docs/recall.md."""
    common = {field.name: getattr(_RETRIEVAL, field.name) for field in fields(_RETRIEVAL)}
    return {
        "bench-locomo": _RETRIEVAL,
        "bench-longmemeval": LongMemEvalFigures(**{**common, "set": "longmemeval"}, mode="pool", seed=0),
        "bench-beam": replace(_RETRIEVAL, set="beam"),
        "bench-pack": _PACK,
    }


# --- The shape of what `bench speed` writes.


@dataclass(frozen=True)
class Percentiles:
    p50: float
    p99: float


@dataclass(frozen=True)
class SpeedFigures:
    """What `bench speed` writes at least; sizes are the keys of the tables."""

    set: str
    n: int
    ack_ms: Percentiles
    bare_commit_ms: Percentiles
    search_ms: Mapping[str, Percentiles]
    vector_ms: Mapping[str, Percentiles]
    read_floor_ms: Mapping[str, Percentiles]
    ingest_per_s: float
    rss_mb: float
    recall_vs_exact: float
    seconds: float
    embedder: str
    version: str


# The shape of a run, not a measurement: figures with their machine are in docs/performance.md.
_PAIR = Percentiles(1.0, 2.0)


def speed_example() -> SpeedFigures:
    return SpeedFigures(
        set="speed",
        n=1000,
        ack_ms=_PAIR,
        bare_commit_ms=_PAIR,
        search_ms={"1000": _PAIR},
        vector_ms={"1000": _PAIR},
        read_floor_ms={"1000": _PAIR},
        ingest_per_s=1000.0,
        rss_mb=100.0,
        recall_vs_exact=1.0,
        seconds=10.0,
        embedder="static",
        version="0.1.0",
    )


# --- The shape of what `bench serve` writes.


@dataclass(frozen=True)
class LoadFigures:
    """What the clients of one load met."""

    turns: int
    """Acknowledged."""
    calls_per_s: float
    errors: int
    first_error: str | None
    lost: int
    """Acknowledged turns that the store does not hold afterwards, word for word."""
    search_ms: Mapping[str, float]
    ingest_ms: Mapping[str, float]


@dataclass(frozen=True)
class ServeFigures:
    """What `bench serve` writes at least."""

    set: str
    n: int
    """Turns in the store before."""
    clients: int
    pace_s: float
    processes: int
    """Of the server under load."""
    paced: LoadFigures
    """Each client ingests and searches once in pace_s."""
    flat_out: LoadFigures
    """Each client sends its next call as soon as it has the answer."""
    search_p50_ms: Mapping[str, float]
    """The same questions in process, over RPC and over HTTP, in turn."""
    rpc_overhead_ms: float
    http_overhead_ms: float
    seconds: float
    version: str


# The shape of a run, not a measurement: figures with their machine are in docs/performance.md.
_SPREAD = {"p50": 1.0, "p95": 2.0, "p99": 3.0}
_LOAD = LoadFigures(100, 10.0, 0, None, 0, _SPREAD, _SPREAD)


def serve_example() -> ServeFigures:
    times = {"in_process": 1.0, "rpc": 1.5, "http": 2.0}
    return ServeFigures("serve", 1000, 50, 1.0, 1, _LOAD, _LOAD, times, 0.5, 1.0, 10.0, "0.1.0")


# --- The shape of what `bench engines` writes: both engines measured, and what both find in a set (`--data`).


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


# --- The shape of what `bench hostile` writes.


@dataclass(frozen=True)
class CarrierFigures:
    n: int
    stored_byte_for_byte: int
    refused: int
    reasons: Mapping[str, int]
    wrong: int
    search_errors: int


@dataclass(frozen=True)
class HostileFigures:
    """What `bench hostile` writes at least: how each text fared by each way in; nothing may be wrong."""

    set: str
    n: int
    carriers: Mapping[str, CarrierFigures]
    wrong: int
    refused: int
    search_errors: int
    seconds: float
    version: str
