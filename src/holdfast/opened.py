"""An open memory: what every verb stands on, and how it is let go of again."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from holdfast.derive.compacting import Compacting
from holdfast.derive.later import LaterAdmission
from holdfast.derive.worker import Worker
from holdfast.errors import InputError, NotFound
from holdfast.log.names import check_name, resolve_namespace
from holdfast.model import (
    NewTurn,
)
from holdfast.models.breaker import GuardedEmbedder
from holdfast.models.embedder import Embedder
from holdfast.models.open import open_embedder
from holdfast.moments import Clock, utc_now
from holdfast.recall.cache import BlockCache
from holdfast.settings import Settings, load_settings
from holdfast.store.open import default_location, open_store
from holdfast.store.protocol import Snapshot, Store
from holdfast.upkeep.retrievals import Retrievals

if TYPE_CHECKING:
    from holdfast.compact.run import Compactor
    from holdfast.derive.admission import Admission

__all__ = ["Opened", "Progress", "guarded", "redacted"]

Progress = Callable[[int, int], None]
"""Called with (done, total) while long work goes on."""


class Opened:
    """The store, the embedder and the work in the background of one namespace, and the checks that verbs share."""

    def __init__(
        self,
        location: str | os.PathLike[str] | None = None,
        namespace: str | None = None,
        *,
        session_key: str | None = None,
        agent: str | None = None,
        embedder: Embedder | str | None = None,
        settings: Settings | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self._settings = settings or load_settings()
        self.namespace = resolve_namespace(
            namespace,
            session_key=session_key,
            agent=agent,
            default=self._settings.namespace,
            settings=self._settings.log,
        )
        self._clock = clock
        self._embedder = guarded(embedder, self._settings)
        self._store = open_store(default_location() if location is None else location, self._settings.store)
        self._cache = BlockCache(self._settings.store.cache_mb * 1_000_000)
        try:
            admission = self._admission()
        except BaseException:  # a chat model that was named wrongly, for example
            self._store.close()
            raise
        self._worker = Worker(self._store, self.namespace, self._embedder, self._settings.index, admission)
        self._compacting = Compacting(
            partial(_open_compactor, self._store, self.namespace, self._embedder, self._settings, clock),
            self.namespace,
            self._settings.compact.automatic,
            self._worker.wake,
        )
        self._retrievals = Retrievals(self._store, self.namespace, self._settings.janitor, clock)
        # A process that ends without close() must not die with the worker inside SQLite.
        opened = self._embedder if embedder is None or isinstance(embedder, str) else None  # the caller's stays open
        self._closing = weakref.finalize(
            self, _close, self._worker, self._compacting, self._retrievals, self._store, opened
        )
        if self._worker.behind():  # what a crash left undone goes on by itself
            self._worker.wake()

    def _admission(self) -> Admission | LaterAdmission | None:
        """Records come of embedded turns only: without an embedder there is nothing to compare them with."""
        if self._embedder is None or not self._settings.admit.enabled:
            return None
        opening = partial(
            _open_admission, self._store, self.namespace, self._embedder, self._settings, self._cache, self._clock
        )
        # A chat model that is named wrongly must be heard of at once.
        return LaterAdmission(opening) if self._settings.chat.model == "none" else opening()

    def flush(self, timeout: float | None = None, progress: Progress | None = None) -> None:
        """Wait until derived work has caught up with the log, and what was found is counted."""
        self._retrievals.write()
        deadline = None if timeout is None else time.monotonic() + timeout
        self._worker.flush(timeout, progress)
        self._compacting.flush(deadline)
        # What a compaction made is a record to embed, like any other.
        self._worker.flush(None if deadline is None else max(deadline - time.monotonic(), 0.0))

    def close(self) -> None:
        """Stop the worker and let go of the store. Calling it twice is fine."""
        self._closing()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Memory({self._store.location!r}, namespace={self.namespace!r})"

    @property
    def settings(self) -> Settings:
        """What it was opened with."""
        return self._settings

    @property
    def view(self) -> AbstractContextManager[Snapshot]:
        """The namespace as it stands at one moment, for surfaces that list it whole; to find something, ask a verb."""
        return self._store.snapshot(self.namespace)

    @property
    def _fingerprint(self) -> str | None:
        return None if self._embedder is None else self._embedder.profile.fingerprint

    # --- what verbs are given, checked

    def _redacted(self, turn: NewTurn) -> NewTurn:
        return redacted(turn, self._settings)

    def _session(self, session: str) -> str:
        return check_name("session", session, self._settings.log)

    def _known_session(self, session: str) -> str:
        with self._store.snapshot(self.namespace) as view:
            if view.session_number(self._session(session)) is None:
                raise NotFound(f"there is no session {session!r} in this namespace")
        return session

    def _sample(self, sample: int) -> int:
        if isinstance(sample, bool) or not isinstance(sample, int) or sample < 0:
            raise InputError(f"sample must be a whole number from 0, not {sample!r}")
        return sample

    def _limit(self, limit: int) -> int:
        most = self._settings.recall.most
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= most:
            raise InputError(f"limit must be a whole number from 1 to {most}, not {limit!r}")
        return limit


# Not methods: who works in the background keeps them, and must not keep the memory alive that is to stop it.


def _open_admission(
    store: Store, namespace: str, embedder: Embedder, settings: Settings, cache: BlockCache, clock: Clock
) -> Admission:
    from holdfast.admit.extract import DeterministicExtractor
    from holdfast.derive.admission import Admission
    from holdfast.derive.proposals import open_asking

    extractor = DeterministicExtractor(settings.admit)
    asking = open_asking(store, namespace, settings, clock)
    return Admission(store, namespace, embedder, extractor, settings, cache, asking)


def _open_compactor(
    store: Store, namespace: str, embedder: Embedder | None, settings: Settings, clock: Clock
) -> Compactor:
    from holdfast.compact.run import open_compactor

    return open_compactor(store, namespace, embedder, settings, clock)


def _close(
    worker: Worker, compacting: Compacting, retrievals: Retrievals, store: Store, embedder: GuardedEmbedder | None
) -> None:
    worker.close()
    compacting.close()
    retrievals.close()
    store.close()
    if embedder is not None:
        embedder.close()


def redacted(turn: NewTurn, settings: Settings) -> NewTurn:
    """With log.redact_secrets not even the log keeps the value of a secret (ADMIT-7)."""
    if not settings.log.redact_secrets:
        return turn
    from holdfast.admit.secrets import mask

    return replace(turn, text=mask(turn.text).text)


def guarded(given: Embedder | str | None, settings: Settings) -> GuardedEmbedder | None:
    if given is None:
        given = settings.embedder.profile
    if isinstance(given, GuardedEmbedder):  # memories that share an embedder share its breaker
        return given
    return open_embedder(given, settings.embedder.timeout_s) if isinstance(given, str) else GuardedEmbedder(given)
