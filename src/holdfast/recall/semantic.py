"""The leg of the meaning: the question beside every embedded document, exact inside the namespace.

int8 codes are scanned, and the best are scored again in full precision. No approximate index: a namespace of 100,000
is read in about 3 ms, nothing is lost, and there is no side file to corrupt.

Vectors of one namespace share a direction, what its owner talks about all the time. The question is scanned without
it, so that being about the usual is no merit.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
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

__all__ = [
    "Heard",
    "Meant",
    "exact",
    "load_segment",
    "scan",
    "scan_shelves",
    "segments_stage",
    "vectors_at",
    "vectors_stage",
]

Scores = NDArray[np.float32]

_MANY = 20_000  # documents from which a second thread saves more than it costs to wake it
_SAMPLE = 256  # turns; the spread of so many is within a twentieth of that of all
_DIGITS = 5  # of a sum: the last bits depend on its order, and must not decide between two that say the same


def vectors_stage(space: Space, fingerprint: str) -> str:
    """The cursor of embedding: one for each model, so that a change of model starts its own."""
    return f"vectors:{space.name.lower()}:{fingerprint}"


def segments_stage(space: Space, fingerprint: str) -> str:
    """The cursor of the quantised segments; vectors behind it are scanned as they are."""
    return f"segments:{space.name.lower()}:{fingerprint}"


@dataclass(frozen=True)
class Heard:
    """Which documents have a vector at all, by position."""

    mask: NDArray[np.bool_]
    silent: NDArray[np.int64]
    """Those that have none."""
    turns: int
    """How many of the first shelf have one."""
    sample: Scores
    """The vectors of an even sample of those: what is usual among them."""

    @property
    def count(self) -> int:
        return len(self.mask) - len(self.silent)


@dataclass(frozen=True)
class Meant:
    """The question's product with each reading of a document, by position; 0 where there is none."""

    told: Scores
    window: Scores
    heard: Heard
    segments: Sequence[Sequence[Segment]] = ()
    """What was scanned, by shelf."""


@dataclass(frozen=True)
class _Vectors:
    """The vectors of one space, in segments and behind them, and what tells them from those of another moment."""

    segments: Sequence[Segment]
    version: Hashable


def scan_shelves(shelves: Shelves, fingerprint: str, question: Scores, cache: BlockCache) -> Meant:
    read = [
        _vectors(shelf.view, shelf.namespace, _reading(shelf), shelf.pool.size, fingerprint, cache)
        for shelf in shelves.parts
    ]
    heard = cache.get(
        ("heard", fingerprint, *((shelf.namespace, shelf.space) for shelf in shelves.parts)),
        (shelves.columns, *(one.version for one in read)),
        partial(_heard, shelves, read),
    )
    aimed = question - _usual(read[0].segments, len(question))
    told = np.zeros(shelves.columns.size, np.float32)
    _scan(
        aimed,
        [
            (segment, told[start : start + shelf.pool.size])
            for shelf, start, one in zip(shelves.parts, shelves.starts, read, strict=True)
            for segment in one.segments
        ],
        alone=len(told) < _MANY,
    )
    told[heard.silent] = 0  # digests that are left out have vectors too
    window = told.copy()
    for shelf, start in zip(shelves.parts, shelves.starts, strict=True):
        if shelf.space is Space.TURN:
            _add_earlier(shelf, window[start : start + shelf.pool.size], fingerprint, cache)
    return Meant(told, window, heard, [one.segments for one in read])


def _reading(shelf: Shelf) -> Space:
    """The vectors of a shelf that are scanned."""
    return Space.RECORD if shelf.space is Space.RECORD else Space.TOLD


def _heard(shelves: Shelves, read: Sequence[_Vectors]) -> tuple[Heard, int]:
    mask = np.zeros(shelves.columns.size, np.bool_)
    for shelf, start, one in zip(shelves.parts, shelves.starts, read, strict=True):
        part = mask[start : start + shelf.pool.size]
        for segment in one.segments:
            part[segment.nums] = segment.scales > 0  # the zero vector: nothing the embedder knows
        if shelf.pool.narrowed:
            part &= shelf.pool.exists
    turns = np.flatnonzero(mask[: shelves.parts[0].pool.size])
    sample = turns[:: max(1, len(turns) // _SAMPLE)][:_SAMPLE]
    vectors = vectors_at(shelves, [one.segments for one in read], sample)
    heard = Heard(mask, np.flatnonzero(~mask), len(turns), vectors)
    return heard, mask.nbytes + heard.silent.nbytes + vectors.nbytes


def vectors_at(shelves: Shelves, segments: Sequence[Sequence[Segment]], positions: NDArray[np.int64]) -> Scores:
    """The vectors at these positions, as the codes tell them; zero where there is none."""
    dims = next((one.codes.shape[1] for some in segments for one in some), 0)
    codes = np.zeros((len(positions), dims), np.int8)
    scales = np.zeros(len(positions), np.float32)
    for start, all_of_shelf in zip(shelves.starts, segments, strict=True):
        some = [one for one in all_of_shelf if len(one.scales)]  # they follow one another, each from its first number
        holders = np.searchsorted([start + one.first for one in some], positions, side="right")
        order = np.argsort(holders, kind="stable")
        ends = np.searchsorted(holders[order], np.arange(len(some) + 2))
        for segment, begin, end in zip(some, ends[1:-1].tolist(), ends[2:].tolist(), strict=True):
            if begin < end:
                here = order[begin:end]
                there, rows = segment.rows(positions[here] - start)
                codes[here[there]] = segment.codes[rows]
                scales[here[there]] = segment.scales[rows]
    return codes * scales[:, None]


def _add_earlier(shelf: Shelf, told: Scores, fingerprint: str, cache: BlockCache) -> None:
    """Make products with turns those with their windows: the products of a window's turns, added up, over the length of
    their sum. No codes to scan.
    """
    size = shelf.pool.size
    read = _vectors(shelf.view, shelf.namespace, Space.WINDOW, size, fingerprint, cache)
    lengths = cache.get(
        (shelf.namespace, Space.WINDOW, "lengths", fingerprint),
        (size, read.version),
        partial(_lengths, read.segments, size),
    )
    first, second = (earlier.take(told) for earlier in shelf.pool.line)
    told += first
    told += second
    told *= lengths
    np.round(told, _DIGITS, out=told)


def _lengths(segments: Sequence[Segment], size: int) -> tuple[Scores, int]:
    """What each window is divided by: one number in the place of a vector."""
    lengths = np.zeros(size, np.float32)
    for segment in segments:
        lengths[segment.nums] = segment.scales * segment.codes[:, 0]
    return lengths, lengths.nbytes


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
    among: NDArray[np.int64] | None = None,
) -> tuple[Scores, NDArray[np.bool_]]:
    """Products from the codes, and which documents have a vector at all (0 is no claim): by document number, or those
    of the documents `among` which one looks.
    """
    segments = _vectors(view, namespace, space, size, fingerprint, cache).segments
    if among is not None:
        segments = [_few(segment, among) for segment in segments]
        size = len(among)
    products = np.zeros(size, np.float32)
    heard = np.zeros(size, np.bool_)
    filled = [segment for segment in segments if len(segment.scales)]
    _scan(question, [(segment, products) for segment in filled], alone=size < _MANY)
    for segment in filled:
        heard[segment.nums] = segment.scales > 0
    return products, heard


def _few(segment: Segment, nums: NDArray[np.int64]) -> Segment:
    """Of a segment the vectors of these documents alone, known by their places in `nums`."""
    there, rows = segment.rows(nums)
    return Segment(there, segment.scales[rows], segment.codes[rows])


def _scan(question: Scores, pieces: Iterable[tuple[Segment, Scores]], alone: bool) -> None:
    """Write the question's product with each vector of a segment to its document's place in the products beside it."""
    codes, scales = quantise(question[None])

    def score(piece: tuple[Segment, Scores]) -> None:
        segment, products = piece
        # Sums of int8 products stay below 2**24 up to 1,040 dimensions: a float32 holds them exactly. (cdist's own
        # `out` argument is not used: it gives back a None that it never took a reference to.)
        found = np.asarray(simsimd.cdist(codes, segment.codes, "dot", out_dtype="float32"))[0]
        products[segment.nums] = found * (segment.scales * scales[0])

    share_out(pieces, score, alone)


def _vectors(view: Snapshot, namespace: str, space: Space, size: int, fingerprint: str, cache: BlockCache) -> _Vectors:
    if not size:
        return _Vectors((), ())
    refs = view.segment_blocks(space, fingerprint)
    segments = [
        cache.get(
            (namespace, space, "segment", fingerprint, ref.block),
            ref.version,
            partial(load_segment, view, space, fingerprint, ref.block),
        )
        for ref in refs
    ]
    folded = view.cursor(segments_stage(space, fingerprint))

    def wait() -> tuple[tuple[tuple[int, bytes], ...], int]:
        late = tuple(view.vectors_between(space, fingerprint, folded, size - 1))
        return late, sum(len(data) for _, data in late)

    state = (tuple(refs), folded, view.cursor(vectors_stage(space, fingerprint)), size)
    # Versions of segments never come again, so with one of them the state tells what waits behind it.
    late = cache.get((namespace, space, "waiting", fingerprint), state, wait) if refs else wait()[0]
    if late:
        segments.append(cache.get((namespace, space, "late", fingerprint), late, partial(_quantised, late)))
    return _Vectors(segments, (state, late))


def _quantised(late: Sequence[tuple[int, bytes]]) -> tuple[Segment, int]:
    """Vectors that wait, quantised as they will be, so that folding them into a segment changes no score."""
    codes, scales = quantise(_matrix(late))
    return Segment(as_slice(np.array([num for num, _ in late], np.int64)), scales, codes), codes.nbytes


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
