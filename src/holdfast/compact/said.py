"""A cluster read sentence by sentence: what each tells, how durable it is and how near to the middle of the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.durability import Weighed, weigh_apart
from holdfast.compact.digest import Part, speaker_of
from holdfast.compact.meaning import Vectors, beside_words, centroid, is_known
from holdfast.compact.prepare import readable
from holdfast.model import Role
from holdfast.settings import CompactSettings

__all__ = ["Said", "Telling", "read_cluster"]

_ROLE = {Role.USER: 1.0, Role.ASSISTANT: 0.6, Role.TOOL: 0.25, Role.SYSTEM: 0.2}
"""The user's words before an assistant's, as in recall (RECALL-2)."""
_CENTRAL = 0.6
"""What nearness to the middle counts beside durability, which says more about chat."""
_GATED = 0.2  # what G counts, where the gate has read the turn
_UNSURE = 0.5  # durability of a sentence that the packaged model cannot read
_UNRELATED = 0.20  # the static model's `related`: below it two sentences have nothing in common
_IDLE = 0.1
"""What a turn counts for the middle beside its durability: thanks should not pull it away from what is told."""


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence of a cluster."""

    part: int
    number: int
    text: str
    worth: float
    """How much a reader gains from it, before a closer look (compact/glean.py)."""
    weight: float
    """How much of what the cluster tells it is."""
    share: float
    """What a closer look at it counts: less for what was not the user's."""
    asked: int | None
    """The question of another that it may answer."""


@dataclass(frozen=True)
class Telling:
    """A cluster's sentences with their vectors, and its middle."""

    said: tuple[Said, ...]
    vectors: Vectors
    middle: NDArray[np.float32]
    known: bool
    """Whether most of it is in a script that the packaged model knows."""

    def alignment(self, lines: Vectors) -> float:
        """Cosine of a text, given by its lines' vectors, and the cluster's middle."""
        if not len(lines) or not self.said:
            return 0.0
        return max(-1.0, min(1.0, float(np.einsum("i,i->", centroid(lines), self.middle))))

    def coverage(self, lines: Vectors) -> float:
        """Share of what the cluster tells that a text tells too: of each sentence, how near the nearest line is."""
        if not len(lines) or not self.said:
            return 0.0
        weights = np.array([one.weight for one in self.said])
        nearest = np.max(np.einsum("id,jd->ij", self.vectors, lines), axis=1)
        told = np.clip((nearest - _UNRELATED) / (1 - _UNRELATED), 0.0, 1.0)
        return float(np.sum(weights * told) / np.sum(weights))


def read_cluster(parts: Sequence[Part], settings: CompactSettings) -> Telling:
    """The sentences of the parts' texts, without bulk, scored."""
    weighed = weigh_apart([_shortened(part, settings) for part in parts])
    texts = [sentence for one in weighed for sentence in one.sentences]
    if not texts:
        return Telling((), np.zeros((0, 1), np.float32), np.zeros(1, np.float32), True)
    vectors = beside_words(texts, np.concatenate([one.vectors for one in weighed]))
    middle = _middle(vectors, weighed)
    near = np.einsum("ij,j->i", vectors, middle).tolist()
    said: list[Said] = []
    for place, (part, one) in enumerate(zip(parts, weighed, strict=True)):
        share, gated = _ROLE[part.turn.role], _GATED * part.turn.signals.get("g", 0.0)
        question = _open_question(said, parts, place)
        for number, (sentence, durable) in enumerate(zip(one.sentences, one.each, strict=True)):
            durable = durable if is_known(sentence) else _UNSURE
            worth = share * (durable + _CENTRAL * near[len(said)] + gated)
            said.append(Said(place, number, sentence, worth, share * durable, share, question if number == 0 else None))
    return Telling(tuple(said), vectors, middle, is_known(" ".join(texts)[:2000]))


def _shortened(part: Part, settings: CompactSettings) -> str:
    """A line for each sentence. Of a page that is not the user's the beginning is read: it says what it is about."""
    if part.turn.role is Role.USER:
        return "\n".join(readable(part.text, settings.turn_chars))
    return "\n".join(readable(part.text[: settings.page_chars])[: settings.page_sentences])


def _middle(vectors: Vectors, weighed: Sequence[Weighed]) -> NDArray[np.float32]:
    """Every turn counts once, however long it is, and more if it tells something."""
    turns, at = [], 0
    for one in weighed:
        count = len(one.sentences)
        if count:
            turns.append(centroid(vectors[at : at + count]) * np.float32(one.whole + _IDLE))
        at += count
    return centroid(np.array(turns, np.float32))


def _open_question(said: Sequence[Said], parts: Sequence[Part], place: int) -> int | None:
    """The question that the turn before ended with, another's."""
    if not said or said[-1].part != place - 1 or not said[-1].text.endswith("?"):
        return None
    asker, answerer = parts[place - 1].turn, parts[place].turn
    same = speaker_of(asker) == speaker_of(answerer) or asker.session != answerer.session
    return None if same else len(said) - 1
