"""The seed's hybrid formula, as a ranker that can be chosen: (.7·cosine + .2·exp(-λ·age) + .1·scope)·Q (RECALL-3)."""

from __future__ import annotations

import math
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from holdfast.model import Kind, Provenance
from holdfast.moments import to_micros
from holdfast.recall.marks import WEIGHTS
from holdfast.recall.semantic import Meant
from holdfast.recall.shelf import Shelves
from holdfast.settings import RecallSettings
from holdfast.store.codes import kind_number
from holdfast.store.nouns import Space

__all__ = ["seed_scores"]

_COSINE, _AGE, _SCOPE = 0.7, 0.2, 0.1
_DECAYED = 0.5
_SESSION, _USER, _COMMON = 1.0, 0.6, 0.3
_DAY = 86_400_000_000  # microseconds


def seed_scores(
    shelves: Shelves, meaning: Meant | None, in_session: bool, now: datetime, settings: RecallSettings
) -> NDArray[np.float32]:
    """Scores in [0, 1] by position. Without meaning the weights of age and scope are renormalised."""
    at = shelves.columns.at.astype(np.float64)
    ages = np.maximum(to_micros(now) - at, 0.0) / _DAY
    recent = np.exp(-math.log(2.0) / settings.half_life_days * ages)
    scope = shelves.joined(
        [
            np.full(shelf.pool.size, _COMMON if shelf.common else _SESSION if in_session else _USER)
            for shelf in shelves.parts
        ]
    )
    score = _AGE * recent + _SCOPE * scope
    weight = _AGE + _SCOPE
    if meaning is not None:
        score = score + _COSINE * np.clip(meaning.told, 0.0, 1.0)
        weight += _COSINE
    return (score / weight * _quality(shelves)).astype(np.float32)


def _quality(shelves: Shelves) -> NDArray[np.float64]:
    """Q: a summary counts less the less it can be trusted, 1 - .5·decay_rate; everything else counts in full."""
    quality = np.ones(shelves.columns.size)
    for shelf, start in zip(shelves.parts, shelves.starts, strict=True):
        if shelf.space is Space.RECORD:
            there = np.flatnonzero(shelf.pool.sort == kind_number(Kind.SUMMARY))
            # Its prior is its confidence, weighed by its provenance (recall/marks.py).
            vouched = shelf.pool.prior[there] / (255 * WEIGHTS[Provenance.EPISODE_SUMMARY])
            quality[start + there] = 1.0 - _DECAYED * (1.0 - np.minimum(vouched, 1.0))
    return quality
