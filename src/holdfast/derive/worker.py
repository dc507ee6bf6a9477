"""The worker that follows the log: it keeps the views of one namespace up to date, off the caller's path.

Any number of processes may run one. A claim keeps them from doing the same work at once, and a cursor that moves only
from where it was found keeps work from counting twice, even if the claim should fail. Progress is durable: after a
crash the next worker goes on where the cursor stands.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.derive.courtesy import Courtesy
from holdfast.derive.gathering import Gathering
from holdfast.errors import Closed, FlushTimeout, HoldfastError, ModelError, ModelUnavailable
from holdfast.models.embedder import Embedder
from holdfast.recall.pool import words_stage
from holdfast.recall.vectors import vectors_stage
from holdfast.settings import IndexSettings
from holdfast.store.nouns import PASSAGES_STAGE, Space
from holdfast.store.protocol import Store

if TYPE_CHECKING:
    from holdfast.derive.admission import Admission
    from holdfast.derive.later import LaterAdmission

__all__ = ["Progress", "Worker"]

Progress = Callable[[int, int], None]
"""Called with (done, total)."""

_log = logging.getLogger("holdfast.derive")
_WAIT_FOR_OTHERS_S = 0.01
_LOOK_S = 0.05  # how often a flush looks again when nobody tells it of progress (another process may be at work)
_WORDED = (Space.TURN, Space.RECORD, Space.PASSAGE)
_EMBEDDED = (Space.TURN, Space.RECORD)  # then turns are read further (derive/readings.py)
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
        from holdfast.derive.passages import cut_turns
        from holdfast.derive.readings import read_turns
        from holdfast.derive.vectors import embed_documents
        from holdfast.derive.words import index_words

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
