"""Derived work: from turns to records, in the order of the log, with a receipt for every user turn.

It follows the log over embedded turns only, so an outage of the embedder delays it and never changes it (INV-3). A turn
that a chat model has to be asked about holds the cursor until the log has the answer (derive/proposals.py); a rebuild
finds it there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from holdfast.admit.claim import Extractor
from holdfast.derive.earlier import Heard
from holdfast.derive.judging import Judge
from holdfast.derive.ledger import Ledger
from holdfast.derive.proposals import Asking
from holdfast.models.embedder import Embedder
from holdfast.recall.cache import BlockCache
from holdfast.recall.vectors import vectors_stage
from holdfast.settings import Settings
from holdfast.store.nouns import ADMIT_STAGE, EPOCH_STAGE, Move, Space
from holdfast.store.protocol import Snapshot, Store

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
        # The ledger of the last batch, the state of the store that it belongs to, and the last record it was read up
        # to: if nobody changed one since, it is enough to read on from there.
        self._ledger: Ledger | None = None
        self._state = _State()
        self._upto = 0
        self._heard = Heard(settings.admit.turns_heard)

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

    def admit_batch(self, step_aside: Callable[[], None]) -> int:
        """Judge one batch of embedded turns; how many there were. It never waits for a chat model.

        `step_aside` is called between two turns.
        """
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
            state = _State(fingerprint, view.cursor(EPOCH_STAGE), view.forgotten(), view.erasures(), done)
            ledger = self._read_ledger(view, state)
            judge = Judge(
                view, self._namespace, self._embedder, self._extractor, self._settings, self._cache, ledger,
                self._heard, asks=self._asking is not None,
            )  # fmt: skip
            judged = judge.judge(seqs, step_aside)
        if self._asking is not None and judge.question is not None:
            self._held = judged[-1] if judged else done
            self._asking.ask(judge.question)
        if not judged:
            self._ledger, self._state = ledger, state
            return 0
        if not self._store.advance(self._namespace, [Move(ADMIT_STAGE, done, judged[-1])], judge.changes):
            return 0
        # What the operator did meanwhile is not in the ledger, nor in this state: the next batch sees it.
        self._ledger, self._state = ledger, replace(state, done=judged[-1])
        return len(judged)

    def _read_ledger(self, view: Snapshot, state: _State) -> Ledger:
        ledger, self._ledger = self._ledger, None  # whatever happens, only a batch that was written leaves one behind
        if ledger is None or self._state != state:
            ledger = Ledger(view.standing(state.fingerprint))
        else:
            ledger.take(view.standing(state.fingerprint, self._upto))
        self._upto = view.end(Space.RECORD)
        return ledger


@dataclass(frozen=True)
class _State:
    """What a ledger depends on, beside records that are added. An erase changes some that were judged long ago."""

    fingerprint: str = ""
    epoch: int = 0
    forgotten: Mapping[str, int] = field(default_factory=dict)
    erasures: tuple[int, datetime | None] = (0, None)
    done: int = -1
