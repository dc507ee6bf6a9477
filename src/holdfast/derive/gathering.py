"""How long work in the background waits for more of it, so that what follows at once shares a batch.

A batch has a price of its own, whatever is in it: a commit that the next ingest waits for, and a look at every view.
So the first turn after a pause is worked on soon; while turns keep coming, each batch waits twice as long as the one
before, up to a bound, and nobody waits while somebody waits for the work.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Gathering"]


class Gathering:
    def __init__(self, first_s: float, most_s: float) -> None:
        self._first_s = first_s
        self._most_s = max(first_s, most_s)
        self.next_s = first_s
        """How long the next batch waits."""
        self._hurry = threading.Event()
        self._gate = threading.Lock()
        self._waiting = 0

    @property
    def is_hurried(self) -> bool:
        """Somebody waits for the work."""
        return self._hurry.is_set()

    def gather(self) -> None:
        """Let more come, unless somebody waits; the next time a little longer."""
        self._hurry.wait(self.next_s)
        self.next_s = min(2 * self.next_s, self._most_s)

    def rest(self) -> None:
        """There is no more to do: what comes next is the first after a pause."""
        self.next_s = self._first_s

    @contextmanager
    def hurried(self) -> Iterator[None]:
        """Somebody waits for the work meanwhile, perhaps not alone."""
        with self._gate:
            self._waiting += 1
            self._hurry.set()
        try:
            yield
        finally:
            with self._gate:
                self._waiting -= 1
                if not self._waiting:
                    self._hurry.clear()

    def stop(self) -> None:
        """Nobody gathers any more."""
        with self._gate:
            self._waiting += 1
            self._hurry.set()
