"""The two legs over the shelves of one search, asked one question or several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.models.embedder import Embedder
from holdfast.recall.cache import BlockCache
from holdfast.recall.cosines import Cosines
from holdfast.recall.lexical import Worded, score_words
from holdfast.recall.question import Question, Speaker, read
from holdfast.recall.rank import answering
from holdfast.recall.semantic import Gathered, Meant, gather, scan_shelves
from holdfast.recall.shelf import Shelves
from holdfast.settings import RecallSettings

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

    def cosines(self, answer: Answer) -> Cosines:
        """The cosines of documents with the question of this answer."""
        fingerprint = None if self.embedder is None else self.embedder.profile.fingerprint
        return Cosines(self.shelves, answer.question.vector, fingerprint)

    def vectors(self, answer: Answer, positions: NDArray[np.int64]) -> Gathered | None:
        """The vectors of these documents, as the codes tell them; None where the leg is silent."""
        return None if answer.meaning is None else gather(self.shelves, answer.meaning.segments, positions)
