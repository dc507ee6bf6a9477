"""What one search looks through: the turns and records of a namespace and of `global`, as columns end to end.

A position is a document's place in the joined columns; a number is its place on its own shelf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.model import Kind, Role
from holdfast.recall.cache import BlockCache
from holdfast.recall.holders import Holders
from holdfast.recall.pool import Pool, narrowed, read_pool
from holdfast.store.codes import kind_number, role_number
from holdfast.store.nouns import Space
from holdfast.store.protocol import Snapshot

__all__ = ["Columns", "Shelf", "Shelves", "read_shelf", "side_by_side"]


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

    @cached_property
    def holders(self) -> Holders:
        return Holders(self.view, self.pool)

    def best_passages(self, scores: NDArray[np.float32], whole: NDArray[np.float32]) -> NDArray[np.float32]:
        """For each document the best of its passages' scores; its own where it is not cut."""
        best = whole.copy()
        if self.passages is None or not self.passages.count:
            return best
        cuts = self.passages.cuts
        known = cuts.owners < len(best)
        best[cuts.owners[known]] = np.maximum.reduceat(scores[cuts.there], cuts.starts)[known]
        return best


class Columns:
    """The columns of several pools end to end, and what follows from them alone.

    Worked out once and kept for as long as no pool changes: most of a search's arithmetic does not depend on what is
    asked.
    """

    def __init__(self, pools: Sequence[Pool], common: Sequence[bool], answer_words: int) -> None:
        self._pools = pools
        self._common = common
        self._answer_words = answer_words
        sizes = [pool.size for pool in pools]
        self.size = sum(sizes)
        self.starts = [sum(sizes[:number]) for number in range(len(sizes))]

    @property
    def nbytes(self) -> int:
        """What it may come to hold, roughly."""
        return 48 * self.size

    def joined(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Columns end to end; most namespaces have one shelf that is not empty, which needs no copy."""
        filled = [part for part in parts if len(part)]
        return filled[0] if len(filled) == 1 else np.concatenate(parts)

    def _column(self, name: str) -> NDArray[Any]:
        return self.joined([getattr(pool, name) for pool in self._pools])

    @cached_property
    def exists(self) -> NDArray[np.bool_]:
        return self._column("exists")

    @cached_property
    def absent(self) -> NDArray[np.int64]:
        """Positions where there is nothing: lines of the log that are no turns, digests that are left out."""
        return np.flatnonzero(~self.exists)

    @cached_property
    def at(self) -> NDArray[np.int64]:
        return self._column("at")

    @cached_property
    def line(self) -> NDArray[np.int64]:
        """The line of the log that made each document: unlike a record's number, a rebuild does not change it."""
        return self.joined(
            [
                pool.index.astype(np.int64) if pool.space is Space.RECORD else np.arange(pool.size)
                for pool in self._pools
            ]
        )

    @cached_property
    def marks(self) -> NDArray[np.uint8]:
        return self._column("marks")

    @cached_property
    def prior(self) -> NDArray[np.float32]:
        """How likely its best sentence is worth keeping, 0 to 1."""
        return self._column("prior").astype(np.float32) * np.float32(1 / 255)

    @cached_property
    def own(self) -> NDArray[np.float32]:
        """How much a document is the user's own word: a record as far as it can be relied on, an assistant's not."""
        return self.joined(
            [
                pool.prior.astype(np.float32) * np.float32(1 / 255)
                if pool.space is Space.RECORD
                else (pool.sort == role_number(Role.USER)).astype(np.float32)
                for pool in self._pools
            ]
        )

    @cached_property
    def told_by(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The records that a turn of the first shelf made, and the positions of those turns."""
        records, turns = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        first = self._pools[0]
        for pool, start, common in zip(self._pools, self.starts, self._common, strict=True):
            if pool.space is Space.RECORD and first.space is Space.TURN and not common:
                born = pool.index.astype(np.int64)
                known = born < first.size
                known[known] = first.exists[born[known]]
                records.append(start + np.flatnonzero(known))
                turns.append(born[known])
        return np.concatenate(records), np.concatenate(turns)

    @cached_property
    def alone(self) -> NDArray[np.int64]:
        """Documents behind the first shelf that no turn of it made."""
        alone = np.ones(self.size, np.bool_)
        alone[: self._pools[0].size] = False
        alone[self.told_by[0]] = False
        return np.flatnonzero(alone)

    @cached_property
    def answers(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Short documents that follow a question: their positions, the question's, and how much they lean on it."""
        there = np.concatenate([pool.asked + start for pool, start in zip(self._pools, self.starts, strict=True)])
        before = np.concatenate(
            [pool.before[pool.asked] + start for pool, start in zip(self._pools, self.starts, strict=True)]
        )
        length = np.concatenate([pool.length[pool.asked] for pool in self._pools])
        lean = np.clip(1.0 - length / np.float32(self._answer_words), 0.0, 1.0).astype(np.float32)
        short = lean > 0
        return there[short], before[short], lean[short]

    @cached_property
    def sessions(self) -> Sessions:
        place = self._column("session").astype(np.intp)
        starts = np.flatnonzero(np.append(True, place[1:] != place[:-1])) if self.size else place
        return Sessions(starts, place[starts], place, int(place.max(initial=0)) + 1)


@dataclass(frozen=True)
class Sessions:
    """Which documents are of one session. In the log they mostly stand side by side, in runs."""

    starts: NDArray[np.intp]
    """Where a run begins …"""
    of_run: NDArray[np.intp]
    """… and its session; 0 is none at all, as of records."""
    place: NDArray[np.intp]
    """Of each document its session."""
    count: int


@dataclass(frozen=True)
class Shelves:
    parts: Sequence[Shelf]
    columns: Columns

    @property
    def starts(self) -> list[int]:
        return self.columns.starts

    @property
    def count(self) -> int:
        return sum(shelf.pool.count for shelf in self.parts)

    def joined(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return self.columns.joined(parts)

    def numbers(self, positions: Sequence[int]) -> list[list[int]]:
        """Which documents of each shelf these positions are."""
        return [
            [at - start for at in positions if start <= at < start + shelf.pool.size]
            for shelf, start in zip(self.parts, self.starts, strict=True)
        ]


def side_by_side(shelves: Sequence[Shelf], cache: BlockCache, answer_words: int) -> Shelves:
    pools = tuple(shelf.pool for shelf in shelves)
    columns = cache.get(
        ("columns", *((shelf.namespace, shelf.space) for shelf in shelves)),
        (pools, answer_words),
        partial(_lay_out, pools, [shelf.common for shelf in shelves], answer_words),
    )
    return Shelves(shelves, columns)


def _narrowed(pool: Pool, gone: tuple[int, ...], digests: bool) -> tuple[Pool, int]:
    kept = narrowed(pool, gone, None if digests else kind_number(Kind.SUMMARY))
    return kept, 0 if kept is pool else kept.exists.nbytes + kept.length.nbytes


def _lay_out(pools: Sequence[Pool], common: Sequence[bool], answer_words: int) -> tuple[Columns, int]:
    columns = Columns(pools, common, answer_words)
    return columns, columns.nbytes


def read_shelf(
    view: Snapshot,
    namespace: str,
    space: Space,
    cache: BlockCache,
    max_chars: int,
    common: bool = False,
    digests: bool = True,
) -> Shelf:
    """Without `digests` there are no summaries on it: they say again what turns say, and would stand in their place."""
    pool = read_pool(view, namespace, space, cache, max_chars)
    if space is Space.RECORD:
        # Whether a record was indexed before it became another is chance, so the index must not tell of those.
        gone = tuple(view.gone())
        key = (namespace, space, "with digests" if digests else "without digests")
        pool = cache.get(key, (pool, gone), partial(_narrowed, pool, gone, digests))
    passages = read_pool(view, namespace, Space.PASSAGE, cache, max_chars) if space is Space.TURN else None
    return Shelf(view, namespace, pool, passages, common)
