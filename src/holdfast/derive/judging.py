"""One batch of turns, judged in order: gate, extract, floor, compare. What is decided is collected as changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.claim import Extractor
from holdfast.admit.pasted import OwnWords
from holdfast.admit.recited import recited
from holdfast.admit.secrets import mask
from holdfast.derive.crowd import nearest_earlier
from holdfast.derive.earlier import Earlier, Heard
from holdfast.derive.ledger import Ledger
from holdfast.derive.placing import Notes, Placing
from holdfast.derive.proposals import Question
from holdfast.derive.reading import ABOVE_THE_CAP, Read, Reader
from holdfast.gate.salience import Salience
from holdfast.gate.salience import judge as judge_salience
from holdfast.gate.scalar import Signals, score
from holdfast.gate.verdict import decide as decide_gate
from holdfast.model import Entry, Metadata, Origin, Role, Turn
from holdfast.models.embedder import Embedder
from holdfast.recall.cache import BlockCache
from holdfast.settings import Settings
from holdfast.store.nouns import ADMIT_STAGE, Changes, Space
from holdfast.store.protocol import Snapshot

__all__ = ["Judge"]

_Vector = NDArray[np.float32]
_ALIKE = 3  # records that a line may repeat: a copy lies nearest, beside what was said of the same in other words
_RECITED = ("echo", "it stands in a list that repeats what is remembered: a host's, not the user's")
_AT_ONCE = 128  # turns read and compared together; with 20,000 records their products take 16 MB


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
        heard: Heard,
        *,
        asks: bool,
    ) -> None:
        self._view = view
        self._namespace = namespace
        self._embedder = embedder
        self._settings = settings
        self._cache = cache
        self._ledger = ledger
        self._heard = heard
        self._asks = asks
        self.changes = Changes(fingerprint=embedder.profile.fingerprint)
        self.question: Question | None = None
        """What a chat model must be asked before the batch can go on."""
        self._notes = Notes(self.changes)
        self._placing = Placing(namespace, embedder, settings, ledger, self.changes, self._notes, view.forgotten())
        self._earlier = Earlier(view, (), heard)
        self._reader = Reader(view, embedder, extractor, settings)
        self._salient: dict[str, Salience] = {}
        self._proposals: Mapping[str, Metadata] = {}
        self._passed = _passed(view) if asks else 0

    def judge(self, seqs: Sequence[int], step_aside: Callable[[], None]) -> list[int]:
        """Judge turns in order; those that were, which is not all of them when a model must be asked first.

        `step_aside` is called between two of them.
        """
        turns = self._view.turns(seqs)
        self._heard.look(self._view)
        self._earlier = Earlier(self._view, [turns[seq] for seq in seqs], self._heard)
        said = [turns[seq] for seq in seqs if turns[seq].role is Role.USER]
        self._proposals = self._reader.proposals = self._view.proposals([turn.id for turn in said])
        stop = next((turn.seq for turn in said if self._asks and self._may_wait(turn)), seqs[-1])
        said = [turn for turn in said if turn.seq <= stop]
        if said:
            vectors = self._vectors(said)
            crowds = nearest_earlier(
                self._view, self._namespace, self.changes.fingerprint, [turn.seq for turn in said], vectors,
                self._embedder.profile.thresholds.repeat, self._cache,
            )  # fmt: skip
            for start in range(0, len(said), _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                waits = self._judge_some(said[part], vectors[part], crowds[part], step_aside)
                if waits is not None:
                    return [seq for seq in seqs if seq < waits.seq]
        return [seq for seq in seqs if seq <= stop]

    def _judge_some(
        self,
        said: Sequence[Turn],
        vectors: _Vector,
        crowds: Sequence[Sequence[float]],
        step_aside: Callable[[], None],
    ) -> Turn | None:
        """Judge turns whose words are read together; the first that waits for a model, if one does."""
        read = self._reader.read([(turn, self._earlier.before(turn)) for turn in said if self._readable(turn)])
        for one in read.values():
            self.changes.vectors += one.rows
        self._ledger.look_ahead(np.concatenate([vectors, *(one.vectors for one in read.values())]))
        rows = dict(zip(read, accumulate((len(one.kept) for one in read.values()), initial=len(said)), strict=False))
        for row, (turn, crowd) in enumerate(zip(said, crowds, strict=True)):
            step_aside()
            if not self._judge_turn(turn, vectors[row], crowd, row, read.get(turn.seq), rows.get(turn.seq, 0)):
                return turn
        return None

    def _readable(self, turn: Turn) -> bool:
        """Whether rules, or what a model proposed, may find something in it."""
        return turn.origin is Origin.USER and self._salience(turn).salient and not (self._asks and self._may_wait(turn))

    def _salience(self, turn: Turn) -> Salience:
        if turn.id not in self._salient:
            words = self._settings.gate.salient_words
            self._salient[turn.id] = judge_salience(self._reader.own_words(turn).text, words)
        return self._salient[turn.id]

    def _may_wait(self, turn: Turn) -> bool:
        """Whether a model is to be asked about this turn if the gate lets it through.

        Not if it was asked already, nor if the turn was admitted without it before a rebuild (INV-3).
        """
        return (
            turn.origin is Origin.USER
            and turn.id not in self._proposals
            and turn.seq > self._passed
            and self._salience(turn).salient
        )

    def _vectors(self, said: Sequence[Turn]) -> _Vector:
        stored = dict(self._view.vectors(Space.TURN, self.changes.fingerprint, [turn.seq for turn in said]))
        return np.stack([np.frombuffer(stored[turn.seq], "<f4") for turn in said])

    def _judge_turn(
        self, turn: Turn, vector: _Vector, crowd: Sequence[float], row: int, read: Read | None, first: int
    ) -> bool:
        """False if it waits for a model; then nothing is noted of it yet.

        `row` and `first`: where the ledger looks ahead for the turn, and for the first statement read out of it.
        """
        known = self._ledger.nearest(vector, turn.seq, self._settings.gate.known_records, own=False, row=row)
        signals = score(
            turn.text, [cosine for _, cosine in known], crowd, self._settings.gate, self._embedder.profile.thresholds
        )
        verdict = decide_gate(self._salience(turn), signals, self._settings.gate)
        yields = verdict.yields and turn.origin is Origin.USER
        if yields and read is None:
            self.question = self._ask(turn, vector, self._earlier.before(turn))
            return False
        self._note_gate(turn, self._reader.own_words(turn), signals, verdict.reason, yields)
        if yields and read is not None:
            self._admit(turn, read, signals.g, first)
        return True

    def _ask(self, turn: Turn, vector: _Vector, before: Sequence[Turn]) -> Question:
        """The model is shown the user's own words, and the records it may propose to replace."""
        near = self._ledger.nearest(vector, turn.seq, self._settings.admit.records_shown, own=False)
        known = tuple(one for one, cosine in near if cosine >= self._embedder.profile.thresholds.related)
        spoken = tuple(
            self._reader.own_turn(one) if one.role is Role.USER else one for one in self._reader.just_before(before)
        )
        return Question(self._reader.own_turn(turn), spoken, known, self._view.end())

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

    def _admit(self, turn: Turn, read: Read, g: float, first: int) -> None:
        for text, rule, why in read.dropped:
            self._notes.count(turn, "candidates")
            self._refuse(turn, text, rule, why)
        if not read.found:
            self._notes.tell(turn.id, turn, "no record", "nothing in it is likely to help a conversation without it")
            self._notes.count(turn, "nothing durable")
        late = self._refused_late(turn, read, first)
        kept = iter(late)
        for one in read.found:
            self._notes.count(turn, "candidates")
            if refused := one.refused or next(kept):
                self._refuse(turn, one.candidate.text, *refused)
        seqs = {one.id: one.seq for one in (*read.before, turn)} if read.kept else {}
        for number, (candidate, vector) in enumerate(zip(read.kept, read.vectors, strict=True)):
            if late[number] is None:
                sources = tuple(seqs[turn_id] for turn_id in candidate.turn_ids if turn_id in seqs)
                self._placing.place(turn, candidate, vector, number, g, sources, row=first + number)

    def _refused_late(self, turn: Turn, read: Read, first: int) -> list[tuple[str, str] | None]:
        """What refuses each of those that passed the floor, now that it is known what was remembered before."""
        said = recited(
            self._reader.own_words(turn).text,
            [one.text for one in read.kept],
            lambda number: [
                one.text for one in self._ledger.ever(read.vectors[number], turn.seq, _ALIKE, first + number)
            ],
            self._settings.admit.recited_lines,
        )
        late: list[tuple[str, str] | None] = []
        for number in range(len(read.kept)):
            full = late.count(None) >= self._settings.admit.records_per_turn
            late.append(_RECITED if number in said else ABOVE_THE_CAP if full else None)
        return late

    def _refuse(self, turn: Turn, text: str, reason: str, why: str) -> None:
        self._notes.tell(turn.id, turn, f"refused: {reason}", f"{mask(text).text!r}: {why}")
        self._notes.count(turn, f"refused: {reason}")


def _passed(view: Snapshot) -> int:
    """How far admission had come when the views were last dropped: turns up to there are not asked about any more."""
    upto = [act.payload.get("upto") for act in view.acts(ADMIT_STAGE) if act.entry is Entry.REBUILD]
    return max((one for one in upto if isinstance(one, int)), default=0)
