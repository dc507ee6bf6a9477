"""Derived work: from turns to records, in the order of the log, with a receipt for every user turn.

It follows the log over embedded turns only, so an outage of the embedder delays it and never changes it (INV-3). A turn
that a chat model has to be asked about holds the cursor until the log has the answer (derive/proposals.py); a rebuild
finds it there.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.admit.claim import Extractor
from holdfast.derive.judging import Judge
from holdfast.derive.ledger import Ledger
from holdfast.derive.proposals import Asking
from holdfast.models.embedder import Embedder
from holdfast.recall.cache import BlockCache
from holdfast.recall.semantic import vectors_stage
from holdfast.settings import Settings
from holdfast.store.protocol import ADMIT_STAGE, Move, Snapshot, Space, Store

__all__ = ["Admission"]


class Admission:
    """The admission of one namespace. With `asking`, a chat model proposes and rules stand in for it."""

    def __init__(
        self,
        store: Store,
        namespace: str,
        embedder: Embedder,
        extractor: Extractor,
        settings: Settings,
        cache: BlockCache,
        asking: Asking | None = None,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._embedder = embedder
        self._extractor = extractor
        self._settings = settings
        self._cache = cache
        self._asking = asking
        self._held = -1
        """Where the cursor stands while a model is asked about the next turn."""
        # The ledger of the last batch, and the state of the store that it belongs to: if nobody else changed a record
        # since, it need not be read again.
        self._ledger: Ledger | None = None
        self._state: tuple[object, ...] = ()

    @property
    def degraded(self) -> str | None:
        """Why the chat model's proposals are late or missing; None when they are not."""
        return None if self._asking is None else self._asking.degraded

    def on_answer(self, wake: Callable[[], None]) -> None:
        """Whom to wake when the log holds what was waited for."""
        if self._asking is not None:
            self._asking.settled = wake

    def close(self) -> None:
        if self._asking is not None:
            self._asking.close()

    def behind(self, view: Snapshot) -> int:
        """How many lines of the log it has yet to read."""
        done = view.cursor(ADMIT_STAGE)
        return view.end() - done if view.documents(Space.TURN, done, 1) else 0

    def admit_batch(self) -> int:
        """Judge one batch of embedded turns; how many there were. It never waits for a chat model."""
        fingerprint = self._embedder.profile.fingerprint
        with self._store.snapshot(self._namespace) as view:
            done = view.cursor(ADMIT_STAGE)
            if self._asking is not None and self._asking.is_asking() and done == self._held:
                return 0
            embedded = view.cursor(vectors_stage(Space.TURN, fingerprint))
            if embedded <= done or view.documents(
                Space.RECORD, view.cursor(vectors_stage(Space.RECORD, fingerprint)), 1
            ):
                return 0
            seqs = [
                one.num for one in view.documents(Space.TURN, done, self._settings.index.batch) if one.num <= embedded
            ]
            if not seqs:
                return 0
            state = _state(view, fingerprint, done)
            ledger = self._ledger if self._ledger is not None and self._state == state else None
            self._ledger = None  # whatever happens below, only a batch that was written leaves one behind
            ledger = ledger or Ledger(view.standing(fingerprint))
            judge = Judge(
                view, self._namespace, self._embedder, self._extractor, self._settings, self._cache, ledger,
                asks=self._asking is not None,
            )  # fmt: skip
            judged = judge.judge(seqs)
        if self._asking is not None and judge.question is not None:
            self._held = judged[-1] if judged else done
            self._asking.ask(judge.question)
        if not judged:
            self._ledger, self._state = ledger, state
            return 0
        if not self._store.advance(self._namespace, [Move(ADMIT_STAGE, done, judged[-1])], judge.changes):
            return 0
        with self._store.snapshot(self._namespace) as view:
            self._ledger = ledger
            self._state = _state(view, fingerprint, judged[-1])
        return len(judged)


def _state(view: Snapshot, fingerprint: str, done: int) -> tuple[object, ...]:
    """What a ledger depends on. An erase changes records that were judged long ago."""
    return fingerprint, done, view.end(Space.RECORD), view.counts().hidden, view.erasures()
