"""The janitor while a server runs: once a week for each memory in use, by itself (KEEP-2)."""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timedelta
from typing import Self

from holdfast.errors import HoldfastError
from holdfast.memory import Memory
from holdfast.model import Entry
from holdfast.moments import Clock, utc_now
from holdfast.serve.memories import Memories

__all__ = ["Weekly"]

_log = logging.getLogger("holdfast")


class Weekly:
    """A thread that looks every hour whose last run is a week ago; it runs while this is entered."""

    def __init__(self, memories: Memories, clock: Clock = utc_now) -> None:
        self._memories = memories
        self._clock = clock
        self._ended = threading.Event()
        self._looked: dict[str, datetime] = {}
        """When a memory's turn was last; a run that found nothing to do leaves no line in the log."""
        self._thread = threading.Thread(target=self._run, name="holdfast-weekly", daemon=True)

    def start(self) -> None:
        settings = self._memories.settings
        if settings.serve.janitor and settings.janitor.count:
            self._thread.start()

    def stop(self) -> None:
        """A run that goes on comes to its end."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def look(self) -> list[str]:
        """Run it wherever it is due; for which memories it ran."""
        ran = []
        for name in self._memories.opened():
            if self._memories.bound and name != self._memories.namespace:  # it was only read
                continue
            try:
                with self._memories.lend(name) as memory:
                    if self._is_due(memory):
                        told = memory.janitor()
                        self._looked[name] = self._clock()
                        ran.append(name)
                        _log.info("the janitor's weekly run for %r: %s", name, told.did)
            except HoldfastError as error:  # the next look tries again
                _log.warning("the janitor's weekly run for %r failed: %s", name, error)
        return ran

    def _is_due(self, memory: Memory) -> bool:
        """A memory without a run is due a week after its first line: its owner had that long to ask for things."""
        with memory.view as view:
            runs = [act.at for act in view.entries(Entry.JANITOR)]
            first = next(view.lines(), None)
        if first is None:
            return False
        last = max([first.recorded_at, self._looked.get(memory.namespace, first.recorded_at), *runs])
        return self._clock() - last >= timedelta(days=self._memories.settings.serve.janitor_days)

    def _run(self) -> None:
        self.look()
        while not self._ended.wait(self._memories.settings.serve.janitor_look_s):
            self.look()
