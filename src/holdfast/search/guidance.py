"""Guidance near a question: what CTX-3 compares, every live guidance record by its own cosine.

Search ranks by more than nearness and has a floor of its own; the elevated tier asks for the similarity alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holdfast.index.blocks import BlockCache
from holdfast.index.candidates import read_shelf
from holdfast.index.vectors import exact
from holdfast.model import Kind, Record
from holdfast.models.embedder import Embedder
from holdfast.search.question import read
from holdfast.search.semantic import scan
from holdfast.settings import Settings
from holdfast.store.rows import kind_number
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import Space
from holdfast.text.words import terms

_OTHERS = 4  # pieces of guidance that nothing protected: they stand in the receipt, and are not in the context
_READ_CHARS = 20_000  # of a shard, for the words it shares


@dataclass(frozen=True)
class Guidance:
    record: Record
    similarity: float | None
    """Cosine with the question; None where meaning is silent, or its vector is not made yet."""
    shared: float
    """Share of the question's words that it holds, looked at where meaning is silent."""


def near_guidance(
    view: Snapshot,
    namespace: str,
    question: str,
    embedder: Embedder | None,
    cache: BlockCache,
    settings: Settings,
    limit: int,
) -> list[Guidance]:
    """Live guidance records, the nearest first, at most `limit`; those without a similarity behind, newest first."""
    pool = read_shelf(view, namespace, Space.RECORD, cache, settings.index.max_chars).pool
    there = pool.exists & (pool.sort == kind_number(Kind.GUIDANCE))
    for num in (*view.hidden(Space.RECORD), *(num for num, _ in view.retired())):
        there[num] = False
    nums = np.flatnonzero(there)
    if not len(nums) or not question.strip():
        return []
    asked = read(question, None, embedder, settings.recall)
    protected = frozenset(view.protected())
    cosines: dict[int, float] = {}
    if asked.vector is not None and embedder is not None:
        mark = embedder.profile.fingerprint
        products, heard = scan(view, namespace, Space.RECORD, pool.size, mark, asked.vector, cache, among=nums)
        known = nums[heard]
        nearest = known[np.lexsort((-known, -pool.index[known].astype(np.int64), -products[heard]))]
        cosines = exact(view, Space.RECORD, mark, asked.vector, _worth_reading(nearest.tolist(), protected, limit))
        nums = nums[~heard]
    # The newest by the line that made it: a rebuild numbers records otherwise.
    ranked = sorted(cosines, key=lambda num: (-cosines[num], -int(pool.index[num]), -num))
    newest = nums[np.lexsort((-nums, -pool.index[nums].astype(np.int64)))]
    silent = _worth_reading(newest.tolist(), protected, limit - len(ranked))
    records = view.records([*ranked, *silent])
    words = frozenset(asked.terms)
    found = [Guidance(records[num], cosines[num], 0.0) for num in ranked if num in records]
    return found + [Guidance(records[num], None, _shared(records[num], words)) for num in silent if num in records]


def _worth_reading(nums: list[int], protected: frozenset[int], limit: int) -> list[int]:
    """The first that compaction protected; of the others, which can only be told why they are out, a few."""
    others = frozenset([num for num in nums if num not in protected][:_OTHERS])
    return [num for num in nums if num in protected or num in others][: max(limit, 0)]


def _shared(record: Record, words: frozenset[str]) -> float:
    return len(words.intersection(terms(record.text[:_READ_CHARS]))) / len(words) if words else 0.0
