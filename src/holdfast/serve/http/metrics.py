"""Metrics in the format of Prometheus: names and numbers only, never stored text.

If PROMETHEUS_MULTIPROC_DIR is set, as it is with several processes, each process writes its values to files there and
every one of them reports the sums.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

MEDIA_TYPE = CONTENT_TYPE_LATEST
_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds; a search under load should take less than .1."""

disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    def __init__(self) -> None:
        self._registry = known = CollectorRegistry()
        self._requests = Counter(
            "holdfast_requests", "Calls of verbs over HTTP, by status.", ("verb", "status"), registry=known
        )
        self._seconds = Histogram(
            "holdfast_request_seconds", "Duration of calls.", ("verb",), buckets=_BUCKETS, registry=known
        )
        self._refused = Counter(
            "holdfast_refused", "Requests that were refused before any call, by reason.", ("reason",), registry=known
        )
        self._turns = Counter("holdfast_turns_acknowledged", "Turns stored over HTTP.", registry=known)
        self._in_flight = Gauge(
            "holdfast_in_flight",
            "Requests in progress, including this one.",
            registry=known,
            multiprocess_mode="livesum",
        )
        self._open = Gauge(
            "holdfast_open_memories", "Memories in use by the answering process.", registry=known,
            multiprocess_mode="mostrecent",
        )  # fmt: skip
        self._behind = Gauge(
            "holdfast_behind", "Log lines that background work has yet to read in these memories.", registry=known,
            multiprocess_mode="mostrecent",
        )  # fmt: skip

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Count a request while it lasts."""
        self._in_flight.inc()
        try:
            yield
        finally:
            self._in_flight.dec()

    def called(self, verb: str, status: int, seconds: float, turns: int = 0) -> None:
        """Count a finished call and the turns that it acknowledged."""
        self._requests.labels(verb, str(status)).inc()
        self._seconds.labels(verb).observe(seconds)
        self._turns.inc(turns)

    def refused(self, reason: str) -> None:
        self._refused.labels(reason).inc()

    def text(self, behind: Mapping[str, int]) -> bytes:
        """Return all metrics; `behind` is the backlog of each memory in use."""
        self._open.set(len(behind))
        self._behind.set(sum(behind.values()))
        registry = self._registry
        if os.environ.get(_DIRECTORY):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
