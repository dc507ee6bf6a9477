"""Everything in one namespace that a search may find: its documents, those in the index and those still waiting.

Columns are laid out by document number, so that words, vectors and filters meet without a join.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.blocks import read_documents
from holdfast.recall.cache import BlockCache
from holdfast.recall.words import term_counts
from holdfast.store.protocol import BLOCK, BlockRef, Document, Snapshot, Space

__all__ = ["Pool", "Waiting", "read_pool", "words_stage"]

_ALL = 1_000_000_000


def words_stage(space: Space) -> str:
    """The cursor of the word index of a space."""
    return f"words:{space.name.lower()}"


@dataclass(frozen=True)
class Waiting:
    """A document that is not in the word index yet, with its terms."""

    num: int
    counts: Counter[str]


@dataclass(frozen=True)
class Pool:
    """The documents of one space by number; a number that nobody has is zeros with exists False."""

    space: Space
    exists: NDArray[np.bool_]
    length: NDArray[np.float32]
    session: NDArray[np.uint32]
    sort: NDArray[np.uint8]
    at: NDArray[np.int64]
    count: int
    """How many exist."""
    total_length: float
    waiting: Sequence[Waiting] = ()

    @property
    def size(self) -> int:
        return len(self.exists)

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in (self.exists, self.length, self.session, self.sort, self.at))


def read_pool(view: Snapshot, namespace: str, space: Space, cache: BlockCache, max_chars: int) -> Pool:
    refs = view.document_blocks(space)
    indexed = cache.get((namespace, space, "documents"), tuple(refs), partial(_assemble, view, space, refs))
    documents = view.documents(space, view.cursor(words_stage(space)), _ALL)
    if not documents:
        return indexed
    waiting = [
        Waiting(
            document.num,
            cache.get((namespace, space, "waiting", document.num), None, partial(_count, document.text[:max_chars])),
        )
        for document in documents
    ]
    return _extend(indexed, documents, waiting)


def _count(text: str) -> tuple[Counter[str], int]:
    """The terms of a waiting text, and roughly what keeping them costs."""
    counts = term_counts(text)
    return counts, 200 + 120 * len(counts)


def _assemble(view: Snapshot, space: Space, refs: Sequence[BlockRef]) -> tuple[Pool, int]:
    """The indexed documents, from their blocks."""
    blocks = [read_documents(view.document_block(space, ref.block)) for ref in refs]
    nums = [ref.block * BLOCK + block["offset"].astype(np.int64) for ref, block in zip(refs, blocks, strict=True)]
    pool = _empty(space, int(nums[-1].max()) + 1 if nums else 0)
    for places, block in zip(nums, blocks, strict=True):
        pool.exists[places] = True
        pool.length[places] = block["length"]
        pool.session[places] = block["session"]
        pool.sort[places] = block["sort"]
        pool.at[places] = block["at"]
    return _counted(pool), pool.nbytes


def _extend(indexed: Pool, documents: Sequence[Document], waiting: Sequence[Waiting]) -> Pool:
    pool = _empty(indexed.space, documents[-1].num + 1)
    known = indexed.size
    pool.exists[:known] = indexed.exists
    pool.length[:known] = indexed.length
    pool.session[:known] = indexed.session
    pool.sort[:known] = indexed.sort
    pool.at[:known] = indexed.at
    for document, one in zip(documents, waiting, strict=True):
        pool.exists[document.num] = True
        pool.length[document.num] = one.counts.total()
        pool.session[document.num] = document.session
        pool.sort[document.num] = document.sort
        pool.at[document.num] = document.at
    return _counted(pool, waiting)


def _empty(space: Space, size: int) -> Pool:
    return Pool(
        space,
        exists=np.zeros(size, np.bool_),
        length=np.zeros(size, np.float32),
        session=np.zeros(size, np.uint32),
        sort=np.zeros(size, np.uint8),
        at=np.zeros(size, np.int64),
        count=0,
        total_length=0.0,
    )


def _counted(pool: Pool, waiting: Sequence[Waiting] = ()) -> Pool:
    return Pool(
        pool.space,
        pool.exists,
        pool.length,
        pool.session,
        pool.sort,
        pool.at,
        count=int(np.count_nonzero(pool.exists)),
        total_length=float(pool.length.sum(dtype=np.float64)),
        waiting=waiting,
    )
