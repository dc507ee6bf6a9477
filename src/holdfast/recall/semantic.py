"""The leg of the meaning: cosine of the question with every embedded document, exact inside the namespace.

int8 codes are scanned, and the best are scored again in full precision. No approximate index: a namespace of 100,000
is read in about 3 ms, nothing is lost, and there is no side file to corrupt.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import simsimd
from numpy.typing import NDArray

from holdfast.recall.blocks import Segment, as_slice, quantise, read_segment
from holdfast.recall.cache import BlockCache
from holdfast.recall.pool import Pool
from holdfast.store.protocol import Snapshot, Space

__all__ = ["load_segment", "rescore", "scan", "segments_stage", "vectors_stage"]


def vectors_stage(space: Space, fingerprint: str) -> str:
    """The cursor of embedding: one for each model, so that a change of model starts its own."""
    return f"vectors:{space.name.lower()}:{fingerprint}"


def segments_stage(space: Space, fingerprint: str) -> str:
    """The cursor of the quantised segments; vectors behind it are scanned as they are."""
    return f"segments:{space.name.lower()}:{fingerprint}"


def scan(
    view: Snapshot, namespace: str, pool: Pool, fingerprint: str, question: NDArray[np.float32], cache: BlockCache
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Cosines by document number, from the codes, and which documents have a vector at all (0 is no claim)."""
    cosines = np.zeros(pool.size, np.float32)
    heard = np.zeros(pool.size, np.bool_)
    if not pool.size:
        return cosines, heard
    codes, scales = quantise(question[None])

    def score(segment: Segment) -> None:
        products = np.asarray(simsimd.cdist(codes, segment.codes, "dot"), np.float32)[0]
        cosines[segment.nums] = products * (segment.scales * scales[0])
        heard[segment.nums] = segment.scales > 0  # the zero vector: nothing the embedder knows

    for ref in view.segment_blocks(pool.space, fingerprint):
        segment = cache.get(
            (namespace, pool.space, "segment", fingerprint, ref.block),
            ref.version,
            partial(load_segment, view, pool.space, fingerprint, ref.block),
        )
        score(segment)
    done = view.cursor(segments_stage(pool.space, fingerprint))
    late = view.vectors_between(pool.space, fingerprint, done, pool.size - 1)
    if late:  # quantised as they will be, so that folding them into a segment changes no score
        late_codes, late_scales = quantise(_matrix(late))
        score(Segment(as_slice(np.array([num for num, _ in late], np.int64)), late_scales, late_codes))
    return cosines, heard


def rescore(
    view: Snapshot,
    space: Space,
    fingerprint: str,
    question: NDArray[np.float32],
    nums: Sequence[int],
    cosines: NDArray[np.float32],
) -> None:
    """Replace the cosines of these documents by those of their full vectors."""
    stored = view.vectors(space, fingerprint, nums)
    if stored:
        cosines[[num for num, _ in stored]] = _matrix(stored) @ question


def load_segment(view: Snapshot, space: Space, fingerprint: str, block: int) -> tuple[Segment, int]:
    segment = read_segment(block, view.segment(space, fingerprint, block))
    return segment, segment.codes.nbytes + segment.scales.nbytes


def _matrix(stored: Sequence[tuple[int, bytes]]) -> NDArray[np.float32]:
    return np.frombuffer(b"".join(data for _, data in stored), "<f4").reshape(len(stored), -1)
