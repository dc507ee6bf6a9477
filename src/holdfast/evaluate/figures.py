"""The shape of what the benches of search write: any, all, recall and MRR, beside their baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

__all__ = ["LongMemEvalFigures", "Measures", "PackFigures", "RetrievalFigures", "retrieval_examples"]

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
