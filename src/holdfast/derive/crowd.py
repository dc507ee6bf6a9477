"""How near each turn's nearest earlier turns are: what the gate calls its input frequency (GATE-4)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import simsimd
from numpy.typing import NDArray

from holdfast.recall.blocks import Segment, as_slice, quantise
from holdfast.recall.cache import BlockCache
from holdfast.recall.vectors import load_segment, matrix, segments_stage
from holdfast.store.nouns import Space
from holdfast.store.protocol import Snapshot

__all__ = ["nearest_earlier"]


def nearest_earlier(
    view: Snapshot,
    namespace: str,
    fingerprint: str,
    seqs: Sequence[int],
    vectors: NDArray[np.float32],
    least: float,
    cache: BlockCache,
) -> list[list[float]]:
    """For each turn the cosines of the earlier turns at least this near; a turn is never its own neighbour.

    One product a block for the whole batch, from the quantised codes, whether they are in a segment yet or not: a
    rebuild, whose segments end elsewhere, finds the same.
    """
    found: list[list[float]] = [[] for _ in seqs]
    codes, scales = quantise(vectors)
    own = np.array(seqs, np.int64)[:, None]
    for segment in _segments(view, namespace, fingerprint, max(seqs), cache):
        nums = np.arange(segment.nums.start, segment.nums.stop) if isinstance(segment.nums, slice) else segment.nums
        # Whole numbers: a product of floats would round by how many there are, and a rebuild must find the same.
        products = np.asarray(simsimd.cdist(codes, segment.codes, "dot"), np.float32)
        cosines = products * (scales[:, None] * segment.scales[None, :])
        near = cosines >= np.float32(least)  # few are: sorting them all out took longer than the product
        if nums[-1] >= own[0, 0]:
            near &= nums[None, :] < own
        rows, columns = np.nonzero(near)
        for row, cosine in zip(rows.tolist(), cosines[rows, columns].tolist(), strict=True):
            found[row].append(cosine)
    return found


def _segments(view: Snapshot, namespace: str, fingerprint: str, upto: int, cache: BlockCache) -> list[Segment]:
    found = []
    for ref in view.segment_blocks(Space.TURN, fingerprint):
        key = (namespace, Space.TURN, "segment", fingerprint, ref.block)
        found.append(cache.get(key, ref.version, partial(load_segment, view, Space.TURN, fingerprint, ref.block)))
    folded = view.cursor(segments_stage(Space.TURN, fingerprint))
    late = view.vectors_between(Space.TURN, fingerprint, folded, upto) if upto > folded else []
    if late:
        codes, scales = quantise(matrix(late))
        found.append(Segment(as_slice(np.array([num for num, _ in late], np.int64)), scales, codes))
    return found
