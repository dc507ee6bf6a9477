"""From the legs' scores to one: each reading is standardised over what is searched, then they are weighed and added.

Standard scores, because a BM25 of 7 and a cosine of .4 have no common measure; ranks alone (reciprocal-rank fusion)
lost to plain BM25 with small vectors when it was tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.model import Role
from holdfast.moments import to_micros
from holdfast.recall.asked import Window
from holdfast.recall.marks import Mark
from holdfast.recall.semantic import Meant
from holdfast.recall.shelf import Shelves
from holdfast.settings import RecallSettings
from holdfast.store.codes import role_number
from holdfast.store.protocol import Space

__all__ = ["answering", "preferences", "standard", "with_context"]

Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]

_NO_SPREAD = 1e-6  # scores that hardly differ say nothing about which document is meant
_FULL_PREFERENCE = 10  # the root of the number of documents from which a preference counts in full
_DAY = 86_400_000_000  # microseconds


def standard(scores: Scores, heard: Mask) -> Scores:
    """How many standard deviations above the mean of what was heard; 0 where nothing was."""
    kept = scores * heard
    count = max(int(np.count_nonzero(heard)), 1)
    mean = float(kept.sum(dtype=np.float64)) / count
    spread = max(float(np.dot(kept, kept)) / count - mean * mean, 0.0) ** 0.5
    if spread < _NO_SPREAD:
        return np.zeros_like(scores)
    kept -= np.float32(mean)
    kept *= np.float32(1.0 / spread)
    kept *= heard
    return kept


def answering(shelves: Shelves, words: Scores, meaning: Meant | None, settings: RecallSettings) -> Scores:
    """How well each document answers by its words and its meaning."""
    exists = shelves.column("exists")
    if meaning is None:
        return standard(words, exists)
    heard = meaning.heard
    told = standard(meaning.told, heard)
    prior = shelves.column("prior").astype(np.float32) * np.float32(1 / 255)
    score = standard(words, exists) * np.float32(settings.words)
    score += told * np.float32(settings.told)
    score += standard(told * prior, heard) * np.float32(settings.worth)
    score += standard(meaning.window, heard) * np.float32(settings.window)
    if meaning.passage is not meaning.told:
        score += standard(meaning.passage, heard) * np.float32(settings.passage)
    return score


def preferences(
    shelves: Shelves, wanted: Mark, replies: bool, windows: Sequence[Window], settings: RecallSettings
) -> Scores:
    """What speaks for a document besides words and meaning; an offset, for a standard score may be negative and a
    factor would raise it (RECALL-2).

    A direct hit among n documents stands about √n above the rest: in a small store a preference must stay below that.
    """
    own = shelves.joined(
        [
            np.ones(shelf.pool.size, np.bool_)
            if shelf.space is Space.RECORD
            else shelf.pool.sort == role_number(Role.USER)
            for shelf in shelves.parts
        ]
    )
    offset = np.zeros(len(own), np.float32)
    if not replies:
        offset += np.float32(settings.user_preference)
    marks = shelves.column("marks")
    for mark, weight in (
        (Mark.NUMBER, settings.number_preference),
        (Mark.TIME, settings.time_preference),
        (Mark.WISH, settings.wish_preference),
    ):
        if wanted & mark:
            offset += ((marks & np.uint8(mark)) > 0) * np.float32(weight)
    offset *= own
    if windows:
        offset += _said_in(windows, shelves.column("at")) * np.float32(settings.when_weight)
    offset *= np.float32(min(1.0, math.sqrt(shelves.count) / _FULL_PREFERENCE))
    return offset


def _said_in(windows: Sequence[Window], at: NDArray[np.int64]) -> Scores:
    """How near each time lies to the nearest of the windows, times the window's certainty."""
    best = np.zeros(len(at), np.float32)
    for window in windows:
        start, end = to_micros(window.start), to_micros(window.end)
        early = np.maximum(start - at, 0) / max((end - start) / 4, _DAY)
        late = np.maximum(at - end, 0) / max(end - start, 7 * _DAY)
        np.maximum(best, (0.5 ** (early + late)).astype(np.float32) * np.float32(window.certainty), out=best)
    return best


def with_context(shelves: Shelves, scores: Scores, settings: RecallSettings) -> Scores:
    """A turn's own score, and what its surroundings say for it: the question it answers, the session it is of."""
    before = shelves.linked("before")
    asked = (shelves.column("marks")[before] & np.uint8(Mark.QUESTION)) > 0
    asked &= before != np.arange(len(before))
    short = np.clip(1.0 - shelves.column("length") / (2.0 * 60), 0.0, 1.0).astype(np.float32)
    mean = np.float32(scores.mean()) if len(scores) else np.float32(0)
    raised: Scores = scores + asked * short * (scores[before] - mean) * np.float32(settings.answer_share)
    session = shelves.column("session").astype(np.int64)
    best = np.full(int(session.max(initial=0)) + 1, -np.inf, np.float32)
    np.maximum.at(best, session, scores)
    raised += best[session] * np.float32(settings.session_share)
    return raised
