"""Everything in one namespace that a search may find: its documents, those in the index and those still waiting.

Columns are laid out by document number, so that words, vectors and filters meet without a join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.index.blocks import (
    BlockCache,
    IndexSizes,
    Mark,
    marks_of,
    prior_of,
    read_ahead,
    read_documents,
    read_postings,
    words_stage,
)
from holdfast.model import Kind, Role
from holdfast.store.rows import kind_number, role_number
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import BLOCK, BlockRef, Document, Space
from holdfast.text.words import speaker_terms, term_counts

_ALL = 1_000_000_000


@dataclass(frozen=True)
class Waiting:
    """A document that is not in the word index yet, with its terms."""

    num: int
    held: Mapping[str, int]
    """Count of each of its terms, as the index will count it."""
    length: int
    """In terms."""
    marks: Mark
    prior: int


@dataclass(frozen=True)
class Cuts:
    """The passages that exist; those of one turn are adjacent, from `starts` on."""

    there: NDArray[np.int64]
    starts: NDArray[np.int64]
    owners: NDArray[np.int64]

    def of(self, turn: int) -> NDArray[np.int64]:
        """Return the numbers of the passages of a turn, in order."""
        run = int(np.searchsorted(self.owners, turn))
        if run == len(self.owners) or self.owners[run] != turn:
            return self.there[:0]
        return self.there[self.starts[run] : self.starts[run + 1] if run + 1 < len(self.starts) else None]


@dataclass(frozen=True)
class PreviousInSession:
    """The document that comes `back` places before each in its session: mostly the one `back` before it in the log."""

    back: int
    places: NDArray[np.int64]
    """Documents of which that is not so …"""
    sources: NDArray[np.int64]
    """… and what comes before them instead; -1 where there is nothing."""

    def take(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """The score of the one before each; 0 where there is none."""
        taken = np.zeros_like(scores)
        taken[self.back :] = scores[: -self.back]
        taken[self.places] = np.append(scores, np.float32(0))[self.sources]  # the last, where there is nothing
        return taken

    def extended(self, nums: NDArray[np.int64], sources: NDArray[np.int64]) -> PreviousInSession:
        """Return it with further documents, which follow all others, and what comes before each."""
        odd = sources != nums - self.back
        return PreviousInSession(
            self.back, np.concatenate([self.places, nums[odd]]), np.concatenate([self.sources, sources[odd]])
        )


def _nobody() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Pool:
    """The documents of one space by number; an unused number has zeros, and False in `exists`.

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
    """Probability that its best sentence is worth keeping, as a share of 255."""
    at: NDArray[np.int64]
    before: NDArray[np.int64]
    """The document before it in its session, itself where there is none."""
    count: int = 0
    """Number of documents that exist."""
    total_length: float = 0.0
    waiting: Sequence[Waiting] = ()
    last: Mapping[int, int] = field(default_factory=dict)
    """Last document by session."""
    line: Sequence[PreviousInSession] = ()
    """For turns: the turn before each in its session, and the one before that."""
    asked: NDArray[np.int64] = field(default_factory=_nobody)
    """Turns that directly follow a question."""
    narrowed: bool = False
    """Some documents of the index are left out: its postings name more than exist here."""

    @property
    def size(self) -> int:
        return len(self.exists)

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, column).nbytes for column in _COLUMNS)

    @cached_property
    def cuts(self) -> Cuts:
        """The passages of each turn, in a pool of passages."""
        there = np.flatnonzero(self.exists)
        owners = self.index[there].astype(np.int64)
        starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1])) if len(there) else there
        return Cuts(there, starts, owners[starts])


_COLUMNS = ("exists", "length", "session", "index", "sort", "marks", "prior", "at", "before")


@dataclass(frozen=True)
class _Known:
    """A pool as it was read last, with what waited then."""

    indexed: Pool
    pool: Pool
    documents: list[Document] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        return self.indexed.nbytes + self.pool.nbytes + 2 * sum(len(document.text) for document in self.documents)


def read_pool(view: Snapshot, namespace: str, space: Space, cache: BlockCache, max_chars: int) -> Pool:
    """Return the current pool: the cached one while nothing is new, or the cached one extended by new documents."""
    refs = tuple(view.document_blocks(space))
    done = view.cursor(words_stage(space))
    key, state = (namespace, space, "documents"), (refs, done)
    before = cache.last(key)
    known = cache.get(key, state, partial(_assemble, view, space, refs))
    fresh = _fresh(view, space, known, bool(refs), done)
    if fresh is not None and not fresh:
        return known.pool
    if fresh is not None and known.documents:
        waiting = [*known.pool.waiting, *_wait_all(fresh, None, max_chars)]
        grown = _Known(known.indexed, _extend(known.pool, fresh, waiting[-len(fresh) :]), [*known.documents, *fresh])
        cache.keep(key, state, grown, grown.nbytes)
        return grown.pool
    # What waits is other than what is known. A snapshot may be older than what is known, which then stays known.
    documents = _newest(view, space, done) if fresh is None else fresh
    waited = _wait_all(documents, before if isinstance(before, _Known) else None, max_chars)
    pool = _extend(known.indexed, documents, waited) if documents else known.indexed
    if documents != known.documents[: len(documents)]:
        read = _Known(known.indexed, pool, list(documents))
        cache.keep(key, state, read, read.nbytes)
    return pool


_MOST_WAITING = {Space.TURN: 512, Space.RECORD: 512, Space.PASSAGE: 128}
"""Documents outside the index that a search looks at, the newest. While an import is derived there may be thousands:
reading each at 200 µs would take longer than a turn may. Passages repeat their turn."""
_BEGINNING = 2000
"""Characters of each waiting turn that are looked at while more wait than may: those are indexed next."""


def _newest(view: Snapshot, space: Space, done: int) -> Sequence[Document]:
    return _read(view, space, done, max(done, view.newest_document(space) - _MOST_WAITING[space]))


def _read(view: Snapshot, space: Space, done: int, after: int) -> Sequence[Document]:
    """Return the waiting documents behind a number."""
    most, first = IndexSizes.tail_chars, max(done, view.newest_document(space) - _MOST_WAITING[space])
    many = space is Space.TURN and view.turn_bytes(first) > most
    return view.documents(space, after, _ALL, _BEGINNING if many else most)


def _wait_all(documents: Sequence[Document], before: _Known | None, max_chars: int) -> list[Waiting]:
    """Return the waiting documents as they will be indexed; those that were read before are not read again."""
    old = () if before is None else zip(before.documents, before.pool.waiting, strict=True)
    now = {one.num: one for one in documents}
    known = {one.num: waiting for one, waiting in old if now.get(one.num) == one}
    read_ahead([one for one in documents if one.num not in known])
    return [known.get(one.num) or _wait(one, max_chars) for one in documents]


def _fresh(view: Snapshot, space: Space, known: _Known, indexed: bool, done: int) -> Sequence[Document] | None:
    """Return what is new since the cached pool; None if the cached part changed.

    Turns and passages stay as they are for as long as the index does (an erase drops it, and versions of blocks never
    come again), so only the last is looked at again: a snapshot that is older than what is known does not hold it.
    Records change where they wait.
    """
    count = len(known.documents)
    if not count:
        return _newest(view, space, done)
    last = known.documents[-1]
    if view.newest_document(space) - last.num > _MOST_WAITING[space]:
        return None
    if indexed and space is not Space.RECORD:
        if view.newest_document(space) == last.num:
            return []
        read = _read(view, space, done, last.num - 1)
        return read[1:] if read and read[0] == last else None
    read = _read(view, space, done, known.documents[0].num - 1)
    return read[count:] if read[:count] == known.documents else None


def narrowed(pool: Pool, gone: Sequence[int], sort: int | None = None) -> Pool:
    """The pool without these documents, nor those of one sort: it counts, weighs and finds as if there were none."""
    kept = pool.exists.copy() if sort is None else pool.exists & (pool.sort != sort)
    kept[[num for num in gone if num < pool.size]] = False
    if pool.count == int(np.count_nonzero(kept)):
        return pool
    return _counted(
        replace(pool, exists=kept, length=pool.length * kept, narrowed=True),
        [one for one in pool.waiting if kept[one.num]],
    )


def _wait(document: Document, max_chars: int) -> Waiting:
    """A waiting document as it will be indexed."""
    counts = term_counts(document.text[:max_chars])
    held = {term: min(count, 255) for term, count in counts.items()}  # so that indexing changes no score
    for term in speaker_terms(document.speaker) if document.speaker else ():
        held.setdefault(term, 1)
    return Waiting(document.num, held, counts.total(), marks_of(document.text), prior_of(document))


def _assemble(view: Snapshot, space: Space, refs: Sequence[BlockRef]) -> tuple[_Known, int]:
    """The indexed documents, from their blocks."""
    blocks = [read_documents(view.document_block(space, ref.block)) for ref in refs]
    nums = [ref.block * BLOCK + block["offset"].astype(np.int64) for ref, block in zip(refs, blocks, strict=True)]
    pool = _empty(space, int(nums[-1].max()) + 1 if nums else 0)
    for places, block in zip(nums, blocks, strict=True):
        pool.exists[places] = True
        for column in ("length", "session", "index", "sort", "marks", "prior", "at"):
            getattr(pool, column)[places] = block[column]
    indexed = _counted(_in_line(pool))
    return _Known(indexed, indexed), pool.nbytes


def _in_line(pool: Pool) -> Pool:
    """Compute the previous document of each: inside a session the log's order is the conversation's."""
    places = np.flatnonzero(pool.exists)
    order = places[np.argsort(pool.session[places], kind="stable")]
    sessions = pool.session[order]
    follows = np.flatnonzero(sessions[1:] == sessions[:-1])
    pool.before[order[follows + 1]] = order[follows]
    ends = np.flatnonzero(np.append(sessions[1:] != sessions[:-1], True)) if len(order) else order
    return _with_neighbours(replace(pool, last={int(sessions[end]): int(order[end]) for end in ends}), 0)


def _with_neighbours(pool: Pool, known: int) -> Pool:
    """The pool with `line` and `asked` of the documents from `known` on; those before it are there already.

    For turns only: records do not follow one another, and the order of their numbers is chance.
    """
    if pool.space is not Space.TURN:
        return pool
    nums = np.arange(known, pool.size)
    before = pool.before[known:]
    questions = (pool.marks[before] & np.uint8(Mark.QUESTION)) > 0
    asked = np.concatenate([pool.asked, nums[questions & (before != nums)]])
    first = np.where(before == nums, -1, before)
    second = np.where((first < 0) | (pool.before[first] == first), -1, pool.before[first])
    line = pool.line or [PreviousInSession(back, _nobody(), _nobody()) for back in (1, 2)]
    return replace(
        pool, asked=asked, line=[one.extended(nums, back) for one, back in zip(line, (first, second), strict=True)]
    )


def _extend(pool: Pool, documents: Sequence[Document], waiting: Sequence[Waiting]) -> Pool:
    """The pool with these documents behind all others."""
    grown = _empty(pool.space, documents[-1].num + 1)
    for column in _COLUMNS:
        getattr(grown, column)[: pool.size] = getattr(pool, column)
    nums = [document.num for document in documents]
    grown.exists[nums] = True
    grown.length[nums] = [one.length for one in waiting]
    grown.session[nums] = [document.session for document in documents]
    grown.index[nums] = [document.index for document in documents]
    grown.sort[nums] = [document.sort for document in documents]
    grown.marks[nums] = [int(one.marks) for one in waiting]
    grown.prior[nums] = [one.prior for one in waiting]
    grown.at[nums] = [document.at for document in documents]
    last = dict(pool.last)
    for document in documents:
        grown.before[document.num] = last.get(document.session, document.num)
        last[document.session] = document.num
    grown = replace(
        grown,
        count=pool.count + len(documents),
        total_length=pool.total_length + float(sum(one.length for one in waiting)),
        waiting=[*pool.waiting, *waiting],
        last=last,
        line=pool.line,
        asked=pool.asked,
    )
    return _with_neighbours(grown, pool.size)


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


# --- Postings: documents that contain a term, in the word index or still waiting for it.


TermMatches = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Documents that hold a term, and how often each does."""


class Holders:
    """The holders of terms in one pool; within a search each term is looked up once."""

    def __init__(self, view: Snapshot, pool: Pool) -> None:
        self._view = view
        self._pool = pool
        self._known: dict[str, TermMatches] = {}

    def of(self, terms: Sequence[str]) -> list[TermMatches]:
        unknown = [term for term in dict.fromkeys(terms) if term not in self._known]
        if unknown:
            stored = self._view.postings(self._pool.space, unknown)
            self._known.update({term: self._found(term, stored.get(term, [])) for term in unknown})
        return [self._known[term] for term in terms]

    @cached_property
    def speakers(self) -> frozenset[str]:
        """Terms for the names of the speakers, without their sign."""
        late = (term for one in self._pool.waiting for term in one.held)
        return frozenset(term[1:] for term in (*self._view.speakers(), *late) if term.startswith("@"))

    def _found(self, term: str, blocks: Sequence[tuple[int, bytes]]) -> TermMatches:
        nums, counts = read_postings(blocks) if blocks else (np.empty(0, np.int64), np.empty(0, np.float32))
        late = [(one.num, count) for one in self._pool.waiting if (count := one.held.get(term))]
        if late:
            nums = np.concatenate([nums, np.array([num for num, _ in late], np.int64)])
            counts = np.concatenate([counts, np.array([count for _, count in late], np.float32)])
        if self._pool.narrowed and len(nums):
            kept = self._pool.exists[nums]
            nums, counts = nums[kept], counts[kept]
        return nums, counts


# --- Candidate tables of one search: the turns and records of a namespace and of `global`, as concatenated columns.
#
# A position is a document's place in the joined columns; a number is its place on its own table.


@dataclass(frozen=True)
class CandidateTable:
    """One space of one namespace, with the passages of its long turns."""

    view: Snapshot
    namespace: str
    pool: Pool
    passages: Pool | None
    common: bool = False
    """It belongs to `global`, which every namespace may read."""

    @property
    def space(self) -> Space:
        return self.pool.space

    @cached_property
    def holders(self) -> Holders:
        return Holders(self.view, self.pool)

    def best_passages(self, scores: NDArray[np.float32], whole: NDArray[np.float32]) -> NDArray[np.float32]:
        """For each document the best of its passages' scores; its own where it is not cut."""
        best = whole.copy()
        if self.passages is None or not self.passages.count:
            return best
        cuts = self.passages.cuts
        known = cuts.owners < len(best)
        best[cuts.owners[known]] = np.maximum.reduceat(scores[cuts.there], cuts.starts)[known]
        return best


class Columns:
    """The columns of several pools end to end, and what follows from them alone.

    Worked out once and kept for as long as no pool changes: most of a search's arithmetic does not depend on what is
    asked.
    """

    def __init__(self, pools: Sequence[Pool], common: Sequence[bool], answer_words: int) -> None:
        self._pools = pools
        self._common = common
        self._answer_words = answer_words
        sizes = [pool.size for pool in pools]
        self.size = sum(sizes)
        self.starts = [sum(sizes[:number]) for number in range(len(sizes))]

    @property
    def nbytes(self) -> int:
        """Rough size in bytes once every column is computed."""
        return 48 * self.size

    def joined(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Columns end to end; most namespaces have one table that is not empty, which needs no copy."""
        filled = [part for part in parts if len(part)]
        return filled[0] if len(filled) == 1 else np.concatenate(parts)

    def _column(self, name: str) -> NDArray[Any]:
        return self.joined([getattr(pool, name) for pool in self._pools])

    @cached_property
    def exists(self) -> NDArray[np.bool_]:
        return self._column("exists")

    @cached_property
    def absent(self) -> NDArray[np.int64]:
        """Positions where there is nothing: lines of the log that are no turns, digests that are left out."""
        return np.flatnonzero(~self.exists)

    @cached_property
    def at(self) -> NDArray[np.int64]:
        return self._column("at")

    @cached_property
    def line(self) -> NDArray[np.int64]:
        """The line of the log that made each document: unlike a record's number, a rebuild does not change it."""
        return self.joined(
            [
                pool.index.astype(np.int64) if pool.space is Space.RECORD else np.arange(pool.size)
                for pool in self._pools
            ]
        )

    @cached_property
    def marks(self) -> NDArray[np.uint8]:
        return self._column("marks")

    @cached_property
    def prior(self) -> NDArray[np.float32]:
        """Probability that its best sentence is worth keeping, 0 to 1."""
        return self._column("prior").astype(np.float32) * np.float32(1 / 255)

    @cached_property
    def own(self) -> NDArray[np.float32]:
        """Degree to which a document is the user's own word: a record by its trust, an assistant's turn not at all."""
        return self.joined(
            [
                pool.prior.astype(np.float32) * np.float32(1 / 255)
                if pool.space is Space.RECORD
                else (pool.sort == role_number(Role.USER)).astype(np.float32)
                for pool in self._pools
            ]
        )

    @cached_property
    def record_turns(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The records that a turn of the first table made, and the positions of those turns."""
        records, turns = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        first = self._pools[0]
        for pool, start, common in zip(self._pools, self.starts, self._common, strict=True):
            if pool.space is Space.RECORD and first.space is Space.TURN and not common:
                born = pool.index.astype(np.int64)
                known = born < first.size
                known[known] = first.exists[born[known]]
                records.append(start + np.flatnonzero(known))
                turns.append(born[known])
        return np.concatenate(records), np.concatenate(turns)

    @cached_property
    def alone(self) -> NDArray[np.int64]:
        """Documents behind the first table that no turn of it made."""
        alone = np.ones(self.size, np.bool_)
        alone[: self._pools[0].size] = False
        alone[self.record_turns[0]] = False
        return np.flatnonzero(alone)

    @cached_property
    def answers(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Short documents that follow a question: their positions, the question's, and how much they lean on it."""
        there = np.concatenate([pool.asked + start for pool, start in zip(self._pools, self.starts, strict=True)])
        before = np.concatenate(
            [pool.before[pool.asked] + start for pool, start in zip(self._pools, self.starts, strict=True)]
        )
        length = np.concatenate([pool.length[pool.asked] for pool in self._pools])
        lean = np.clip(1.0 - length / np.float32(self._answer_words), 0.0, 1.0).astype(np.float32)
        short = lean > 0
        return there[short], before[short], lean[short]

    @cached_property
    def sessions(self) -> Sessions:
        place = self._column("session").astype(np.intp)
        starts = np.flatnonzero(np.append(True, place[1:] != place[:-1])) if self.size else place
        return Sessions(starts, place[starts], place, int(place.max(initial=0)) + 1)


@dataclass(frozen=True)
class Sessions:
    """Documents by session. In the log those of one session are mostly adjacent, in runs."""

    starts: NDArray[np.intp]
    """Start of each run …"""
    of_run: NDArray[np.intp]
    """… and its session; 0 is none at all, as of records."""
    place: NDArray[np.intp]
    """Session of each document."""
    count: int


@dataclass(frozen=True)
class CandidateTables:
    parts: Sequence[CandidateTable]
    columns: Columns

    @property
    def starts(self) -> list[int]:
        return self.columns.starts

    @property
    def count(self) -> int:
        return sum(table.pool.count for table in self.parts)

    def joined(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return self.columns.joined(parts)

    def numbers(self, positions: Sequence[int]) -> list[list[int]]:
        """Return the document numbers of these positions, by table."""
        return [
            [at - start for at in positions if start <= at < start + table.pool.size]
            for table, start in zip(self.parts, self.starts, strict=True)
        ]


def side_by_side(tables: Sequence[CandidateTable], cache: BlockCache, answer_words: int) -> CandidateTables:
    pools = tuple(table.pool for table in tables)
    columns = cache.get(
        ("columns", *((table.namespace, table.space) for table in tables)),
        (pools, answer_words),
        partial(_lay_out, pools, [table.common for table in tables], answer_words),
    )
    return CandidateTables(tables, columns)


def _narrowed(pool: Pool, gone: tuple[int, ...], digests: bool) -> tuple[Pool, int]:
    kept = narrowed(pool, gone, None if digests else kind_number(Kind.SUMMARY))
    return kept, 0 if kept is pool else kept.exists.nbytes + kept.length.nbytes


def _lay_out(pools: Sequence[Pool], common: Sequence[bool], answer_words: int) -> tuple[Columns, int]:
    columns = Columns(pools, common, answer_words)
    return columns, columns.nbytes


def read_table(
    view: Snapshot,
    namespace: str,
    space: Space,
    cache: BlockCache,
    max_chars: int,
    common: bool = False,
    digests: bool = True,
) -> CandidateTable:
    """Read a table. Without `digests` summaries are left out: they repeat turns, and would displace them."""
    pool = read_pool(view, namespace, space, cache, max_chars)
    if space is Space.RECORD:
        # Whether a record was indexed before it became another is chance, so the index must not tell of those.
        gone = tuple(view.gone())
        key = (namespace, space, "with digests" if digests else "without digests")
        pool = cache.get(key, (pool, gone), partial(_narrowed, pool, gone, digests))
    passages = read_pool(view, namespace, Space.PASSAGE, cache, max_chars) if space is Space.TURN else None
    return CandidateTable(view, namespace, pool, passages, common)
