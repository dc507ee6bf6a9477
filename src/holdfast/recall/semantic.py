"""The leg of the meaning: the question beside every embedded document, exact inside the namespace.

int8 codes are scanned, and the best are scored again in full precision. No approximate index: a namespace of 100,000
is read in about 3 ms, nothing is lost, and there is no side file to corrupt.

Vectors of one namespace share a direction, what its owner talks about all the time. The question is scanned without
it, so that being about the usual is no merit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import simsimd
from numpy.typing import NDArray

from holdfast.recall.blocks import Segment, as_slice, quantise, read_segment
from holdfast.recall.cache import BlockCache
from holdfast.recall.sharing import share_out
from holdfast.recall.shelf import Shelf, Shelves
from holdfast.store.protocol import Snapshot, Space

__all__ = ["Meant", "exact", "load_segment", "scan", "scan_shelves", "segments_stage", "vectors_stage"]

Scores = NDArray[np.float32]

_MANY = 20_000  # documents from which a second thread saves more than it costs to wake it
_DIGITS = 5  # of a sum: the last bits depend on its order, and must not decide between two that say the same


def vectors_stage(space: Space, fingerprint: str) -> str:
    """The cursor of embedding: one for each model, so that a change of model starts its own."""
    return f"vectors:{space.name.lower()}:{fingerprint}"


def segments_stage(space: Space, fingerprint: str) -> str:
    """The cursor of the quantised segments; vectors behind it are scanned as they are."""
    return f"segments:{space.name.lower()}:{fingerprint}"


@dataclass(frozen=True)
class Meant:
    """The question's product with each reading of a document, by position; 0 where there is none."""

    told: Scores
    window: Scores
    heard: NDArray[np.bool_]
    """Where there is a vector at all."""
    segments: Sequence[Sequence[Segment]] = ()
    """What was scanned, by shelf."""


def scan_shelves(shelves: Shelves, fingerprint: str, question: Scores, cache: BlockCache) -> Meant:
    read = [
        list(_segments(shelf.view, shelf.namespace, _reading(shelf), shelf.pool.size, fingerprint, cache))
        for shelf in shelves.parts
    ]
    aimed = question - _usual(read[0], len(question))
    scanned = [
        _scan_shelf(shelf, segments, fingerprint, aimed, cache)
        for shelf, segments in zip(shelves.parts, read, strict=True)
    ]
    return Meant(
        shelves.joined([one.told for one in scanned]),
        shelves.joined([one.window for one in scanned]),
        shelves.joined([one.heard for one in scanned]),
        read,
    )


def _reading(shelf: Shelf) -> Space:
    """The vectors of a shelf that are scanned."""
    return Space.RECORD if shelf.space is Space.RECORD else Space.TOLD


def _scan_shelf(shelf: Shelf, segments: Sequence[Segment], fingerprint: str, aimed: Scores, cache: BlockCache) -> Meant:
    told, heard = _products(segments, shelf.pool.size, aimed)
    if shelf.space is Space.RECORD:
        if shelf.pool.narrowed:
            heard &= shelf.pool.exists
            told *= heard
        return Meant(told, told, heard)
    return Meant(told, _windows(shelf, told, fingerprint, cache), heard)


def _windows(shelf: Shelf, told: Scores, fingerprint: str, cache: BlockCache) -> Scores:
    """The product with a window is that with its turns, added up, over the length of their sum: no codes to scan."""
    size = shelf.pool.size
    lengths = np.zeros(size, np.float32)
    for segment in _segments(shelf.view, shelf.namespace, Space.WINDOW, size, fingerprint, cache):
        lengths[segment.nums] = segment.scales * segment.codes[:, 0]
    with_nobody = np.append(told, np.float32(0))
    together = told.copy()
    for earlier in shelf.pool.line:
        together += with_nobody[earlier]
    together *= lengths
    np.round(together, _DIGITS, out=together)
    return together


def _usual(segments: Sequence[Segment], dims: int) -> Scores:
    """The mean of what is told in the namespace."""
    total, count = np.zeros(dims, np.float64), 0
    for segment in segments:
        total += segment.total
        count += len(segment.scales)
    # Rounded: how vectors lie in segments changes the last digits, and must change no answer.
    return np.round(total / max(count, 1), 5).astype(np.float32)


def scan(
    view: Snapshot,
    namespace: str,
    space: Space,
    size: int,
    fingerprint: str,
    question: Scores,
    cache: BlockCache,
) -> tuple[Scores, NDArray[np.bool_]]:
    """Products by document number, from the codes, and which documents have a vector at all (0 is no claim)."""
    return _products(_segments(view, namespace, space, size, fingerprint, cache), size, question)


def _products(segments: Iterable[Segment], size: int, question: Scores) -> tuple[Scores, NDArray[np.bool_]]:
    products = np.zeros(size, np.float32)
    heard = np.zeros(size, np.bool_)
    codes, scales = quantise(question[None])

    def score(segment: Segment) -> None:
        # Sums of int8 products stay below 2**24 up to 1,040 dimensions: a float32 holds them exactly. (cdist's own
        # `out` argument is not used: it gives back a None that it never took a reference to.)
        found = np.asarray(simsimd.cdist(codes, segment.codes, "dot", out_dtype="float32"))[0]
        products[segment.nums] = found * (segment.scales * scales[0])
        heard[segment.nums] = segment.scales > 0  # the zero vector: nothing the embedder knows

    share_out(segments, score, alone=size < _MANY)
    return products, heard


def _segments(
    view: Snapshot, namespace: str, space: Space, size: int, fingerprint: str, cache: BlockCache
) -> Iterator[Segment]:
    """Every vector of a space, in segments and behind them."""
    if not size:
        return
    for ref in view.segment_blocks(space, fingerprint):
        yield cache.get(
            (namespace, space, "segment", fingerprint, ref.block),
            ref.version,
            partial(load_segment, view, space, fingerprint, ref.block),
        )
    late = view.vectors_between(space, fingerprint, view.cursor(segments_stage(space, fingerprint)), size - 1)
    if late:  # quantised as they will be, so that folding them into a segment changes no score
        codes, scales = quantise(_matrix(late))
        yield Segment(as_slice(np.array([num for num, _ in late], np.int64)), scales, codes)


def exact(view: Snapshot, space: Space, fingerprint: str, question: Scores, nums: Sequence[int]) -> dict[int, float]:
    """The cosines of these documents, of their full vectors."""
    stored = view.vectors(space, fingerprint, nums)
    # Not by BLAS: its sums differ with the number of rows.
    cosines = np.einsum("ij,j->i", _matrix(stored), question) if stored else ()
    return {num: float(cosine) for (num, _), cosine in zip(stored, cosines, strict=True)}


def load_segment(view: Snapshot, space: Space, fingerprint: str, block: int) -> tuple[Segment, int]:
    segment = read_segment(block, view.segment(space, fingerprint, block))
    return segment, segment.codes.nbytes + segment.scales.nbytes + segment.total.nbytes


def _matrix(stored: Sequence[tuple[int, bytes]]) -> Scores:
    return np.frombuffer(b"".join(data for _, data in stored), "<f4").reshape(len(stored), -1)
