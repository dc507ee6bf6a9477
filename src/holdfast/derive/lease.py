"""A lease in the store: one process at a time does what must not be done twice, and a dead one's claim runs out.

A file lock would serialise every namespace of the file, and asking a model takes seconds. A cursor that moves only from
where it was found is enough: it holds the moment, in milliseconds, until which somebody is at it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from holdfast.store.nouns import Changes, Move
from holdfast.store.protocol import Store

__all__ = ["Lease"]


class Lease:
    def __init__(self, store: Store, namespace: str, name: str, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._namespace = namespace
        self._stage = f"lease:{name}"
        self._clock = clock
        self._mine: int | None = None

    def take(self, seconds: float) -> bool:
        """Take it, or hold it for longer; False while somebody else has it."""
        now = int(self._clock() * 1000)
        with self._store.snapshot(self._namespace) as view:
            stands = view.cursor(self._stage)
        if stands > now and stands != self._mine:
            return False
        until = max(now + int(seconds * 1000), stands + 1)
        taken = self._store.advance(self._namespace, [Move(self._stage, stands, until)], Changes())
        self._mine = until if taken else None
        return taken

    def give_back(self) -> None:
        if self._mine is not None:
            self._store.advance(self._namespace, [Move(self._stage, self._mine, 0)], Changes())
            self._mine = None
