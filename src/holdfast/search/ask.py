"""The ask reading: what the ask encoder (models/ask.py) says about the documents that it has read so far.

It counts together with the static reading (rank.py). Abstention uses it too: the probability that anything stored
answers a question, and nothing is returned if it is low (BEL-8). That is a logistic function of how near the best
documents are, by the encoder, by words and by the static vectors. Its weights belong to the encoder's: they are in
abstain.json in its folder, written by training/ask/abstain.py. Without that file, and while the encoder has not read
nearly everything, the relevance floor decides alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.index.blocks import BlockCache
from holdfast.index.candidates import CandidateTables
from holdfast.model import Record, Turn
from holdfast.models.embedder import Embedder
from holdfast.search.question import embed_text
from holdfast.search.retrieve import RetrievalScores, scan
from holdfast.store.types import Space

if TYPE_CHECKING:
    from holdfast.models.ask import Abstention

Scores = NDArray[np.float32]
ASK = 1.0
"""Weight of the ask reading, in standard deviations like those of RecallSettings. Learned leaving one of five LoCoMo
conversations out (.3 to 2 tried: .8 to 1.2 are alike). Mixing the cosine in once more, over the first fifty hits,
gained with a weight of .3 and nothing with this one (training/ask/README.md)."""
_ASKED_TOO = 0.9
"""Share of the ask cosine of an older statement that the one which replaced it must have, to come first in its place.
Without this the first hits' order costs .06 of the MRR on LoCoMo, with it .01."""
_HANDFUL = 8  # documents; fewer say nothing about what is usual
_PAST = re.compile(
    r"\b(?:did|was|were|had|used to|ago|when|last|first|before|previous\w*|original\w*)\b", re.IGNORECASE
)
_AS_NEAR = 0.02  # cosines with the question that differ by no more are equal
_ONE_MATTER = 0.65  # least cosine of two statements
_FIRST_HITS = 10


@dataclass(frozen=True)
class AskScores:
    """The question's cosine with each document, of a long turn with its best passage; 0 where there is none yet."""

    near: Scores
    read: NDArray[np.bool_]
    """Documents that the encoder has read, by position …"""
    unread: NDArray[np.int64]
    """… and the positions of the others."""
    fingerprint: str
    """Of the encoder, whose vectors the store keeps."""

    def agrees(self, old: int, new: int) -> bool:
        """Return whether the newer one is about what was asked too; True where the encoder has not read both."""
        return not (self.read[old] and self.read[new]) or bool(self.near[new] >= _ASKED_TOO * self.near[old])

    def newer_first(
        self, tables: CandidateTables, order: list[int], own: Mapping[int, Turn | Record], question: str
    ) -> list[int]:
        """Of two statements about one matter that answer a question equally well, put the newer one first (BEL-4).

        Admission notices half of the changes. Where it did not, the newer statement is more often the one that holds.
        `own` are the user's statements. A question about the past leaves the order as it is.
        """
        among = [at for at in order[:_FIRST_HITS] if at in own and self.read[at]]
        ranked = list(order)
        if len(among) < 2 or _PAST.search(question):
            return ranked
        vectors = self._vectors(tables, among)
        for older in vectors:
            for newer in vectors:
                if (
                    own[newer].at > own[older].at
                    and self.near[newer] >= self.near[older] - _AS_NEAR
                    and own[newer].metadata.get("speaker") == own[older].metadata.get("speaker")
                    and float(vectors[newer] @ vectors[older]) >= _ONE_MATTER
                    and ranked.index(older) < ranked.index(newer)
                ):
                    ranked.remove(newer)
                    ranked.insert(ranked.index(older), newer)
        return ranked

    def _vectors(self, tables: CandidateTables, positions: Sequence[int]) -> dict[int, Scores]:
        """Return the encoder's vectors of those of the documents that have one, in the same order."""
        found: dict[int, Scores] = {}
        for table, start in zip(tables.parts, tables.starts, strict=True):
            nums = [at - start for at in positions if start <= at < start + table.pool.size]
            stored = table.view.vectors(table.space, self.fingerprint, nums)
            found |= {start + num: np.frombuffer(data, "<f4") for num, data in stored}
        return {at: found[at] for at in positions if at in found}


def read_ask(
    tables: CandidateTables, encoder: Embedder, text: str, cache: BlockCache
) -> tuple[AskScores | None, str | None]:
    """Return the ask reading of a question, or what is missing if the model fails."""
    vector, trouble = embed_text(text, encoder, "without the ask model")
    return (None if vector is None else scan_ask(tables, encoder.profile.fingerprint, vector, cache)), trouble


def scan_ask(tables: CandidateTables, fingerprint: str, question: Scores, cache: BlockCache) -> AskScores | None:
    """Return the ask reading; None while it covers too few documents to say what is usual among them."""
    near, read = np.zeros(tables.columns.size, np.float32), np.zeros(tables.columns.size, np.bool_)
    for table, start in zip(tables.parts, tables.starts, strict=True):
        part = slice(start, start + table.pool.size)
        near[part], read[part] = scan(
            table.view, table.namespace, table.space, table.pool.size, fingerprint, question, cache
        )
        read[part] &= table.pool.exists
        if table.passages is not None and table.passages.count:
            cuts = table.passages.cuts
            found, known = scan(
                table.view, table.namespace, Space.PASSAGE, table.passages.size, fingerprint, question, cache
            )
            best = np.maximum.reduceat(np.where(known, found, -1.0)[cuts.there], cuts.starts)
            there = (cuts.owners < table.pool.size) & (best > -1.0)
            owners = cuts.owners[there]
            at = start + owners
            near[at] = np.maximum(np.where(read[at], near[at], -1.0), best[there])
            read[at] = table.pool.exists[owners]
    unread = np.flatnonzero(~read)
    near[unread] = 0
    return AskScores(near, read, unread, fingerprint) if len(near) - len(unread) >= _HANDFUL else None


def ask_boost(ask: AskScores, near: Scores, static: Scores) -> Scores:
    """Return what the reading adds to each document's score, from standard scores of both readings.

    What the encoder has not read yet has its static score in place of that: neither is at a disadvantage.
    """
    near[ask.unread] = static[ask.unread]
    return near * np.float32(ASK)


FEATURES = ("top", "outlying", "lead", "first", "share", "cosine", "size")
"""The best ask cosine; how far it lies above the usual, in standard deviations; how far above the fifth; the ask cosine
of the first hit; the largest share of the question's words and the largest static cosine among the first hits; the
logarithm of the number of documents."""
READ_SHARE = 0.95
"""Share of the documents that the encoder must have read: the answer may be in the rest."""
_FIRST = 10  # hits whose words and cosines count
_FIFTH = 5


def abstain_features(
    answer: RetrievalScores, best: NDArray[np.int64], cosines: NDArray[np.float32]
) -> NDArray[np.float64] | None:
    """Return FEATURES; `best` are the candidates in order and `cosines` their static ones. None if too few are read."""
    ask = answer.ask
    count = 0 if answer.meaning is None else answer.meaning.coverage.count
    if ask is None or not len(best) or np.count_nonzero(ask.read) < READ_SHARE * count:
        return None
    usual = ask.near[ask.read].astype(np.float64)
    near = np.sort(ask.near[best])[::-1]
    top = float(near[0])
    return np.array(
        [
            top,
            (top - usual.mean()) / max(float(usual.std()), 1e-3),
            top - float(near[min(_FIFTH, len(near)) - 1]),
            float(ask.near[best[0]]),
            float(answer.words.shares(best[:_FIRST]).max()),
            float(cosines[:_FIRST].max()),
            math.log(count),
        ]
    )


def answer_chance(
    answer: RetrievalScores, best: NDArray[np.int64], cosines: NDArray[np.float32], fitted: Abstention
) -> float | None:
    """Return the probability that one of the candidates answers the question; None if too few documents are read."""
    values = abstain_features(answer, best, cosines)
    if values is None:
        return None
    logit = fitted.bias + sum(weight * value for weight, value in zip(fitted.weights, values.tolist(), strict=True))
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit))))
