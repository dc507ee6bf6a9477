"""A candidate's place among what is remembered: a record of its own, part of one, the end of one, or nothing new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.compare import REPLACED, RULE_REPLACED, SURELY_REPLACED, is_replaced, remainders
from holdfast.admit.extract import AdmitWeights, Candidate
from holdfast.admit.ledger import Ledger
from holdfast.admit.merge import Add, Drop, Likeness, Merge, Neighbour, Statement, Supersede, Verdict, compare
from holdfast.admit.merge import decide as decide_merge
from holdfast.gate.reader import read_sentences, releases
from holdfast.model import Decision, Kind, Record, Turn
from holdfast.models.embedder import Embedder
from holdfast.settings import Settings, tuned
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import Changes, NewRecord, RecordMerge, RecordRetirement

_NEIGHBOURS = 8  # live records a candidate is compared with: the nearest, and as many with words in common


class Notes:
    """Notes and counts of a turn, among the changes of its batch."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    def tell(self, subject: str, turn: Turn, what: str, reason: str, **details: object) -> None:
        self._changes.receipts.append((subject, Decision(what, reason, turn.recorded_at, details)))

    def count(self, turn: Turn, name: str) -> None:
        """By the day it was said: an imported year is a year, not the day of its import."""
        self._changes.counters[turn.at.date().isoformat(), name] += 1


class Placement:
    def __init__(
        self,
        namespace: str,
        embedder: Embedder,
        settings: Settings,
        ledger: Ledger,
        changes: Changes,
        notes: Notes,
        view: Snapshot,
    ) -> None:
        self._view = view
        self._namespace = namespace
        self._embedder = embedder
        self._settings = settings
        self._thresholds = embedder.profile.thresholds
        self._ledger = ledger
        self._changes = changes
        self._notes = notes
        self._forgotten = view.forgotten()

    def place(
        self,
        turn: Turn,
        candidate: Candidate,
        vector: NDArray[np.float32],
        number: int,
        g: float,
        sources: tuple[int, ...],
        row: int,
        said: str,
        replaced: frozenset[str],
    ) -> None:
        """Keep a candidate: as a record of its own, in the place of records it replaces, or merged into one.

        `sources` are the places in the log of the turns it rests on, `row` is where the ledger looked ahead for it,
        `said` are the user's own words in its turn, and `replaced` are the records that the turn replaces, if this is
        the statement that does (`replaced_by`).
        """
        neighbours = self._neighbours(turn, candidate, vector, row, replaced)
        statement = Statement(
            candidate.text, candidate.kind, candidate.provenance, candidate.confidence, turn.at, candidate.turn_ids,
            supersedes=candidate.supersedes,
        )  # fmt: skip
        verdict = self._said_before(turn, candidate, vector) or decide_merge(
            statement, neighbours, self._thresholds, self._settings.merge, replaced
        )
        if candidate.slight and isinstance(verdict, Add):
            why = "too slight to keep on its own, and it changes nothing remembered"
            self._notes.tell(turn.id, turn, "refused: slight", f"{candidate.text!r}: {why}")
            self._notes.count(turn, "refused: slight")
            return
        record_id = self._carry_out(turn, candidate, vector, number, g, verdict, sources)
        for old_id in verdict.old if isinstance(verdict, Supersede) else ():
            for rest in remainders(self._ledger.get(old_id).text, said):
                self._keep_rest(turn, self._ledger.get(old_id), rest)
        self._notes.tell(
            turn.id, turn, _WORDS[type(verdict)], f"{candidate.text!r}, {_reason(verdict)}", record=record_id,
            **self._compared(candidate, neighbours),
        )  # fmt: skip
        self._notes.count(turn, _COUNTED[type(verdict)])
        same = self._settings.merge.same or self._thresholds.same
        if isinstance(verdict, Merge | Drop) or any(near.cosine >= same for near in neighbours):
            self._notes.count(turn, "triggers")
            if isinstance(verdict, Add):
                self._notes.count(turn, "redundant adds")

    def replaced_by(
        self,
        turn: Turn,
        said: str,
        previous: str,
        vector: NDArray[np.float32],
        row: int,
        candidates: Sequence[Candidate],
        vectors: NDArray[np.float32],
        first: int,
    ) -> list[frozenset[str]]:
        """Return for each candidate the records that the turn replaces through it.

        A record that is near to the turn or to one of its candidates is judged against the whole turn, which says more
        about a change than one of its sentences, and is replaced by the candidate that is nearest to it. A turn that
        tells of no change is not compared with anything. `row` and `first` are where the ledger looked ahead for the
        turn and for its first candidate.
        """
        found: list[set[str]] = [set() for _ in candidates]
        if max((one.change for one in candidates), default=0.0) < tuned(self._settings, AdmitWeights).change:
            return [frozenset(ids) for ids in found]
        near = {one.id: one for one, _ in self._ledger.nearest(vector, turn.seq, _NEIGHBOURS, own=False, row=row)}
        for number, candidate in enumerate(candidates):
            for one in self._neighbours(turn, candidate, vectors[number], first + number):
                near[one.id] = self._ledger.get(one.id)
        all_said = np.vstack([vectors, vector])
        cosines = {id: all_said @ self._ledger.vector(id) for id in near}
        nearest = sorted(near.values(), key=lambda one: (-float(cosines[one.id].max()), one.id))
        for rank, record in enumerate(nearest):
            number = int(cosines[record.id][:-1].argmax())
            candidate = candidates[number]
            if record.at >= turn.at or (candidate.kind is Kind.GUIDANCE and record.kind is not Kind.GUIDANCE):
                continue
            lifts = releases(candidate.text)
            both = record.kind is Kind.GUIDANCE and (candidate.kind is record.kind or lifts)
            least = SURELY_REPLACED if "explicit" in record.metadata else RULE_REPLACED if both else REPLACED
            old = f"{record.metadata.get('lead', '')} {record.text}".strip()
            if is_replaced(old, said, previous, least, self._ledger.rarest(old, said, turn.seq), rank, lifts):
                found[number].add(record.id)
        return [frozenset(ids) for ids in found]

    def _keep_rest(self, turn: Turn, old: Record, text: str) -> None:
        """Keep what a replaced record says besides, as a record of its own, if it is worth it and stands alone."""
        weights = tuned(self._settings, AdmitWeights)
        read = read_sentences(text)
        if not read or read[0].alone < weights.apart or max(one.worth for one in read) < weights.worth:
            return
        if old.kind is Kind.GUIDANCE and max(one.rule for one in read) < weights.rule:
            return
        vector = self._embedder.embed([text])[0]
        same = self._settings.merge.same or self._thresholds.same
        if any(cosine >= same for _, cosine in self._ledger.nearest(vector, turn.seq, 1, own=True)):
            return
        notes = {name: value for name, value in old.metadata.items() if name not in ("when", "revises")}
        record = replace(
            old, id=_record_id(turn.id, old.id, text), text=text, metadata={**notes, "rest_of": old.id}
        )  # fmt: skip
        sources = tuple(one.seq for one in self._view.turns_by_id(old.turn_ids).values())
        self._add(turn, record, vector, sources)
        self._notes.tell(record.id, turn, "recorded", f"{text!r}: what {turn.id} leaves of {old.id}")

    def _neighbours(
        self,
        turn: Turn,
        candidate: Candidate,
        vector: NDArray[np.float32],
        row: int,
        replaced: frozenset[str] = frozenset(),
    ) -> list[Neighbour]:
        """The records it may repeat, which are near in meaning, and those it may replace, which share its words."""
        count = _NEIGHBOURS
        near = self._ledger.nearest(vector, turn.seq, count, own=True, row=row)
        akin = self._ledger.akin(candidate.text, vector, turn.seq, count)
        ended = ((self._ledger.get(one), float(self._ledger.vector(one) @ vector)) for one in sorted(replaced))
        found = {one.id: (one, cosine) for one, cosine in (*near, *akin, *ended)}
        return [
            Neighbour(
                one.id, one.text, cosine, one.kind, one.provenance, one.confidence, one.evidence_count, one.at,
                one.turn_ids,
            )
            for one, cosine in found.values()
        ]  # fmt: skip

    def _said_before(self, turn: Turn, candidate: Candidate, vector: NDArray[np.float32]) -> Drop | None:
        """Drop a replaced statement when a history is imported again; said again after its end, it is news."""
        same = self._settings.merge.same or self._thresholds.same
        for old in self._ledger.outlived(vector, turn.seq, turn.at, same):
            if compare(candidate.text, old.text).likeness is Likeness.SAME:
                return Drop(f"{old.id} said it, and was replaced by what came later", old.id)
        return None

    def _compared(self, candidate: Candidate, neighbours: Sequence[Neighbour]) -> dict[str, object]:
        """The nearest record as it stood, for `tune similarity`: a merge may change its text."""
        nearest = max(neighbours, key=lambda near: (near.cosine, near.id), default=None)
        if nearest is None or nearest.cosine < tuned(self._settings, AdmitWeights).noted_cosine:
            return {}
        cosine = round(nearest.cosine, 4)
        return {"compared": {"with": nearest.id, "cosine": cosine, "said": candidate.text, "known": nearest.text}}

    def _carry_out(
        self,
        turn: Turn,
        candidate: Candidate,
        vector: NDArray[np.float32],
        number: int,
        g: float,
        verdict: Verdict,
        sources: tuple[int, ...],
    ) -> str:
        match verdict:
            case Drop():
                return verdict.known_as
            case Merge():
                old = self._ledger.get(verdict.into)
                record = replace(
                    old, text=verdict.text, provenance=verdict.provenance, confidence=verdict.confidence,
                    evidence_count=verdict.evidence_count,
                )  # fmt: skip
                changed = vector if record.text != old.text else None
                self._ledger.change(record, changed)
                blob = None if changed is None else _bytes(vector)
                self._changes.records.append(RecordMerge(record, sources, blob))
                self._notes.tell(record.id, turn, "merged", f"with {candidate.text!r} from {turn.id}: {verdict.reason}")
                return record.id
            case Add() | Supersede():
                record = self._new_record(turn, candidate, number, g, verdict.revises)
                self._add(turn, record, vector, sources)
                for old_id in verdict.old if isinstance(verdict, Supersede) else ():
                    self._ledger.end(old_id, turn.seq, record.id)
                    self._changes.records.append(RecordRetirement(old_id, record.id, turn.at, turn.seq))
                    self._notes.tell(
                        old_id, turn, "superseded", f"by {record.id}, said on {turn.at:%d %B %Y}: {record.text!r}"
                    )
                self._notes.tell(record.id, turn, "recorded", f"{record.text!r} from {turn.id}: {_reason(verdict)}")
                return record.id

    def _add(self, turn: Turn, record: Record, vector: NDArray[np.float32], sources: tuple[int, ...]) -> None:
        self._ledger.add(record, turn.seq, vector)
        if record.id in self._forgotten:  # a rebuild: the log forgets it further on
            self._ledger.end(record.id, self._forgotten[record.id])
        self._changes.records.append(NewRecord(record, turn.seq, sources, _bytes(vector)))

    def _new_record(self, turn: Turn, candidate: Candidate, number: int, g: float, revises: tuple[str, ...]) -> Record:
        metadata: dict[str, object] = {
            "extractor": candidate.extractor,
            "criterion": candidate.criterion,
            "durability": round(candidate.durability, 4),
            "g": round(g, 4),
            **candidate.notes,
        }
        if revises:
            metadata["revises"] = list(revises)
        if candidate.when is not None:
            metadata["when"] = {
                "phrase": candidate.when.phrase,
                "start": candidate.when.start.isoformat(),
                "end": candidate.when.end.isoformat(),
            }
        return Record(
            id=_record_id(turn.id, number, candidate.text),
            namespace=self._namespace,
            kind=candidate.kind,
            text=candidate.text,
            provenance=candidate.provenance,
            confidence=candidate.confidence,
            evidence_count=1,
            at=turn.at,
            valid_from=turn.at,
            turn_ids=candidate.turn_ids,
            metadata=metadata,
        )


_WORDS = {Add: "added", Merge: "merged", Supersede: "replaces", Drop: "dropped"}
_COUNTED = {**_WORDS, Supersede: "superseded"}


def _reason(verdict: Verdict) -> str:
    """The verdict's own sentence, behind the word for it that the receipt carries already."""
    match verdict:
        case Merge():
            return f"into {verdict.into} (evidence {verdict.evidence_count}): {verdict.reason}"
        case Supersede():
            return f"in the place of {verdict.reason}"
        case Add() | Drop():
            return verdict.reason


def _record_id(turn_id: str, number: int | str, text: str) -> str:
    """The same for the same turn and text, so that a rebuild gives records their old ids."""
    return f"r-{blake2b(f'{turn_id} {number} {text}'.encode(), digest_size=10).hexdigest()}"


def _bytes(vector: NDArray[np.float32]) -> bytes:
    return np.ascontiguousarray(vector, "<f4").tobytes()
