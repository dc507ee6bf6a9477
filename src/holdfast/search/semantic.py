"""The leg of the meaning: the question beside every embedded document, exact inside the namespace.

int8 codes are scanned, and the best are scored again in full precision. No approximate index: a namespace of 100,000
is read in about 3 ms, nothing is lost, and there is no side file to corrupt.

Vectors of one namespace share a direction, what its owner talks about all the time. The question is scanned without
it, so that being about the usual is no merit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import simsimd
from numpy.typing import NDArray

from holdfast.index.blocks import BlockCache, Segment, quantise
from holdfast.index.candidates import Shelf, Shelves
from holdfast.index.vectors import Vectors, read_vectors
from holdfast.search.lexical import share_out
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import Space

Scores = NDArray[np.float32]

_MANY = 20_000  # documents from which a second thread saves more than it costs to wake it
_SAMPLE = 256  # turns; the spread of so many is within a twentieth of that of all
_HANDFUL = 8  # turns besides one; from so many on their mean is what is usual, not what each of them says
_DIGITS = 5  # of a sum: the last bits depend on its order, and must not decide between two that say the same


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


def scan_shelves(shelves: Shelves, fingerprint: str, question: Scores, cache: BlockCache) -> Meant:
    read = [
        read_vectors(shelf.view, shelf.namespace, scanned_space(shelf), shelf.pool.size, fingerprint, cache)
        for shelf in shelves.parts
    ]
    heard = cache.get(
        ("heard", fingerprint, *((shelf.namespace, shelf.space) for shelf in shelves.parts)),
        (shelves.columns, *(one.version for one in read)),
        partial(_heard, shelves, read, fingerprint, cache),
    )
    aimed = question - _usual(shelves.parts[0], read[0].segments, len(question))
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


def scanned_space(shelf: Shelf) -> Space:
    """The vectors of a shelf that are scanned."""
    return Space.RECORD if shelf.space is Space.RECORD else Space.TOLD


def _heard(shelves: Shelves, read: Sequence[Vectors], fingerprint: str, cache: BlockCache) -> tuple[Heard, int]:
    mask = np.zeros(shelves.columns.size, np.bool_)
    for shelf, start, one in zip(shelves.parts, shelves.starts, read, strict=True):
        part = mask[start : start + shelf.pool.size]
        for segment in one.segments:
            part[segment.nums] = segment.scales > 0  # the zero vector: nothing the embedder knows
        if shelf.space is Space.RECORD:  # one that is another document now may have left its vector here
            part &= shelf.pool.exists
    first = shelves.parts[0]
    turns, sample = cache.get(
        ("sample", fingerprint, first.namespace, first.space),
        # A turn that has no vector yet changes nothing; records come and go.
        (read[0].version, first.pool if first.space is Space.RECORD else None),
        partial(_sampled, shelves, read, mask),
    )
    heard = Heard(mask, np.flatnonzero(~mask), turns, sample)
    return heard, mask.nbytes + heard.silent.nbytes


def _sampled(shelves: Shelves, read: Sequence[Vectors], mask: NDArray[np.bool_]) -> tuple[tuple[int, Scores], int]:
    """How many of the first shelf have a vector, and the vectors of an even sample of those."""
    first = shelves.parts[0].pool
    turns = np.flatnonzero(mask[: first.size])
    if first.space is Space.RECORD:  # by the line that made them: a rebuild numbers them otherwise
        turns = turns[np.argsort(first.index[turns], kind="stable")]
    sample = turns[:: max(1, len(turns) // _SAMPLE)][:_SAMPLE]
    vectors = gather(shelves, [one.segments for one in read], sample).vectors
    return (len(turns), vectors), vectors.nbytes


@dataclass(frozen=True)
class Gathered:
    """The vectors of some documents, as the codes tell them; zero where there is none."""

    positions: NDArray[np.int64]
    """In order."""
    vectors: Scores
    scales: Scores

    def rows(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where these of its positions stand."""
        return np.searchsorted(self.positions, positions)


def gather(shelves: Shelves, segments: Sequence[Sequence[Segment]], positions: NDArray[np.int64]) -> Gathered:
    """`segments` by shelf; they follow one another, each from its first number."""
    positions = np.sort(positions)
    dims = next((one.codes.shape[1] for some in segments for one in some), 0)
    codes = np.zeros((len(positions), dims), np.int8)
    scales = np.zeros(len(positions), np.float32)
    for shelf, start, all_of_shelf in zip(shelves.parts, shelves.starts, segments, strict=True):
        some = [one for one in all_of_shelf if len(one.scales)]
        ends = np.searchsorted(positions, [*(start + one.first for one in some), start + shelf.pool.size]).tolist()
        for segment, begin, end in zip(some, ends, ends[1:], strict=False):
            if begin < end:
                there, rows = segment.rows(positions[begin:end] - start)
                codes[begin:end][there] = segment.codes[rows]
                scales[begin:end][there] = segment.scales[rows]
    return Gathered(positions, codes * scales[:, None], scales)


def _add_earlier(shelf: Shelf, told: Scores, fingerprint: str, cache: BlockCache) -> None:
    """Make products with turns those with their windows: the products of a window's turns, added up, over the length of
    their sum. No codes to scan.
    """
    size = shelf.pool.size
    read = read_vectors(shelf.view, shelf.namespace, Space.WINDOW, size, fingerprint, cache)
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


def _usual(shelf: Shelf, segments: Sequence[Segment], dims: int) -> Scores:
    """The mean of what is told in the namespace; less of it where a handful is: of one turn, the mean is the turn."""
    total, count = np.zeros(dims, np.float64), 0
    for segment in segments:
        total += segment.total
        count += len(segment.scales)
        if shelf.space is Space.RECORD:  # not what is another document now, nor digests that are left out
            out = segment.part(np.flatnonzero(~shelf.pool.exists[segment.nums]))
            total -= out.total
            count -= len(out.scales)
    # Rounded: how vectors lie in segments changes the last digits, and must change no answer.
    known = min(1.0, max(count - 1, 0) / _HANDFUL)
    return np.round(total * known / max(count, 1), 5).astype(np.float32)


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
    segments = read_vectors(view, namespace, space, size, fingerprint, cache).segments
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
