"""What the benches of admission write at least, for the contract; docs/quality.md says what each figure means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field


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
    """What `bench gate` writes; the figures of a set that was not given are null."""

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
    """What `bench halumem` writes: all files together, each, and the same in mode filter."""

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
    """What `bench facts` writes: all sizes together, and each (with the hops that were asked); BM25 and vectors too."""

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
    """What `bench merge` writes: all sets together, each, and the month told again."""

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
    """What `bench compact` writes at least; null without conversations. docs/compaction.md says what each means."""

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


# The shape of a run, not a measurement: figures with their commands are in docs/quality.md.
_RUN: dict[str, object] = {"seconds": 1.0, "embedder": "static", "version": "0.1.0"}
_YIELD: dict[str, object] = {"n": 100, "short_or_question_yield": 0.01, "all_yield": 0.1}
_USER: dict[str, object] = {
    "n": 50,
    "promoted": 0.9,
    "promoted_share_of_turns": 0.5,
    "interference_stored": 0,
    "superseded": 0.6,
    "unrelated_lost": 0.01,
}
_HOP: dict[str, object] = {"n": 10, "newest_first": 0.9, "newest@5": 1.0, "stale_first": 0.0}
_HOPS: dict[str, object] = {"single_hop": _HOP, "multi_hop": _HOP}
_PLAIN: dict[str, object] = {"bm25": _HOPS, "vector": _HOPS}
_PAIRS: dict[str, object] = {
    "merged_right": 0.5,
    "merged_wrong": 0.0,
    "missed": 0.5,
    "contradictions_merged": None,
}


def admission_examples() -> dict[str, object]:
    return {
        "bench-gate": {
            "set": "gate",
            **_YIELD,
            "durability_auc": 0.85,
            "filter": _YIELD,
            "locomo": {"n": 100, "positive": 40, "pooled_auc": 0.85, "conversations": {"conv-1": 0.85}},
            "dailydialog": _YIELD,
            **_RUN,
        },
        "bench-halumem": {"set": "halumem", **_USER, "files": {"user.json": _USER}, "filter": _USER, **_RUN},
        "bench-facts": {
            "set": "facts",
            "n": 20,
            **_HOPS,
            "baselines": _PLAIN,
            "sizes": {"6k": {"facts": 30, "records_live": 20, "records_superseded": 10, **_HOPS, "baselines": _PLAIN}},
            **_RUN,
        },
        "bench-compact": {
            "set": "compact",
            "n": 100,
            "recall@10_before": 0.8,
            "recall@10_after": 0.8,
            "active_tokens_ratio": 0.25,
            "rules_kept": 98,
            "rules_recallable": 100,
            "planted_rules_kept": 0,
            "unfaithful": 0,
            "seconds_per_10k_turns": 15.0,
            **_RUN,
        },
        "bench-merge": {
            "set": "merge",
            "n": 100,
            **_PAIRS,
            "sets": {"stsb": _PAIRS},
            "same_month_twice_added": 0,
            "paraphrased_added": 0.4,
            "suspect_merges": 0,
            **_RUN,
        },
    }
