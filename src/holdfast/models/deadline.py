"""Waiting no longer than allowed: work that may hang is done by a thread of its own (SAFE-1).

A thread cannot be stopped from outside. One that is late is left alone, and counted; when it comes back, it takes up
work again. So many late ones are the most there can be: what hangs for good costs a few threads, not one a call.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError, ModelUnavailable
from holdfast.models.breaker import Breaker
from holdfast.models.embedder import Embedder, Profile

T = TypeVar("T")

_IDLE_S = 30.0  # a thread that had nothing to do for so long ends
_MOST_LATE = 16


class Late(ModelUnavailable):
    """It did not come back in time."""


class _Job(Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._result: T | None = None
        self._error: BaseException | None = None
        self.done = threading.Event()
        self.abandoned = False

    def do(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # handed to whoever waits
            self._error = error

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return cast("T", self._result)


_Line = queue.SimpleQueue["_Job[object]"]


class Patience:
    """Does work beside the caller, who waits for it so long and no longer. Safe to share between threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._gate = threading.Lock()
        self._idle: list[_Line] = []
        self._late = 0

    def wait_for(self, work: Callable[[], T], seconds: float) -> T:
        """The work's result or its error; Late when it takes longer, or when too many before it never came back."""
        job = _Job(work)
        self._hand_over(cast("_Job[object]", job))
        if not job.done.wait(max(seconds, 0.0)):
            with self._gate:
                if not job.done.is_set():
                    job.abandoned = True
                    self._late += 1
                    raise Late(f"{self._name} did not answer within {seconds * 1000:.0f} ms")
        return job.result()

    def _hand_over(self, job: _Job[object]) -> None:
        with self._gate:
            if self._late >= _MOST_LATE:
                raise Late(f"{self._name} does not answer: {self._late} calls still wait for it")
            line = self._idle.pop() if self._idle else None
        if line is None:
            line = queue.SimpleQueue()
            # A daemon: a program must be able to end while something hangs.
            threading.Thread(target=self._run, args=(line,), name=f"holdfast-{self._name}", daemon=True).start()
        line.put(job)

    def _run(self, line: _Line) -> None:
        while True:
            try:
                job = line.get(timeout=_IDLE_S)
            except queue.Empty:
                with self._gate:
                    if line in self._idle:
                        self._idle.remove(line)
                        return
                continue  # it was just taken: a job is on its way
            job.do()
            with self._gate:
                job.done.set()
                self._late -= job.abandoned
                self._idle.append(line)
            del job  # what it holds must not live until the next one comes


# --- An embedder that has little time: late is as good as down, and recall goes on by words.


class Hurried:
    """For one context: all it is asked shares one allowance, the same text is asked once, and it fails only once."""

    def __init__(self, embedder: Embedder, patience: Patience, breaker: Breaker, seconds: float) -> None:
        self._embedder = embedder
        self._patience = patience
        self._breaker = breaker
        self._left = seconds
        self._known: dict[tuple[str, ...], NDArray[np.float32]] = {}
        self._failed: str | None = None

    @property
    def profile(self) -> Profile:
        return self._embedder.profile

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        key = tuple(texts)
        if self._failed is not None:
            raise ModelUnavailable(self._failed)
        if key not in self._known:
            started = time.monotonic()
            try:
                self._known[key] = self._breaker.call(
                    lambda: self._patience.wait_for(lambda: self._embedder.embed(texts), self._left)
                )
            except ModelError as error:
                self._failed = str(error)
                raise
            self._left -= time.monotonic() - started
        return self._known[key]
