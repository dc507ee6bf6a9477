"""Retrieval: BM25 scores by words and cosine scores by meaning, over the candidate tables of one search."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import simsimd
from numpy.typing import NDArray

from holdfast.index.blocks import BlockCache, Segment, quantise
from holdfast.index.candidates import CandidateTable, CandidateTables, Holders, Pool, TermMatches
from holdfast.index.vectors import Vectors, exact, read_vectors
from holdfast.model import Kind, to_micros
from holdfast.models.embedder import Embedder
from holdfast.search.question import EmbeddedQuery, Ranking, Speaker, embed_query
from holdfast.search.rank import fuse
from holdfast.store.rows import kind_number
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import Space

if TYPE_CHECKING:
    from holdfast.search.ask import AskScores

# --- Lexical retrieval: BM25 over every document of the tables, those in the index and those still waiting
# alike.
#
# A long turn counts by its best passage: a page holds any word, and says little about any.


Scores = NDArray[np.float32]


@dataclass(frozen=True)
class LexicalScores:
    scores: Scores
    """By position."""
    ceiling: float
    """Score of a document with every word of the question, including words that no document has."""

    def shares(self, positions: NDArray[np.int64]) -> Scores:
        """Share of the question's words that each document has, weighted by rarity: 0 to about 1."""
        shares: Scores = self.scores[positions] / np.float32(max(self.ceiling, 1e-6))
        return shares


def score_words(tables: CandidateTables, terms: Sequence[str], settings: Ranking) -> LexicalScores:
    """Score every document by BM25; the rarity of a term counts over all tables together."""
    found = [table.holders.of(terms) for table in tables.parts]
    total = tables.count
    length = sum(table.pool.total_length for table in tables.parts)
    weights = _Weights(
        settings,
        [_rarity(total, sum(len(one[number][0]) for one in found)) for number in range(len(terms))],
        max(length / total, 1.0) if total else 1.0,
    )
    scored = [_score_table(table, terms, one, weights) for table, one in zip(tables.parts, found, strict=True)]
    return LexicalScores(tables.joined(scored), sum(weights.rarity))


def _rarity(total: int, holders: int) -> float:
    return math.log(1.0 + (total - holders + 0.5) / (holders + 0.5))


@dataclass(frozen=True)
class _Weights:
    settings: Ranking
    rarity: list[float]
    average: float
    """Length of a document."""

    def score(self, pool: Pool, found: list[TermMatches]) -> Scores:
        """BM25: a term counts by how rare it is, less in a long text, and less each time it comes again."""
        k1, b = self.settings.weights.k1, self.settings.weights.b
        scores = np.zeros(pool.size, np.float32)
        for (nums, counts), rare in zip(found, self.rarity, strict=True):
            if len(nums):
                norms = pool.length[nums] * np.float32(k1 * b / self.average) + np.float32(k1 * (1.0 - b))
                scores[nums] += counts * np.float32(rare * (k1 + 1.0)) / (counts + norms)
        return scores


def _score_table(table: CandidateTable, terms: Sequence[str], found: list[TermMatches], weights: _Weights) -> Scores:
    whole = weights.score(table.pool, found)
    if table.passages is None or not table.passages.count:
        return whole
    held = Holders(table.view, table.passages).of(terms)
    return table.best_passages(weights.score(table.passages, held), whole)


# --- Pieces of work that a second thread may take a share of.
#
# The caller works through them too, and waits for no more than the piece that the other has in hand: on a busy machine,
# where the second thread comes late or never, nothing is lost. (Threads that a library starts meet at the end of every
# call; with 25 calls to a search that cost more than it saved.)


Piece = TypeVar("Piece")


def run_shared(pieces: Iterable[Piece], work: Callable[[Piece], None], alone: bool) -> None:
    """Call `work` for each piece, in any order and from two threads; `alone`: from the caller's only."""
    left = deque(pieces)

    def take() -> None:
        while True:
            try:
                piece = left.popleft()
            except IndexError:
                return
            work(piece)

    helped = None if alone or len(left) < 2 else _helper().submit(take)
    take()
    if helped is not None and not helped.cancel():
        helped.result()


@cache
def _helper() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "holdfast-scan")


# --- Semantic retrieval: the query against every embedded document, exact inside the namespace.
#
# int8 codes are scanned, and the best are scored again in full precision. No approximate index: a namespace of 100,000
# is read in about 3 ms, nothing is lost, and there is no side file to corrupt.
#
# Vectors of one namespace share a direction, what its owner talks about all the time. The question is scanned without
# it, so that being about the usual is no merit.


_MANY = 20_000  # documents from which a second thread saves more than it costs to wake it
_SAMPLE = 256  # turns; their spread is within a twentieth of that of all
_HANDFUL = 8  # turns; the mean of fewer is not typical of the namespace
_DIGITS = 5  # of a sum: the last bits depend on its order, and must not decide between two that say the same


@dataclass(frozen=True)
class VectorCoverage:
    """Documents that have a vector, by position."""

    mask: NDArray[np.bool_]
    uncovered: NDArray[np.int64]
    """Positions without a vector."""
    turns: int
    """Number of documents of the first table that have one."""
    sample: Scores
    """Vectors of an even sample of those."""

    @property
    def count(self) -> int:
        return len(self.mask) - len(self.uncovered)


@dataclass(frozen=True)
class SemanticScores:
    """The query's dot product with each vector of a document, by position; 0 where there is none."""

    statement: Scores
    window: Scores
    coverage: VectorCoverage
    segments: Sequence[Sequence[Segment]] = ()
    """Scanned segments, by table."""


def scan_tables(tables: CandidateTables, fingerprint: str, question: Scores, cache: BlockCache) -> SemanticScores:
    read = [
        read_vectors(table.view, table.namespace, scanned_space(table), table.pool.size, fingerprint, cache)
        for table in tables.parts
    ]
    coverage = cache.get(
        ("coverage", fingerprint, *((table.namespace, table.space) for table in tables.parts)),
        (tables.columns, *(one.version for one in read)),
        partial(_coverage, tables, read, fingerprint, cache),
    )
    aimed = question - _usual(tables.parts[0], read[0].segments, len(question))
    statement = np.zeros(tables.columns.size, np.float32)
    _scan(
        aimed,
        [
            (segment, statement[start : start + table.pool.size])
            for table, start, one in zip(tables.parts, tables.starts, read, strict=True)
            for segment in one.segments
        ],
        alone=len(statement) < _MANY,
    )
    statement[coverage.uncovered] = 0  # digests that are left out have vectors too
    window = statement.copy()
    for table, start in zip(tables.parts, tables.starts, strict=True):
        if table.space is Space.TURN:
            _add_earlier(table, window[start : start + table.pool.size], fingerprint, cache)
    return SemanticScores(statement, window, coverage, [one.segments for one in read])


def scanned_space(table: CandidateTable) -> Space:
    """Return the space of a table's vectors that are scanned."""
    return Space.RECORD if table.space is Space.RECORD else Space.STATEMENT


def _coverage(
    tables: CandidateTables, read: Sequence[Vectors], fingerprint: str, cache: BlockCache
) -> tuple[VectorCoverage, int]:
    mask = np.zeros(tables.columns.size, np.bool_)
    for table, start, one in zip(tables.parts, tables.starts, read, strict=True):
        part = mask[start : start + table.pool.size]
        for segment in one.segments:
            part[segment.nums] = segment.scales > 0  # the zero vector: nothing the embedder knows
        if table.space is Space.RECORD:  # one that is another document now may have left its vector here
            part &= table.pool.exists
    first = tables.parts[0]
    turns, sample = cache.get(
        ("sample", fingerprint, first.namespace, first.space),
        # A turn that has no vector yet changes nothing; records come and go.
        (read[0].version, first.pool if first.space is Space.RECORD else None),
        partial(_sampled, tables, read, mask),
    )
    coverage = VectorCoverage(mask, np.flatnonzero(~mask), turns, sample)
    return coverage, mask.nbytes + coverage.uncovered.nbytes


def _sampled(
    tables: CandidateTables, read: Sequence[Vectors], mask: NDArray[np.bool_]
) -> tuple[tuple[int, Scores], int]:
    """Count the documents of the first table that have a vector, and return the vectors of an even sample."""
    first = tables.parts[0].pool
    turns = np.flatnonzero(mask[: first.size])
    if first.space is Space.RECORD:  # by the line that made them: a rebuild numbers them otherwise
        turns = turns[np.argsort(first.index[turns], kind="stable")]
    sample = turns[:: max(1, len(turns) // _SAMPLE)][:_SAMPLE]
    vectors = gather(tables, [one.segments for one in read], sample).vectors
    return (len(turns), vectors), vectors.nbytes


@dataclass(frozen=True)
class GatheredVectors:
    """Vectors of some documents, decoded from int8 codes; zero where there is none."""

    positions: NDArray[np.int64]
    """In order."""
    vectors: Scores
    scales: Scores

    def rows(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of these positions."""
        return np.searchsorted(self.positions, positions)


def gather(
    tables: CandidateTables, segments: Sequence[Sequence[Segment]], positions: NDArray[np.int64]
) -> GatheredVectors:
    """`segments` by table; they follow one another, each from its first number."""
    positions = np.sort(positions)
    dims = next((one.codes.shape[1] for some in segments for one in some), 0)
    codes = np.zeros((len(positions), dims), np.int8)
    scales = np.zeros(len(positions), np.float32)
    for table, start, all_of_table in zip(tables.parts, tables.starts, segments, strict=True):
        some = [one for one in all_of_table if len(one.scales)]
        ends = np.searchsorted(positions, [*(start + one.first for one in some), start + table.pool.size]).tolist()
        for segment, begin, end in zip(some, ends, ends[1:], strict=False):
            if begin < end:
                there, rows = segment.rows(positions[begin:end] - start)
                codes[begin:end][there] = segment.codes[rows]
                scales[begin:end][there] = segment.scales[rows]
    return GatheredVectors(positions, codes * scales[:, None], scales)


def _add_earlier(table: CandidateTable, statement: Scores, fingerprint: str, cache: BlockCache) -> None:
    """Make products with turns those with their windows: the products of a window's turns, added up, over the length of
    their sum. No codes to scan.
    """
    size = table.pool.size
    read = read_vectors(table.view, table.namespace, Space.WINDOW, size, fingerprint, cache)
    lengths = cache.get(
        (table.namespace, Space.WINDOW, "lengths", fingerprint),
        (size, read.version),
        partial(_lengths, read.segments, size),
    )
    first, second = (earlier.take(statement) for earlier in table.pool.line)
    statement += first
    statement += second
    statement *= lengths
    np.round(statement, _DIGITS, out=statement)


def _lengths(segments: Sequence[Segment], size: int) -> tuple[Scores, int]:
    """Return the length of each window's vector, by which its product is divided."""
    lengths = np.zeros(size, np.float32)
    for segment in segments:
        lengths[segment.nums] = segment.scales * segment.codes[:, 0]
    return lengths, lengths.nbytes


def _usual(table: CandidateTable, segments: Sequence[Segment], dims: int) -> Scores:
    """Return the mean vector of the namespace, damped if there are few turns: the mean of one turn is the turn."""
    total, count = np.zeros(dims, np.float64), 0
    for segment in segments:
        total += segment.total
        count += len(segment.scales)
        if table.space is Space.RECORD:  # not what is another document now, nor digests that are left out
            out = segment.part(np.flatnonzero(~table.pool.exists[segment.nums]))
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
    covered = np.zeros(size, np.bool_)
    filled = [segment for segment in segments if len(segment.scales)]
    _scan(question, [(segment, products) for segment in filled], alone=size < _MANY)
    for segment in filled:
        covered[segment.nums] = segment.scales > 0
    return products, covered


def _few(segment: Segment, nums: NDArray[np.int64]) -> Segment:
    """Return a segment of these documents only, numbered by their places in `nums`."""
    there, rows = segment.rows(nums)
    return Segment(there, segment.scales[rows], segment.codes[rows])


def _scan(question: Scores, pieces: Iterable[tuple[Segment, Scores]], alone: bool) -> None:
    """Write the question's product with each vector of a segment to its document's place in the products."""
    codes, scales = quantise(question[None])

    def score(piece: tuple[Segment, Scores]) -> None:
        segment, products = piece
        # Sums of int8 products stay below 2**24 up to 1,040 dimensions: a float32 holds them exactly. (cdist's own
        # `out` argument is not used: it gives back a None that it never took a reference to.)
        found = np.asarray(simsimd.cdist(codes, segment.codes, "dot", out_dtype="float32"))[0]
        products[segment.nums] = found * (segment.scales * scales[0])

    run_shared(pieces, score, alone)


_ROUNDING = np.float32(1e-5)  # of sums in single precision


class Cosines:
    def __init__(self, tables: CandidateTables, vector: Scores | None, fingerprint: str | None) -> None:
        self._tables = tables
        self._vector = vector
        self._fingerprint = fingerprint
        self._known: dict[int, float] = {}
        self._likely: Sequence[int] = ()

    def expect(self, positions: Sequence[int]) -> None:
        """Name positions that are likely to be needed: they are read together with the first that are."""
        self._likely = positions

    def bounds(self, positions: NDArray[np.int64], vectors: GatheredVectors | None) -> tuple[Scores, Scores]:
        """Return lower and upper bounds of the cosines at these positions; 0 where there is none."""
        if self._vector is None or vectors is None or not vectors.vectors.size:
            return np.zeros(len(positions), np.float32), np.zeros(len(positions), np.float32)
        rows = vectors.rows(positions)
        near, scales = np.einsum("ij,j->i", vectors.vectors[rows], self._vector), vectors.scales[rows]
        # A code is off by half a step of its scale at most, in each component.
        slack = scales * np.float32(np.abs(self._vector).sum() / 2) + _ROUNDING * (scales > 0)
        return near - slack, near + slack

    def exactly(self, positions: Sequence[int]) -> dict[int, float]:
        """Return the cosines at these positions, each read once; none where the query or the document has no vector."""
        if self._vector is None or self._fingerprint is None:
            return {}
        unknown = [at for at in positions if at not in self._known]
        if unknown:
            unknown = [*unknown, *(at for at in self._likely if at not in self._known and at not in unknown)]
            self._likely = ()
        for table, start, nums in zip(
            self._tables.parts, self._tables.starts, self._tables.numbers(unknown), strict=True
        ):
            found = exact(table.view, scanned_space(table), self._fingerprint, self._vector, nums) if nums else {}
            self._known.update({start + num: cosine for num, cosine in found.items()})
        return {at: self._known[at] for at in positions if at in self._known}


@dataclass(frozen=True)
class RetrievalScores:
    """Scores of every document for one query, by position."""

    question: EmbeddedQuery
    words: LexicalScores
    meaning: SemanticScores | None
    raw: Scores
    ask: AskScores | None = None


@dataclass(frozen=True)
class Retriever:
    tables: CandidateTables
    embedder: Embedder | None
    cache: BlockCache
    settings: Ranking
    speaker: Speaker | None
    replies: bool
    """The question asks for what the assistant said."""
    encoder: Embedder | None = None  # of the ask models, if they are installed

    def ask(
        self, text: str, stage: Callable[[str, int, str], None] = lambda name, count, note: None
    ) -> RetrievalScores:
        """Score every document for a query; `stage` is called after each step with its name, count and note."""
        question = embed_query(text, self.speaker, self.embedder, self.settings)
        stage("question", len(question.terms), "not embedded" if question.vector is None else "")
        words = score_words(self.tables, question.terms, self.settings)
        stage("words", int(np.count_nonzero(words.scores > 0)), " ".join(question.terms[:12]))
        meaning = None
        if question.vector is not None and self.embedder is not None:
            meaning = scan_tables(self.tables, self.embedder.profile.fingerprint, question.vector, self.cache)
            stage("meaning", meaning.coverage.count, "")
        asked = None
        if self.encoder is not None and meaning is not None:
            from holdfast.search.ask import read_ask  # only who has the model loads it

            asked, trouble = read_ask(self.tables, self.encoder, text[: self.settings.question_chars], self.cache)
            question = replace(question, degraded=question.degraded or trouble)
            stage("ask", 0 if asked is None else int(np.count_nonzero(asked.read)), "")
        raw = fuse(self.tables, words, meaning, self.replies, self.settings, asked)
        return RetrievalScores(question, words, meaning, raw, asked)

    def cosines(self, answer: RetrievalScores) -> Cosines:
        """Return the cosines of documents with the query of this answer."""
        fingerprint = None if self.embedder is None else self.embedder.profile.fingerprint
        return Cosines(self.tables, answer.question.vector, fingerprint)

    def vectors(self, answer: RetrievalScores, positions: NDArray[np.int64]) -> GatheredVectors | None:
        """Return the vectors of these documents, decoded from int8 codes; None if the query has no vector."""
        return None if answer.meaning is None else gather(self.tables, answer.meaning.segments, positions)


# --- The query of a search, and the documents that its filters exclude.


@dataclass(frozen=True)
class Query:
    text: str
    limit: int = 10
    kind: Kind | None = None
    session: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    rerank_s: float = 0.0  # seconds that reranking may take
    chars: int | None = None
    """Characters of a turn that are read; all of them by default."""
    current: str | None = None
    """The session that asks; the seed's ranker prefers its turns."""


def barred(tables: CandidateTables, query: Query) -> NDArray[np.int64]:
    """Positions that the filters keep back."""
    if all(one is None for one in (query.kind, query.session, query.since, query.until, query.as_of)):
        hidden = [tables.columns.absent]  # nothing to filter by: filtered documents are listed one by one
        for table, start in zip(tables.parts, tables.starts, strict=True):
            nums = [*table.view.hidden(table.space), *_replaced(table, None)]
            hidden += [start + np.array(nums, np.int64)] if nums else []
        return np.concatenate(hidden)
    return np.flatnonzero(~tables.joined([_allowed(table, query) for table in tables.parts]))


def _allowed(table: CandidateTable, query: Query) -> NDArray[np.bool_]:
    """Return the documents of a table that pass the filters."""
    view, pool = table.view, table.pool
    allowed = pool.exists.copy()
    hidden = view.hidden(pool.space)
    if hidden:
        allowed[hidden] = False
    if query.kind is not None and pool.space is Space.RECORD:
        allowed &= pool.sort == kind_number(query.kind)
    if query.session is not None:
        number = view.session_number(query.session)
        if number is None or pool.space is Space.RECORD or table.common:
            allowed[:] = False
        else:
            allowed &= pool.session == number
    if query.since is not None:
        allowed &= pool.at >= to_micros(query.since)
    if query.until is not None:
        allowed &= pool.at < to_micros(query.until)
    if query.as_of is not None:
        allowed &= pool.at <= to_micros(query.as_of)
    allowed[_replaced(table, query.as_of)] = False
    return allowed


def _replaced(table: CandidateTable, as_of: datetime | None) -> list[int]:
    """Records that were replaced: served only to who asks about a time before."""
    if table.space is not Space.RECORD:
        return []
    moment = None if as_of is None else to_micros(as_of)
    return [num for num, valid_to in table.view.retired() if moment is None or valid_to <= moment]
