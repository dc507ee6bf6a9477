"""Writers in processes of their own, one connection each: how many single turns a second they have acknowledged.

Each turn is durable before the writer's next. Two doors: `append` is what an ingest waits for (the turn is checked and
handed to the store), `ingest` is the whole Memory, which derives and compacts beside it on the same processors. Only
the time from the first turn to the last acknowledgement counts: processes are started, stores opened, rooms loaded and
a first turn kept before it.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from threading import BrokenBarrierError

from holdfast.errors import StoreError
from holdfast.log.messages import read_turn
from holdfast.memory import Memory
from holdfast.moments import utc_now
from holdfast.settings import Settings
from holdfast.store.open import open_store

__all__ = ["Writing", "write_side_by_side"]

_START_S = 300.0  # for every process to load and open its store; a busy machine takes its time
_LONGEST_S = 1800.0

Put = Callable[[str], object]


@dataclass(frozen=True)
class Writing:
    """What the writers do at once; writer n writes to the namespace n."""

    place: str
    namespaces: tuple[str, ...]
    whole: bool
    """Through Memory, with all that it does in the background."""


def write_side_by_side(tasks: Sequence[Writing], settings: Settings, texts: Sequence[str]) -> list[int]:
    """Turns a second of each task, one task after the other, by the same processes."""
    [writers] = {len(task.namespaces) for task in tasks}
    context = multiprocessing.get_context("spawn")  # as a writer on another machine would be: nothing is shared
    ready, done = context.Barrier(writers + 1), context.Barrier(writers + 1)
    processes = [
        context.Process(target=_write, args=(number, tasks, settings, texts, ready, done), daemon=True)
        for number in range(writers)
    ]
    for process in processes:
        process.start()
    rates: list[int] = []
    try:
        for task in tasks:
            ready.wait(_START_S)
            start = time.perf_counter()
            done.wait(_LONGEST_S)
            seconds = time.perf_counter() - start
            _check(task, settings, len(texts))
            rates.append(round(writers * len(texts) / seconds))
    except BrokenBarrierError:
        raise StoreError("a writer of the measurement stopped early; its error is above") from None
    finally:
        if len(rates) < len(tasks):
            ready.abort()  # nobody waits for a task that does not come
            done.abort()
        for process in processes:
            process.join(_START_S)
    return rates


def _write(
    number: int, tasks: Sequence[Writing], settings: Settings, texts: Sequence[str], ready: Barrier, done: Barrier
) -> None:
    """The life of one writer."""
    try:
        for task in tasks:
            with _door(task, number, settings) as put:
                put("the first turn of this writer")
                ready.wait(_START_S)
                for text in texts:
                    put(text)
                done.wait(_LONGEST_S)
    except BaseException:
        ready.abort()  # nobody waits for one that is gone
        done.abort()
        raise


@contextmanager
def _door(task: Writing, number: int, settings: Settings) -> Iterator[Put]:
    namespace, session = task.namespaces[number], _session(number)
    if task.whole:
        with Memory(task.place, namespace, embedder="none", settings=settings) as memory:
            memory.ingest("what loads the rooms that derive", session=f"warm {number}")
            memory.flush()
            yield lambda text: memory.ingest(text, session=session)
        return
    with closing(open_store(task.place, settings.store)) as store:

        def append(text: str) -> object:
            now = utc_now()
            turn = read_turn(
                text, role="user", at=None, key=None, origin=None, stability=None, metadata=None, now=now,
                settings=settings.log,
            )  # fmt: skip
            return store.append(namespace, session, [turn], now)

        yield append


def _check(task: Writing, settings: Settings, expected: int) -> None:
    """What was counted is there."""
    with closing(open_store(task.place, settings.store)) as store:
        for number, namespace in enumerate(task.namespaces):
            with store.snapshot(namespace) as view:
                kept = view.last_index(_session(number))
            if kept != expected:  # the first turn, which is not counted, has the index 0
                raise StoreError(f"{namespace!r} holds {kept} of {expected} turns that were acknowledged")


def _session(number: int) -> str:
    return f"writer {number}"
