"""The shape of what `bench serve` writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["LoadFigures", "ServeFigures", "serve_example"]


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
