"""One score out of two legs: each is standardised over the namespace, then they are mixed.

Standard scores, because a BM25 of 7 and a cosine of .4 have no common measure; ranks alone (reciprocal-rank fusion)
lost to plain BM25 with small vectors when it was tried.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Leg", "Mix"]

Scores = NDArray[np.float32]

_NO_SPREAD = 1e-6  # scores that hardly differ say nothing about which document is meant


@dataclass(frozen=True)
class Leg:
    """One leg's scores by position, 0 where it is silent, and how it is spread over what it has heard."""

    scores: Scores
    heard: NDArray[np.bool_]
    mean: float
    spread: float

    @classmethod
    def over(cls, scores: Scores, heard: NDArray[np.bool_]) -> Leg:
        """`scores` must be 0 wherever `heard` is False."""
        count = max(int(np.count_nonzero(heard)), 1)
        mean = float(scores.sum(dtype=np.float64)) / count
        square = float(np.dot(scores, scores)) / count
        return cls(scores, heard, mean, max(square - mean * mean, 0.0) ** 0.5)

    def standard(self, at: slice | NDArray[np.int64] = slice(None)) -> Scores:
        """How many standard deviations above the mean; 0 where the leg is silent."""
        scores = self.scores[at]
        if self.spread < _NO_SPREAD:
            return np.zeros_like(scores)
        standard = (scores - np.float32(self.mean)) * np.float32(1.0 / self.spread)
        standard *= self.heard[at]
        return standard


@dataclass(frozen=True)
class Mix:
    words: Leg
    meaning: Leg | None
    dense_weight: float

    def at(self, at: slice | NDArray[np.int64] = slice(None)) -> Scores:
        words = self.words.standard(at)
        if self.meaning is None:
            return words
        words *= np.float32(1.0 - self.dense_weight)
        meaning = self.meaning.standard(at)
        meaning *= np.float32(self.dense_weight)
        words += meaning
        return words
