"""The leg of the words: BM25 over every document of a pool, those in the index and those still waiting alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.blocks import read_postings
from holdfast.recall.pool import Pool
from holdfast.settings import RecallSettings
from holdfast.store.protocol import Snapshot

__all__ = ["Found", "score_words"]

Found = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Documents that hold a term, and how often each does."""


def score_words(
    view: Snapshot, pools: Sequence[Pool], terms: Sequence[str], settings: RecallSettings
) -> list[NDArray[np.float32]]:
    """One array of scores a pool, by document number. How rare a term is counts over all pools together."""
    found = [_find(view, pool, terms) for pool in pools]
    total = sum(pool.count for pool in pools)
    average = max(sum(pool.total_length for pool in pools) / total, 1.0) if total else 1.0
    norms = {
        pool.space: pool.length * np.float32(settings.k1 * settings.b / average)
        + np.float32(settings.k1 * (1.0 - settings.b))
        for pool in pools
    }
    scores = [np.zeros(pool.size, np.float32) for pool in pools]
    for number in range(len(terms)):
        holders = sum(len(one[number][0]) for one in found)
        if not holders:
            continue
        rarity = math.log(1.0 + (total - holders + 0.5) / (holders + 0.5))
        for pool, one, score in zip(pools, found, scores, strict=True):
            nums, counts = one[number]
            if len(nums):
                damped = counts + norms[pool.space][nums]
                score[nums] += counts * np.float32(rarity * (settings.k1 + 1.0)) / damped
    return scores


def _find(view: Snapshot, pool: Pool, terms: Sequence[str]) -> list[Found]:
    stored = view.postings(pool.space, terms)
    found: list[Found] = []
    for term in terms:
        nums, counts = read_postings(stored[term]) if stored[term] else (np.empty(0, np.int64), np.empty(0, np.float32))
        late = [(one.num, count) for one in pool.waiting if (count := one.count(term))]
        if late:
            nums = np.concatenate([nums, np.array([num for num, _ in late], np.int64)])
            counts = np.concatenate([counts, np.array([count for _, count in late], np.float32)])
        found.append((nums, counts))
    return found
