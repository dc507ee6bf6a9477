"""The engine: everything that the memories on one store share in a process.

One engine per store and configuration holds the connections, the embedder, the cache and the background threads. A
`Memory` is a light view of (engine, namespace); opening a store twice, or for a thousand namespaces, shares one engine.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.index.blocks import BlockCache, IndexSizes
from holdfast.model import Clock
from holdfast.models.embedder import Breaker, DeadlineExecutor, Embedder, GuardedEmbedder, open_embedder
from holdfast.settings import Settings, tuned
from holdfast.store.open import open_store
from holdfast.worker.compactor import CompactionWorker
from holdfast.worker.worker import RetrievalCounter, Worker

if TYPE_CHECKING:
    from holdfast.admit.pipeline import Admission
    from holdfast.admit.proposals import ProposalQueue
    from holdfast.compact.run import Compactor
    from holdfast.context.assemble import Assembler
    from holdfast.models.ask import AskModels

Progress = Callable[[int, int], None]
"""Called with (done, total) while long work goes on."""


class Engine:
    """Connections, embedder, cache and background work of one store. Safe to share between threads.

    `Engine.share` returns the engine that is already open for the same store and configuration, or opens one; each
    caller must `release` it. The last release closes it.
    """

    def __init__(
        self, location: str | os.PathLike[str], embedder: Embedder | str | None, settings: Settings, clock: Clock
    ) -> None:
        self.settings = settings
        self.clock = clock
        self._opened_with = location, embedder, settings, clock
        self._pid = os.getpid()
        self._configuration = _configuration(embedder, settings, clock)
        given = settings.embedder.profile if embedder is None else embedder
        self.embedder = open_guarded(given, settings)
        self._owned = self.embedder if isinstance(given, str) else None
        """Closed with the engine; an embedder that the caller brought stays open."""
        self.ask = None if self.embedder is None else _open_ask()
        self.store = open_store(location, settings.store)
        self.cache = BlockCache(settings.store.cache_mb * 1_000_000)
        try:
            self._asking = self._open_proposals()
        except BaseException:  # a chat model that was named wrongly, for example
            self.store.close()
            raise
        admits = self.embedder is not None and settings.admit.enabled  # records come of embedded turns only
        admission = self._open_admission if admits else None
        encoder = None if self.ask is None else self.ask.encoder
        self.asking = DeadlineExecutor("embedder"), Breaker("the embedder of searches", longest_wait_s=_LONGEST_WAIT_S)
        self.worker = Worker(self.store, self.embedder, tuned(settings, IndexSizes), admission, encoder)
        self.compaction = CompactionWorker(self._open_compactor, settings.compact.automatic, self.worker.wake)
        self.retrievals = RetrievalCounter(self.store, settings.janitor, clock)
        self._users = 0

    @classmethod
    def share(
        cls, location: str | os.PathLike[str], embedder: Embedder | str | None, settings: Settings, clock: Clock
    ) -> Engine:
        """Return the open engine of this store and configuration, or open one."""
        key = _key(location)
        wanted = _configuration(embedder, settings, clock)
        with _LOCK:
            opening = _OPENING.setdefault(key, threading.RLock())
        with opening:  # others may open other stores meanwhile: a busy one can take seconds
            with _LOCK:
                for engine in _OPEN.get(key, ()):
                    if engine._configuration == wanted and engine.store.is_in_place():
                        engine._users += 1
                        return engine
            engine = cls(location, embedder, settings, clock)
            engine._users = 1
            with _LOCK:
                _OPEN.setdefault(key, []).append(engine)
            return engine

    def use(self) -> Engine:
        """Count one more user."""
        with _LOCK:
            self._users += 1
            return self

    def reopen(self) -> Engine:
        """Return an engine of this process for the same store, to be used instead of an inherited one."""
        return Engine.share(*self._opened_with)

    def release(self) -> None:
        """Count one user less; the last one closes the engine."""
        if self._pid != os.getpid():  # another process opened it, of which this one is a fork
            return
        with _LOCK:
            self._users -= 1
            if self._users:
                return
            for key, engines in list(_OPEN.items()):
                if self in engines:
                    engines.remove(self)
                    if not engines:
                        del _OPEN[key]
        self._close()

    @property
    def fingerprint(self) -> str | None:
        """The embedder's fingerprint, or None without an embedder."""
        return None if self.embedder is None else self.embedder.profile.fingerprint

    @cached_property
    def assembler(self) -> Assembler:
        from holdfast.context.assemble import Assembler  # only a process that uses contexts pays for the import

        return Assembler(self.store, self.embedder, self.cache, self.settings, self.ask)

    def flush(self, namespace: str, timeout: float | None, progress: Progress | None = None) -> None:
        """Wait until derived work has caught up with the log of a namespace, and its retrievals are counted."""
        self.retrievals.write(namespace)
        deadline = None if timeout is None else time.monotonic() + timeout
        self.worker.flush(namespace, timeout, progress)
        self.compaction.flush(namespace, deadline)
        # What a compaction made is a record to embed, like any other.
        self.worker.flush(namespace, None if deadline is None else max(deadline - time.monotonic(), 0.0))

    def degraded(self, namespace: str) -> str | None:
        """Return what does not work as it should, or None."""
        context = self.assembler.degraded if "assembler" in self.__dict__ else None
        return self.worker.degraded(namespace) or self.compaction.degraded(namespace) or context

    def _open_proposals(self) -> ProposalQueue | None:
        if self.embedder is None or not self.settings.admit.enabled or self.settings.chat.model == "none":
            return None
        from holdfast.admit.proposals import open_proposals

        return open_proposals(self.store, self.settings, self.clock, lambda namespace: self.worker.wake(namespace))

    def _open_admission(self, namespace: str) -> Admission:
        from holdfast.admit.extract import AdmitWeights, DeterministicExtractor
        from holdfast.admit.pipeline import Admission

        assert self.embedder is not None
        extractor = DeterministicExtractor(tuned(self.settings, AdmitWeights))
        return Admission(self.store, namespace, self.embedder, extractor, self.settings, self.cache, self._asking)

    def _open_compactor(self, namespace: str) -> Compactor:
        from holdfast.compact.run import open_compactor

        return open_compactor(self.store, namespace, self.embedder, self.settings, self.clock)

    def _close(self) -> None:
        if self._asking is not None:
            self._asking.close()
        self.worker.close()
        self.compaction.close()
        self.retrievals.close()
        self.store.close()
        if self._owned is not None:
            self._owned.close()


_LONGEST_WAIT_S = 10.0  # until an embedder that hung is asked again
_LOCK = threading.Lock()
_OPENING: dict[str, threading.RLock] = {}
"""Locks by location, held while an engine is being opened."""
_OPEN: dict[str, list[Engine]] = {}
"""Open engines of this process by location."""
_INHERITED: list[Engine] = []
"""Engines of the process that this one is a fork of. They are kept, because SQLite must not close their connections."""

_Configuration = tuple[object, Settings, object, str | None]


def _configuration(embedder: Embedder | str | None, settings: Settings, clock: Clock) -> _Configuration:
    """Return what two memories must have in common to share an engine."""
    given = settings.embedder.profile if embedder is None else embedder
    return (given if isinstance(given, str) else id(given)), settings, clock, os.environ.get("HOLDFAST_MODELS")


def _key(location: str | os.PathLike[str]) -> str:
    name = os.fspath(location)
    return name if "://" in name else str(Path(name).expanduser().absolute())


def open_guarded(given: Embedder | str, settings: Settings) -> GuardedEmbedder | None:
    """Open an embedder by its profile, or guard a given one with a circuit breaker."""
    if isinstance(given, GuardedEmbedder):  # memories that share an embedder share its breaker
        return given
    return open_embedder(given, settings.embedder.timeout_s) if isinstance(given, str) else GuardedEmbedder(given)


def _open_ask() -> AskModels | None:
    """Return the ask models; without them their code is not loaded either."""
    if not os.environ.get("HOLDFAST_MODELS") and find_spec("holdfast_models") is None:
        return None
    from holdfast.models.ask import open_models

    return open_models()


def _forget_engines() -> None:
    """Forget all engines after a fork: the child has no threads and no safe connections, and opens its own."""
    global _LOCK
    _LOCK = threading.Lock()  # another thread may have held it
    _INHERITED.extend(engine for engines in _OPEN.values() for engine in engines)
    _OPEN.clear()
    _OPENING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_engines)
