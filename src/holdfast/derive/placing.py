"""A candidate's place among what is remembered: a record of its own, part of one, the end of one, or nothing new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.claim import Candidate
from holdfast.admit.merge import Add, Drop, Merge, Neighbour, Statement, Supersede, Verdict, explain
from holdfast.admit.merge import decide as decide_merge
from holdfast.derive.ledger import Ledger
from holdfast.model import Decision, Record, Turn
from holdfast.models.embedder import Embedder
from holdfast.settings import Settings
from holdfast.store.protocol import Changes, Merged, NewRecord, Retired

__all__ = ["Notes", "Placing"]


class Notes:
    """What is told and counted of a turn, among the changes of its batch."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    def tell(self, subject: str, turn: Turn, what: str, reason: str, **details: object) -> None:
        self._changes.receipts.append((subject, Decision(what, reason, turn.recorded_at, details)))

    def count(self, turn: Turn, name: str) -> None:
        self._changes.counters[turn.recorded_at.date().isoformat(), name] += 1


class Placing:
    def __init__(
        self,
        namespace: str,
        embedder: Embedder,
        settings: Settings,
        ledger: Ledger,
        changes: Changes,
        notes: Notes,
        forgotten: Mapping[str, int],
    ) -> None:
        self._namespace = namespace
        self._embedder = embedder
        self._settings = settings
        self._thresholds = embedder.profile.thresholds
        self._ledger = ledger
        self._changes = changes
        self._notes = notes
        self._forgotten = forgotten

    def place(self, turn: Turn, candidate: Candidate, vector: NDArray[np.float32], number: int, g: float) -> None:
        near = self._ledger.nearest(vector, turn.seq, self._settings.admit.neighbours, own=True)
        neighbours = [
            Neighbour(
                one.id, one.text, cosine, one.kind, one.provenance, one.confidence, one.evidence_count, one.at,
                one.turn_ids,
            )
            for one, cosine in near
            if cosine >= self._settings.admit.neighbour_cosine
        ]  # fmt: skip
        statement = Statement(
            candidate.text, candidate.kind, candidate.provenance, candidate.confidence, turn.at, candidate.turn_ids,
            supersedes=candidate.supersedes,
        )  # fmt: skip
        verdict = decide_merge(statement, neighbours, self._thresholds)
        record_id = self._carry_out(turn, candidate, vector, number, g, verdict)
        self._notes.tell(
            turn.id, turn, _WORDS[type(verdict)], f"{candidate.text!r} {explain(verdict)}", record=record_id
        )
        self._notes.count(turn, _WORDS[type(verdict)])

    def _carry_out(
        self, turn: Turn, candidate: Candidate, vector: NDArray[np.float32], number: int, g: float, verdict: Verdict
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
                self._changes.records.append(Merged(record, (turn.seq,), blob))
                return record.id
            case Add() | Supersede():
                record = self._new_record(turn, candidate, number, g)
                self._ledger.add(record, turn.seq, vector)
                if record.id in self._forgotten:  # a rebuild: the log forgets it further on
                    self._ledger.end(record.id, self._forgotten[record.id])
                self._changes.records.append(NewRecord(record, turn.seq, (turn.seq,), _bytes(vector)))
                for old_id in verdict.old if isinstance(verdict, Supersede) else ():
                    self._ledger.end(old_id, turn.seq)
                    self._changes.records.append(Retired(old_id, record.id, turn.at, turn.seq))
                    self._notes.tell(
                        old_id, turn, "superseded", f"by {record.id}, said on {turn.at:%d %B %Y}: {record.text!r}"
                    )
                self._notes.tell(record.id, turn, "recorded", f"from {turn.id}: {explain(verdict)}")
                return record.id

    def _new_record(self, turn: Turn, candidate: Candidate, number: int, g: float) -> Record:
        metadata: dict[str, object] = {
            "extractor": candidate.extractor,
            "criterion": candidate.criterion,
            "durability": round(candidate.durability, 4),
            "g": round(g, 4),
            **candidate.notes,
        }
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


_WORDS = {Add: "added", Merge: "merged", Supersede: "superseded", Drop: "dropped"}


def _record_id(turn_id: str, number: int, text: str) -> str:
    """The same for the same turn and text, so that a rebuild gives records their old ids."""
    return f"r-{blake2b(f'{turn_id} {number} {text}'.encode(), digest_size=10).hexdigest()}"


def _bytes(vector: NDArray[np.float32]) -> bytes:
    return np.ascontiguousarray(vector, "<f4").tobytes()
