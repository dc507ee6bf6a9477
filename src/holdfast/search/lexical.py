"""The leg of the words: BM25 over every document of the shelves, those in the index and those still waiting alike.

A long turn counts by its best passage: a page holds any word, and says little about any.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.index.candidates import Found, Holders, Pool, Shelf, Shelves
from holdfast.settings import RecallSettings

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


# --- Pieces of work that a second thread may take a share of.
#
# The caller works through them too, and waits for no more than the piece that the other has in hand: on a busy machine,
# where the second thread comes late or never, nothing is lost. (Threads that a library starts meet at the end of every
# call; with 25 calls to a search that cost more than it saved.)


Piece = TypeVar("Piece")


def share_out(pieces: Iterable[Piece], work: Callable[[Piece], None], alone: bool) -> None:
    """Call `work` for each piece, in any order and from two threads; `alone`: from the caller's only."""
    left = deque(pieces)

    def take() -> None:
        while True:
            try:
                piece = left.popleft()
            except IndexError:
                return
            work(piece)

    helped = None if alone or len(left) < 2 else _helper().submit(take)
    take()
    if helped is not None and not helped.cancel():
        helped.result()


@cache
def _helper() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "holdfast-scan")
