"""Which texts say the same as another, without comparing each with each.

Two texts that the value guard lets stand for one another have the same deciding words, or one of them has a word or two
more that only describe. So each text is filed under the sum of its words, with and without those, and compared with
what lies there: no pair is missed, and a text that differs in a number from a thousand others is compared with none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.replacement import reading_of
from holdfast.admit.similarity import MOST_EXTRA, Likeness, additions, compare, is_loose_one
from holdfast.admit.values import Reading, Word
from holdfast.words import FUNCTION_WORDS, fold, terms

__all__ = ["Near", "copies", "near_copies"]

Pair = tuple[int, int]
Vectors = NDArray[np.float32]

_SHARED = 0.6
"""Share of their words, of all that either has, from which two texts may be one, where their vectors do not say so."""
_NEARLY_ALL = 0.8
"""… and from which one may add something to the other and still be a copy, where there are no vectors to ask."""
_MOST_ADDITIONS = 64
"""Describing words of one text that are taken away by twos: 2,080 sums. Four thousand characters rarely have more."""
_BETWEEN = re.compile(r"[\W_]+")


@dataclass
class Near:
    """What was found, and what it took."""

    pairs: list[Pair]
    """(a text, an earlier one that says the same in other words)"""
    compared: int = 0
    cut: list[int] | tuple[int, ...] = ()
    """Texts that were not compared with all that they might be a copy of."""


@dataclass(frozen=True, slots=True)
class _Sums:
    whole: tuple[int, ...]
    lesser: tuple[int, ...]
    """… without words that another text may lack."""
    cut: bool


def copies(texts: Sequence[str]) -> list[Pair]:
    """(a text, the first one of the same words), case and punctuation aside."""
    first: dict[str, int] = {}
    found = []
    for number, text in enumerate(texts):
        key = _BETWEEN.sub(" ", fold(text)).strip() or text
        if first.setdefault(key, number) != number:
            found.append((number, first[key]))
    return found


def near_copies(texts: Sequence[str], vectors: Vectors | None, same: float, most: int) -> Near:
    """Each text once, with the first it is a copy of; copies by the letter left out.

    `most`: how many others a text is compared with; where there are more that might be it, the answer says so.
    """
    exact = {number for number, _ in copies(texts)}
    sums = {number: _sums(reading_of(text)) for number, text in enumerate(texts) if number not in exact}
    known = {one for held in sums.values() for one in held.whole}
    wholes: defaultdict[int, list[int]] = defaultdict(list)
    lessers: defaultdict[int, list[int]] = defaultdict(list)
    made, cut = Near([]), []
    for number, held in sums.items():
        lesser = [one for one in held.lesser if one in known]
        lists = [*(wholes[one] for one in (*held.whole, *lesser)), *(lessers[one] for one in held.whole)]
        earlier = sorted({place for places in lists for place in places[: most + 1]})
        for place in earlier[:most]:
            made.compared += 1
            if _says_the_same(texts, vectors, number, place, same):
                made.pairs.append((number, place))
                break
        else:
            if held.cut or len(earlier) > most:
                cut.append(number)
        for one in held.whole:
            wholes[one].append(number)
        for one in lesser:
            lessers[one].append(number)
    made.cut = cut
    return made


def _says_the_same(texts: Sequence[str], vectors: Vectors | None, later: int, earlier: int, same: float) -> bool:
    likeness = compare(texts[later], texts[earlier]).likeness
    if likeness is Likeness.DIFFERENT:
        return False
    if vectors is not None and float(vectors[later] @ vectors[earlier]) >= same:
        return True
    ours, theirs = _words(texts[later]), _words(texts[earlier])
    shared = len(ours & theirs)
    if likeness is Likeness.SAME:
        return shared > 0 and shared >= _SHARED * len(ours | theirs)
    return vectors is None and shared >= _NEARLY_ALL * len(ours | theirs)


def _words(text: str) -> frozenset[str]:
    return frozenset(term for term in terms(text) if term not in FUNCTION_WORDS)


def _sums(reading: Reading) -> _Sums:
    """Where to file a text. A word's number is its hash: a sum that two share by accident costs one comparison."""
    loose = [word for word in reading.words if is_loose_one(word)]
    total = sum(hash(key) for key in reading.keys)
    wholes = [total - sum(hash(word.key) for word in loose[:gone]) for gone in range(len(loose) + 1)]
    extra = _additions(reading, loose)
    missing = {
        sum(hash(word.key) for word in some)
        for count in range(1, MOST_EXTRA + 1)
        for some in combinations(extra[:_MOST_ADDITIONS], count)
    }
    lesser = {whole - gone for whole in wholes for gone in missing}
    return _Sums(tuple(wholes) if reading.words else (), tuple(lesser), len(extra) > _MOST_ADDITIONS)


def _additions(reading: Reading, loose: Sequence[Word]) -> list[Word]:
    """With each "one" and without any: what stands before a noun may describe it only then."""
    found = {word.start: word for word in additions(reading)}
    if loose:
        places = {word.start for word in loose}
        rest = Reading(tuple(word for word in reading.words if word.start not in places), reading.tail)
        found |= {word.start: word for word in additions(rest)}
    return [found[place] for place in sorted(found)]
