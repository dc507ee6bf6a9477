"""What one search looks through: the turns and records of a namespace and of `global`, as columns end to end.

A position is a document's place in the joined columns; a number is its place on its own shelf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.cache import BlockCache
from holdfast.recall.pool import Pool, read_pool
from holdfast.store.protocol import Snapshot, Space

__all__ = ["Shelf", "Shelves", "read_shelf"]


@dataclass(frozen=True)
class Shelf:
    """One space of one namespace, with the passages of its long turns."""

    view: Snapshot
    namespace: str
    pool: Pool
    passages: Pool | None
    common: bool = False
    """It belongs to `global`, which every namespace may read."""

    @property
    def space(self) -> Space:
        return self.pool.space

    def best_passages(self, scores: NDArray[np.float32], whole: NDArray[np.float32]) -> NDArray[np.float32]:
        """For each document the best of its passages' scores; its own where it is not cut."""
        best = whole.copy()
        if self.passages is None or not self.passages.count:
            return best
        cuts = self.passages.cuts
        known = cuts.owners < len(best)
        best[cuts.owners[known]] = np.maximum.reduceat(scores[cuts.there], cuts.starts)[known]
        return best


@dataclass(frozen=True)
class Shelves:
    parts: Sequence[Shelf]

    @property
    def starts(self) -> list[int]:
        sizes = [shelf.pool.size for shelf in self.parts]
        return [sum(sizes[:number]) for number in range(len(sizes))]

    @property
    def count(self) -> int:
        return sum(shelf.pool.count for shelf in self.parts)

    def column(self, name: str) -> NDArray[Any]:
        return self.joined([getattr(shelf.pool, name) for shelf in self.parts])

    def joined(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Columns end to end; most namespaces have one shelf that is not empty, which needs no copy."""
        filled = [part for part in parts if len(part)]
        return filled[0] if len(filled) == 1 else np.concatenate(parts)

    def linked(self, name: str) -> NDArray[np.int64]:
        """A column of numbers on the same shelf (`before`, `after`), as positions."""
        return self.joined(
            [getattr(shelf.pool, name) + start for shelf, start in zip(self.parts, self.starts, strict=True)]
        )

    def owners(self) -> NDArray[np.int64]:
        """The position of the turn that a document came from; its own for a turn, and for a record of no turn."""
        owners = np.arange(sum(shelf.pool.size for shelf in self.parts))
        turns = self.parts[0]
        for shelf, start in zip(self.parts, self.starts, strict=True):
            if shelf.space is Space.RECORD and turns.space is Space.TURN and not shelf.common:
                born = shelf.pool.index.astype(np.int64)
                known = born < turns.pool.size
                known[known] = turns.pool.exists[born[known]]
                owners[start + np.flatnonzero(known)] = born[known]
        return owners

    def numbers(self, positions: Sequence[int]) -> list[list[int]]:
        """Which documents of each shelf these positions are."""
        return [
            [at - start for at in positions if start <= at < start + shelf.pool.size]
            for shelf, start in zip(self.parts, self.starts, strict=True)
        ]


def read_shelf(
    view: Snapshot, namespace: str, space: Space, cache: BlockCache, max_chars: int, common: bool = False
) -> Shelf:
    pool = read_pool(view, namespace, space, cache, max_chars)
    passages = read_pool(view, namespace, Space.PASSAGE, cache, max_chars) if space is Space.TURN else None
    return Shelf(view, namespace, pool, passages, common)
