"""The background worker: one thread per engine keeps the views of every open namespace up to date with the log.

Any number of processes may run one. A claim keeps two workers from deriving the same namespace at once, and a cursor
only moves from where it was read, so work never counts twice even if a claim fails. Progress is durable: after a crash
the next worker continues from the cursor.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.errors import (
    Closed,
    FlushTimeout,
    HoldfastError,
    ModelError,
    ModelUnavailable,
    StoreDamaged,
    StoreReadOnly,
)
from holdfast.index.blocks import IndexSizes, words_stage
from holdfast.index.vectors import vectors_stage
from holdfast.model import Clock
from holdfast.models.embedder import Embedder
from holdfast.settings import JanitorSettings
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import ADMIT_STAGE, PASSAGES_STAGE, Space

if TYPE_CHECKING:
    from holdfast.admit.pipeline import Admission

COUNT_EVERY_S = 2.0  # between two writes of retrieval counts: a search waits for no commit, a crash loses that much


class BatchDelay:
    """Delay before a batch starts, so that turns in quick succession share one.

    Every batch has a fixed price: a commit that the next ingest waits for, and a look at every view. The first turn
    after a pause is processed soon; while turns keep coming each batch waits twice as long as the one before, up to a
    limit, and nothing waits while a flush is waiting.
    """

    def __init__(self, first_s: float, most_s: float) -> None:
        self._first_s = first_s
        self._most_s = max(first_s, most_s)
        self.next_s = first_s

    def take(self) -> float:
        """Return the delay of the next batch; the one after it waits longer."""
        delay, self.next_s = self.next_s, min(2 * self.next_s, self._most_s)
        return delay

    def reset(self) -> None:
        """Start over: there is no work left, so the next turn is the first after a pause."""
        self.next_s = self._first_s


# --- Background work yields to foreground calls.
#
# Python runs one thread at a time. A search lets go of the interpreter at every statement, and a worker that takes
# it up keeps it for 5 ms: a search that begins during a batch took twice as long as alone. So the worker asks
# between two pieces of its work, and waits while a call is under way, but not longer than a few times what the
# piece took: it is slowed down, never stopped. A flush waits for the work itself, and turns this off.


_TIMES = 3  # the pause is up to three times as long as the work before it: calls get three quarters of the interpreter
_MOST_S = 0.05  # longest pause: a search takes a fifth of it


class Foreground:
    """Count of the calls in progress that a caller waits for."""

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
        """Wait until no call is in progress, at most `most_s` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self.calls, most_s)


FOREGROUND = Foreground()
"""One per process: all its memories share one interpreter."""


class BackgroundPriority:
    """Makes one worker yield to foreground calls between two pieces of its work."""

    def __init__(self, foreground: Foreground = FOREGROUND) -> None:
        self._foreground = foreground
        self._since = 0.0

    def begin(self) -> None:
        """Note that a piece of work begins."""
        self._since = time.monotonic()

    def yield_to_foreground(self) -> None:
        """Pause after a piece of work until no foreground call is in progress, but not for long."""
        if self._foreground.calls:
            self._foreground.wait(min(_TIMES * (time.monotonic() - self._since), _MOST_S))
        self._since = time.monotonic()


Progress = Callable[[int, int], None]
"""Called with (done, total)."""

_log = logging.getLogger("holdfast.worker")
_MOST_STALLED = 3
_RETRY_CLAIM_S = 0.01  # another process derives this namespace: look again soon
_LOOK_S = 0.05  # how often a flush looks again when no progress is reported (another process may be at work)
_RETRY_S = 1.0  # after a failing model; its circuit breaker decides whether it is asked at all
_MOST_ADMISSIONS = 32  # namespaces whose records are kept in memory between batches
_WORD_SPACES = (Space.TURN, Space.RECORD, Space.PASSAGE)
_EMBEDDED = (Space.TURN, Space.RECORD)  # then turns are read further (index/vectors.py)


@dataclass
class _Job:
    """The derived work of one namespace."""

    namespace: str
    delay: BatchDelay
    due: float | None = None
    """Start of its next batch, in seconds of time.monotonic(); None while there is nothing to do."""
    waiting: int = 0
    """Flushes that wait for it."""
    failures: int = 0
    stalled: int = 0
    """Batches in a row that did nothing, though there was work."""
    trouble: str | None = None


class Worker:
    """Derives the views of all namespaces of an engine in one thread."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        settings: IndexSizes,
        open_admission: Callable[[str], Admission] | None = None,
        ask: Embedder | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._ask = ask
        self._settings = settings
        self._open_admission = open_admission
        self._admissions: OrderedDict[str, Admission] = OrderedDict()
        self._jobs: dict[str, _Job] = {}
        self._changed = threading.Condition()
        """Guards the jobs; notified when one is due and when a batch is done."""
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._priority = BackgroundPriority()
        self._current: _Job | None = None

    def degraded(self, namespace: str) -> str | None:
        """Return what holds up or weakens the derived work of a namespace, or None."""
        job = self._jobs.get(namespace)
        admission = self._admissions.get(namespace)
        return (job and job.trouble) or (None if admission is None else admission.degraded)

    # --- in the background

    def wake(self, namespace: str) -> None:
        """Schedule a batch for a namespace. The first call starts the thread."""
        with self._changed:
            if self._stopping:
                return
            job = self._job(namespace)
            if job.due is None:
                job.due = time.monotonic() + (0.0 if job.waiting else job.delay.take())
                self._changed.notify_all()
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="holdfast-worker", daemon=True)
                thread.start()  # before it is kept: an interrupt here must not leave a thread that cannot be joined
                self._thread = thread

    def catch_up(self, namespace: str) -> None:
        """Continue what a crash left undone, when a namespace is opened for the first time."""
        try:
            if namespace not in self._jobs and (self.behind(namespace) or self.ask_behind(namespace)):
                self.wake(namespace)
        except StoreDamaged as error:  # it is opened all the same, so that it can be checked and exported
            _log.error("derived work cannot go on: %s", error)
        with self._changed:
            self._job(namespace)

    def close(self) -> None:
        """Finish the current batch and stop. The next process that opens the store does the rest."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._admissions.clear()

    def _job(self, namespace: str) -> _Job:
        if namespace not in self._jobs:
            self._jobs[namespace] = _Job(namespace, BatchDelay(self._settings.gather_s, self._settings.gather_most_s))
        return self._jobs[namespace]

    def _run(self) -> None:
        while (job := self._next()) is not None:
            self._current = job
            pause = self._batch(job)
            with self._changed:
                self._current = None
                if pause is not None:
                    due = time.monotonic() + pause
                    job.due = due if job.due is None else min(job.due, due)
                self._changed.notify_all()

    def _next(self) -> _Job | None:
        """Wait for the next due batch, awaited namespaces first; None when the worker stops."""
        with self._changed:
            while not self._stopping:
                now = time.monotonic()
                jobs = [job for job in self._jobs.values() if job.due is not None]
                if jobs:
                    first = min(jobs, key=lambda job: (not job.waiting, job.due))
                    assert first.due is not None
                    if first.due <= now:
                        first.due = None
                        return first
                    self._changed.wait(min(job.due for job in jobs if job.due is not None) - now)
                else:
                    self._changed.wait()
        return None

    def _batch(self, job: _Job) -> float | None:
        """Derive one batch of a namespace; return how long to wait before its next one, or None if none is left."""
        try:
            done = self.derive(job.namespace)
            stalled = done == 0 and self.behind(job.namespace) > 0
        except Closed:
            return None
        except ModelError as error:
            what = "by words, not yet by meaning" if self.behind(job.namespace) else "without the ask model"
            return self._failed(job, f"turns are kept and found {what}: {error}")
        except HoldfastError as error:
            return self._failed(job, f"derived work waits: {error}")
        except Exception as error:  # a bug of ours must show itself and not end the work for good
            _log.exception("%s: derived work failed", job.namespace)
            return self._failed(job, f"derived work waits after {type(error).__name__}: {error}")
        if done is None:  # another process is at it
            return _RETRY_CLAIM_S
        if done:
            job.stalled = 0
            return 0.0 if done >= self._settings.batch or job.waiting else job.delay.take()
        job.delay.reset()
        job.stalled = job.stalled + 1 if stalled else 0
        if job.stalled >= _MOST_STALLED:
            return self._failed(job, "derived work makes no progress: a view is damaged; run `holdfast doctor --fix`")
        if stalled:  # perhaps a turn has come since
            return 0.0
        job.trouble = None
        return None

    def _failed(self, job: _Job, why: str) -> float:
        """Note what holds up the work; return how long to wait before it is tried again."""
        if why != job.trouble:
            _log.warning("%s: %s", job.namespace, why)
        job.trouble = why
        job.failures += 1
        return _RETRY_S

    # --- the work itself

    def derive(self, namespace: str) -> int | None:
        """Derive one batch of each view and return how much was done; None if another process holds the claim."""
        # Importing these takes a while: a process that only searches does not wait for them.
        from holdfast.index.blocks import cut_turns, index_words
        from holdfast.index.vectors import embed_documents, read_turns

        with self._store.claim(namespace) as mine:
            if not self.behind(namespace):  # one look is quicker than that of each stage
                return self._read_for_questions(namespace) if mine else None if self.ask_behind(namespace) else 0
            if not mine:
                return None
            self._priority.begin()
            done = cut_turns(self._store, namespace, self._settings, self._step_aside)
            for space in _WORD_SPACES:
                self._step_aside()
                done += index_words(self._store, namespace, space, self._settings, self._step_aside)
            if self._embedder is not None:
                for space in _EMBEDDED:
                    self._step_aside()
                    done += embed_documents(self._store, namespace, space, self._embedder, self._settings)
                self._step_aside()
                done += read_turns(self._store, namespace, self._embedder, self._settings)
            if self._open_admission is not None:
                self._step_aside()
                done += self.admission(namespace).admit_batch(self._step_aside)
        return done

    def _read_for_questions(self, namespace: str) -> int:
        if self._ask is None:
            return 0
        from holdfast.worker.ask import read_for_questions

        self._priority.begin()
        return read_for_questions(self._store, namespace, self._ask, self._settings, self._step_aside)

    def ask_behind(self, namespace: str) -> int:
        """Count the turns, passages and records that the ask encoder has yet to read."""
        if self._ask is None:
            return 0
        from holdfast.worker.ask import count_unread

        return count_unread(self._store, namespace, self._ask)

    def admission(self, namespace: str) -> Admission:
        """Return the admission of a namespace; a few are kept between batches."""
        assert self._open_admission is not None
        if namespace not in self._admissions:
            self._admissions[namespace] = self._open_admission(namespace)
            while len(self._admissions) > _MOST_ADMISSIONS:
                self._admissions.popitem(last=False)
        self._admissions.move_to_end(namespace)
        return self._admissions[namespace]

    def _step_aside(self) -> None:
        """Yield to foreground calls between two pieces of work, unless a flush waits for the work."""
        if self._current is None or not self._current.waiting:
            self._priority.yield_to_foreground()

    def behind(self, namespace: str) -> int:
        """Count the lines of the log that the views have yet to read, without a tail the word index may leave out."""
        left = 0
        with self._store.snapshot(namespace) as view:
            done = view.cursor(PASSAGES_STAGE)
            if view.numbers(Space.TURN, done, 1):  # the log may end in acts, which have nothing to derive from
                left = view.end() - done
            for space in _WORD_SPACES:
                most = view.end(space) - (done := view.cursor(words_stage(space)))
                tail = self._settings.tail
                if most >= tail and len(view.numbers(space, done, tail)) >= tail:  # numbers may be of acts, or gone
                    left = max(left, most)
            if self._embedder is not None:
                for space in (*_EMBEDDED, Space.STATEMENT):
                    done = view.cursor(vectors_stage(space, self._embedder.profile.fingerprint))
                    if view.numbers(space, done, 1):
                        left = max(left, view.end(space) - done)
            if self._open_admission is not None:
                left = max(left, _unadmitted(view))
        return left

    def flush(self, namespace: str, timeout: float | None, progress: Progress | None = None) -> None:
        """Wait until the views of a namespace have caught up with the log.

        Without a time-out it waits as long as work goes on, and raises the model's error when the model fails.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            job = self._job(namespace)
            job.waiting += 1
            failures, job.stalled = job.failures, 0  # a batch that a rebuild overtook does not count
        try:
            total = left = self.behind(namespace) + self.ask_behind(namespace)
            while left:
                if progress is not None:
                    progress(total - left, total)
                if deadline is None and job.trouble and job.failures > failures:
                    raise ModelUnavailable(job.trouble)
                if deadline is not None and time.monotonic() >= deadline:
                    trouble = self.degraded(namespace)
                    raise FlushTimeout(
                        f"{left} lines of the log are not derived yet after {timeout} s"
                        + (f" ({trouble})" if trouble else "")
                        + "; nothing is lost, the work goes on"
                    )
                self._hurry(job)
                with self._changed:
                    self._changed.wait(
                        _LOOK_S if deadline is None else max(0.0, min(_LOOK_S, deadline - time.monotonic()))
                    )
                left = self.behind(namespace) + self.ask_behind(namespace)
                total = max(total, left)
        finally:
            with self._changed:
                job.waiting -= 1
        job.trouble = None  # nothing is left to do, so nothing keeps it from being done
        if progress is not None and total:
            progress(total, total)

    def _hurry(self, job: _Job) -> None:
        """Start the next batch at once."""
        self.wake(job.namespace)
        with self._changed:
            if job.due is not None:
                job.due = min(job.due, time.monotonic())
                self._changed.notify_all()


def _unadmitted(view: Snapshot) -> int:
    """Count the lines of the log that admission has yet to read."""
    done = view.cursor(ADMIT_STAGE)
    return view.end() - done if view.numbers(Space.TURN, done, 1) else 0


# --- Retrieval counts: which records were found how often, written off the caller's path (KEEP-1).
#
# A search leaves the ids of its hits here and goes on; one thread per engine writes them together every few seconds.
# Counts that a crash takes with it are lost: they are hints for the janitor, and the one thing the log does not know
# (INV-3).


class RetrievalCounter:
    """The counts of all namespaces of an engine that are not written yet."""

    def __init__(self, store: Store, settings: JanitorSettings, clock: Clock) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._found: dict[str, Counter[str]] = {}
        self._lock = threading.Lock()
        self._some = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._warned = False

    def note(self, namespace: str, ids: Iterable[str]) -> None:
        """Count these turns and records as returned; takes microseconds, whatever the disk does."""
        if not self._settings.count or self._stop.is_set():
            return
        with self._lock:
            self._found.setdefault(namespace, Counter()).update(ids)
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="holdfast-counter", daemon=True)
                thread.start()
                self._thread = thread
        self._some.set()

    def write(self, namespace: str | None = None) -> None:
        """Write the counts of a namespace, or of all. A failing store loses the counts, never an answer."""
        with self._lock:
            names = list(self._found) if namespace is None else [namespace]
            found = {name: self._found.pop(name) for name in names if name in self._found}
        for name, counts in found.items():
            if not counts:
                continue
            try:
                self._store.count_retrievals(name, counts, self._clock())
            except StoreReadOnly:  # reading must leave no trace there
                pass
            except HoldfastError as error:
                if not self._warned:
                    _log.warning("%s: retrievals are not counted: %s", name, error)
                self._warned = True

    def close(self) -> None:
        """Write the rest and stop."""
        self._stop.set()
        self._some.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self.write()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._some.wait()
            self._stop.wait(COUNT_EVERY_S)
            self._some.clear()
            self.write()
