"""Counting what is found, off the caller's path (KEEP-1).

A search leaves the ids of its hits here and goes on; a thread writes them together every few seconds. What a crash
takes with it is lost: counts are hints for the janitor, and the one thing that the log does not know (INV-3).
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable

from holdfast.errors import HoldfastError
from holdfast.settings import JanitorSettings
from holdfast.store.protocol import Store
from holdfast.text.time import Clock

_log = logging.getLogger("holdfast")


class Retrievals:
    """The counts of one namespace that are not written yet."""

    def __init__(self, store: Store, namespace: str, settings: JanitorSettings, clock: Clock) -> None:
        self._store = store
        self._namespace = namespace
        self._settings = settings
        self._clock = clock
        self._found: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._some = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._warned = False

    def note(self, ids: Iterable[str]) -> None:
        """These turns and records were returned; microseconds, whatever the disk does."""
        if not self._settings.count or self._stop.is_set():
            return
        with self._lock:
            self._found.update(ids)
            if self._found and self._thread is None:
                thread = threading.Thread(target=self._run, name="holdfast-retrievals", daemon=True)
                thread.start()
                self._thread = thread
        self._some.set()

    def write(self) -> None:
        """Write what was noted. A store that cannot take it costs the counts, never an answer."""
        with self._lock:
            found, self._found = self._found, Counter()
        if not found:
            return
        try:
            self._store.count_retrievals(self._namespace, found, self._clock())
        except HoldfastError as error:
            if not self._warned:
                _log.warning("%s: what is found is not counted: %s", self._namespace, error)
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
