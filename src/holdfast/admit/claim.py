"""A claim: one sentence of the user's that may become a record, and what a plain reading finds in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from holdfast.model import Kind, Provenance, Turn

__all__ = ["Candidate", "Extractor", "ExtractsMany", "Proposal", "When"]


class Proposal(StrEnum):
    """What an extractor proposes; code disposes (ADMIT-2)."""

    ADD = "add"
    SUPERSEDE = "supersede"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class When:
    """A time that the sentence names, resolved against the time it was said; the original phrase is kept."""

    phrase: str
    start: datetime
    end: datetime
    """Exclusive: "in May" ends with the first of June."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What an extractor hands over: a statement, who vouches for it, and how sure that is."""

    text: str
    """In the user's own words, one sentence."""
    kind: Kind
    confidence: float
    provenance: Provenance
    turn_ids: tuple[str, ...]
    proposal: Proposal = Proposal.ADD
    supersedes: str | None = None
    """The id of the record it replaces, if the extractor knows one."""
    durability: float = 1.0
    """How likely it is to help a future conversation that does not include the turn (the floor's question)."""
    slight: bool = False
    """Too slight to be kept on its own; as the change of something remembered it is news."""
    when: When | None = None
    extractor: str = "deterministic"
    criterion: str = ""
    """Version of the prompt or rules that proposed it."""
    notes: dict[str, object] = field(default_factory=dict)


@runtime_checkable
class ExtractsMany(Protocol):
    """An extractor that reads many turns in less time than one by one."""

    def extract_all(self, turns: Sequence[tuple[Turn, Sequence[Turn]]]) -> list[list[Candidate]]: ...


class Extractor(Protocol):
    """Turns in, candidates out. It never decides what is stored."""

    def extract(self, turn: Turn, before: Sequence[Turn]) -> list[Candidate]:
        """Candidates of one user turn; `before` are the turns of the session that came before it, oldest first.

        Raises ModelError when a model cannot answer: the cursor stays, and the turn is tried again (SAL-5).
        """
        ...
