"""Stored vectors, read once: those in segments, and those that wait behind them, quantised alike."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.blocks import Segment, as_slice, quantise, read_segment
from holdfast.recall.cache import BlockCache
from holdfast.store.nouns import BlockRef, Space
from holdfast.store.protocol import Snapshot

__all__ = ["Vectors", "exact", "load_segment", "matrix", "read_vectors", "segments_stage", "vectors_stage"]

Scores = NDArray[np.float32]


def vectors_stage(space: Space, fingerprint: str) -> str:
    """The cursor of embedding: one for each model, so that a change of model starts its own."""
    return f"vectors:{space.name.lower()}:{fingerprint}"


def segments_stage(space: Space, fingerprint: str) -> str:
    """The cursor of the quantised segments; vectors behind it are scanned as they are."""
    return f"segments:{space.name.lower()}:{fingerprint}"


@dataclass(frozen=True)
class Vectors:
    """The vectors of one space, in segments and behind them, and what tells them from those of another moment."""

    segments: Sequence[Segment]
    version: Hashable


def read_vectors(
    view: Snapshot, namespace: str, space: Space, size: int, fingerprint: str, cache: BlockCache
) -> Vectors:
    """Those of the first `size` documents."""
    if not size:
        return Vectors((), ())
    refs = tuple(view.segment_blocks(space, fingerprint))
    segments = _segments(view, namespace, space, refs, fingerprint, cache)
    folded = view.cursor(segments_stage(space, fingerprint))
    upto = view.cursor(vectors_stage(space, fingerprint))
    key, settled = (namespace, space, "late", fingerprint), (refs, folded)
    late = cache.get(key, settled, lambda: (_nothing_late(folded), 0))
    if not refs or late.upto != upto:
        late = _grown(late if refs else _nothing_late(folded), view, space, fingerprint, upto, size)
        if refs:
            cache.keep(key, settled, late, late.nbytes)
    if len(late.nums):
        segments.append(late.segment)
    # Versions of segments never come again, so with one of them the cursors tell what waits behind it.
    return Vectors(segments, (refs, folded, upto) if refs else late.told)


def _segments(
    view: Snapshot, namespace: str, space: Space, refs: tuple[BlockRef, ...], fingerprint: str, cache: BlockCache
) -> list[Segment]:
    """The segments of a space, read once; when one is written anew the others stay as they are."""
    key = (namespace, space, "segments", fingerprint)
    last = cache.last(key)
    known = last if isinstance(last, _Read) else _Read((), ())
    if known.refs != refs:
        kept = dict(zip(known.refs, known.segments, strict=True))
        read = [kept.get(ref) or load_segment(view, space, fingerprint, ref.block)[0] for ref in refs]
        known = _Read(refs, read)
        cache.keep(key, refs, known, sum(segment.nbytes for segment in read))
    return list(known.segments)


@dataclass(frozen=True)
class _Read:
    """Segments as they were read."""

    refs: tuple[BlockRef, ...]
    segments: Sequence[Segment]


@dataclass(frozen=True)
class _Late:
    """Vectors behind the segments, quantised as they will be, so that folding them into one changes no score."""

    folded: int
    """Where the segments end."""
    upto: int
    """Where the cursor of embedding stood when they were read."""
    nums: NDArray[np.int64]
    scales: Scores
    codes: NDArray[np.int8]

    @cached_property
    def segment(self) -> Segment:
        return Segment(as_slice(self.nums), self.scales, self.codes)

    @property
    def nbytes(self) -> int:
        return self.nums.nbytes + self.scales.nbytes + self.codes.nbytes

    @property
    def told(self) -> tuple[bytes, bytes, bytes]:
        """What tells it from that of another moment, where no segment does."""
        return self.nums.tobytes(), self.scales.tobytes(), self.codes.tobytes()


def _nothing_late(folded: int) -> _Late:
    return _Late(folded, folded, np.empty(0, np.int64), np.empty(0, np.float32), np.empty((0, 0), np.int8))


def _grown(late: _Late, view: Snapshot, space: Space, fingerprint: str, upto: int, size: int) -> _Late:
    """What waits now. A vector is written together with the step of its cursor, and stays as it is while the segments
    do: so what was read behind the cursor is read once. (Beyond it lie those that a rebuild keeps.)
    """
    known = late.upto if late.upto <= upto else late.folded  # a snapshot may be older than what is known
    count = int(np.searchsorted(late.nums, known, side="right"))
    fresh = view.vectors_between(space, fingerprint, known, size - 1)
    nums, scales, codes = late.nums[:count], late.scales[:count], late.codes[:count]
    if fresh:
        new_codes, new_scales = quantise(matrix(fresh))
        nums = np.concatenate([nums, np.array([num for num, _ in fresh], np.int64)])
        scales = np.concatenate([scales, new_scales])
        codes = np.concatenate([codes, new_codes]) if count else new_codes
    return _Late(late.folded, upto, nums, scales, codes)


def exact(view: Snapshot, space: Space, fingerprint: str, question: Scores, nums: Sequence[int]) -> dict[int, float]:
    """The cosines of these documents, of their full vectors."""
    stored = view.vectors(space, fingerprint, nums)
    # Not by BLAS: its sums differ with the number of rows.
    cosines = np.einsum("ij,j->i", matrix(stored), question) if stored else ()
    return {num: float(cosine) for (num, _), cosine in zip(stored, cosines, strict=True)}


def load_segment(view: Snapshot, space: Space, fingerprint: str, block: int) -> tuple[Segment, int]:
    segment = read_segment(block, view.segment(space, fingerprint, block))
    return segment, segment.nbytes


def matrix(stored: Sequence[tuple[int, bytes]]) -> Scores:
    """Stored vectors as rows."""
    return np.frombuffer(b"".join(data for _, data in stored), "<f4").reshape(len(stored), -1)
