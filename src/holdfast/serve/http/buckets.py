"""How often one may ask: a bucket of tokens that fills at a steady pace."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Bucket"]


class Bucket:
    """Holds up to `size` and gains `per_s`; used by one event loop, so it needs no lock."""

    def __init__(self, per_s: float, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s = per_s
        self._size = size
        self._clock = clock
        self._level = float(size)
        self._seen = clock()

    def take(self) -> float:
        """0, or how many seconds to wait until there is one."""
        now = self._clock()
        self._level = min(self._size, self._level + (now - self._seen) * self._per_s)
        self._seen = now
        if self._level >= 1:
            self._level -= 1
            return 0.0
        return (1 - self._level) / self._per_s
