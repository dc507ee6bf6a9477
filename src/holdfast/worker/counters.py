"""Retrieval counts: which records were found how often, written off the caller's path (KEEP-1).

A search leaves the ids of its hits here and goes on; one thread per engine writes them together every few seconds.
Counts that a crash takes with it are lost: they are hints for the janitor, and the one thing the log does not know
(INV-3).
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable

from holdfast.errors import HoldfastError
from holdfast.settings import JanitorSettings
from holdfast.store.store import Store
from holdfast.text.time import Clock

_log = logging.getLogger("holdfast")


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
            self._stop.wait(self._settings.count_every_s)
            self._some.clear()
            self.write()
