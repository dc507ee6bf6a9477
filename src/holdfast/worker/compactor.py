"""Automatic compaction: a session that has outgrown its token budget is compacted in the background.

Ingest reports every session that grew. One thread per engine looks whether it is time, so that neither ingest nor the
views wait for a summary or for the model that may write one. Nothing is stored about sessions that wait: what a crash
forgets, the session's next turn reports again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.errors import Closed, FlushTimeout
from holdfast.worker.worker import BackgroundPriority, BatchDelay

if TYPE_CHECKING:
    from holdfast.compact.run import Compactor

_log = logging.getLogger("holdfast.compact")
_GATHER_S = 0.2  # turns that follow at once are looked at together
_GATHER_MOST_S = 3.0  # … while they keep coming: short next to the minutes in which a conversation fills its budget
_CLOSE_S = 0.5  # a summary in hand is not waited for longer than this: nothing of it is written yet


class CompactionWorker:
    """Compacts the sessions of all namespaces of an engine in one thread."""

    def __init__(
        self, open_compactor: Callable[[str], Compactor], automatic: bool, on_records: Callable[[str], None]
    ) -> None:
        self._open = open_compactor  # importing it takes a while: only a process that compacts pays
        self._automatic = automatic
        self._on_records = on_records
        """Called with the namespace when there are new records to derive from."""
        self._compactors: dict[str, Compactor] = {}
        self._troubles: dict[str, str | None] = {}
        self._changed = threading.Condition()
        self._grown: set[tuple[str, str]] = set()
        self._at_work: set[str] = set()
        """Namespaces whose sessions are being looked at."""
        self._waiting = 0
        """Flushes that wait for the work."""
        self._delay = BatchDelay(_GATHER_S, _GATHER_MOST_S)
        self._priority = BackgroundPriority()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def degraded(self, namespace: str) -> str | None:
        """Return why the last attempt failed, or None."""
        return self._troubles.get(namespace)

    def of(self, namespace: str) -> Compactor:
        """Return the compactor of a namespace."""
        with self._changed:
            if namespace not in self._compactors:
                self._compactors[namespace] = self._open(namespace)
            return self._compactors[namespace]

    def grew(self, namespace: str, session: str) -> None:
        """Note that a session has new turns; costs an entry of a set."""
        if not self._automatic:
            return
        with self._changed:
            if self._stopping:
                return
            self._grown.add((namespace, session))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="holdfast-compactor", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self, namespace: str, deadline: float | None) -> None:
        """Wait until every session that grew was looked at; `deadline` is a moment of time.monotonic()."""
        with self._changed:
            self._waiting += 1
            self._changed.notify_all()
            try:
                while namespace in self._at_work or any(name == namespace for name, _ in self._grown):
                    left = None if deadline is None else deadline - time.monotonic()
                    if left is not None and left <= 0:
                        raise FlushTimeout("a session is still being compacted; nothing is lost, the work goes on")
                    self._changed.wait(left)
            finally:
                self._waiting -= 1

    def close(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_CLOSE_S)
        for compactor in self._compactors.values():
            compactor.close()

    def _run(self) -> None:
        while (sessions := self._next()) is not None:
            try:
                troubles: dict[str, str | None] = {}
                for namespace, session in sessions:
                    trouble = self._compact(namespace, session)
                    troubles[namespace] = troubles.get(namespace) or trouble
                self._troubles.update(troubles)
            except Closed:
                continue  # to the exit in _next, which releases waiting flushes
            finally:
                with self._changed:
                    self._at_work = set()
                    self._changed.notify_all()

    def _next(self) -> list[tuple[str, str]] | None:
        """Wait for sessions that grew and return them, after a while in which more may come; None when it stops."""
        with self._changed:
            while not self._grown and not self._stopping:
                self._delay.reset()
                self._changed.wait()
            self._changed.wait_for(lambda: self._stopping or self._waiting > 0, self._delay.take())
            sessions, self._grown = sorted(self._grown), set()
            if self._stopping:
                self._changed.notify_all()
                return None
            self._at_work = {namespace for namespace, _ in sessions}
            return sessions

    def _go_on(self, done: int, total: int) -> None:
        """Between two clusters: stop when closing, and yield to foreground calls."""
        if self._stopping:
            raise Closed("this memory was closed")
        if not self._waiting:
            self._priority.yield_to_foreground()

    def _compact(self, namespace: str, session: str) -> str | None:
        """Compact one session if it is time and return what went wrong, if anything. The other sessions go on."""
        self._priority.begin()
        try:
            if self.of(namespace).compact(session, cause="automatic", progress=self._go_on).did_compact:
                self._on_records(namespace)
        except Closed:
            raise
        except Exception as error:  # a full disk, or a bug of ours: it must show itself and not end the work
            _log.exception("%s: compacting failed; every turn is kept, the next one tries again", namespace)
            return f"compacting waits for the next turn after {type(error).__name__}: {error}"
        return None
