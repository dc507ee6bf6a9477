"""Compaction by itself: a conversation that has grown past its budget is compacted, off everybody's path.

It is told of every session that grew. A thread of its own looks whether it is time, so that neither ingest nor the
views wait for a summary or for the model that may write one. Nothing is kept of what it was told: what a crash forgets,
the session's next turn says again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from holdfast.errors import Closed, FlushTimeout
from holdfast.worker.worker import Courtesy, Gathering

if TYPE_CHECKING:
    from holdfast.compact.run import Compactor

_log = logging.getLogger("holdfast.compact")
_GATHER_S = 0.2  # turns that follow at once are looked at together
_GATHER_MOST_S = 3.0  # … while they keep coming: little beside the minutes in which a conversation fills its budget
_CLOSE_S = 0.5  # a summary in hand is not waited for longer than this: nothing of it is written yet


class Compacting:
    def __init__(
        self, open_compactor: Callable[[], Compactor], namespace: str, automatic: bool, made: Callable[[], None]
    ) -> None:
        self._open = open_compactor  # its rooms take a while to load: only who compacts pays
        self._namespace = namespace
        self._automatic = automatic
        self._made = made
        """Called when there are new records to derive from."""
        self.degraded: str | None = None
        """Why the last attempt failed; None when it did not."""
        self._changed = threading.Condition()
        self._grown: set[str] = set()
        self._at_work = False
        self._gathering = Gathering(_GATHER_S, _GATHER_MOST_S)
        self._courtesy = Courtesy()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @cached_property
    def compactor(self) -> Compactor:
        return self._open()

    def grew(self, session: str) -> None:
        """The session has new turns. Costs a set's entry."""
        if not self._automatic:
            return
        with self._changed:
            if self._stop.is_set():
                return
            self._grown.add(session)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="holdfast-compacting", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self, deadline: float | None) -> None:
        """Wait until every session that grew was looked at; `deadline` is a moment of time.monotonic()."""
        with self._gathering.hurried(), self._changed:
            while self._grown or self._at_work:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise FlushTimeout("a session is still being compacted; nothing is lost, the work goes on")
                self._changed.wait(left)

    def close(self) -> None:
        self._stop.set()
        self._gathering.stop()
        with self._changed:
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_CLOSE_S)
        if "compactor" in self.__dict__:
            self.compactor.close()

    def _go_on(self, done: int, total: int) -> None:
        """Between two clusters: whoever closes the memory need not wait for the rest, nor whoever asks it something."""
        if self._stop.is_set():
            raise Closed("this memory was closed")
        if not self._gathering.is_hurried:
            self._courtesy.step_aside()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._grown and not self._stop.is_set():
                    self._gathering.rest()
                    self._changed.wait()
            self._gathering.gather()
            with self._changed:
                if self._stop.is_set():
                    self._grown.clear()
                    self._changed.notify_all()
                    return
                sessions, self._grown, self._at_work = sorted(self._grown), set(), True
            try:
                troubles = [trouble for session in sessions if (trouble := self._compact(session)) is not None]
                self.degraded = troubles[0] if troubles else None
            except Closed:
                continue  # to the way out above, which lets go whoever waits for what has grown meanwhile
            finally:
                with self._changed:
                    self._at_work = False
                    self._changed.notify_all()

    def _compact(self, session: str) -> str | None:
        """Compact one session if it is time; what went wrong, if something did. The other sessions go on."""
        self._courtesy.begin()
        try:
            if self.compactor.compact(session, cause="automatic", progress=self._go_on).did_compact:
                self._made()
        except Closed:
            raise
        except Exception as error:  # a full disk, or a bug of ours: it must show itself and not end the work
            _log.exception("%s: compacting failed; every turn is kept, the next one tries again", self._namespace)
            return f"compacting waits for the next turn after {type(error).__name__}: {error}"
        return None
