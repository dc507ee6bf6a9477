"""What is close enough to be shown: nothing relevant is an empty answer, not noise (RECALL-10)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.legs import Answer, Legs
from holdfast.recall.rank import standard

__all__ = ["above_floor"]

_FEW, _CROWD = 10, 500  # turns among which the profile's `related` and `relevant` are more than chance


def above_floor(legs: Legs, answer: Answer, best: NDArray[np.int64], cosines: Mapping[int, float]) -> NDArray[np.bool_]:
    """Which candidates hold enough of the question, lie nearer to it than chance, or stand out beside one that does."""
    near = _near(legs, answer)
    close = np.zeros(len(answer.raw), np.bool_)
    close[best] = np.array([cosines.get(int(at), 0.0) >= near for at in best], np.bool_)
    close |= answer.words.scores >= np.float32(max(legs.settings.floor_share * answer.words.ceiling, 1e-6))
    own: NDArray[np.bool_] = close[best]
    if own.any():  # then what stands out by its context may come too; without one it is chance
        own |= standard(answer.raw, legs.shelves.column("exists"))[best] >= np.float32(legs.settings.outstanding)
    return own


def _near(legs: Legs, answer: Answer) -> float:
    """The cosine that is more than chance: among many turns one lies near any question by accident."""
    if legs.embedder is None or answer.meaning is None:
        return 2.0  # no cosine reaches it
    thresholds = legs.embedder.profile.thresholds
    crowd = min(1.0, math.log1p(np.count_nonzero(answer.meaning.heard) / _FEW) / math.log1p(_CROWD / _FEW))
    return thresholds.related + crowd * (thresholds.relevant - thresholds.related)
