"""The layout of the word index's and the vector index's stored bytes.

Blocks grow by appending, so adding documents never rewrites what is there:
  documents   one row a document: offset in the block, length in terms, session, index, role or kind, marks, prior, time
  postings    three bytes a document that holds the term: offset in the block, how often (at most 255)
  segments    offsets, then one scale a vector, then int8 codes: a vector is its codes times its scale
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.marks import marks_of, prior_of
from holdfast.store.nouns import BLOCK, Document

__all__ = [
    "DOCUMENT",
    "Segment",
    "as_slice",
    "pack_documents",
    "pack_posting",
    "pack_segment",
    "quantise",
    "read_documents",
    "read_postings",
    "read_segment",
]

DOCUMENT = np.dtype(
    [
        ("offset", "<u2"),
        ("length", "<u4"),
        ("session", "<u4"),
        ("index", "<u4"),
        ("sort", "u1"),
        ("marks", "u1"),
        ("prior", "u1"),
        ("at", "<i8"),
    ]
)
_COUNTS = [bytes([count]) for count in range(256)]
POSTING = np.dtype([("offset", "<u2"), ("count", "u1")])


@dataclass(frozen=True)
class Segment:
    """The vectors of one block: codes[i] · scales[i] is the vector of document nums[i]."""

    nums: NDArray[np.int64] | slice
    """A slice when no number is missing, which is the common case and six times as quick to write to."""
    scales: NDArray[np.float32]
    codes: NDArray[np.int8]

    @property
    def nbytes(self) -> int:
        """With what `total` will take, which few of them are asked for, and which takes longer than reading one."""
        dims: int = self.codes.shape[1]
        return self.codes.nbytes + self.scales.nbytes + dims * np.dtype(np.float64).itemsize

    @property
    def first(self) -> int:
        """The first of its documents; who asks knows that it has one."""
        return int(self.nums.start) if isinstance(self.nums, slice) else int(self.nums[0])

    def rows(self, nums: NDArray[np.int64]) -> tuple[NDArray[np.int64] | slice, NDArray[np.int64]]:
        """Which of these documents, which are in order, are in it, as places in `nums`, and the rows of their codes."""
        if isinstance(self.nums, slice):
            first, last = int(self.nums.start), int(self.nums.stop)
            whole = not len(nums) or (nums[0] >= first and nums[-1] < last)
            there = slice(0, len(nums)) if whole else slice(*np.searchsorted(nums, [first, last]).tolist())
            return there, nums[there] - first
        rows = np.minimum(np.searchsorted(self.nums, nums), len(self.nums) - 1)
        found = np.flatnonzero(self.nums[rows] == nums) if len(self.nums) else np.empty(0, np.int64)
        return found, rows[found]

    def part(self, rows: NDArray[np.int64]) -> Segment:
        """Some of its vectors, known by their places in `rows`."""
        return Segment(np.arange(len(rows)), self.scales[rows], self.codes[rows])

    @cached_property
    def total(self) -> NDArray[np.float64]:
        """The sum of its vectors. Not by `@`, which holds all codes as floats first: 8 MB, and six times as long."""
        scales = self.scales.astype(np.float64)
        total: NDArray[np.float64] = np.einsum("i,ij->j", scales, self.codes, dtype=np.float64)
        return total


def pack_documents(documents: Sequence[Document], lengths: Sequence[int]) -> bytes:
    """Rows of documents of one block; `prior` is a share of 255."""
    rows = [
        (
            document.num % BLOCK,
            length,
            document.session,
            document.index,
            document.sort,
            marks_of(document.text),
            prior_of(document),
            document.at,
        )
        for document, length in zip(documents, lengths, strict=True)
    ]
    return np.array(rows, DOCUMENT).tobytes()


def read_documents(data: bytes) -> NDArray[np.void]:
    return np.frombuffer(data, DOCUMENT)


def pack_posting(offset: int, count: int) -> bytes:
    """One document of a term's postings: its offset in the block, and how often the term stands in it."""
    return offset.to_bytes(2, "little") + _COUNTS[min(count, 255)]


def read_postings(blocks: Sequence[tuple[int, bytes]]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Document numbers and counts of a term over all its blocks."""
    rows = np.frombuffer(b"".join(data for _, data in blocks), POSTING)
    sizes = [len(data) // POSTING.itemsize for _, data in blocks]
    bases = np.repeat(np.array([block * BLOCK for block, _ in blocks], np.int64), sizes)
    return bases + rows["offset"], rows["count"].astype(np.float32)


def quantise(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """int8 codes and one scale a vector; the largest component becomes ±127."""
    scales = np.abs(vectors).max(axis=1) / 127.0
    divisors = np.where(scales > 0, scales, 1.0).astype(np.float32)
    return np.rint(vectors / divisors[:, None]).astype(np.int8), scales.astype(np.float32)


def pack_segment(nums: Sequence[int], vectors: NDArray[np.float32]) -> bytes:
    codes, scales = quantise(vectors)
    offsets = (np.array(nums, np.int64) % BLOCK).astype("<u2")
    return np.uint32(len(nums)).tobytes() + offsets.tobytes() + scales.astype("<f4").tobytes() + codes.tobytes()


def read_segment(block: int, data: bytes) -> Segment:
    count = int(np.frombuffer(data, "<u4", 1)[0])
    offsets = np.frombuffer(data, "<u2", count, 4)
    scales = np.frombuffer(data, "<f4", count, 4 + 2 * count)
    codes = np.frombuffer(data, np.int8, -1, 4 + 6 * count).reshape(count, -1)
    return Segment(as_slice(block * BLOCK + offsets.astype(np.int64)), scales, codes)


def as_slice(nums: NDArray[np.int64]) -> NDArray[np.int64] | slice:
    """Rising numbers as a slice if none is missing between them."""
    if len(nums) and nums[-1] - nums[0] == len(nums) - 1:
        return slice(int(nums[0]), int(nums[-1]) + 1)
    return nums
