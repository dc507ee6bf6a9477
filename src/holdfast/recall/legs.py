"""The two legs over the shelves of one search, asked one question or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.models.embedder import Embedder
from holdfast.recall.cache import BlockCache
from holdfast.recall.lexical import Worded, score_words
from holdfast.recall.question import Question, Speaker, read
from holdfast.recall.rank import answering
from holdfast.recall.semantic import Meant, exact, scan_shelves
from holdfast.recall.shelf import Shelves
from holdfast.settings import RecallSettings
from holdfast.store.protocol import Space

__all__ = ["Answer", "Legs"]

Scores = NDArray[np.float32]


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

    def cosines(self, question: Question, positions: Sequence[int]) -> dict[int, float]:
        """The cosines of these documents with the question, in full precision; none where the leg is silent."""
        if self.embedder is None or question.vector is None:
            return {}
        found: dict[int, float] = {}
        for shelf, start, nums in zip(
            self.shelves.parts, self.shelves.starts, self.shelves.numbers(positions), strict=True
        ):
            space = Space.RECORD if shelf.space is Space.RECORD else Space.TOLD
            cosines = exact(shelf.view, space, self.embedder.profile.fingerprint, question.vector, nums)
            found.update({start + num: cosine for num, cosine in cosines.items()})
        return found
