"""Shapes of what the benchmarks write, for the contract, with an example of each.

The examples show the shape of a run and are not measurements: those are in docs/evidence, which also defines the
figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, cast

from pydantic import Field
from typing_extensions import TypedDict  # pydantic supports typing.TypedDict only from Python 3.12 on

from holdfast_bench.machine import Machine

Interval = tuple[float, float]

# Retrieval

Measures = TypedDict("Measures", {
    "any@5": float, "all@5": float, "recall@5": float, "any@10": float, "all@10": float, "recall@10": float,
    "mrr": float,
})  # fmt: skip


class PackedFigures(TypedDict):
    """Share of questions with all evidence in the context; …_share is the mean share of the evidence."""

    ours: float
    ours_share: float
    top_k: float
    top_k_share: float


PackFigures = TypedDict("PackFigures", {
    "set": str, "n": int, "1k": PackedFigures, "2k": PackedFigures, "4k": PackedFigures, "seconds": float,
    "embedder": str, "version": str,
})  # fmt: skip


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
    """Number of unanswerable questions, and how often search finds nothing for them and for the others."""

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
    """Minimum output of the retrieval benchmarks; a level without gold is null."""

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


# Speed, serving, engines and hostile texts


@dataclass(frozen=True)
class Percentiles:
    p50: float
    p99: float


@dataclass(frozen=True)
class SpeedFigures:
    """Minimum output of `bench speed`; the keys of the tables are sizes."""

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


@dataclass(frozen=True)
class LoadFigures:
    """Result of one load."""

    turns: int
    calls_per_s: float
    errors: int
    first_error: str | None
    lost: int
    """Acknowledged turns that are not in the store afterwards, byte for byte."""
    search_ms: Mapping[str, float]
    ingest_ms: Mapping[str, float]


@dataclass(frozen=True)
class ServeFigures:
    """Minimum output of `bench serve`."""

    set: str
    n: int
    clients: int
    pace_s: float
    processes: int
    paced: LoadFigures
    """Each client ingests and searches once in pace_s."""
    flat_out: LoadFigures
    """Each client sends its next call when it has the answer."""
    search_p50_ms: Mapping[str, float]
    """The same questions in process, over RPC and over HTTP."""
    rpc_overhead_ms: float
    http_overhead_ms: float
    seconds: float
    version: str


class Times(TypedDict):
    p50: float
    p99: float


class EachRate(TypedDict):
    """Turns per second."""

    sqlite: float
    postgres: float


class EachTimes(TypedDict):
    """Milliseconds."""

    sqlite: Times
    postgres: Times


class EachSize(TypedDict):
    """Milliseconds by the number of turns in the namespace."""

    sqlite: Mapping[str, Times]
    postgres: Mapping[str, Times]


class Found(TypedDict):
    turn: Measures | None
    session: Measures | None


@dataclass(frozen=True)
class EngineFigures:
    """Minimum output of `bench engines`; a ratio is PostgreSQL's p50 over SQLite's, by size."""

    set: str
    n: int
    records: bool
    durable_per_s: EachRate
    """Single turns of several writers, each with its own namespace …"""
    durable_per_s_one_namespace: EachRate
    durable_per_s_deriving: EachRate
    """… and with derived work on the same processors."""
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
    """Minimum output of `bench engines --data`."""

    set: str
    n: int
    top_10_agree: float
    """Share of questions with the same first ten turns in the same order."""
    sqlite: Found
    postgres: Found
    farthest: float
    """Largest difference of any figure, in percentage points."""
    search_ms: EachTimes
    records: bool
    seconds: float
    version: str


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
    """Minimum output of `bench hostile`: the results of each carrier; nothing may be wrong."""

    set: str
    n: int
    carriers: Mapping[str, CarrierFigures]
    wrong: int
    refused: int
    search_errors: int
    seconds: float
    version: str


# Admission and compaction


@dataclass(frozen=True)
class YieldFigures:
    n: int
    short_or_question_yield: float | None
    all_yield: float | None


@dataclass(frozen=True)
class LocomoLabels:
    n: int
    positive: int
    pooled_auc: float | None
    conversations: Mapping[str, float | None]


@dataclass(frozen=True)
class GateFigures:
    """Output of `bench gate`; the figures of a missing set are null."""

    set: str
    n: int
    durability_auc: float | None
    short_or_question_yield: float | None
    all_yield: float | None
    filter: YieldFigures | None
    locomo: LocomoLabels | None
    dailydialog: YieldFigures | None
    seconds: float
    embedder: str
    version: str


@dataclass(frozen=True)
class UserFigures:
    n: int
    promoted: float | None
    promoted_share_of_turns: float | None
    interference_stored: int
    superseded: float | None
    unrelated_lost: float | None


@dataclass(frozen=True)
class HalumemFigures(UserFigures):
    """Output of `bench halumem`: all files together, each, and the same in mode filter."""

    set: str
    files: Mapping[str, UserFigures]
    filter: UserFigures
    seconds: float
    embedder: str
    version: str


@dataclass(frozen=True)
class HopFigures:
    n: int
    newest_first: float | None
    newest_at_5: Annotated[float | None, Field(serialization_alias="newest@5")]
    stale_first: float | None


@dataclass(frozen=True)
class SizeFigures:
    facts: int
    records_live: int
    records_superseded: int


@dataclass(frozen=True)
class PlainFactsFigures:
    single_hop: HopFigures
    multi_hop: HopFigures


@dataclass(frozen=True)
class FactsFigures:
    """Output of `bench facts`: all sizes together and each, with BM25 and plain vectors."""

    set: str
    n: int
    single_hop: HopFigures
    multi_hop: HopFigures
    baselines: Mapping[str, PlainFactsFigures]
    sizes: Mapping[str, SizeFigures]
    seconds: float
    embedder: str
    version: str


@dataclass(frozen=True)
class PairFigures:
    merged_right: float | None
    merged_wrong: float | None
    missed: float | None
    contradictions_merged: float | None


@dataclass(frozen=True)
class MergeFigures(PairFigures):
    """Output of `bench merge`: all sets together, each, and the repeated month."""

    set: str
    n: int
    sets: Mapping[str, PairFigures]
    same_month_twice_added: int
    paraphrased_added: float | None
    suspect_merges: int | None
    seconds: float
    embedder: str
    version: str


@dataclass(frozen=True)
class CompactFigures:
    """Minimum output of `bench compact`; null without conversations."""

    set: str
    n: int
    recall_before: Annotated[float | None, Field(serialization_alias="recall@10_before")]
    recall_after: Annotated[float | None, Field(serialization_alias="recall@10_after")]
    active_tokens_ratio: float | None
    rules_kept: int | None
    rules_recallable: int | None
    planted_rules_kept: int | None
    unfaithful: int | None
    seconds_per_10k_turns: float | None
    seconds: float
    embedder: str
    version: str


def examples() -> dict[str, object]:
    """Return an example of each output, by contract name."""
    return {**_retrieval_examples(), **_engine_examples(), **_admission_examples()}


def _retrieval_examples() -> dict[str, object]:
    measures = _measures(0.8, 0.6, 0.7, 0.9, 0.7, 0.8, 0.6)
    categories = {"multi-hop": CategoryFigures(100, measures, measures)}
    baseline = BaselineFigures(measures, measures, categories)
    ci = {level: dict.fromkeys(measures, (0.55, 0.65)) for level in ("turn", "session")}
    locomo = RetrievalFigures(
        "locomo", 100, measures, measures, categories, Baselines(baseline, baseline), ci, Abstention(20, 0.1, 0.0),
        SearchTimes(1.0, 2.0), 10.0, "static", "0.1.0",
    )  # fmt: skip
    common = {field.name: getattr(locomo, field.name) for field in fields(locomo)}
    packed: PackedFigures = {"ours": 0.9, "ours_share": 0.9, "top_k": 0.8, "top_k_share": 0.8}
    packs = dict.fromkeys(("1k", "2k", "4k"), packed)
    pair, spread = Percentiles(1.0, 2.0), {"p50": 1.0, "p95": 2.0, "p99": 3.0}
    by_size = {"1000": pair}
    load = LoadFigures(100, 10.0, 0, None, 0, spread, spread)
    times = {"in_process": 1.0, "rpc": 1.5, "http": 2.0}
    return {
        "bench-locomo": locomo,
        "bench-longmemeval": LongMemEvalFigures(**{**common, "set": "longmemeval"}, mode="pool", seed=0),
        "bench-beam": replace(locomo, set="beam"),
        "bench-pack": {"set": "pack", "n": 100, **packs, "seconds": 10.0, "embedder": "static", "version": "0.1.0"},
        "bench-speed": SpeedFigures(
            "speed", 1000, pair, pair, by_size, by_size, by_size, 1000.0, 100.0, 1.0, 10.0, "static", "0.1.0"
        ),
        "bench-serve": ServeFigures("serve", 1000, 50, 1.0, 1, load, load, times, 0.5, 1.0, 10.0, "0.1.0"),
    }


def _engine_examples() -> dict[str, object]:
    rate: EachRate = {"sqlite": 2000.0, "postgres": 1000.0}
    quick: Times = {"p50": 1.0, "p99": 2.0}
    slow: Times = {"p50": 2.0, "p99": 4.0}
    by_size: EachSize = {"sqlite": {"1000": quick}, "postgres": {"1000": slow}}
    twice = {"1000": 2.0}
    found: Found = {"turn": _measures(0.7, 0.6, 0.65, 0.8, 0.7, 0.75, 0.6), "session": None}
    return {
        "bench-engines": EngineFigures(
            "engines", 1000, True, rate, rate, rate, rate, rate, by_size, twice, by_size, twice, by_size, twice, 1.0,
            {"cores": 2, "load": 0.5, "loop_ms": 50.0}, 10.0, "0.1.0",
        ),
        "bench-engines-locomo": AgreementFigures(
            "engines-locomo", 100, 1.0, found, found, 0.0, {"sqlite": quick, "postgres": slow}, True, 10.0, "0.1.0"
        ),
    }  # fmt: skip


def _admission_examples() -> dict[str, object]:
    run = {"seconds": 1.0, "embedder": "static", "version": "0.1.0"}
    yields = {"n": 100, "short_or_question_yield": 0.01, "all_yield": 0.1}
    locomo = {"n": 100, "positive": 40, "pooled_auc": 0.85, "conversations": {"conv-1": 0.85}}
    user = {
        "n": 50, "promoted": 0.9, "promoted_share_of_turns": 0.5, "interference_stored": 0, "superseded": 0.6,
        "unrelated_lost": 0.01,
    }  # fmt: skip
    hop = {"n": 10, "newest_first": 0.9, "newest@5": 1.0, "stale_first": 0.0}
    hops = {"single_hop": hop, "multi_hop": hop}
    plain = {"bm25": hops, "vector": hops}
    size = {"facts": 30, "records_live": 20, "records_superseded": 10, **hops, "baselines": plain}
    pairs = {"merged_right": 0.5, "merged_wrong": 0.0, "missed": 0.5, "contradictions_merged": None}
    return {
        "bench-gate": {
            "set": "gate", **yields, "durability_auc": 0.85, "filter": yields, "locomo": locomo, "dailydialog": yields,
            **run,
        },
        "bench-halumem": {"set": "halumem", **user, "files": {"user.json": user}, "filter": user, **run},
        "bench-facts": {"set": "facts", "n": 20, **hops, "baselines": plain, "sizes": {"6k": size}, **run},
        "bench-compact": {
            "set": "compact", "n": 100, "recall@10_before": 0.8, "recall@10_after": 0.8, "active_tokens_ratio": 0.25,
            "rules_kept": 98, "rules_recallable": 100, "planted_rules_kept": 0, "unfaithful": 0,
            "seconds_per_10k_turns": 15.0, **run,
        },
        "bench-merge": {
            "set": "merge", "n": 100, **pairs, "sets": {"stsb": pairs}, "same_month_twice_added": 0,
            "paraphrased_added": 0.4, "suspect_merges": 0, **run,
        },
    }  # fmt: skip


def _measures(*values: float) -> Measures:
    return cast("Measures", dict(zip(Measures.__annotations__, values, strict=True)))
