"""The shape of what `bench speed` writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Percentiles", "SpeedFigures", "speed_example"]


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
