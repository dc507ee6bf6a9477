"""The leg of the words: BM25 over every document of the shelves, those in the index and those still waiting alike.

A long turn counts by its best passage: a page holds any word, and says little about any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.holders import Found, Holders
from holdfast.recall.pool import Pool
from holdfast.recall.shelf import Shelf, Shelves
from holdfast.settings import RecallSettings

__all__ = ["Worded", "score_words"]

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Worded:
    scores: Scores
    """By position."""
    ceiling: float
    """What a document that holds every word of the question would score, words that nobody holds included."""

    def shares(self, positions: NDArray[np.int64]) -> Scores:
        """How much of the question each document holds, its rare words counting more: 0 to about 1."""
        shares: Scores = self.scores[positions] / np.float32(max(self.ceiling, 1e-6))
        return shares


def score_words(shelves: Shelves, terms: Sequence[str], settings: RecallSettings) -> Worded:
    """How rare a term is counts over all shelves together."""
    found = [shelf.holders.of(terms) for shelf in shelves.parts]
    total = shelves.count
    length = sum(shelf.pool.total_length for shelf in shelves.parts)
    weights = _Weights(
        settings,
        [_rarity(total, sum(len(one[number][0]) for one in found)) for number in range(len(terms))],
        max(length / total, 1.0) if total else 1.0,
    )
    scored = [_score_shelf(shelf, terms, one, weights) for shelf, one in zip(shelves.parts, found, strict=True)]
    return Worded(shelves.joined(scored), sum(weights.rarity))


def _rarity(total: int, holders: int) -> float:
    return math.log(1.0 + (total - holders + 0.5) / (holders + 0.5))


@dataclass(frozen=True)
class _Weights:
    settings: RecallSettings
    rarity: list[float]
    average: float
    """Length of a document."""

    def score(self, pool: Pool, found: list[Found]) -> Scores:
        """BM25: a term counts by how rare it is, less in a long text, and less each time it comes again."""
        k1, b = self.settings.k1, self.settings.b
        scores = np.zeros(pool.size, np.float32)
        for (nums, counts), rare in zip(found, self.rarity, strict=True):
            if len(nums):
                norms = pool.length[nums] * np.float32(k1 * b / self.average) + np.float32(k1 * (1.0 - b))
                scores[nums] += counts * np.float32(rare * (k1 + 1.0)) / (counts + norms)
        return scores


def _score_shelf(shelf: Shelf, terms: Sequence[str], found: list[Found], weights: _Weights) -> Scores:
    whole = weights.score(shelf.pool, found)
    if shelf.passages is None or not shelf.passages.count:
        return whole
    held = Holders(shelf.view, shelf.passages).of(terms)
    return shelf.best_passages(weights.score(shelf.passages, held), whole)
