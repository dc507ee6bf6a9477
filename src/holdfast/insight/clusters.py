"""Grouping of vectors, and co-occurrence vectors for turns without an embedder.

The clustering is deterministic. A seed is a vector with many near it and no earlier seed near it; a centre is attracted
by all vectors, near ones more, so a few more of them change little. k-means and linkage, tried on the same
conversations, changed more (docs/design/architecture.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.models.embedder import unit


@dataclass(frozen=True)
class ThemeSizes:
    """Constants of themes. Cosines are taken after removing the mean of all turns."""

    turns: int = 10_000  # turns that are read, an even sample if there are more: reading takes most of the time
    seeded: int = 4_000  # turns among which seeds are looked for, each compared with each other
    seeds: int = 24  # groups, three times as many as are shown: with fewer the largest hold turns of no theme
    context: float = 0.7  # share of its neighbours' vectors that a turn is grouped by
    telling: int = 8  # content words from which a turn counts in full: "sounds good!" makes no theme
    near: float = 0.2  # cosine from which a turn belongs to a theme: unrelated ones are at 0 ± .1 (static model)
    apart: float = 0.4  # two seeds nearer than this are one theme
    least: int = 3  # turns of a theme: two are a remark and its answer
    examples: int = 3
    words: int = 4  # words of a label
    chars: int = 1_000  # a turn is read up to here: its beginning says what it is about
    dimensions: int = 64  # of the co-occurrence vectors, without an embedder
    vocabulary: int = 1_000  # most frequent words that have one
    digest_s: float = 60.0  # for all questions to a chat model about themes, together


Vectors = NDArray[np.float32]
Numbers = NDArray[np.int64]

_ROUNDS = 3  # moves of the centres: with ten the groups of five conversations were the same
_SHARPNESS = 10.0
"""Decay of a row's weight with its distance. With 5 and 20 groups change more when 3 % more turns are added."""
_FEW = 20  # up to about this many turns, what they have in common may be their theme rather than a way of talking
_DIGITS = 4  # of a dot product: its last bits depend on the number of rows and must not decide anything
_TABLE_ROWS = 2000  # turns of the co-occurrence table that are in memory at a time
_COMMON = 0.5  # a term in half of the turns distinguishes nothing


@dataclass(frozen=True)
class Clustering:
    """Group of each row (-1 for none) and the centres of the groups, largest group first."""

    of: Numbers
    centres: Vectors
    nearness: NDArray[np.float32]
    """Cosine of each row with the centre of its group."""


def cluster(vectors: Vectors, settings: ThemeSizes) -> Clustering:
    """Group unit vectors; rows that are near no centre are in no group."""
    centres = vectors[_seeds(vectors, settings)]
    for _ in range(_ROUNDS if len(centres) else 0):
        # By weight, not by membership: a row between two centres attracts both, so a few more rows move neither far.
        centres = unit(_weight(vectors @ centres.T).T @ vectors)
    return _largest_first(*_assign(vectors, centres, settings.near), centres, settings.least)


def with_neighbours(vectors: Vectors, weights: Vectors, before: Numbers, share: float) -> Vectors:
    """Add to each row a share of its neighbours in the conversation; `before` is the previous row, -1 for none.

    The neighbours show what "yes, that one" is about. What all rows have in common is subtracted first.
    """
    present = np.linalg.norm(vectors, axis=1) > 0
    common = vectors[present].sum(axis=0, dtype=np.float64) / (np.count_nonzero(present) + _FEW)
    # Rounded, so that one more vector does not change the last bits of every other.
    own = np.where(present[:, None], unit(vectors - np.round(common, _DIGITS).astype(np.float32)), np.float32(0))
    own *= weights[:, None]
    mixed = own.copy()
    after = np.flatnonzero(before >= 0)
    mixed[after] += np.float32(share) * own[before[after]]
    np.add.at(mixed, before[after], np.float32(share) * own[after])
    return unit(mixed)


def cooccurrence_vectors(turns: Sequence[frozenset[str]], settings: ThemeSizes) -> Vectors:
    """Return a unit vector for the terms of each turn, zero for one that shares no term with another.

    Latent semantic analysis: the main directions of the table of turns and terms, in which rare terms weigh more.
    """
    rarity = _rarity(turns, settings.vocabulary)
    if not rarity:
        return np.zeros((len(turns), 1), np.float32)
    columns = {term: number for number, term in enumerate(rarity)}
    weights = np.array(list(rarity.values()), np.float32)
    products = np.zeros((len(rarity), len(rarity)), np.float64)
    for table in _tables(turns, columns, weights):
        products += table.T @ table
    _, directions = np.linalg.eigh(products)  # the largest last
    main = directions[:, -settings.dimensions :].astype(np.float32)
    return unit(np.concatenate([table @ main for table in _tables(turns, columns, weights)]))


def _weight(cosines: Vectors) -> Vectors:
    """Return the weight of rows with these cosines: 1 at 1, a third less with each .11."""
    weight: Vectors = np.exp(np.float32(_SHARPNESS) * (cosines - 1))
    return weight


def _seeds(vectors: Vectors, settings: ThemeSizes) -> list[int]:
    """Return the densest rows that are not near each other, from an even sample if there are many rows."""
    sample = np.arange(0, len(vectors), max(-(-len(vectors) // settings.seeded), 1))
    if not len(sample):
        return []
    cosines = vectors[sample] @ vectors[sample].T
    density = _weight(cosines).sum(axis=1, dtype=np.float64)
    chosen: list[int] = []
    free = np.linalg.norm(vectors[sample], axis=1) > 0
    for place in np.lexsort((sample, -np.round(density, _DIGITS))):
        if free[place]:
            chosen.append(int(place))
            free &= cosines[place] < settings.apart
            if len(chosen) == settings.seeds:
                break
    return [int(sample[place]) for place in chosen]


def _assign(vectors: Vectors, centres: Vectors, near: float) -> tuple[Numbers, NDArray[np.float32]]:
    if not len(centres):
        return np.full(len(vectors), -1, np.int64), np.zeros(len(vectors), np.float32)
    cosines = np.round(vectors @ centres.T, _DIGITS)
    of = cosines.argmax(axis=1)
    nearness = cosines[np.arange(len(vectors)), of]
    return np.where(nearness >= near, of, -1), nearness


def _largest_first(of: Numbers, nearness: NDArray[np.float32], centres: Vectors, least: int) -> Clustering:
    sizes = np.bincount(of[of >= 0], minlength=len(centres))
    order = [int(number) for number in np.argsort(-sizes, kind="stable") if sizes[number] >= least]
    places = np.full(len(centres) + 1, -1, np.int64)  # the last one is for rows without a group
    places[order] = np.arange(len(order))
    return Clustering(places[of], centres[order], nearness)


def _rarity(turns: Sequence[frozenset[str]], most: int) -> dict[str, float]:
    """Return the most frequent terms that several turns share, with the rarity of each."""
    counts: Counter[str] = Counter()
    for terms in turns:
        counts.update(terms)
    shared = [(term, count) for term, count in counts.items() if 1 < count <= max(2, _COMMON * len(turns))]
    shared.sort(key=lambda one: (-one[1], one[0]))
    return {term: math.log(len(turns) / count) + 1 for term, count in shared[:most]}


def _tables(turns: Sequence[frozenset[str]], columns: dict[str, int], weights: Vectors) -> Iterator[Vectors]:
    for start in range(0, len(turns), _TABLE_ROWS):
        part = turns[start : start + _TABLE_ROWS]
        table = np.zeros((len(part), len(columns)), np.float32)
        for row, terms in enumerate(part):
            known = [columns[term] for term in terms if term in columns]
            table[row, known] = weights[known]
        yield unit(table)
