"""Which documents hold a term: those of the word index, and those that still wait for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.blocks import read_postings
from holdfast.recall.pool import Pool
from holdfast.store.protocol import Snapshot

__all__ = ["Found", "Holders"]

Found = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Documents that hold a term, and how often each does."""


class Holders:
    """The holders of terms in one pool; within a search each term is looked up once."""

    def __init__(self, view: Snapshot, pool: Pool) -> None:
        self._view = view
        self._pool = pool
        self._known: dict[str, Found] = {}

    def of(self, terms: Sequence[str]) -> list[Found]:
        unknown = [term for term in dict.fromkeys(terms) if term not in self._known]
        if unknown:
            stored = self._view.postings(self._pool.space, unknown)
            self._known.update({term: self._found(term, stored.get(term, [])) for term in unknown})
        return [self._known[term] for term in terms]

    def _found(self, term: str, blocks: Sequence[tuple[int, bytes]]) -> Found:
        nums, counts = read_postings(blocks) if blocks else (np.empty(0, np.int64), np.empty(0, np.float32))
        late = [(one.num, count) for one in self._pool.waiting if (count := one.held.get(term))]
        if late:
            nums = np.concatenate([nums, np.array([num for num, _ in late], np.int64)])
            counts = np.concatenate([counts, np.array([count for _, count in late], np.float32)])
        if self._pool.narrowed and len(nums):
            kept = self._pool.exists[nums]
            nums, counts = nums[kept], counts[kept]
        return nums, counts
