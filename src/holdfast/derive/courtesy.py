"""Work in the background stands aside while somebody waits for an answer.

Python runs one thread at a time. A search lets go of the interpreter at every statement, and a worker that takes it up
keeps it for 5 ms: a search that begins beside a batch took twice as long as alone. So the worker asks between two
pieces of its work, and waits while a call is under way, but not longer than a few times what the piece took: it is
slowed down, never stopped. When somebody waits for the work itself, it does not ask.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["FOREGROUND", "Courtesy", "Foreground"]

_TIMES = 3  # so many times a piece of work is waited after it: calls have three quarters of the interpreter, or more
_MOST_S = 0.05  # and not longer than this at once: a search takes a fifth of it


class Foreground:
    """The calls under way that somebody waits for."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.calls = 0

    @contextmanager
    def call(self) -> Iterator[None]:
        with self._changed:
            self.calls += 1
        try:
            yield
        finally:
            with self._changed:
                self.calls -= 1
                if not self.calls:
                    self._changed.notify_all()

    def wait(self, most_s: float) -> None:
        """Until none is under way, or so long."""
        with self._changed:
            self._changed.wait_for(lambda: not self.calls, most_s)


FOREGROUND = Foreground()
"""Of the process: all its memories share one interpreter."""


class Courtesy:
    """Of one worker."""

    def __init__(self, foreground: Foreground = FOREGROUND) -> None:
        self._foreground = foreground
        self._since = 0.0

    def begin(self) -> None:
        """A piece of work begins."""
        self._since = time.monotonic()

    def step_aside(self) -> None:
        """A piece of work is done, the next one begins when nobody waits, or after a while."""
        if self._foreground.calls:
            self._foreground.wait(min(_TIMES * (time.monotonic() - self._since), _MOST_S))
        self._since = time.monotonic()
