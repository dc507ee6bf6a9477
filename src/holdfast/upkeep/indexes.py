"""Index audits of the doctor: compare the word and vector indexes with the stored texts and vectors.

Every document is counted; contents are compared for a sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.index.blocks import IndexSizes, prior_of, read_documents, read_postings, read_segment, words_stage
from holdfast.index.vectors import matrix, segments_stage, vectors_stage
from holdfast.settings import Settings, tuned
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import BLOCK, Document, Space
from holdfast.text.words import speaker_terms, term_counts
from holdfast.upkeep.findings import AuditResult, DoctorSizes, Example

_PAGE = 1000
_WORD_SPACES = (Space.TURN, Space.RECORD, Space.PASSAGE)
_VECTOR_SPACES = (Space.TURN, Space.RECORD, Space.STATEMENT, Space.WINDOW)
_LENGTH_TOLERANCE = 0.02  # largest distance of a vector's length from 1; half precision and rounding cost a thousandth


def word_drift(view: Snapshot, settings: Settings) -> AuditResult:
    """Find documents that are missing from the word index, wrong in it, or deleted but still in it."""
    result = AuditResult()
    for space in _WORD_SPACES:
        done = view.cursor(words_stage(space))
        rows, twice = _document_rows(view, space)
        known: set[int] = set()
        sample: list[Document] = []
        step = max(len(rows) // tuned(settings, DoctorSizes).sample, 1)
        for page in pages(view, space):
            known |= {document.num for document in page if document.num <= done}
            sample += [document for document in page if document.num <= done and document.num % step == 0]
        result.checked += len(known)
        replaced = set(view.hidden(space)) if space is Space.RECORD else set()  # numbers that changed their text
        result.problems += [
            *(_example(space, num, "it is not in the word index") for num in sorted(known - rows.keys())),
            *(_example(space, num, "it was deleted but is in the word index")
              for num in sorted(rows.keys() - known - replaced)),
            *(_example(space, num, "the word index has two different documents for it") for num in twice),
            *_wrong_words(view, space, [one for one in sample if one.num in rows], rows, settings),
        ]  # fmt: skip
    return result


def unreadable_vectors(view: Snapshot, fingerprint: str, dims: int) -> AuditResult:
    """Find vectors of a wrong size, with a length other than 1, or with values that are not numbers."""
    sizes = {space: 4 * (1 if space is Space.WINDOW else dims) for space in _VECTOR_SPACES}
    odd = view.odd_vectors(fingerprint, sizes)
    if odd:
        why = "its vector does not have the model's size"
        return AuditResult(len(odd), [_example(space, num, why) for space, num in odd])
    result = AuditResult()
    for space, size in sizes.items():
        if space is Space.WINDOW:
            continue
        for nums, vectors in _stored_vectors(view, space, fingerprint, size // 4):
            result.checked += len(nums)
            lengths = np.linalg.norm(vectors, axis=1)
            bad = ~np.isfinite(lengths)
            if space is not Space.STATEMENT:  # a sum of sentences may be shorter
                bad |= (np.abs(lengths - 1) > _LENGTH_TOLERANCE) & (lengths > 0)
            result.problems += [_example(space, int(num), "its vector is damaged") for num in nums[bad]]
    return result


def vector_drift(view: Snapshot, fingerprint: str, dims: int, settings: Settings) -> AuditResult:
    """Find embedded documents without a vector, and vectors that differ from their code in the segments."""
    result = AuditResult()
    for space in _VECTOR_SPACES:
        done = view.cursor(vectors_stage(space, fingerprint))
        in_segments = view.cursor(segments_stage(space, fingerprint))
        documents = Space.TURN if space.reading else space
        known = {one.num for page in pages(view, documents) for one in page if one.num <= done}
        result.checked += len(known)
        stored: set[int] = set()
        for nums, vectors in _stored_vectors(view, space, fingerprint, 1 if space is Space.WINDOW else dims):
            stored |= set(nums.tolist())
            few = max(len(nums) * tuned(settings, DoctorSizes).sample // max(len(known), 1), 1)
            step = max(len(nums) // few, 1)
            result.problems += _wrong_codes(view, space, fingerprint, nums[::step], vectors[::step], in_segments)
        result.problems += [_example(space, num, "its vector is missing") for num in sorted(known - stored)]
    return result


def pages(view: Snapshot, space: Space) -> Iterator[list[Document]]:
    """Yield every document of a space, page by page."""
    after = 0
    while page := view.documents(space, after, _PAGE):
        yield page
        after = page[-1].num


def _document_rows(view: Snapshot, space: Space) -> tuple[dict[int, NDArray[np.void]], list[int]]:
    """Return the last index row of each document, and the documents whose rows differ in length."""
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
        counts = term_counts(document.text[: tuned(settings, IndexSizes).max_chars])
        row = rows[document.num]
        expected = (document.session, document.index, document.sort, document.at, prior_of(document), counts.total())
        if expected != tuple(int(row[name]) for name in ("session", "index", "sort", "at", "prior", "length")):
            yield _example(space, document.num, "its entry in the word index is wrong", document.text)
            continue
        wanted = {term: min(count, 255) for term, count in counts.items()}
        for term in speaker_terms(document.speaker) if document.speaker else ():
            wanted.setdefault(term, 1)
        postings = view.postings(space, list(wanted))
        missing = [term for term, count in wanted.items() if not _has_posting(postings[term], document.num, count)]
        if missing:
            yield _example(space, document.num, f"it is not found by {', '.join(missing[:3])!r}", document.text)


def _has_posting(blocks: list[tuple[int, bytes]], num: int, count: int) -> bool:
    own = [(block, data) for block, data in blocks if block == num // BLOCK]
    nums, counts = read_postings(own)
    return bool(count in counts[nums == num])


def _wrong_codes(
    view: Snapshot, space: Space, fingerprint: str, nums: NDArray[np.int64], vectors: NDArray[np.float32], last: int
) -> Iterator[Example]:
    blocks = {ref.block for ref in view.segment_blocks(space, fingerprint)}
    for block in sorted({int(num) // BLOCK for num in nums if num <= last}):
        ours = np.flatnonzero((nums // BLOCK == block) & (nums <= last))
        if block not in blocks:
            yield _example(space, int(nums[ours[0]]), "its block of the vector index is missing")
            continue
        segment = read_segment(block, view.segment(space, fingerprint, block))
        found, rows = segment.rows(nums[ours])
        there = np.arange(len(ours))[found]
        absent = set(range(len(ours))) - set(there.tolist())
        yield from (_example(space, int(nums[ours[at]]), "it is not in the vector index") for at in sorted(absent))
        codes, scales = segment.codes[rows], segment.scales[rows]
        if codes.shape[1] != vectors.shape[1]:
            yield _example(space, int(nums[ours[0]]), "its block of the vector index belongs to another model")
            continue
        away = np.abs(codes * scales[:, None] - vectors[ours[there]]).max(axis=1, initial=0.0)
        for at in np.flatnonzero(away > scales):
            yield _example(space, int(nums[ours[there[at]]]), "the vector index has a different vector for it")


def _stored_vectors(
    view: Snapshot, space: Space, fingerprint: str, dims: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    last = view.end(Space.TURN if space.reading else space)
    for after in range(-1, last + 1, BLOCK):
        found = view.vectors_between(space, fingerprint, max(after, 0), after + BLOCK)
        found = [(num, data) for num, data in found if len(data) == 4 * dims]
        if found:
            yield np.array([num for num, _ in found], np.int64), matrix(found)


def _example(space: Space, num: int, why: str, text: str = "") -> Example:
    return Example(f"{space.name.lower()} {num}", text, why)
