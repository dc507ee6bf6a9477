"""Which texts say the same as another, without comparing each with each.

Candidates share a rare word (a similarity join on word sets, exact above its share but for words that hundreds have) or
fall together by the signs of random projections (nearly all pairs of a cosine of .9 do). The value guard decides.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.similarity import Likeness, compare
from holdfast.words import FUNCTION_WORDS, fold, terms

__all__ = ["copies", "near_copies"]

Pair = tuple[int, int]
Vectors = NDArray[np.float32]

_SHARED = 0.6
"""Share of their words, of all that either has, from which two texts are looked at."""
_NEARLY_ALL = 0.8
"""… and from which one may add something to the other and still be a copy, where there are no vectors to ask."""
_NEWEST = 256
"""Texts looked at for one word."""
_EXACT = 4096
"""Vectors up to here are compared each with each: one product of 64 MB."""
_BANDS = 24
_CROWDED = 512
"""Of a larger bucket only so many are compared: whole stores of one sentence are found by its words."""
_BETWEEN = re.compile(r"[\W_]+")
_SEED = 7  # any: the same store gives the same answer


def copies(texts: Sequence[str]) -> list[Pair]:
    """(a text, the first one of the same words), case and punctuation aside."""
    first: dict[str, int] = {}
    found = []
    for number, text in enumerate(texts):
        key = _BETWEEN.sub(" ", fold(text)).strip() or text
        if first.setdefault(key, number) != number:
            found.append((number, first[key]))
    return found


def near_copies(texts: Sequence[str], vectors: Vectors | None, same: float) -> list[Pair]:
    """(a text, an earlier one that says the same in other words); each text once, copies by the letter left out."""
    exact = {number for number, _ in copies(texts)}
    held = [frozenset(term for term in terms(text) if term not in FUNCTION_WORDS) for text in texts]
    pairs = set(_by_words(held))
    if vectors is not None:
        pairs |= set(_by_meaning(vectors, same))
    found: dict[int, int] = {}
    for later, earlier in sorted(pairs):
        if later in exact or earlier in exact or later in found:
            continue
        cosine = None if vectors is None else float(vectors[later] @ vectors[earlier])
        if _says_the_same(texts[later], texts[earlier], held[later], held[earlier], cosine, same):
            found[later] = earlier
    return sorted(found.items())


def _says_the_same(
    later: str, earlier: str, ours: frozenset[str], theirs: frozenset[str], cosine: float | None, same: float
) -> bool:
    likeness = compare(later, earlier).likeness
    if likeness is Likeness.DIFFERENT:
        return False
    if likeness is Likeness.SAME:
        return True
    return cosine >= same if cosine is not None else len(ours & theirs) >= _NEARLY_ALL * len(ours | theirs)


def _by_words(held: Sequence[frozenset[str]]) -> Iterator[Pair]:
    """Pairs that share enough words: two such texts have one of their rarest in common."""
    often = Counter(term for one in held for term in one)
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, words in enumerate(held):
        rarest = sorted(words, key=lambda term: (often[term], term))
        rarest = rarest[: len(rarest) - math.ceil(_SHARED * len(rarest)) + 1]
        near = {place for term in rarest for place in places[term][-_NEWEST:]}
        for place in near:
            if len(words & held[place]) >= _SHARED * len(words | held[place]):
                yield number, place
        for term in rarest:
            places[term].append(number)


def _by_meaning(vectors: Vectors, same: float) -> Iterator[Pair]:
    known = np.flatnonzero(vectors.any(axis=1))
    if len(known) <= _EXACT:
        yield from _pairs(vectors, known, same)
        return
    bits = max(8, int(math.log2(len(known) / 16)))
    planes = np.random.default_rng(_SEED).standard_normal((vectors.shape[1], bits * _BANDS)).astype(np.float32)
    powers = (1 << np.arange(bits)).astype(np.int64)
    for band in range(_BANDS):
        signs = vectors[known] @ planes[:, band * bits : (band + 1) * bits] > 0
        codes = signs @ powers
        order = np.argsort(codes, kind="stable")
        for bucket in np.split(known[order], np.flatnonzero(np.diff(codes[order])) + 1):
            if len(bucket) > 1:
                yield from _pairs(vectors, bucket[:_CROWDED], same)


def _pairs(vectors: Vectors, places: NDArray[np.int64], same: float) -> Iterator[Pair]:
    part = vectors[places]
    rows, columns = np.nonzero(np.tril(part @ part.T >= same, -1))
    for row, column in zip(places[rows].tolist(), places[columns].tolist(), strict=True):
        yield (row, column) if row > column else (column, row)
