"""Everything in one namespace that a search may find: its documents, those in the index and those still waiting.

Columns are laid out by document number, so that words, vectors and filters meet without a join.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.blocks import read_documents
from holdfast.recall.cache import BlockCache
from holdfast.recall.marks import Mark, marks_of, prior_of
from holdfast.store.protocol import BLOCK, BlockRef, Document, Snapshot, Space
from holdfast.words import speaker_terms, term_counts

__all__ = ["Pool", "Waiting", "narrowed", "read_pool", "words_stage"]

_ALL = 1_000_000_000


def words_stage(space: Space) -> str:
    """The cursor of the word index of a space."""
    return f"words:{space.name.lower()}"


@dataclass(frozen=True)
class Waiting:
    """A document that is not in the word index yet, with its terms."""

    num: int
    counts: Counter[str]
    marks: Mark
    prior: int
    speaker: tuple[str, ...] = ()

    def count(self, term: str) -> int:
        # The index keeps counts up to 255; read the same way here, so that indexing changes no score.
        return min(self.counts[term], 255) or int(term in self.speaker)


@dataclass(frozen=True)
class Cuts:
    """The passages that exist; those of one turn stand side by side, from `starts` on."""

    there: NDArray[np.int64]
    starts: NDArray[np.int64]
    owners: NDArray[np.int64]


@dataclass(frozen=True)
class Earlier:
    """Which document comes so many before each in its session: mostly the one so many before it in the log."""

    back: int
    places: NDArray[np.int64]
    """Documents of which that is not so …"""
    sources: NDArray[np.int64]
    """… and what comes before them instead; the size of the pool where there is nothing."""

    def take(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """The score of the one before each; 0 where there is none."""
        taken = np.zeros_like(scores)
        taken[self.back :] = scores[: -self.back]
        taken[self.places] = np.append(scores, np.float32(0))[self.sources]
        return taken


@dataclass(frozen=True, eq=False)
class Pool:
    """The documents of one space by number; a number that nobody has is zeros with exists False.

    Two pools are equal if they are one: what was worked out from a pool holds for as long as it is the same.
    """

    space: Space
    exists: NDArray[np.bool_]
    length: NDArray[np.float32]
    session: NDArray[np.uint32]
    index: NDArray[np.uint32]
    """Place in the session; of a passage, the number of its turn."""
    sort: NDArray[np.uint8]
    marks: NDArray[np.uint8]
    prior: NDArray[np.uint8]
    """How likely its best sentence is worth keeping, as a share of 255."""
    at: NDArray[np.int64]
    before: NDArray[np.int64]
    """The document before it in its session, itself where there is none."""
    count: int = 0
    """How many exist."""
    total_length: float = 0.0
    waiting: Sequence[Waiting] = ()
    last: Mapping[int, int] = field(default_factory=dict)
    """By session its last document."""
    narrowed: bool = False
    """Some documents of the index are left out: its postings name more than exist here."""

    @property
    def size(self) -> int:
        return len(self.exists)

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, column).nbytes for column in _COLUMNS)

    @cached_property
    def line(self) -> list[Earlier]:
        """Of each document the one before it in its session, and the one before that."""
        first = np.where(self.before == np.arange(self.size), self.size, self.before)
        second = np.append(first, self.size)[first]
        return [_earlier(1, first), _earlier(2, second)]

    @cached_property
    def cuts(self) -> Cuts:
        """Of a pool of passages: which belong together."""
        there = np.flatnonzero(self.exists)
        owners = self.index[there].astype(np.int64)
        starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1])) if len(there) else there
        return Cuts(there, starts, owners[starts])


def _earlier(back: int, before: NDArray[np.int64]) -> Earlier:
    places = np.flatnonzero(before != np.arange(len(before)) - back)
    return Earlier(back, places, before[places])


_COLUMNS = ("exists", "length", "session", "index", "sort", "marks", "prior", "at", "before")


def read_pool(view: Snapshot, namespace: str, space: Space, cache: BlockCache, max_chars: int) -> Pool:
    refs = view.document_blocks(space)
    indexed = cache.get((namespace, space, "documents"), tuple(refs), partial(_assemble, view, space, refs))
    documents = view.documents(space, view.cursor(words_stage(space)), _ALL)
    if not documents:
        return indexed

    def extend() -> tuple[Pool, int]:
        waiting = [
            cache.get((namespace, space, "waiting", document.num), document, partial(_wait, document, max_chars))
            for document in documents
        ]
        pool = _extend(indexed, documents, waiting)
        return pool, pool.nbytes + 2 * sum(len(document.text) for document in documents)

    # Between two turns nothing changes, and most questions are asked then.
    return cache.get((namespace, space, "all documents"), (tuple(refs), documents), extend)


def narrowed(pool: Pool, sort: int) -> Pool:
    """The pool without the documents of one sort: it counts, weighs and finds as if they were not there."""
    kept = pool.exists & (pool.sort != sort)
    if pool.count == int(np.count_nonzero(kept)):
        return pool
    return _counted(
        replace(pool, exists=kept, length=pool.length * kept, narrowed=True),
        [one for one in pool.waiting if kept[one.num]],
    )


def _wait(document: Document, max_chars: int) -> tuple[Waiting, int]:
    """A waiting document as it will be indexed, and roughly what keeping it costs."""
    counts = term_counts(document.text[:max_chars])
    speaker = tuple(speaker_terms(document.speaker)) if document.speaker else ()
    return Waiting(document.num, counts, marks_of(document.text), prior_of(document), speaker), 200 + 120 * len(counts)


def _assemble(view: Snapshot, space: Space, refs: Sequence[BlockRef]) -> tuple[Pool, int]:
    """The indexed documents, from their blocks."""
    blocks = [read_documents(view.document_block(space, ref.block)) for ref in refs]
    nums = [ref.block * BLOCK + block["offset"].astype(np.int64) for ref, block in zip(refs, blocks, strict=True)]
    pool = _empty(space, int(nums[-1].max()) + 1 if nums else 0)
    for places, block in zip(nums, blocks, strict=True):
        pool.exists[places] = True
        for column in ("length", "session", "index", "sort", "marks", "prior", "at"):
            getattr(pool, column)[places] = block[column]
    return _counted(_in_line(pool)), pool.nbytes


def _in_line(pool: Pool) -> Pool:
    """Who stands before whom: inside a session the log's order is the conversation's."""
    places = np.flatnonzero(pool.exists)
    order = places[np.argsort(pool.session[places], kind="stable")]
    sessions = pool.session[order]
    follows = np.flatnonzero(sessions[1:] == sessions[:-1])
    pool.before[order[follows + 1]] = order[follows]
    ends = np.flatnonzero(np.append(sessions[1:] != sessions[:-1], True)) if len(order) else order
    return replace(pool, last={int(sessions[end]): int(order[end]) for end in ends})


def _extend(indexed: Pool, documents: Sequence[Document], waiting: Sequence[Waiting]) -> Pool:
    pool = _empty(indexed.space, documents[-1].num + 1)
    for column in _COLUMNS:
        getattr(pool, column)[: indexed.size] = getattr(indexed, column)
    last: dict[int, int] = {}
    for document, one in zip(documents, waiting, strict=True):
        at = document.num
        pool.exists[at] = True
        pool.length[at] = one.counts.total()
        pool.session[at] = document.session
        pool.index[at] = document.index
        pool.sort[at] = document.sort
        pool.marks[at] = one.marks
        pool.prior[at] = one.prior
        pool.at[at] = document.at
        former = last.get(document.session, indexed.last.get(document.session))
        if former is not None:
            pool.before[at] = former
        last[document.session] = at
    return _counted(pool, waiting)


def _empty(space: Space, size: int) -> Pool:
    return Pool(
        space,
        exists=np.zeros(size, np.bool_),
        length=np.zeros(size, np.float32),
        session=np.zeros(size, np.uint32),
        index=np.zeros(size, np.uint32),
        sort=np.zeros(size, np.uint8),
        marks=np.zeros(size, np.uint8),
        prior=np.zeros(size, np.uint8),
        at=np.zeros(size, np.int64),
        before=np.arange(size),
    )


def _counted(pool: Pool, waiting: Sequence[Waiting] = ()) -> Pool:
    return replace(
        pool,
        count=int(np.count_nonzero(pool.exists)),
        total_length=float(pool.length.sum(dtype=np.float64)),
        waiting=waiting,
    )
