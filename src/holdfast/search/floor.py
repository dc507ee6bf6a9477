"""What is close enough to be shown: nothing relevant is an empty answer, not noise (RECALL-10).

What speaks for a document is the share of the question's words that it holds, the rare ones counting more, and how near
it lies in meaning. Among many documents one lies near any question by accident, so a crowd is asked for more. The
numbers were fitted to labelled questions (training/floor.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.models.embedder import Thresholds
from holdfast.search.rank import said_in, spread_of
from holdfast.search.retrieve import Answer, Cosines, Legs
from holdfast.search.semantic import Gathered
from holdfast.search.when import Window
from holdfast.settings import RecallSettings
from holdfast.text.words import terms

Scores = NDArray[np.float32]


def above_floor(
    legs: Legs,
    answer: Answer,
    best: NDArray[np.int64],
    cosines: Cosines,
    vectors: Gathered | None,
    windows: Sequence[Window] = (),
    fused: Scores | None = None,
) -> NDArray[np.bool_]:
    """Which candidates hold enough of the question; beside one that does, what stands out in `fused` comes too.

    `vectors` holds those of the candidates.
    """
    shares = answer.words.shares(best)
    if windows:
        shares = shares + _said_then(answer, windows, legs.shelves.columns.at[best])
    worded: NDArray[np.bool_] = shares >= np.float32(max(legs.settings.floor_share, 1e-6))
    if legs.embedder is None or answer.meaning is None:
        own = worded
    else:
        floor = np.float32(floor_among(answer.meaning.heard.count, legs.settings))
        near, most = cosines.bounds(best, vectors)
        thresholds = legs.embedder.profile.thresholds
        doubtful = np.flatnonzero(
            (evidence(shares, near, thresholds, legs.settings) < floor)
            & (evidence(shares, most, thresholds, legs.settings) >= floor)
        )
        exactly = cosines.exactly(best[doubtful].tolist())
        near[doubtful] = [exactly.get(at, 0.0) for at in best[doubtful].tolist()]
        held = evidence(shares, near, thresholds, legs.settings)
        own = np.where(answer.meaning.heard.mask[best], held >= floor, worded)
    if fused is not None and own.any():  # then what stands out by its context may come too; without one it is chance
        mean, spread = spread_of(fused, legs.shelves.columns.absent)
        own |= fused[best] >= mean + max(spread, 1e-6) * legs.settings.outstanding
    return own


def evidence(shares: Scores, cosines: Scores, thresholds: Thresholds, settings: RecallSettings) -> Scores:
    """What speaks for each document: 0 is no word shared, and as near as what is at all about the same matter."""
    steps = (cosines - np.float32(thresholds.related)) / np.float32(thresholds.relevant - thresholds.related)
    steps = np.maximum(steps, np.float32(-settings.floor_against))
    held: Scores = shares + steps * np.float32(settings.floor_meaning)
    return held


def _said_then(answer: Answer, windows: Sequence[Window], at: NDArray[np.int64]) -> Scores:
    """What was said in a time that the question names holds the words that name it."""
    naming = {term for window in windows for term in terms(window.phrase)}
    share = len(naming.intersection(answer.question.terms)) / max(len(answer.question.terms), 1)
    said: Scores = said_in(windows, at) * np.float32(share)
    return said


def floor_among(count: int, settings: RecallSettings) -> float:
    """The evidence that is more than chance among so many documents."""
    return settings.floor_rise * math.log(max(count, 1) / settings.floor_even)
