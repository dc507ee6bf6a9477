"""What search is compared with, on the same turns and questions: plain BM25 and plain vectors.

They share nothing with the production search but the words and the embedder: no index, no mixing, no preferences.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from holdfast.evaluate.retrieval import DEPTH
from holdfast.models.embedder import Embedder
from holdfast.words import query_terms, terms

__all__ = ["Bm25", "Vectors"]

_K1, _B = 1.2, 0.75  # the textbook's, not the production settings: a baseline must not move with what it judges
_MOST_TERMS = 64


@lru_cache(maxsize=20_000)
def _counts(text: str) -> Counter[str]:
    """Read only. Remembered because the same sessions lie in many haystacks."""
    return Counter(terms(text))


class Bm25:
    """Okapi BM25 over whole turns, with the inverse document frequency that is never negative (Lucene's).

    Words are stemmed and function words are not asked for: the best of the plain forms, so that beating it counts.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [_counts(text) for text in texts]
        lengths = [counts.total() for counts in self._counts]
        average = sum(lengths) / max(1, len(lengths)) or 1.0
        self._norms = [_K1 * (1 - _B + _B * length / average) for length in lengths]

    def rank(self, question: str) -> list[int]:
        """The texts that share a word with the question, best first; of equals the later."""
        scores = self.scores(question)
        return sorted(scores, key=lambda number: (-scores[number], -number))[:DEPTH]

    def scores(self, question: str) -> dict[int, float]:
        scores: dict[int, float] = {}
        for term in query_terms(question, _MOST_TERMS):
            held = [(number, counts[term]) for number, counts in enumerate(self._counts) if term in counts]
            rarity = math.log(1 + (len(self._counts) - len(held) + 0.5) / (len(held) + 0.5))
            for number, often in held:
                gain = rarity * often * (_K1 + 1) / (often + self._norms[number])
                scores[number] = scores.get(number, 0.0) + gain
        return scores


class Vectors:
    """The cosine of whole turns with the question."""

    def __init__(self, texts: Sequence[str], embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors = embedder.embed(texts)

    def rank(self, question: str) -> list[int]:
        cosines = self._vectors @ self._embedder.embed([question])[0]
        return [int(number) for number in np.lexsort((-np.arange(len(cosines)), -cosines))[:DEPTH]]
