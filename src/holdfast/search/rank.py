"""Fusion of lexical and semantic scores: each is standardised over what is searched, then weighed and added.

Standard scores, because a BM25 of 7 and a cosine of .4 have no common measure; ranks alone (reciprocal-rank fusion)
lost to plain BM25 with small vectors when it was tried.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.index.blocks import WEIGHTS, Mark, prior_of, read_documents, words_stage
from holdfast.index.candidates import CandidateTables, Columns, Sessions
from holdfast.model import Kind, Provenance, to_micros
from holdfast.search.question import Ranking
from holdfast.search.when import Window
from holdfast.store.rows import kind_number
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import BLOCK, Changes, Move, Space

if TYPE_CHECKING:  # retrieval ranks its own answer first
    from holdfast.search.retrieve import GatheredVectors, LexicalScores, SemanticScores

Scores = NDArray[np.float32]
Positions = NDArray[np.int64]

_SAMPLED = 16_384  # documents; their spread is within a hundredth of that of all
_PIECE = 16_384  # documents: 64 KB a column, of which a processor's cache holds a dozen
_NO_SPREAD = 1e-6  # scores that hardly differ say nothing about which document is meant
_FULL_PREFERENCE = 10  # the root of the number of documents from which a preference counts in full
_HANDFUL = 8  # turns whose spread says something
_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class _Scale:
    """Standard deviations above the mean of the covered documents, times a weight."""

    mean: np.float32
    factor: np.float32

    def of(self, scores: Scores) -> Scores:
        scaled = scores - self.mean
        scaled *= self.factor
        return scaled


def _scale(scores: Scores, uncovered: Positions, among: int | None = None, weight: float = 1.0) -> _Scale:
    """The scale of these scores, without those at `uncovered`.

    `among`: the mean and the spread are those of the first `among` positions, the turns: records are all statements,
    and would raise the bar for every turn.
    """
    mean, spread = spread_of(scores, uncovered, among)
    return _Scale(np.float32(mean), np.float32(0 if spread < _NO_SPREAD else weight / spread))


def spread_of(scores: Scores, uncovered: Positions, among: int | None = None) -> tuple[float, float]:
    """Return the mean and the standard deviation of all but those at `uncovered`, which are sorted.

    In double precision: sums of floats round by how the columns lie in memory, and a rebuild must rank the same. Not by
    BLAS: it would share these few microseconds out among threads, and wait for them on a busy machine.
    """
    size = len(scores) if among is None else among
    step = _step(among)
    return _spread(scores[:size:step], _sampled(uncovered, size, step))


def _step(turns: int | None) -> int:
    """Return the step of an even sample of very many turns, which has the same spread; turns keep their places.

    Records do not, so that where they count all do.
    """
    return 1 if turns is None else max(1, turns // _SAMPLED)


def _sampled(uncovered: Positions, size: int, step: int) -> Positions:
    """Positions in the sample that are uncovered."""
    uncovered = uncovered[: np.searchsorted(uncovered, size)]
    places: Positions = uncovered[uncovered % step == 0] // step
    return places


def _spread(sample: Scores, uncovered: Positions) -> tuple[float, float]:
    base = sample.astype(np.float64)
    base[uncovered] = 0
    count = max(len(base) - len(uncovered), 1)
    mean = float(base.sum()) / count
    return mean, max(float(np.einsum("i,i->", base, base)) / count - mean * mean, 0.0) ** 0.5


def fuse(
    tables: CandidateTables, words: LexicalScores, meaning: SemanticScores | None, replies: bool, settings: Ranking
) -> Scores:
    """Score each document by its words and its meaning.

    Among a few documents standard scores say little (of two, one is always at +1), so there the share of the question
    that a document holds counts as such.
    """
    columns = tables.columns
    among = _turns(tables)
    word_scale = _scale(words.scores, columns.absent, among)
    if meaning is None:
        score = word_scale.of(words.scores)
        score[columns.absent] = 0
        return score
    uncovered, statement = meaning.coverage.uncovered, _scale(meaning.statement, meaning.coverage.uncovered, among)
    window = _scale(meaning.window, uncovered, among, settings.weights.window)
    worth = (
        None if replies else _worth(meaning, statement, columns, among, settings)
    )  # only user's statements have a prior
    few = np.float32(2.0 * (1.0 - _fullness(tables)) / max(words.ceiling, _NO_SPREAD))

    def by_words(scores: Scores) -> Scores:
        by = word_scale.of(scores) * np.float32(settings.weights.words)
        if few > 0.0:
            by += scores * few
        return by

    score = np.empty(columns.size, np.float32)
    # Piece by piece: the twelve steps of one take place in the processor's cache, which the columns do not fit in.
    for piece in _pieces(tables.parts[0].pool.size, columns.size):
        part = by_words(words.scores[piece])
        near = statement.of(meaning.statement[piece])
        part += near * np.float32(settings.weights.statement)
        if worth is not None:
            part += worth.of(near * columns.prior[piece])
        if piece.start < tables.parts[0].pool.size:
            part += window.of(meaning.window[piece])
        score[piece] = part
    score[uncovered] = by_words(words.scores[uncovered])
    score[columns.absent] = 0
    records, turns = columns.record_turns  # a record has the window of its turn; one without a turn has none
    score[records] += window.of(meaning.window[turns]) * meaning.coverage.mask[turns]
    alone = columns.alone
    score[alone] += (
        statement.of(meaning.statement[alone]) * np.float32(settings.weights.window) * meaning.coverage.mask[alone]
    )
    # Without a vector (another script, or not embedded yet) the words that are shared speak for it as well: else
    # an exact word would rank behind whatever is nearest by accident (RECALL-9).
    shared = uncovered[words.scores[uncovered] > 0]
    weight = np.float32(settings.weights.statement + settings.weights.window)
    score[shared] += word_scale.of(words.scores[shared]) * weight
    return score


def _worth(
    meaning: SemanticScores, statement: _Scale, columns: Columns, among: int | None, settings: Ranking
) -> _Scale:
    """Return the scale of statement scores times the prior, from a sample."""
    size = len(meaning.statement) if among is None else among
    step = _step(among)
    uncovered = _sampled(meaning.coverage.uncovered, size, step)
    sample = statement.of(meaning.statement[:size:step])
    sample[uncovered] = 0
    mean, spread = _spread(sample * columns.prior[:size:step], uncovered)
    return _Scale(np.float32(mean), np.float32(0 if spread < _NO_SPREAD else settings.weights.worth / spread))


def _pieces(first: int, size: int) -> Iterator[slice]:
    """Pieces of the columns, none of which is of the first table and of another."""
    for start, end in ((0, first), (first, size)):
        for at in range(start, end, _PIECE):
            yield slice(at, min(at + _PIECE, end))


def _turns(tables: CandidateTables) -> int | None:
    """Count the positions of the namespace's own turns; None if there are only a few."""
    first = tables.parts[0]
    return first.pool.size if first.space is Space.TURN and first.pool.count >= _HANDFUL else None


def preference(tables: CandidateTables, replies: bool, settings: Ranking) -> np.float32:
    """Return the boost of the user's own words, negative when the question asks for the assistant's words.

    An offset, for a standard score may be negative and a factor would raise it (RECALL-2). A direct hit among n
    documents is about √n above the rest: in a small store a preference must stay below that.
    """
    return np.float32(settings.weights.user_preference * _fullness(tables) * (-1.0 if replies else 1.0))


def boosts(tables: CandidateTables, wanted: Mark, windows: Sequence[Window], settings: Ranking) -> Scores | None:
    """Boost documents that have the wanted marks, or were said in the time that the question names."""
    if not wanted and not windows:
        return None
    offset = np.zeros(tables.columns.size, np.float32)
    marks = tables.columns.marks
    for mark, weight in (
        (Mark.NUMBER, settings.weights.number_preference),
        (Mark.TIME, settings.weights.time_preference),
        (Mark.WISH, settings.wish_preference),
    ):
        if wanted & mark:
            offset += ((marks & np.uint8(mark)) > 0) * np.float32(weight)
    if wanted:
        offset *= tables.columns.own
    if windows:
        offset += said_in(windows, tables.columns.at) * np.float32(settings.weights.when_weight)
    offset *= np.float32(_fullness(tables))
    return offset


def _fullness(tables: CandidateTables) -> float:
    """Return the size of the store on a scale from a few documents (0) to many (1)."""
    return min(1.0, math.sqrt(tables.count) / _FULL_PREFERENCE)


def said_in(windows: Sequence[Window], at: NDArray[np.int64]) -> Scores:
    """Return the nearness of each time to the nearest window, times the window's certainty."""
    best = np.zeros(len(at), np.float32)
    for window in windows:
        start, end = to_micros(window.start), to_micros(window.end)
        early = np.maximum(start - at, 0) / max((end - start) / 4, _DAY)
        late = np.maximum(at - end, 0) / max(end - start, 7 * _DAY)
        np.maximum(best, np.exp2(-(early + late).astype(np.float32)) * np.float32(window.certainty), out=best)
    return best


def with_session_prior(
    tables: CandidateTables, scores: Scores, speaker: NDArray[np.int64] | None, settings: Ranking
) -> Scores:
    """A document's own score, and what the surroundings of its turn say for it: who said it, the question it answers,
    the session it is of.
    """
    columns = tables.columns
    own = scores
    if speaker is not None:
        own = scores.copy()
        own[speaker] += np.float32(settings.speaker_preference)
    # Of what exists: lines of the log that are no turns, and digests that are left out, must not pull it down.
    total = own.sum(dtype=np.float64) - own[columns.absent].sum(dtype=np.float64)
    mean = np.float32(total / max(tables.count, 1))
    extra = _best_of_session(columns.sessions, own, mean)
    extra *= np.float32(settings.weights.session_share)
    there, asked, lean = columns.answers
    extra[there] += lean * np.float32(settings.weights.answer_share) * (own[asked] - mean)
    if speaker is not None:
        extra[speaker] += np.float32(settings.speaker_preference)
    raised: Scores = scores + extra
    records, turns = columns.record_turns
    raised[records] = scores[records] + extra[turns]
    return raised


def _best_of_session(sessions: Sessions, own: Scores, mean: np.float32) -> Scores:
    """Return the best score of each document's session, at least the mean."""
    if not len(own):
        return own.copy()
    best = np.full(sessions.count, mean)
    np.maximum.at(best, sessions.of_run, np.maximum.reduceat(own, sessions.starts))
    best[0] = mean
    return np.take(best, sessions.place)


# --- The seed's hybrid formula, as a ranker that can be chosen: (.7·cosine + .2·exp(-λ·age) + .1·scope)·Q
# (RECALL-3).


_COSINE, _AGE, _SCOPE = 0.7, 0.2, 0.1
_DECAYED = 0.5
_SESSION, _USER, _COMMON = 1.0, 0.6, 0.3


def seed_scores(
    tables: CandidateTables, cosines: Scores | None, asker: str | None, now: datetime, settings: Ranking
) -> NDArray[np.float32]:
    """Scores in [0, 1] by position. Without meaning the weights of age and scope are renormalised."""
    number = None if asker is None else tables.parts[0].view.session_number(asker)
    at = tables.columns.at.astype(np.float64)
    ages = np.maximum(to_micros(now) - at, 0.0) / _DAY
    recent = np.exp(-math.log(2.0) / settings.half_life_days * ages)
    scope = tables.joined(
        [
            np.full(table.pool.size, _COMMON)
            if table.common
            else np.where(table.pool.session == (number or -1), _SESSION, _USER)
            for table in tables.parts
        ]
    )
    score = _AGE * recent + _SCOPE * scope
    weight = _AGE + _SCOPE
    if cosines is not None:
        score = score + _COSINE * np.clip(cosines, 0.0, 1.0)
        weight += _COSINE
    return (score / weight * _quality(tables)).astype(np.float32)


def _quality(tables: CandidateTables) -> NDArray[np.float64]:
    """Q: a summary counts less the less it can be trusted, 1 - .5·decay_rate; everything else counts in full."""
    quality = np.ones(tables.columns.size)
    for table, start in zip(tables.parts, tables.starts, strict=True):
        if table.space is Space.RECORD:
            there = np.flatnonzero(table.pool.sort == kind_number(Kind.SUMMARY))
            # Its prior is its confidence, weighed by its provenance (index/blocks.py).
            vouched = table.pool.prior[there] / (255 * WEIGHTS[Provenance.EPISODE_SUMMARY])
            quality[start + there] = 1.0 - _DECAYED * (1.0 - np.minimum(vouched, 1.0))
    return quality


# --- Derived work: the trust in records that the word index holds follows the records, when the janitor lowers
# them.
#
# A document's row is appended again, with another prior: blocks only grow, and of two rows the later one counts.


def refresh_priors(store: Store, namespace: str) -> int:
    """Write the priors of records that are not what the index says; how many there were."""
    stage = words_stage(Space.RECORD)
    while True:
        with store.snapshot(namespace) as view:
            done = view.cursor(stage)
            changes, count = _changed(view, done)
        if not count or store.advance(namespace, [Move(stage, done, done)], changes):
            return count


def _changed(view: Snapshot, done: int) -> tuple[Changes, int]:
    priors: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for document in view.documents(Space.RECORD, 0, done):
        if document.num <= done:
            block, offset = divmod(document.num, BLOCK)
            priors[block][offset] = prior_of(document)
    changes, count = Changes(), 0
    for ref in view.document_blocks(Space.RECORD):
        rows = read_documents(view.document_block(Space.RECORD, ref.block))
        latest = np.full(BLOCK, -1, np.int64)
        latest[rows["offset"]] = np.arange(len(rows))
        known = [offset for offset in priors[ref.block] if latest[offset] >= 0]
        new = rows[latest[np.array(known, np.int64)]].copy()
        was = new["prior"].copy()
        new["prior"] = [priors[ref.block][offset] for offset in known]
        new = new[new["prior"] != was]
        if len(new):
            changes.documents.append((Space.RECORD, ref.block, new.tobytes()))
            count += len(new)
    return changes, count


# --- Pseudo-relevance feedback: documents like the first hits are likely about the same matter, in other words
# than asked.
#
# The mean of the best few is compared with the best hundreds only, whose codes the scan has in memory already. How far
# a nearness is above the usual is estimated from a sample of the namespace's turns, without a second scan.


_AGAIN = 4  # documents that one turn may be: itself and its records, hardly ever more
_DIGITS = 5  # the last bits depend on the order of a sum, and must not decide between two that say the same


def feedback(
    tables: CandidateTables,
    meaning: SemanticScores,
    vectors: GatheredVectors,
    first: Positions,
    near: Positions,
    settings: Ranking,
) -> Scores:
    """Return the boost of each of `near` for its likeness to the hits at `first`, which come best first.

    `vectors` holds those of both.
    """
    coverage = meaning.coverage
    first = _apart(tables, first[coverage.mask[first]][: _AGAIN * settings.echo_hits])[: settings.echo_hits]
    nothing = np.zeros(len(near), np.float32)
    if len(first) < settings.echo_hits or coverage.turns < settings.echo_from:
        return nothing
    like = vectors.vectors[vectors.rows(first)].mean(axis=0)
    usual, ours = _likeness(coverage.sample, like), _likeness(vectors.vectors, like)[vectors.rows(near)]
    spread = float(usual.std())
    if spread < 10.0**-_DIGITS:
        return nothing
    given = (ours - usual.mean()) * (settings.echo / spread)
    return np.where(coverage.mask[near], given, 0.0).astype(np.float32)


def _likeness(vectors: Scores, like: Scores) -> NDArray[np.float64]:
    likeness: Scores = np.einsum("ij,j->i", vectors, like)
    return np.round(likeness, _DIGITS).astype(np.float64)


def _apart(tables: CandidateTables, positions: Positions) -> Positions:
    """Without what the same turn says again: a turn and its record are one hit."""
    records, turns = tables.columns.record_turns
    owners = positions.copy()
    if len(records):
        places = np.minimum(np.searchsorted(records, positions), len(records) - 1)
        owners = np.where(records[places] == positions, turns[places], positions)
    _, once = np.unique(owners, return_index=True)
    apart: Positions = positions[np.sort(once)]
    return apart
