"""The two legs over the shelves of one search, asked one question or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from holdfast.index.blocks import BlockCache
from holdfast.index.candidates import Shelf, Shelves
from holdfast.index.vectors import exact
from holdfast.model import Kind
from holdfast.models.embedder import Embedder
from holdfast.search.lexical import Worded, score_words
from holdfast.search.question import Question, Speaker, read
from holdfast.search.rank import answering
from holdfast.search.semantic import Gathered, Meant, gather, scan_shelves, scanned_space
from holdfast.settings import RecallSettings
from holdfast.store.rows import kind_number
from holdfast.store.types import Space
from holdfast.text.time import to_micros

# --- The cosines of documents with a question: in full precision for what is shown, else within bounds from the
# codes.
#
# Most candidates lie so far above or below the floor that the codes, which the scan has in memory, decide; the full
# vectors of the others are read from the store, and so are those of the hits.


Scores = NDArray[np.float32]

_ROUNDING = np.float32(1e-5)  # of sums in single precision


class Cosines:
    def __init__(self, shelves: Shelves, vector: Scores | None, fingerprint: str | None) -> None:
        self._shelves = shelves
        self._vector = vector
        self._fingerprint = fingerprint
        self._known: dict[int, float] = {}
        self._likely: Sequence[int] = ()

    def expect(self, positions: Sequence[int]) -> None:
        """These are likely to be asked for: they are read together with the first that are."""
        self._likely = positions

    def bounds(self, positions: NDArray[np.int64], vectors: Gathered | None) -> tuple[Scores, Scores]:
        """What each cosine is at least and at most, by vectors that hold these positions; 0 where there is none."""
        if self._vector is None or vectors is None or not vectors.vectors.size:
            return np.zeros(len(positions), np.float32), np.zeros(len(positions), np.float32)
        rows = vectors.rows(positions)
        near, scales = np.einsum("ij,j->i", vectors.vectors[rows], self._vector), vectors.scales[rows]
        # A code is off by half a step of its scale at most, in each component.
        slack = scales * np.float32(np.abs(self._vector).sum() / 2) + _ROUNDING * (scales > 0)
        return near - slack, near + slack

    def exactly(self, positions: Sequence[int]) -> dict[int, float]:
        """The cosines at these positions, each read once; none where the leg is silent, or has no vector."""
        if self._vector is None or self._fingerprint is None:
            return {}
        unknown = [at for at in positions if at not in self._known]
        if unknown:
            unknown = [*unknown, *(at for at in self._likely if at not in self._known and at not in unknown)]
            self._likely = ()
        for shelf, start, nums in zip(
            self._shelves.parts, self._shelves.starts, self._shelves.numbers(unknown), strict=True
        ):
            found = exact(shelf.view, scanned_space(shelf), self._fingerprint, self._vector, nums) if nums else {}
            self._known.update({start + num: cosine for num, cosine in found.items()})
        return {at: self._known[at] for at in positions if at in self._known}


@dataclass(frozen=True)
class Answer:
    """How well every document answers one question, by position."""

    question: Question
    words: Worded
    meaning: Meant | None
    raw: Scores


@dataclass(frozen=True)
class Legs:
    shelves: Shelves
    embedder: Embedder | None
    cache: BlockCache
    settings: RecallSettings
    speaker: Speaker | None
    replies: bool
    """The question asks for what the assistant said."""

    def ask(self, text: str, stage: Callable[[str, int, str], None] = lambda name, count, note: None) -> Answer:
        """`stage` is told what was done, with how much of it."""
        question = read(text, self.speaker, self.embedder, self.settings)
        stage("question", len(question.terms), "meaning is silent" if question.vector is None else "")
        words = score_words(self.shelves, question.terms, self.settings)
        stage("words", int(np.count_nonzero(words.scores > 0)), " ".join(question.terms[:12]))
        meaning = None
        if question.vector is not None and self.embedder is not None:
            meaning = scan_shelves(self.shelves, self.embedder.profile.fingerprint, question.vector, self.cache)
            stage("meaning", meaning.heard.count, "")
        return Answer(question, words, meaning, answering(self.shelves, words, meaning, self.replies, self.settings))

    def cosines(self, answer: Answer) -> Cosines:
        """The cosines of documents with the question of this answer."""
        fingerprint = None if self.embedder is None else self.embedder.profile.fingerprint
        return Cosines(self.shelves, answer.question.vector, fingerprint)

    def vectors(self, answer: Answer, positions: NDArray[np.int64]) -> Gathered | None:
        """The vectors of these documents, as the codes tell them; None where the leg is silent."""
        return None if answer.meaning is None else gather(self.shelves, answer.meaning.segments, positions)


# --- What a search is asked for, and which documents its filters keep back.


@dataclass(frozen=True)
class Query:
    text: str
    limit: int = 10
    kind: Kind | None = None
    session: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None


def barred(shelves: Shelves, query: Query) -> NDArray[np.int64]:
    """Positions that the filters keep back."""
    if all(one is None for one in (query.kind, query.session, query.since, query.until, query.as_of)):
        hidden = [shelves.columns.absent]  # nothing to filter by: what is kept back is told one by one
        for shelf, start in zip(shelves.parts, shelves.starts, strict=True):
            nums = [*shelf.view.hidden(shelf.space), *_replaced(shelf, None)]
            hidden += [start + np.array(nums, np.int64)] if nums else []
        return np.concatenate(hidden)
    return np.flatnonzero(~shelves.joined([_allowed(shelf, query) for shelf in shelves.parts]))


def _allowed(shelf: Shelf, query: Query) -> NDArray[np.bool_]:
    """Which documents of a shelf the filters let through."""
    view, pool = shelf.view, shelf.pool
    allowed = pool.exists.copy()
    hidden = view.hidden(pool.space)
    if hidden:
        allowed[hidden] = False
    if query.kind is not None and pool.space is Space.RECORD:
        allowed &= pool.sort == kind_number(query.kind)
    if query.session is not None:
        number = view.session_number(query.session)
        if number is None or pool.space is Space.RECORD or shelf.common:
            allowed[:] = False
        else:
            allowed &= pool.session == number
    if query.since is not None:
        allowed &= pool.at >= to_micros(query.since)
    if query.until is not None:
        allowed &= pool.at < to_micros(query.until)
    if query.as_of is not None:
        allowed &= pool.at <= to_micros(query.as_of)
    allowed[_replaced(shelf, query.as_of)] = False
    return allowed


def _replaced(shelf: Shelf, as_of: datetime | None) -> list[int]:
    """Records that were replaced: served only to who asks about a time before."""
    if shelf.space is not Space.RECORD:
        return []
    moment = None if as_of is None else to_micros(as_of)
    return [num for num, valid_to in shelf.view.retired() if moment is None or valid_to <= moment]
