"""Whether the indexes of a namespace say what its texts say: counts of all, the contents of a sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.index.blocks import prior_of, read_documents, read_postings, read_segment
from holdfast.index.candidates import words_stage
from holdfast.index.vectors import matrix, segments_stage, vectors_stage
from holdfast.settings import Settings
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import BLOCK, Document, Space
from holdfast.text.words import speaker_terms, term_counts
from holdfast.upkeep.findings import Example

_PAGE = 1000
_WORDED = (Space.TURN, Space.RECORD, Space.PASSAGE)
_EMBEDDED = (Space.TURN, Space.RECORD, Space.TOLD, Space.WINDOW)
_UNIT = 0.02
"""How far the length of a vector may be from 1: half precision and rounding cost a thousandth."""


@dataclass
class Looked:
    """How many were looked at, and what was wrong."""

    of: int
    wrong: list[Example]


def pages(view: Snapshot, space: Space) -> Iterator[list[Document]]:
    """Every document of a space, some at a time."""
    after = 0
    while part := view.documents(space, after, _PAGE):
        yield part
        after = part[-1].num


def word_drift(view: Snapshot, settings: Settings) -> Looked:
    """Documents that the word index does not hold, holds wrongly, or holds though they are gone."""
    looked = Looked(0, [])
    for space in _WORDED:
        done = view.cursor(words_stage(space))
        rows, twice = _rows(view, space)
        known: set[int] = set()
        sample: list[Document] = []
        step = max(len(rows) // settings.doctor.sample, 1)
        for part in pages(view, space):
            known |= {document.num for document in part if document.num <= done}
            sample += [document for document in part if document.num <= done and document.num % step == 0]
        looked.of += len(known)
        looked.wrong += [_of(space, num, "it is not in the word index") for num in sorted(known - rows.keys())]
        passed = set(view.hidden(space)) if space is Space.RECORD else set()  # numbers that changed their text
        extra = sorted(rows.keys() - known - passed)
        looked.wrong += [_of(space, num, "the word index holds it, and it is gone") for num in extra]
        looked.wrong += [_of(space, num, "the word index holds it as a document of another") for num in twice]
        looked.wrong += _wrong_words(view, space, [one for one in sample if one.num in rows], rows, settings)
    return looked


def _rows(view: Snapshot, space: Space) -> tuple[dict[int, NDArray[np.void]], list[int]]:
    """The row of each document; of several the last one counts, and all must be of one text."""
    found: dict[int, NDArray[np.void]] = {}
    twice = []
    for ref in view.document_blocks(space):
        for row in read_documents(view.document_block(space, ref.block)):
            num = ref.block * BLOCK + int(row["offset"])
            if num in found and found[num]["length"] != row["length"]:
                twice.append(num)
            found[num] = row
    return found, twice


def _wrong_words(
    view: Snapshot, space: Space, sample: Sequence[Document], rows: dict[int, NDArray[np.void]], settings: Settings
) -> Iterator[Example]:
    for document in sample:
        counts = term_counts(document.text[: settings.index.max_chars])
        row = rows[document.num]
        told = (document.session, document.index, document.sort, document.at, prior_of(document), counts.total())
        held = tuple(int(row[name]) for name in ("session", "index", "sort", "at", "prior", "length"))
        if told != held:
            yield _of(space, document.num, "the word index says something else of it", document.text)
            continue
        wanted = {term: min(count, 255) for term, count in counts.items()}
        for term in speaker_terms(document.speaker) if document.speaker else ():
            wanted.setdefault(term, 1)
        postings = view.postings(space, list(wanted))
        missing = [term for term, count in wanted.items() if not _holds(postings[term], document.num, count)]
        if missing:
            yield _of(space, document.num, f"it is not found by {', '.join(missing[:3])!r}", document.text)


def _holds(blocks: list[tuple[int, bytes]], num: int, count: int) -> bool:
    own = [(block, data) for block, data in blocks if block == num // BLOCK]
    nums, counts = read_postings(own)
    return bool(count in counts[nums == num])


def unreadable(view: Snapshot, fingerprint: str, dims: int) -> Looked:
    """Vectors that are none: of another size, not of length 1, or not numbers."""
    sizes = {space: 4 * (1 if space is Space.WINDOW else dims) for space in _EMBEDDED}
    odd = view.odd_vectors(fingerprint, sizes)
    looked = Looked(len(odd), [_of(space, num, "its vector has another size than its model's") for space, num in odd])
    if odd:
        return looked
    for space, size in sizes.items():
        if space is Space.WINDOW:
            continue
        for nums, vectors in _vectors(view, space, fingerprint, size // 4):
            looked.of += len(nums)
            lengths = np.linalg.norm(vectors, axis=1)
            bad = ~np.isfinite(lengths) | ((np.abs(lengths - 1) > _UNIT) & (lengths > 0))
            if space is Space.TOLD:  # a sum of sentences may be shorter
                bad = ~np.isfinite(lengths)
            looked.wrong += [_of(space, int(num), "its vector is damaged") for num in nums[bad]]
    return looked


def vector_drift(view: Snapshot, fingerprint: str, dims: int, settings: Settings) -> Looked:
    """Embedded documents without a vector, and vectors whose code in the segments is another one's."""
    looked = Looked(0, [])
    for space in _EMBEDDED:
        done = view.cursor(vectors_stage(space, fingerprint))
        folded = view.cursor(segments_stage(space, fingerprint))
        documents = Space.TURN if space.reading else space
        known = {one.num for part in pages(view, documents) for one in part if one.num <= done}
        looked.of += len(known)
        stored: set[int] = set()
        for nums, vectors in _vectors(view, space, fingerprint, 1 if space is Space.WINDOW else dims):
            stored |= set(nums.tolist())
            few = max(len(nums) * settings.doctor.sample // max(len(known), 1), 1)
            step = max(len(nums) // few, 1)
            looked.wrong += _wrong_codes(view, space, fingerprint, nums[::step], vectors[::step], folded)
        looked.wrong += [
            _of(space, num, "it is embedded, and its vector is not there") for num in sorted(known - stored)
        ]
    return looked


def _wrong_codes(
    view: Snapshot, space: Space, fingerprint: str, nums: NDArray[np.int64], vectors: NDArray[np.float32], folded: int
) -> Iterator[Example]:
    blocks = {ref.block for ref in view.segment_blocks(space, fingerprint)}
    for block in sorted({int(num) // BLOCK for num in nums if num <= folded}):
        ours = np.flatnonzero((nums // BLOCK == block) & (nums <= folded))
        if block not in blocks:
            yield _of(space, int(nums[ours[0]]), "its block of the vector index is not there")
            continue
        segment = read_segment(block, view.segment(space, fingerprint, block))
        found, rows = segment.rows(nums[ours])
        there = np.arange(len(ours))[found]
        absent = set(range(len(ours))) - set(there.tolist())
        yield from (_of(space, int(nums[ours[at]]), "it is not in the vector index") for at in sorted(absent))
        codes, scales = segment.codes[rows], segment.scales[rows]
        if codes.shape[1] != vectors.shape[1]:
            yield _of(space, int(nums[ours[0]]), "its block of the vector index is of another model")
            continue
        away = np.abs(codes * scales[:, None] - vectors[ours[there]]).max(axis=1, initial=0.0)
        for at in np.flatnonzero(away > scales):
            yield _of(space, int(nums[ours[there[at]]]), "the vector index holds another vector for it")


def _vectors(
    view: Snapshot, space: Space, fingerprint: str, dims: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    last = view.end(Space.TURN if space.reading else space)
    for after in range(-1, last + 1, BLOCK):
        found = view.vectors_between(space, fingerprint, max(after, 0), after + BLOCK)
        found = [(num, data) for num, data in found if len(data) == 4 * dims]
        if found:
            yield np.array([num for num, _ in found], np.int64), matrix(found)


def _of(space: Space, num: int, why: str, text: str = "") -> Example:
    return Example(f"{space.name.lower()} {num}", text, why)
