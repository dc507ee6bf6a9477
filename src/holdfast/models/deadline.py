"""Deadlines for work that may hang: it runs in another thread, and the caller stops waiting (SAFE-1).

A thread cannot be stopped from outside. A late one is abandoned and counted; when it returns, it is used again. The
number of abandoned threads is limited, so that a model that hangs forever costs a few threads, not one per call.
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
from holdfast.models.embedder import Breaker, Embedder, Profile

T = TypeVar("T")

_IDLE_S = 30.0  # seconds without work after which a thread ends
_MAX_LATE = 16


class DeadlineExceeded(ModelUnavailable):
    """The work did not finish in time."""


class _Task(Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._result: T | None = None
        self._error: BaseException | None = None
        self.done = threading.Event()
        self.abandoned = False

    def run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # raised in the waiting thread
            self._error = error

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return cast("T", self._result)


_Queue = queue.SimpleQueue["_Task[object]"]


class DeadlineExecutor:
    """Runs work in another thread while the caller waits for a limited time. Safe to share between threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._idle: list[_Queue] = []
        self._late = 0

    def run(self, work: Callable[[], T], seconds: float) -> T:
        """Return the work's result or raise its error; DeadlineExceeded if it, or too many before it, take longer."""
        task = _Task(work)
        self._submit(cast("_Task[object]", task))
        if not task.done.wait(max(seconds, 0.0)):
            with self._lock:
                if not task.done.is_set():
                    task.abandoned = True
                    self._late += 1
                    raise DeadlineExceeded(f"{self._name} did not answer within {seconds * 1000:.0f} ms")
        return task.result()

    def _submit(self, task: _Task[object]) -> None:
        with self._lock:
            if self._late >= _MAX_LATE:
                raise DeadlineExceeded(f"{self._name} does not answer: {self._late} calls still wait for it")
            tasks = self._idle.pop() if self._idle else None
        if tasks is None:
            tasks = queue.SimpleQueue()
            # A daemon: a program must be able to end while something hangs.
            threading.Thread(target=self._work, args=(tasks,), name=f"holdfast-{self._name}", daemon=True).start()
        tasks.put(task)

    def _work(self, tasks: _Queue) -> None:
        while True:
            try:
                task = tasks.get(timeout=_IDLE_S)
            except queue.Empty:
                with self._lock:
                    if tasks in self._idle:
                        self._idle.remove(tasks)
                        return
                continue  # the queue was just taken: a task is on its way
            task.run()
            with self._lock:
                task.done.set()
                self._late -= task.abandoned
                self._idle.append(tasks)
            del task  # frees what it holds before the next one comes


class DeadlineEmbedder:
    """Embedder for one context: all calls share one time limit, each text is embedded once, and it fails only once."""

    def __init__(self, embedder: Embedder, executor: DeadlineExecutor, breaker: Breaker, seconds: float) -> None:
        self._embedder = embedder
        self._executor = executor
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
                    lambda: self._executor.run(lambda: self._embedder.embed(texts), self._left)
                )
            except ModelError as error:
                self._failed = str(error)
                raise
            self._left -= time.monotonic() - started
        return self._known[key]
