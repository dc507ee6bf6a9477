"""What is current comes before what it replaced, when both answer a question (RECALL-10).

Admission links a statement to the one it replaced or revised; that decides first. Not every statement becomes a record,
so the first hits are also read beside each other, by the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.model import Provenance, Record, Turn
from holdfast.words import terms

__all__ = ["current_first"]

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
