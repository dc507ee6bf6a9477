"""One batch of turns, judged in order: gate, extract, floor, compare. What is decided is collected as changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.claim import Candidate, Extractor, Proposal
from holdfast.admit.echo import is_echo
from holdfast.admit.extract import answers_question
from holdfast.admit.floor import judge as judge_floor
from holdfast.admit.pasted import OwnWords, own_words
from holdfast.admit.proposed import unpack
from holdfast.admit.secrets import mask
from holdfast.derive.claims import embed_claims
from holdfast.derive.crowd import nearest_earlier
from holdfast.derive.ledger import Ledger
from holdfast.derive.placing import Notes, Placing
from holdfast.derive.proposals import Question
from holdfast.gate.salience import judge as judge_salience
from holdfast.gate.scalar import Signals, score
from holdfast.gate.verdict import decide as decide_gate
from holdfast.model import Entry, Metadata, Origin, Role, Turn
from holdfast.models.embedder import Embedder
from holdfast.recall.cache import BlockCache
from holdfast.settings import Settings
from holdfast.store.protocol import ADMIT_STAGE, Changes, Snapshot, Space

__all__ = ["Judge"]

_Vector = NDArray[np.float32]


class Judge:
    """Later turns see the records of earlier ones in the ledger. `asks`: a chat model is to propose."""

    def __init__(
        self,
        view: Snapshot,
        namespace: str,
        embedder: Embedder,
        extractor: Extractor,
        settings: Settings,
        cache: BlockCache,
        ledger: Ledger,
        *,
        asks: bool,
    ) -> None:
        self._view = view
        self._namespace = namespace
        self._embedder = embedder
        self._extractor = extractor
        self._settings = settings
        self._cache = cache
        self._ledger = ledger
        self._asks = asks
        self.changes = Changes(fingerprint=embedder.profile.fingerprint)
        self.question: Question | None = None
        """What a chat model must be asked before the batch can go on."""
        self._notes = Notes(self.changes)
        self._placing = Placing(namespace, embedder, settings, ledger, self.changes, self._notes, view.forgotten())
        self._own: dict[str, OwnWords] = {}
        self._proposals: Mapping[str, Metadata] = {}
        self._passed = _passed(view) if asks else 0

    def judge(self, seqs: Sequence[int]) -> list[int]:
        """Judge turns in order; those that were, which is not all of them when a model must be asked first."""
        turns = self._view.turns(seqs)
        said = [turns[seq] for seq in seqs if turns[seq].role is Role.USER]
        self._proposals = self._view.proposals([turn.id for turn in said])
        stop = next((turn.seq for turn in said if self._asks and self._may_wait(turn)), seqs[-1])
        said = [turn for turn in said if turn.seq <= stop]
        if said:
            vectors = self._vectors(said)
            crowds = nearest_earlier(
                self._view, self._namespace, self.changes.fingerprint, [turn.seq for turn in said], vectors,
                self._settings.gate.earlier_turns, self._cache,
            )  # fmt: skip
            for turn, vector, crowd in zip(said, vectors, crowds, strict=True):
                if not self._judge_turn(turn, vector, crowd):
                    return [seq for seq in seqs if seq < turn.seq]
        return [seq for seq in seqs if seq <= stop]

    def _may_wait(self, turn: Turn) -> bool:
        """Whether a model is to be asked about this turn if the gate lets it through.

        Not if it was asked already, nor if the turn was admitted without it before a rebuild (INV-3).
        """
        return (
            turn.origin is Origin.USER
            and turn.id not in self._proposals
            and turn.seq > self._passed
            and judge_salience(self._own_words(turn).text, self._settings.gate.salient_words).salient
        )

    def _vectors(self, said: Sequence[Turn]) -> _Vector:
        stored = dict(self._view.vectors(Space.TURN, self.changes.fingerprint, [turn.seq for turn in said]))
        return np.stack([np.frombuffer(stored[turn.seq], "<f4") for turn in said])

    def _own_words(self, turn: Turn) -> OwnWords:
        if turn.id not in self._own:
            self._own[turn.id] = own_words(turn.text, self._settings.admit.own_chars)
        return self._own[turn.id]

    def _judge_turn(self, turn: Turn, vector: _Vector, crowd: Sequence[float]) -> bool:
        """False if it waits for a model; then nothing is noted of it yet."""
        known = self._ledger.nearest(vector, turn.seq, self._settings.gate.known_records, own=False)
        signals = score(
            turn.text, [cosine for _, cosine in known], crowd, self._settings.gate, self._embedder.profile.thresholds
        )
        own = self._own_words(turn)
        verdict = decide_gate(judge_salience(own.text, self._settings.gate.salient_words), signals, self._settings.gate)
        yields = verdict.yields and turn.origin is Origin.USER
        before = self._before(turn) if yields else []
        if yields and self._asks and self._may_wait(turn):
            self.question = self._ask(turn, vector, before)
            return False
        self._note_gate(turn, own, signals, verdict.reason, yields)
        if yields:
            self._admit(turn, self._candidates(turn, before), before, signals.g)
        return True

    def _before(self, turn: Turn) -> list[Turn]:
        """Never the turn itself nor what came after it, which the log may hold by now: a rebuild judges the same."""
        heard = min(self._settings.admit.turns_heard, turn.index)
        return self._view.thread(turn.session, turn.index - 1 - heard, heard) if heard else []

    def _just_before(self, before: Sequence[Turn]) -> Sequence[Turn]:
        return before[-self._settings.admit.turns_shown :]

    def _ask(self, turn: Turn, vector: _Vector, before: Sequence[Turn]) -> Question:
        """The model is shown the user's own words, and the records it may propose to replace."""
        near = self._ledger.nearest(vector, turn.seq, self._settings.admit.records_shown, own=False)
        known = tuple(one for one, cosine in near if cosine >= self._embedder.profile.thresholds.related)
        spoken = tuple(self._own_turn(one) if one.role is Role.USER else one for one in self._just_before(before))
        return Question(self._own_turn(turn), spoken, known)

    def _own_turn(self, turn: Turn) -> Turn:
        return replace(turn, text=self._own_words(turn).text)

    def _note_gate(self, turn: Turn, own: OwnWords, signals: Signals, reason: str, yields: bool) -> None:
        self.changes.signals.append((turn.seq, signals.as_dict()))
        self._notes.count(turn, "turns")
        if turn.origin is not Origin.USER:
            why = f"its origin is {turn.origin.value}: not the user's own words"
            self._notes.tell(turn.id, turn, "not promoted", why)
            self._notes.count(turn, "others' words")
            return
        if own.parts:
            self._notes.tell(turn.id, turn, "set aside", own.told)
        self._notes.tell(turn.id, turn, "gated" if yields else "not promoted", reason, g=signals.g)
        if not yields:
            self._notes.count(turn, "not salient" if reason.startswith("not salient") else "below the threshold")

    def _candidates(self, turn: Turn, before: Sequence[Turn]) -> list[Candidate]:
        """What the log says a model proposed; else what rules find."""
        proposed = unpack(self._proposals[turn.id]) if turn.id in self._proposals else None
        if proposed is None or proposed.by_rules:
            found = self._extractor.extract(self._own_turn(turn), before)
        else:
            found = list(proposed.candidates)
            for one in proposed.dropped:
                self._notes.count(turn, "candidates")
                self._refuse(turn, one.text, one.rule, one.reason)
        if not found:
            self._notes.tell(turn.id, turn, "no record", "nothing in it is likely to help a conversation without it")
            self._notes.count(turn, "nothing durable")
        return found

    def _admit(self, turn: Turn, candidates: Sequence[Candidate], before: Sequence[Turn], g: float) -> None:
        heard = _heard(self._just_before(before))
        kept: list[Candidate] = []
        for number, candidate in enumerate(candidates):
            self._notes.count(turn, "candidates")
            refusal = judge_floor(candidate.text, answers_question=number == 0 and answers_question(before))
            if candidate.proposal is Proposal.SKIP:
                self._refuse(turn, candidate.text, "skipped", "its extractor proposed nothing")
            elif refusal is not None:
                self._refuse(turn, candidate.text, refusal.reason.value, refusal.why)
            elif not candidate.notes.get("confirmed") and is_echo(candidate.text, heard):
                self._refuse(turn, candidate.text, "echo", "it repeats what the assistant had just said")
            elif len(kept) >= self._settings.admit.records_per_turn:
                why = "the turn has its full number of records; it stays recallable"
                self._refuse(turn, candidate.text, "cap", why)
            else:
                kept.append(replace(candidate, text=mask(candidate.text).text))
        if kept:
            seqs = {one.id: one.seq for one in (*before, turn)}
            vectors = embed_claims(self._view, turn.seq, [one.text for one in kept], self._embedder, self.changes)
            for number, (candidate, vector) in enumerate(zip(kept, vectors, strict=True)):
                sources = tuple(seqs[turn_id] for turn_id in candidate.turn_ids if turn_id in seqs)
                self._placing.place(turn, candidate, vector, number, g, sources)

    def _refuse(self, turn: Turn, text: str, reason: str, why: str) -> None:
        self._notes.tell(turn.id, turn, f"refused: {reason}", f"{mask(text).text!r}: {why}")
        self._notes.count(turn, f"refused: {reason}")


def _heard(before: Sequence[Turn]) -> list[str]:
    """What the user has just been told, so that saying it again is no news (ADMIT-4).

    The assistant's words for now; what was recalled for the session and its rule files join here (E).
    """
    return [one.text for one in before if one.role is not Role.USER]


def _passed(view: Snapshot) -> int:
    """How far admission had come when the views were last dropped: turns up to there are not asked about any more."""
    upto = [act.payload.get("upto") for act in view.acts(ADMIT_STAGE) if act.entry is Entry.REBUILD]
    return max((one for one in upto if isinstance(one, int)), default=0)
