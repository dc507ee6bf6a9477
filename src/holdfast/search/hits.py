"""Positions made hits: read from the store, each thing told once, with the reasons it was found for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.index.candidates import Shelves
from holdfast.model import Hit, Kind, Origin, Provenance, Record, Role, Turn
from holdfast.store.types import Space
from holdfast.text.words import terms

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
    if noun.origin is Origin.AGENT:
        return Provenance.AGENT_NOTED
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


# --- What is current comes before what it replaced, when both answer a question (RECALL-10).
#
# Admission links a statement to the one it replaced or revised; that decides first. Not every statement becomes a
# record, so the first hits are also read beside each other, by the same rules.


_AS_WELL = 0.8  # of the words that the earlier holds: the later is about what was asked too
_RELATED = 0.33  # of its nearness: "I moved to Ghent" is less near to "where do I live?" than "I live in Porto"
_TOLD_BY = (Provenance.USER_STATED, Provenance.AUTHORED)


def current_first(
    order: Sequence[int],
    nouns: Mapping[int, Turn | Record],
    links: Sequence[tuple[int, int]],
    provenance: Mapping[int, Provenance],
    words: NDArray[np.float32],
    cosines: Mapping[int, float],
    named: frozenset[str],
) -> tuple[list[int], dict[int, int]]:
    """The positions anew, each replaced one right after what replaced it, and (older → newer) of those.

    `links` are positions too; `order` is best first; `named` are the question's names, numbers and identifiers. Two
    hits are read beside each other if the later holds the question's words as well as the earlier: then both are about
    what was asked.
    """
    place = {at: number for number, at in enumerate(order)}
    successor = {
        old: new
        for old, new in _among(nouns, links)
        if (words[new] >= _AS_WELL * words[old] > 0 or cosines.get(new, 0.0) >= _RELATED * cosines.get(old, 0.0) > 0)
        and not _asks_for_old(nouns[old].text, nouns[new].text, named)
    }
    for number, first in enumerate(order):
        for second in order[number + 1 :]:
            older, newer = sorted((first, second), key=lambda at: (nouns[at].at, at))
            if older in successor or words[newer] < _AS_WELL * words[older] or not words[older] > 0:
                continue
            if _replaced(nouns[older], nouns[newer], provenance[older], provenance[newer]):
                successor[older] = newer
    ranked = list(order)
    for older in sorted(successor, key=lambda at: place[at]):
        newer = _last(older, successor)
        if ranked.index(older) < ranked.index(newer):
            ranked.remove(newer)
            ranked.insert(ranked.index(older), newer)
    return ranked, successor


def _among(nouns: Mapping[int, Turn | Record], links: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The links between those that are compared; what was replaced twice is replaced by the last, whether or not the
    one in between is among them.
    """
    following: dict[int, list[int]] = {}
    for old, new in links:
        following.setdefault(old, []).append(new)
    found = []
    for old in sorted(following.keys() & nouns.keys()):
        seen, open_ones = {old}, list(following[old])
        while open_ones:
            new = open_ones.pop()
            if new in seen:
                continue
            seen.add(new)
            if new in nouns:
                found.append((old, new))
            else:
                open_ones += following.get(new, ())
    return found


def _asks_for_old(older: str, newer: str, named: frozenset[str]) -> bool:
    """Whether the question names something that only the older one holds: then it is what was asked for."""
    only = named.intersection(terms(older))
    return bool(only) and not only <= set(terms(newer))


def _replaced(older: Turn | Record, newer: Turn | Record, of: Provenance, by: Provenance) -> bool:
    """Only the user's own words say what is no longer so, and only of the user's own words (MERGE-5)."""
    if of not in _TOLD_BY or by not in _TOLD_BY or older.text == newer.text:
        return False
    if older.at == newer.at and (isinstance(older, Record) or isinstance(newer, Record)):
        return False  # said at once: a record and the turn it came from, or two of one turn
    from holdfast.admit.supersede import replaces  # its patterns take long to load: few first questions need them

    found = replaces(newer.text, older.text)
    return found is not None and found.sure


def _last(at: int, successor: Mapping[int, int]) -> int:
    """The end of a chain of replacements; a chain that closes on itself ends where it closes."""
    seen = {at}
    while at in successor and successor[at] not in seen:
        at = successor[at]
        seen.add(at)
    return at
