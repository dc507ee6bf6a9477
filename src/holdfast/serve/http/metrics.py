"""What the server counts, and how Prometheus reads it. Names and numbers only: nothing of what was said."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

TEXT = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds; .1 is the bar for a search under load."""


class Metrics:
    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._calls: Counter[tuple[str, int]] = Counter()
        self._slots: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS) + 1))
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._refused: Counter[str] = Counter()
        self._turns = 0
        self._in_flight = 0

    @contextmanager
    def in_flight(self) -> Iterator[int]:
        """Counts a request while it lasts; how many others there are."""
        with self._gate:
            others = self._in_flight
            self._in_flight += 1
        try:
            yield others
        finally:
            with self._gate:
                self._in_flight -= 1

    def called(self, verb: str, status: int, seconds: float, turns: int = 0) -> None:
        """A call came to its end; `turns` were acknowledged by it."""
        with self._gate:
            self._calls[verb, status] += 1
            self._slots[verb][bisect_left(_BOUNDS, seconds)] += 1
            self._seconds[verb] += seconds
            self._turns += turns

    def refused(self, reason: str) -> None:
        with self._gate:
            self._refused[reason] += 1

    def text(self, behind: Mapping[str, int]) -> str:
        """All of it; `behind` is how far derived work is behind in each memory that is open."""
        with self._gate:
            return "\n".join([*self._calls_told(), *self._latency_told(), *self._others_told(behind)]) + "\n"

    def _calls_told(self) -> Iterator[str]:
        yield from _head("holdfast_requests_total", "counter", "Calls of verbs over HTTP, by status.")
        for (verb, status), count in sorted(self._calls.items()):
            yield f'holdfast_requests_total{{verb="{verb}",status="{status}"}} {count}'
        yield from _head("holdfast_refused_total", "counter", "Requests that the guard turned away, by reason.")
        for reason, count in sorted(self._refused.items()):
            yield f'holdfast_refused_total{{reason="{reason}"}} {count}'

    def _latency_told(self) -> Iterator[str]:
        name = "holdfast_request_seconds"
        yield from _head(name, "histogram", "How long calls took, from the whole request to the answer.")
        for verb, slots in sorted(self._slots.items()):
            upto = 0
            for bound, count in zip((*map(str, _BOUNDS), "+Inf"), slots, strict=True):
                upto += count
                yield f'{name}_bucket{{verb="{verb}",le="{bound}"}} {upto}'
            yield f'{name}_sum{{verb="{verb}"}} {self._seconds[verb]:.6f}'
            yield f'{name}_count{{verb="{verb}"}} {upto}'

    def _others_told(self, behind: Mapping[str, int]) -> Iterator[str]:
        yield from _head("holdfast_turns_acknowledged_total", "counter", "Turns that ingest over HTTP answered with.")
        yield f"holdfast_turns_acknowledged_total {self._turns}"
        yield from _head("holdfast_in_flight", "gauge", "Requests in progress, this one included.")
        yield f"holdfast_in_flight {self._in_flight}"
        yield from _head("holdfast_open_memories", "gauge", "Memories that are open.")
        yield f"holdfast_open_memories {len(behind)}"
        yield from _head("holdfast_behind", "gauge", "Lines of the log that derived work has yet to read, in all.")
        yield f"holdfast_behind {sum(behind.values())}"


def _head(name: str, kind: str, about: str) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
