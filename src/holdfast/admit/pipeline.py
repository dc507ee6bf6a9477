"""Derived work: from turns to records, in the order of the log, with a receipt for every user turn.

It follows the log over embedded turns only, so an outage of the embedder delays it and never changes it (INV-3). A turn
that a chat model has to be asked about holds the cursor until the log has the answer (admit/proposals.py); a rebuild
finds it there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.echo import holds_list, is_echo, recited
from holdfast.admit.extract import AdmitWeights, Candidate, Extractor, Proposal, answers_question
from holdfast.admit.floor import judge as judge_floor
from holdfast.admit.ledger import Earlier, Ledger, SessionTurns, nearest_earlier
from holdfast.admit.llm import Proposed, unpack
from holdfast.admit.place import Notes, Placement
from holdfast.admit.proposals import Embedded, ProposalQueue, Question, embed_claims
from holdfast.admit.secrets import mask
from holdfast.gate.own_words import OwnWords, own_words
from holdfast.gate.salience import Salience
from holdfast.gate.salience import judge as judge_salience
from holdfast.gate.score import KNOWN_RECORDS, Signals, score
from holdfast.gate.score import decide as decide_gate
from holdfast.index.blocks import BlockCache, IndexSizes
from holdfast.index.vectors import vectors_stage
from holdfast.model import Entry, Metadata, Origin, Role, Turn
from holdfast.models.embedder import THRESHOLDS, Embedder
from holdfast.settings import Settings, tuned
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import ADMIT_STAGE, CLAIMS_PER_TURN, EPOCH_STAGE, Changes, Move, Space

# --- What may be kept of turns, read out of them before any is compared: rules, floor and models need no ledger.
#
# Many turns are read together, which takes half the time of one by one.


ABOVE_THE_CAP = ("cap", "the turn has its full number of records; it stays recallable")

_Said = tuple[Turn, Sequence[Turn]]
"""A turn, and those before it in its session."""


@dataclass(frozen=True, slots=True)
class JudgedCandidate:
    candidate: Candidate
    refused: tuple[str, str] | None
    """The rule that refuses it, and why."""


@dataclass(frozen=True, slots=True)
class TurnReading:
    """One turn: what was found in it, and what passed the floor, with its vectors."""

    before: Sequence[Turn]
    dropped: tuple[tuple[str, str, str], ...]
    """(text, rule, why) of what a model proposed and code did not take."""
    found: tuple[JudgedCandidate, ...]
    kept: tuple[Candidate, ...]
    vectors: NDArray[np.float32]
    rows: list[tuple[Space, int, bytes]]
    """Vectors made now, to be stored."""


class TurnReader:
    def __init__(self, view: Snapshot, embedder: Embedder, extractor: Extractor, settings: Settings) -> None:
        self._view = view
        self._embedder = embedder
        self._extractor = extractor
        self._settings = tuned(settings, AdmitWeights)
        self._own: dict[str, OwnWords] = {}
        self.proposals: Mapping[str, Metadata] = {}
        """A model's proposals in the log, by turn."""

    def own_words(self, turn: Turn) -> OwnWords:
        if turn.id not in self._own:
            self._own[turn.id] = own_words(turn.text, self._settings.own_chars)
        return self._own[turn.id]

    def own_turn(self, turn: Turn) -> Turn:
        return replace(turn, text=self.own_words(turn).text)

    def just_before(self, before: Sequence[Turn]) -> Sequence[Turn]:
        return before[-self._settings.turns_shown :]

    def read(self, said: Sequence[_Said]) -> dict[int, TurnReading]:
        """By the turn's place in the log; what the log says a model proposed, else what rules find."""
        proposed = {turn.seq: self._proposed(turn) for turn, _ in said}
        by_rules = [(turn, before) for turn, before in said if proposed[turn.seq] is None]
        by_code = {turn.seq: found for (turn, _), found in zip(by_rules, self._extract(by_rules), strict=True)}
        found = {}
        for turn, before in said:
            model = proposed[turn.seq]
            candidates = by_code[turn.seq] if model is None else model.candidates
            found[turn.seq] = self._floored(candidates, before, self._most(turn))
        kept = {
            seq: tuple(_masked(one.candidate) for one in many if one.refused is None) for seq, many in found.items()
        }
        embedded = embed_claims(
            self._view, {seq: [one.text for one in many] for seq, many in kept.items() if many}, self._embedder
        )
        nothing = Embedded(np.zeros((0, self._embedder.profile.dims), np.float32), [])
        return {
            turn.seq: TurnReading(
                before,
                tuple((one.text, one.rule, one.reason) for one in model.dropped)
                if (model := proposed[turn.seq])
                else (),
                found[turn.seq],
                kept[turn.seq],
                embedded.get(turn.seq, nothing).vectors,
                embedded.get(turn.seq, nothing).rows,
            )
            for turn, before in said
        }

    def _proposed(self, turn: Turn) -> Proposed | None:
        proposed = unpack(self.proposals[turn.id]) if turn.id in self.proposals else None
        return None if proposed is None or proposed.by_rules else proposed

    def _extract(self, said: Sequence[_Said]) -> list[list[Candidate]]:
        return [self._extractor.extract(turn, before) for turn, before in said]

    def _most(self, turn: Turn) -> int:
        """Statements that are looked at: more than make records where some of them may be a list that was recalled."""
        listed = holds_list(self.own_words(turn).text, self._settings.recited_lines)
        return max(CLAIMS_PER_TURN if listed else 0, self._settings.records_per_turn)

    def _floored(
        self, candidates: Sequence[Candidate], before: Sequence[Turn], most: int
    ) -> tuple[JudgedCandidate, ...]:
        recent = _recent(self.just_before(before))
        found: list[JudgedCandidate] = []
        kept = 0
        for number, candidate in enumerate(candidates):
            refused = self._refused(candidate, number, before, recent)
            if refused is None and kept >= most:
                refused = ABOVE_THE_CAP
            kept += refused is None
            found.append(JudgedCandidate(candidate, refused))
        return tuple(found)

    def _refused(
        self, candidate: Candidate, number: int, before: Sequence[Turn], recent: Sequence[str]
    ) -> tuple[str, str] | None:
        if candidate.proposal is Proposal.SKIP:
            return "skipped", "its extractor proposed nothing"
        refusal = judge_floor(candidate.text, answers_question=number == 0 and answers_question(before))
        if refusal is not None:
            return refusal.reason.value, refusal.why
        if self._view.is_refused(mask(candidate.text).text):
            return "erased", "a record that said this was erased"
        if not candidate.notes.get("confirmed") and is_echo(candidate.text, recent):
            return "echo", "it repeats what the assistant had just said"
        return None


def _masked(candidate: Candidate) -> Candidate:
    return replace(candidate, text=mask(candidate.text).text)


def _recent(before: Sequence[Turn]) -> list[str]:
    """Return what the user was just told, so that repeating it is not news (ADMIT-4).

    What was recalled for the session, and its rule files, are told by their form (gate/own_words.py) and by what they
    repeat (admit/echo.py): the log does not know what a context showed, and a rebuild must decide the same.
    """
    return [one.text for one in before if one.role is Role.ASSISTANT and one.origin is not Origin.AGENT]


# --- One batch of turns, judged in order: gate, extract, floor, compare. What is decided is collected as changes.


_Vector = NDArray[np.float32]
_ALIKE = 3  # records that a line may repeat: a copy lies nearest, next to what was said of the same in other words
_RECITED = ("echo", "it stands in a list that repeats what is remembered: a host's, not the user's")
_AT_ONCE = 16  # turns read and compared together: about half a second
_MOST_S = 1.0


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
        recent: SessionTurns,
        *,
        asks: bool,
    ) -> None:
        self._view = view
        self._namespace = namespace
        self._embedder = embedder
        self._settings = settings
        self._cache = cache
        self._ledger = ledger
        self._recent = recent
        self._asks = asks
        self.changes = Changes(fingerprint=embedder.profile.fingerprint)
        self.question: Question | None = None
        """Question for the chat model that the batch waits for."""
        self._notes = Notes(self.changes)
        self._placement = Placement(namespace, embedder, settings, ledger, self.changes, self._notes, view)
        self._earlier = Earlier(view, (), recent)
        self._reader = TurnReader(view, embedder, extractor, settings)
        self._salient: dict[str, Salience] = {}
        self._proposals: Mapping[str, Metadata] = {}
        self._passed = _passed(view) if asks else 0

    def judge(self, seqs: Sequence[int], step_aside: Callable[[], None]) -> list[int]:
        """Judge turns in order; those that were, which is not all of them when a model must be asked first.

        After `_MOST_S` the rest is left for the next batch: a close waits for one, and a kill loses one.
        `step_aside` is called between two of them.
        """
        began = time.monotonic()
        turns = self._view.turns(seqs)
        self._recent.look(self._view)
        self._earlier = Earlier(self._view, [turns[seq] for seq in seqs], self._recent)
        said = [turns[seq] for seq in seqs if turns[seq].role is Role.USER]
        self._proposals = self._reader.proposals = self._view.proposals([turn.id for turn in said])
        stop = next((turn.seq for turn in said if self._asks and self._may_wait(turn)), seqs[-1])
        said = [turn for turn in said if turn.seq <= stop]
        if said:
            vectors = self._vectors(said)
            all_repeats = nearest_earlier(
                self._view, self._namespace, self.changes.fingerprint, [turn.seq for turn in said], vectors,
                self._embedder.profile.thresholds.repeat, self._cache,
            )  # fmt: skip
            for start in range(0, len(said), _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                waits = self._judge_some(said[part], vectors[part], all_repeats[part], step_aside)
                if waits is not None:
                    return [seq for seq in seqs if seq < waits.seq]
                if time.monotonic() - began > _MOST_S:
                    stop = min(stop, said[part][-1].seq)
                    break
        return [seq for seq in seqs if seq <= stop]

    def _judge_some(
        self,
        said: Sequence[Turn],
        vectors: _Vector,
        all_repeats: Sequence[Sequence[float]],
        step_aside: Callable[[], None],
    ) -> Turn | None:
        """Judge turns whose words are read together; the first that waits for a model, if one does."""
        read = self._reader.read([(turn, self._earlier.before(turn)) for turn in said if self._readable(turn)])
        for one in read.values():
            self.changes.vectors += one.rows
        self._ledger.look_ahead(np.concatenate([vectors, *(one.vectors for one in read.values())]))
        rows = dict(zip(read, accumulate((len(one.kept) for one in read.values()), initial=len(said)), strict=False))
        for row, (turn, repeats) in enumerate(zip(said, all_repeats, strict=True)):
            step_aside()
            if not self._judge_turn(turn, vectors[row], repeats, row, read.get(turn.seq), rows.get(turn.seq, 0)):
                return turn
        return None

    def _readable(self, turn: Turn) -> bool:
        """Return True if the rules or a model's proposal may find something in the turn."""
        return turn.origin is Origin.USER and self._salience(turn).salient and not (self._asks and self._may_wait(turn))

    def _salience(self, turn: Turn) -> Salience:
        if turn.id not in self._salient:
            self._salient[turn.id] = judge_salience(self._reader.own_words(turn).text)
        return self._salient[turn.id]

    def _may_wait(self, turn: Turn) -> bool:
        """Return True if a model should be asked about this turn when it passes the gate.

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
        self, turn: Turn, vector: _Vector, repeats: Sequence[float], row: int, read: TurnReading | None, first: int
    ) -> bool:
        """False if it waits for a model; then nothing is noted of it yet.

        `row` and `first`: where the ledger looks ahead for the turn, and for the first statement read out of it.
        """
        known = self._ledger.nearest(vector, turn.seq, KNOWN_RECORDS, own=False, row=row)
        signals = score(
            turn.text, [cosine for _, cosine in known], repeats, self._settings.gate, self._embedder.profile.thresholds
        )
        verdict = decide_gate(self._salience(turn), signals, self._settings.gate)
        yields = verdict.yields and turn.origin is Origin.USER
        if yields and read is None:
            self.question = self._ask(turn, vector, self._earlier.before(turn))
            return False
        self._note_gate(turn, self._reader.own_words(turn), signals, verdict.reason, yields)
        if yields and read is not None:
            self._admit(turn, read, signals.g, vector, row, first)
        return True

    def _ask(self, turn: Turn, vector: _Vector, before: Sequence[Turn]) -> Question:
        """The model is shown the user's own words, and the records it may propose to replace."""
        near = self._ledger.nearest(vector, turn.seq, tuned(self._settings, AdmitWeights).records_shown, own=False)
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
            self._notes.tell(turn.id, turn, "set aside", own.summary)
        self._notes.tell(turn.id, turn, "gated" if yields else "not promoted", reason, g=signals.g)
        if not yields:
            self._notes.count(turn, "not salient" if reason.startswith("not salient") else "below the threshold")

    def _admit(self, turn: Turn, read: TurnReading, g: float, vector: _Vector, row: int, first: int) -> None:
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
        own, previous = self._reader.own_words(turn).text, read.before[-1].text if read.before else ""
        replaced = self._placement.replaced_by(turn, own, previous, vector, row, read.kept, read.vectors, first)
        for number, (candidate, vector) in enumerate(zip(read.kept, read.vectors, strict=True)):
            if late[number] is None:
                sources = tuple(seqs[turn_id] for turn_id in candidate.turn_ids if turn_id in seqs)
                self._placement.place(
                    turn, candidate, vector, number, g, sources, first + number, own, replaced[number]
                )

    def _refused_late(self, turn: Turn, read: TurnReading, first: int) -> list[tuple[str, str] | None]:
        """Return the reason to refuse each candidate that passed the floor, given what was remembered before."""
        said = recited(
            self._reader.own_words(turn).text,
            [one.text for one in read.kept],
            lambda number: [
                one.text for one in self._ledger.ever(read.vectors[number], turn.seq, _ALIKE, first + number)
            ],
            tuned(self._settings, AdmitWeights).recited_lines,
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
    """Return the position of admission when the views were last dropped: no model is asked about turns up to there."""
    upto = [act.payload.get("upto") for act in view.acts(ADMIT_STAGE) if act.entry is Entry.REBUILD]
    return max((one for one in upto if isinstance(one, int)), default=0)


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
        asking: ProposalQueue | None = None,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._embedder = embedder
        self._extractor = extractor
        self._settings = settings
        self._cache = cache
        self._asking = asking
        self._held = -1
        """Position of the cursor while a model is asked about the next turn."""
        # The ledger of the last batch, the state of the store that it belongs to, and the last record it was read up
        # to: if nobody changed one since, it is enough to read on from there.
        self._ledger: Ledger | None = None
        self._state = _State()
        self._upto = 0
        self._recent = SessionTurns(tuned(settings, AdmitWeights).turns_before)

    @property
    def degraded(self) -> str | None:
        """Why the chat model's proposals are late or missing; None when they are not."""
        return None if self._asking is None else self._asking.degraded

    def admit_batch(self, step_aside: Callable[[], None]) -> int:
        """Judge one batch of embedded turns; how many there were. It never waits for a chat model.

        `step_aside` is called between two turns.
        """
        fingerprint = self._embedder.profile.fingerprint
        with self._store.snapshot(self._namespace) as view:
            done = view.cursor(ADMIT_STAGE)
            if self._asking is not None and self._asking.is_asking(self._namespace) and done == self._held:
                return 0
            embedded = view.cursor(vectors_stage(Space.TURN, fingerprint))
            read = view.cursor(vectors_stage(Space.RECORD, fingerprint))
            if embedded <= done or view.numbers(Space.RECORD, read, 1):
                return 0
            nums = view.numbers(Space.TURN, done, tuned(self._settings, IndexSizes).batch)
            seqs = [num for num in nums if num <= embedded]
            if not seqs:
                return 0
            state = _State(fingerprint, view.cursor(EPOCH_STAGE), view.forgotten(), view.erasures(), done)
            ledger = self._read_ledger(view, state)
            judge = Judge(
                view, self._namespace, self._embedder, self._extractor, self._settings, self._cache, ledger,
                self._recent, asks=self._asking is not None,
            )  # fmt: skip
            judged = judge.judge(seqs, step_aside)
            unchanged = view.unchanged()
        if self._asking is not None and judge.question is not None:
            self._held = judged[-1] if judged else done
            self._asking.ask(self._namespace, judge.question)
        if not judged:
            self._ledger, self._state = ledger, state
            return 0
        moves = [unchanged, Move(ADMIT_STAGE, done, judged[-1])]
        if not self._store.advance(self._namespace, moves, judge.changes):
            return 0
        # What the operator did meanwhile is not in the ledger, nor in this state: the next batch sees it.
        self._ledger, self._state = ledger, replace(state, done=judged[-1])
        return len(judged)

    def _read_ledger(self, view: Snapshot, state: _State) -> Ledger:
        ledger, self._ledger = self._ledger, None  # whatever happens, only a batch that was written leaves one behind
        if ledger is None or self._state != state:
            ledger = Ledger(view.record_states(state.fingerprint))
        else:
            ledger.take(view.record_states(state.fingerprint, self._upto))
        self._upto = view.end(Space.RECORD)
        return ledger


@dataclass(frozen=True)
class _State:
    """State that a ledger depends on, besides added records. An erase changes some that were judged long ago."""

    fingerprint: str = ""
    epoch: int = 0
    forgotten: Mapping[str, int] = field(default_factory=dict)
    erasures: tuple[int, datetime | None] = (0, None)
    done: int = -1


# --- The gating scalar of a text that is in no log yet, for a host that wants to know before it stores (GATE-9).


def gating_scalar(
    view: Snapshot, namespace: str, text: str, embedder: Embedder | None, settings: Settings, cache: BlockCache
) -> Signals:
    """Two searches: the nearest durable records, and the nearest turns. Without an embedder, by its words alone."""
    if embedder is None:
        return score(text, [], [], settings.gate, THRESHOLDS)
    profile = embedder.profile
    vector = embedder.embed([text])[0]
    next_line = view.end() + 1
    ledger = Ledger(view.record_states(profile.fingerprint))
    known = ledger.nearest(vector, next_line, KNOWN_RECORDS, own=True)
    repeated = nearest_earlier(
        view, namespace, profile.fingerprint, [next_line], vector[None], profile.thresholds.repeat, cache
    )
    return score(text, [cosine for _, cosine in known], repeated[0], settings.gate, profile.thresholds)
