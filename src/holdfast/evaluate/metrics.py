"""Numbers out of measurements: small and pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Percentiles", "median", "percentile", "percentiles", "ratio", "top_share"]

Percentiles = dict[str, float]
"""{"p50": …, "p99": …}"""


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of the values does not exceed (nearest rank: always one that was measured)."""
    if not values:
        raise ValueError("there is no percentile of nothing")
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"a share lies between 0 and 1, not {share}")
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def median(values: Sequence[float]) -> float:
    return percentile(values, 0.5)


def percentiles(values: Sequence[float], digits: int = 4) -> Percentiles:
    return {"p50": round(median(values), digits), "p99": round(percentile(values, 0.99), digits)}


def ratio(value: float, base: float, digits: int = 2) -> float:
    """How many times the base; 0 when there is no base to compare with."""
    return round(value / base, digits) if base > 0 else 0.0


def top_share(exact: NDArray[np.float32], found: Sequence[int], count: int, tolerance: float = 1e-6) -> float:
    """Which share of the true top `count` was found, given the true score of everything.

    Of equals any will do: something found counts when its true score reaches the score of the last of the true top.
    """
    most = min(count, len(exact))
    if most == 0:
        return 1.0
    least = float(np.partition(exact, -most)[-most]) - tolerance
    return min(sum(float(exact[number]) >= least for number in set(found[:most])), most) / most
