"""Derived work: from turns to records. Gate, extract, floor, compare, and write it down with a receipt.

It follows the log in order and only over embedded turns, so an outage of the embedder delays it and never changes it
(INV-3). Every user turn leaves a receipt, whatever became of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.claim import Candidate, Extractor, Proposal
from holdfast.admit.echo import is_echo
from holdfast.admit.extract import answers_question
from holdfast.admit.floor import judge as judge_floor
from holdfast.admit.secrets import mask
from holdfast.derive.crowd import nearest_earlier
from holdfast.derive.ledger import Ledger
from holdfast.derive.placing import Notes, Placing
from holdfast.gate.salience import judge as judge_salience
from holdfast.gate.scalar import score
from holdfast.gate.verdict import decide as decide_gate
from holdfast.model import Origin, Role, Turn
from holdfast.models.embedder import Embedder
from holdfast.recall.cache import BlockCache
from holdfast.recall.semantic import vectors_stage
from holdfast.settings import Settings
from holdfast.store.protocol import Changes, Move, Snapshot, Space, Store

__all__ = ["ADMIT_STAGE", "Admission"]

ADMIT_STAGE = "admit"
_BATCH = 256


class Admission:
    """The admission of one namespace."""

    def __init__(
        self,
        store: Store,
        namespace: str,
        embedder: Embedder,
        extractor: Extractor,
        settings: Settings,
        cache: BlockCache,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._embedder = embedder
        self._extractor = extractor
        self._settings = settings
        self._cache = cache
        # The ledger of the last batch, and the state of the store that it belongs to: if nobody else changed a record
        # since, it need not be read again.
        self._ledger: Ledger | None = None
        self._state: tuple[str, int, int, int] = ("", 0, 0, 0)

    def behind(self, view: Snapshot) -> int:
        """How many lines of the log it has yet to read."""
        done = view.cursor(ADMIT_STAGE)
        return view.end() - done if view.documents(Space.TURN, done, 1) else 0

    def admit_batch(self) -> int:
        """Judge one batch of embedded turns; how many there were."""
        fingerprint = self._embedder.profile.fingerprint
        with self._store.snapshot(self._namespace) as view:
            done = view.cursor(ADMIT_STAGE)
            embedded = view.cursor(vectors_stage(Space.TURN, fingerprint))
            if embedded <= done or view.documents(
                Space.RECORD, view.cursor(vectors_stage(Space.RECORD, fingerprint)), 1
            ):
                return 0
            seqs = [one.num for one in view.documents(Space.TURN, done, _BATCH) if one.num <= embedded]
            if not seqs:
                return 0
            state = (fingerprint, done, view.end(Space.RECORD), view.counts().hidden)
            ledger = self._ledger if self._ledger is not None and self._state == state else None
            self._ledger = None  # whatever happens below, only a batch that was written leaves one behind
            ledger = ledger or Ledger(view.standing(fingerprint))
            changes = _Judge(self, view, fingerprint, ledger).judge(seqs)
        if not self._store.advance(self._namespace, [Move(ADMIT_STAGE, done, seqs[-1])], changes):
            return 0
        with self._store.snapshot(self._namespace) as view:
            self._ledger = ledger
            self._state = (fingerprint, seqs[-1], view.end(Space.RECORD), view.counts().hidden)
        return len(seqs)


class _Judge:
    """One batch: what is decided is collected as changes; later turns see the records of earlier ones in the ledger."""

    def __init__(self, admission: Admission, view: Snapshot, fingerprint: str, ledger: Ledger) -> None:
        self._namespace = admission._namespace
        self._embedder = admission._embedder
        self._extractor = admission._extractor
        self._settings = admission._settings
        self._cache = admission._cache
        self._view = view
        self._fingerprint = fingerprint
        self._thresholds = self._embedder.profile.thresholds
        self._changes = Changes(fingerprint=fingerprint)
        self._ledger = ledger
        self._notes = Notes(self._changes)
        self._placing = Placing(
            self._namespace, self._embedder, self._settings, ledger, self._changes, self._notes, view.forgotten()
        )

    def judge(self, seqs: Sequence[int]) -> Changes:
        turns = self._view.turns(seqs)
        asked = [turns[seq] for seq in seqs if turns[seq].role is Role.USER]
        if not asked:
            return self._changes
        stored = dict(self._view.vectors(Space.TURN, self._fingerprint, [turn.seq for turn in asked]))
        vectors = np.stack([np.frombuffer(stored[turn.seq], "<f4") for turn in asked])
        crowds = nearest_earlier(
            self._view, self._namespace, self._fingerprint, [turn.seq for turn in asked], vectors,
            self._settings.gate.earlier_turns, self._cache,
        )  # fmt: skip
        for turn, vector, crowd in zip(asked, vectors, crowds, strict=True):
            self._judge_turn(turn, vector, crowd)
        return self._changes

    def _judge_turn(self, turn: Turn, vector: NDArray[np.float32], crowd: Sequence[float]) -> None:
        known = self._ledger.nearest(vector, turn.seq, self._settings.gate.known_records, own=False)
        signals = score(turn.text, [cosine for _, cosine in known], crowd, self._settings.gate, self._thresholds)
        self._changes.signals.append((turn.seq, signals.as_dict()))
        self._notes.count(turn, "turns")
        if turn.origin is not Origin.USER:
            self._notes.tell(
                turn.id, turn, "not promoted", f"its origin is {turn.origin.value}: not the user's own words"
            )
            return
        verdict = decide_gate(
            judge_salience(turn.text, self._settings.gate.salient_words), signals, self._settings.gate
        )
        self._notes.tell(turn.id, turn, "gated" if verdict.yields else "not promoted", verdict.reason, g=signals.g)
        if not verdict.yields:
            self._notes.count(
                turn, "not salient" if verdict.reason.startswith("not salient") else "below the threshold"
            )
            return
        shown = self._settings.admit.turns_shown
        before = self._view.thread(turn.session, turn.index - 1 - shown, shown)
        candidates = self._extractor.extract(turn, before)
        if not candidates:
            self._notes.tell(turn.id, turn, "no record", "nothing in it is likely to help a conversation without it")
            self._notes.count(turn, "nothing durable")
        self._admit(turn, candidates, before, signals.g)

    def _admit(self, turn: Turn, candidates: Sequence[Candidate], before: Sequence[Turn], g: float) -> None:
        heard = [one.text for one in before if one.role is not Role.USER]
        kept: list[Candidate] = []
        for number, candidate in enumerate(candidates):
            self._notes.count(turn, "candidates")
            refusal = judge_floor(candidate.text, answers_question=number == 0 and answers_question(before))
            if candidate.proposal is Proposal.SKIP:
                self._refuse(turn, candidate, "skipped", "its extractor proposed nothing")
            elif refusal is not None:
                self._refuse(turn, candidate, refusal.reason.value, refusal.why)
            elif is_echo(candidate.text, heard):
                self._refuse(turn, candidate, "echo", "it repeats what the assistant had just said")
            elif len(kept) >= self._settings.admit.records_per_turn:
                self._refuse(turn, candidate, "cap", "the turn has its full number of records; it stays recallable")
            else:
                kept.append(replace(candidate, text=mask(candidate.text).text))
        if kept:
            vectors = self._embedder.embed([candidate.text for candidate in kept])
            for number, (candidate, vector) in enumerate(zip(kept, vectors, strict=True)):
                self._placing.place(turn, candidate, vector, number, g)

    def _refuse(self, turn: Turn, candidate: Candidate, reason: str, why: str) -> None:
        self._notes.tell(turn.id, turn, f"refused: {reason}", f"{mask(candidate.text).text!r}: {why}")
        self._notes.count(turn, f"refused: {reason}")
