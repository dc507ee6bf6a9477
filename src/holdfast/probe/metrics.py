"""Percentiles, ratios and bootstrap intervals of measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Percentiles = dict[str, float]
"""{"p50": …, "p99": …}"""
DIGITS = 4
"""Decimal places of every reported share."""
_RESAMPLES = 2000  # between seeds the bounds differ by at most .001 (760 questions) or .003 (179)
_INTERVAL = (2.5, 97.5)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed (nearest rank, so always a measured one)."""
    if not values:
        raise ValueError("there is no percentile of no values")
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"a share must be between 0 and 1, not {share}")
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def median(values: Sequence[float]) -> float:
    return percentile(values, 0.5)


def percentiles(values: Sequence[float], digits: int = DIGITS) -> Percentiles:
    return {"p50": round(median(values), digits), "p99": round(percentile(values, 0.99), digits)}


def ratio(value: float, base: float, digits: int = 2) -> float:
    """Return value / base, or 0 without a base."""
    return round(value / base, digits) if base > 0 else 0.0


def top_share(exact: NDArray[np.float32], found: Sequence[int], count: int, tolerance: float = 1e-6) -> float:
    """Return the share of the true top `count` that was found, given the true score of every item.

    Ties are interchangeable: an item counts if its true score reaches that of the last of the true top.
    """
    most = min(count, len(exact))
    if most == 0:
        return 1.0
    least = float(np.partition(exact, -most)[-most]) - tolerance
    return min(sum(float(exact[number]) >= least for number in set(found[:most])), most) / most


def bootstrap_counts(rows: int, seed: int = 0) -> NDArray[np.float64]:
    """Return how often each row is drawn, one line per resample."""
    return np.random.default_rng(seed).multinomial(rows, np.full(rows, 1 / rows), _RESAMPLES).astype(np.float64)


def bootstrap_interval(values: NDArray[np.float64], seed: int = 0) -> tuple[float, float]:
    """Return the 95 % interval of the mean, always the same for the same seed."""
    return interval_bounds(bootstrap_counts(len(values), seed) @ values / len(values))


def interval_bounds(resampled: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.percentile(resampled, _INTERVAL)
    return round(float(low), DIGITS), round(float(high), DIGITS)
