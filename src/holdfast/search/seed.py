"""The seed's hybrid formula, as a ranker that can be chosen: (.7·cosine + .2·exp(-λ·age) + .1·scope)·Q (RECALL-3).

Cosine with the question, age with a half-life of a month, and scope: what was said in the session asked counts most.
"""

from __future__ import annotations

import math
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from holdfast.index.blocks import WEIGHTS
from holdfast.index.candidates import CandidateTables
from holdfast.index.vectors import Scores
from holdfast.model import Kind, Provenance, to_micros
from holdfast.search.question import Ranking
from holdfast.store.rows import kind_number
from holdfast.store.types import Space

_DAY = 86_400_000_000  # microseconds
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
