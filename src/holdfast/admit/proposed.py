"""What a chat model proposed for a turn, as the log keeps it: a rebuild reads this and asks no model (INV-3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from holdfast.admit.claim import Candidate, Proposal, When
from holdfast.admit.secrets import mask
from holdfast.model import Kind, Metadata, Provenance

__all__ = ["Dropped", "Proposed", "pack", "pack_refusal", "unpack"]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A candidate of the model's that code did not take, and why; the text is masked."""

    text: str
    reason: str
    rule: str = "proposal"
    """Its name in the counters."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """A line of the log, read back. Without candidates of a model (`by` is "rules") rules read the turn."""

    by: str
    told: str
    candidates: tuple[Candidate, ...] = ()
    dropped: tuple[Dropped, ...] = ()

    @property
    def by_rules(self) -> bool:
        return self.by == _RULES


_RULES = "rules"


def pack(by: str, prompt: str, criterion: str, candidates: Sequence[Candidate], dropped: Sequence[Dropped]) -> Metadata:
    """The payload of a PROPOSE line: whatever the model said, only what code let through, secrets masked."""
    return {
        "by": by,
        "prompt": prompt,
        "criterion": criterion,
        "told": f"{by} proposed {len(candidates)} that its turns bear out, and {len(dropped)} that they do not",
        "candidates": [_Line.of(one).model_dump(mode="json") for one in candidates],
        "dropped": [{"text": mask(one.text).text, "reason": one.reason, "rule": one.rule} for one in dropped],
    }


def pack_refusal(by: str, why: str) -> Metadata:
    """The payload that leaves a turn to rules. `why` may quote a server, so it is masked too."""
    return {"by": _RULES, "told": f"{by} gave nothing that can be used, so rules read the turn: {mask(why).text}"}


def unpack(payload: Metadata) -> Proposed:
    line = _Payload.model_validate(payload)
    candidates = tuple(one.candidate(line.by, line.criterion) for one in line.candidates)
    return Proposed(line.by, line.told, candidates, tuple(Dropped(**one) for one in line.dropped))


class _When(BaseModel):
    phrase: str
    start: datetime
    end: datetime


class _Line(BaseModel):
    """A candidate in the log."""

    model_config = ConfigDict(extra="ignore")

    text: str
    kind: Kind
    confidence: float
    provenance: Provenance
    turn_ids: list[str]
    proposal: Literal["add", "supersede", "skip"]
    supersedes: str | None = None
    when: _When | None = None
    notes: dict[str, object] = {}

    @classmethod
    def of(cls, candidate: Candidate) -> _Line:
        when = candidate.when
        return cls(
            text=mask(candidate.text).text,
            kind=candidate.kind,
            confidence=candidate.confidence,
            provenance=candidate.provenance,
            turn_ids=list(candidate.turn_ids),
            proposal=candidate.proposal.value,
            supersedes=candidate.supersedes,
            when=None if when is None else _When(phrase=when.phrase, start=when.start, end=when.end),
            notes=candidate.notes,
        )

    def candidate(self, by: str, criterion: str) -> Candidate:
        return Candidate(
            text=self.text,
            kind=self.kind,
            confidence=self.confidence,
            provenance=self.provenance,
            turn_ids=tuple(self.turn_ids),
            proposal=Proposal(self.proposal),
            supersedes=self.supersedes,
            when=None if self.when is None else When(self.when.phrase, self.when.start, self.when.end),
            extractor=by,
            criterion=criterion,
            notes=self.notes,
        )


class _Payload(BaseModel):
    model_config = ConfigDict(extra="ignore")

    by: str
    told: str
    criterion: str = ""
    candidates: list[_Line] = []
    dropped: list[dict[str, str]] = []
