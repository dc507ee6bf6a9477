"""The worker that follows the log: it keeps the views of one namespace up to date, off the caller's path.

Any number of processes may run one. A claim keeps them from doing the same work at once, and a cursor that moves only
from where it was found keeps work from counting twice, even if the claim should fail. Progress is durable: after a
crash the next worker goes on where the cursor stands.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.errors import Closed, FlushTimeout, HoldfastError, ModelError, ModelUnavailable
from holdfast.index.candidates import words_stage
from holdfast.index.vectors import vectors_stage
from holdfast.models.embedder import Embedder
from holdfast.settings import IndexSettings
from holdfast.store.protocol import Snapshot, Store
from holdfast.store.types import ADMIT_STAGE, PASSAGES_STAGE, Space

if TYPE_CHECKING:
    from holdfast.admit.pipeline import Admission

# --- How long work in the background waits for more of it, so that what follows at once shares a batch.
#
# A batch has a price of its own, whatever is in it: a commit that the next ingest waits for, and a look at every view.
# So the first turn after a pause is worked on soon; while turns keep coming, each batch waits twice as long as the one
# before, up to a bound, and nobody waits while somebody waits for the work.


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


# --- Work in the background stands aside while somebody waits for an answer.
#
# Python runs one thread at a time. A search lets go of the interpreter at every statement, and a worker that takes
# it up keeps it for 5 ms: a search that begins beside a batch took twice as long as alone. So the worker asks
# between two pieces of its work, and waits while a call is under way, but not longer than a few times what the
# piece took: it is slowed down, never stopped. When somebody waits for the work itself, it does not ask.


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


Progress = Callable[[int, int], None]
"""Called with (done, total)."""

_log = logging.getLogger("holdfast.worker")
_WAIT_FOR_OTHERS_S = 0.01
_LOOK_S = 0.05  # how often a flush looks again when nobody tells it of progress (another process may be at work)
_WORDED = (Space.TURN, Space.RECORD, Space.PASSAGE)
_EMBEDDED = (Space.TURN, Space.RECORD)  # then turns are read further (index/vectors.py)
_RETRY_S = 1.0  # after a failing model; its breaker decides whether it is asked at all


class Worker:
    def __init__(
        self,
        store: Store,
        namespace: str,
        embedder: Embedder | None,
        settings: IndexSettings,
        admission: Admission | LaterAdmission | None = None,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._embedder = embedder
        self._settings = settings
        self._admission = admission
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._gathering = Gathering(settings.gather_s, settings.gather_most_s)
        self._courtesy = Courtesy()
        self._moved = threading.Condition()
        self._thread: threading.Thread | None = None
        self._gate = threading.Lock()
        self._failures = 0
        self._trouble: str | None = None
        if admission is not None:
            admission.on_answer(self.wake)

    @property
    def degraded(self) -> str | None:
        """What keeps the work from going on, or makes it worse than it could be; None when nothing does."""
        return self._trouble or (None if self._admission is None else self._admission.degraded)

    # --- in the background

    def wake(self) -> None:
        """There may be work. Starts the thread at the first call."""
        self._wake.set()
        if self._thread is None:
            with self._gate:
                if self._thread is None and not self._stop.is_set():
                    thread = threading.Thread(target=self._run, name="holdfast-worker", daemon=True)
                    thread.start()  # before it is kept: an interrupt here must not leave a thread that cannot be joined
                    self._thread = thread

    def close(self) -> None:
        """Finish the batch in hand and stop. What is left is done by whoever opens the store next."""
        self._stop.set()
        if self._admission is not None:
            self._admission.close()
        self._gathering.stop()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        pause: float | None = None
        while True:
            self._wake.wait(pause)
            self._wake.clear()
            if self._stop.is_set():
                return
            try:
                self._gathering.gather()
                while not self._stop.is_set() and (done := self._step()):
                    if done < self._settings.batch:
                        self._gathering.gather()
                self._gathering.rest()
                self._trouble, pause = None, None
            except Closed:
                return
            except ModelError as error:
                pause = self._failed(f"turns are kept and found by words, not yet by meaning: {error}")
            except HoldfastError as error:
                pause = self._failed(f"derived work waits: {error}")
            except Exception as error:  # a bug of ours must show itself and not end the work for good
                _log.exception("%s: derived work failed", self._namespace)
                pause = self._failed(f"derived work waits after {type(error).__name__}: {error}")
            with self._moved:
                self._moved.notify_all()

    def _failed(self, why: str) -> float:
        """Note what keeps the work from going on; how long to wait before it is tried again."""
        if why != self._trouble:
            _log.warning("%s: %s", self._namespace, why)
        self._trouble = why
        self._failures += 1
        return _RETRY_S

    # --- the work itself

    def _step(self) -> int:
        """One batch of each view; how much was done."""
        # The rooms that read turns take a while to load: who only asks does not wait for them.
        from holdfast.index.vectors import embed_documents, read_turns
        from holdfast.index.words import cut_turns, index_words

        with self._store.claim(self._namespace) as mine:
            if not mine:
                return self._wait_for_other()
            if not self.behind():
                return 0  # one look is quicker than that of each stage
            self._courtesy.begin()
            done = cut_turns(self._store, self._namespace, self._settings)
            for space in _WORDED:
                self._step_aside()
                done += index_words(self._store, self._namespace, space, self._settings)
            if self._embedder is not None:
                for space in _EMBEDDED:
                    self._step_aside()
                    done += embed_documents(self._store, self._namespace, space, self._embedder, self._settings)
                self._step_aside()
                done += read_turns(self._store, self._namespace, self._embedder, self._settings)
            if self._admission is not None:
                self._step_aside()
                done += self._admission.admit_batch(self._step_aside)
        with self._moved:
            self._moved.notify_all()
        return done

    def _step_aside(self) -> None:
        """Between two pieces of work: who waits for an answer comes first, unless somebody waits for the work."""
        if not self._gathering.is_hurried:
            self._courtesy.step_aside()

    def _wait_for_other(self) -> int:
        """Another worker is at it: look again soon, while there is anything left to do."""
        left = self.behind()
        if left:
            self._stop.wait(_WAIT_FOR_OTHERS_S)
        return left

    def behind(self) -> int:
        """How many lines of the log the views have yet to read; a tail that may wait outside the word index is none."""
        left = 0
        with self._store.snapshot(self._namespace) as view:
            done = view.cursor(PASSAGES_STAGE)
            if view.documents(Space.TURN, done, 1):  # the log may end in acts, which have nothing to derive from
                left = view.end() - done
            for space in _WORDED:
                most = view.end(space) - (done := view.cursor(words_stage(space)))
                tail = self._settings.tail
                if most >= tail and len(view.documents(space, done, tail)) >= tail:  # numbers may be of acts, or gone
                    left = max(left, most)
            if self._embedder is not None:
                for space in (*_EMBEDDED, Space.TOLD):
                    done = view.cursor(vectors_stage(space, self._embedder.profile.fingerprint))
                    if view.documents(space, done, 1):
                        left = max(left, view.end(space) - done)
            if self._admission is not None:
                left = max(left, self._admission.behind(view))
        return left

    def flush(self, timeout: float | None, progress: Progress | None = None) -> None:
        """Wait until the views have caught up with the log.

        Without a time-out it waits as long as work goes on, and raises the model's error when the model fails.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        failures = self._failures
        total = left = self.behind()
        with self._gathering.hurried():
            while left:
                if progress is not None:
                    progress(total - left, total)
                if deadline is None and self._trouble and self._failures > failures:
                    raise ModelUnavailable(self._trouble)
                if deadline is not None and time.monotonic() >= deadline:
                    raise FlushTimeout(
                        f"{left} lines of the log are not derived yet after {timeout} s"
                        + (f" ({self.degraded})" if self.degraded else "")
                        + "; nothing is lost, the work goes on"
                    )
                self.wake()
                with self._moved:
                    self._moved.wait(
                        _LOOK_S if deadline is None else max(0.0, min(_LOOK_S, deadline - time.monotonic()))
                    )
                left = self.behind()
                total = max(total, left)
        self._trouble = None  # nothing is left to do, so nothing keeps it from being done
        if progress is not None and total:
            progress(total, total)


# --- Admission that is loaded when there is a turn to judge: who only asks does not wait for its rooms (150 ms).


class LaterAdmission:
    """Stands where an Admission stands, and opens it at the first batch."""

    def __init__(self, open_admission: Callable[[], Admission]) -> None:
        self._open = open_admission
        self._gate = threading.Lock()
        self._opened: Admission | None = None
        self._wake: Callable[[], None] | None = None

    @property
    def degraded(self) -> str | None:
        return None if self._opened is None else self._opened.degraded

    def on_answer(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def behind(self, view: Snapshot) -> int:
        """How many lines of the log it has yet to read."""
        done = view.cursor(ADMIT_STAGE)
        return view.end() - done if view.documents(Space.TURN, done, 1) else 0

    def admit_batch(self, step_aside: Callable[[], None]) -> int:
        with self._gate:
            if self._opened is None:
                opened = self._open()
                if self._wake is not None:
                    opened.on_answer(self._wake)
                self._opened = opened
        return self._opened.admit_batch(step_aside)
