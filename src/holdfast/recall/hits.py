"""Positions made hits: read from the store, each thing told once, with the reasons it was found for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from holdfast.model import Hit, Kind, Origin, Provenance, Record, Role, Turn
from holdfast.recall.shelf import Shelves
from holdfast.store.nouns import Space

__all__ = ["Found", "held_words", "provenance_of", "read_nouns", "turn_ids_of"]

# A system turn in the log is a stored text like any other: it never poses as authored (INV-2).
_PROVENANCE_OF_ROLE = {
    Role.USER: Provenance.USER_STATED,
    Role.ASSISTANT: Provenance.ASSISTANT_DERIVED,
    Role.SYSTEM: Provenance.TOOL_DERIVED,
    Role.TOOL: Provenance.TOOL_DERIVED,
}


def read_nouns(shelves: Shelves, positions: Sequence[int]) -> dict[int, Turn | Record]:
    found: dict[int, Turn | Record] = {}
    for shelf, start, nums in zip(shelves.parts, shelves.starts, shelves.numbers(positions), strict=True):
        read = shelf.view.turns(nums) if shelf.space is Space.TURN else shelf.view.records(nums)
        found.update({start + num: noun for num, noun in read.items()})
    return found


def held_words(shelves: Shelves, terms: Sequence[str], positions: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Which of these terms each document holds: the index knows, so that no text is taken apart again."""
    found: dict[int, list[str]] = {at: [] for at in positions}
    for shelf, start, nums in zip(shelves.parts, shelves.starts, shelves.numbers(positions), strict=True):
        if not nums:
            continue
        for term, (holders, _) in zip(terms, shelf.holders.of(terms), strict=True):
            places = np.searchsorted(holders, nums)
            for place, num in zip(places.tolist(), nums, strict=True):
                if place < len(holders) and holders[place] == num:
                    found[start + num].append(term)
    return {at: tuple(held) for at, held in found.items()}


def turn_ids_of(noun: Turn | Record) -> tuple[str, ...]:
    return noun.turn_ids if isinstance(noun, Record) else (noun.id,)


def provenance_of(noun: Turn | Record) -> Provenance:
    if isinstance(noun, Record):
        return noun.provenance
    if noun.origin is Origin.USER_PASTED:  # the user's paste, not the user's words
        return Provenance.TOOL_DERIVED
    return _PROVENANCE_OF_ROLE[noun.role]


class Found:
    """The hits so far. A record and the turn it came from are one hit, the better of the two."""

    def __init__(self, limit: int, read: dict[str, Turn] | None = None) -> None:
        self.hits: list[Hit] = []
        self._limit = limit
        self._read = {} if read is None else read
        self._told: set[str] = set()

    @property
    def full(self) -> bool:
        return len(self.hits) >= self._limit

    def add(
        self, noun: Turn | Record, scores: Mapping[str, float], words: tuple[str, ...], outdated_by: str | None
    ) -> None:
        turn_ids = turn_ids_of(noun)
        if self.full or (turn_ids and self._told.issuperset(turn_ids)):
            return
        self._told.update(turn_ids)
        record = noun if isinstance(noun, Record) else None
        turn = noun if isinstance(noun, Turn) else None
        if turn is not None:
            self._read[turn.id] = turn
        self.hits.append(
            Hit(
                id=noun.id,
                kind=record.kind if record else Kind.TURN,
                text=noun.text,
                score=round(scores["score"], 6),
                raw=round(scores["raw"], 6),
                at=noun.at,
                session=turn.session if turn else None,
                turn_ids=turn_ids,
                provenance=provenance_of(noun),
                confidence=record.confidence if record else 1.0,
                role=turn.role if turn else None,
                words=words,
                lexical=round(scores["lexical"], 6),
                semantic=round(scores["semantic"], 6),
                namespace=noun.namespace,
                outdated_by=outdated_by,
            )
        )
