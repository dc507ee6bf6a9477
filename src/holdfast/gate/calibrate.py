"""What a score means: P(useful | G) from labels, by isotonic regression, and the threshold it suggests (GATE-13)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.insight import Bin, Operating, Step

__all__ = ["BINS", "distribution", "isotonic", "operating", "probability", "suggest"]

BINS = 20
"""Bars of the distribution, .05 each: the gate's weights are multiples of .05, so scores heap up at such steps."""
_WORTH = 0.5
"""Keep what is useful more often than not: of all thresholds on a rising curve this one errs least, if keeping a
useless turn costs what losing a useful one does. F1 would always suggest something, with ten labels too, and moves
with the share of useful ones among those labelled."""


def isotonic(scores: Sequence[float], useful: Sequence[bool]) -> tuple[Step, ...]:
    """The rising step function nearest to the labels, by pooling adjacent violators."""
    starts, which = np.unique(np.asarray(scores, float), return_inverse=True)
    counts = np.bincount(which)
    sums = np.bincount(which, weights=np.asarray(useful, float))
    steps: list[tuple[float, float, int]] = []  # (from G on, useful, labels)
    for start, total, count in zip(starts.tolist(), sums.tolist(), counts.tolist(), strict=True):
        steps.append((start, total, count))
        # A step that is not above the one before is one with it.
        while len(steps) > 1 and steps[-1][1] * steps[-2][2] <= steps[-2][1] * steps[-1][2]:
            _, more, others = steps.pop()
            start, total, count = steps.pop()
            steps.append((start, total + more, count + others))
    return tuple(Step(start, total / count, count) for start, total, count in steps)


def probability(curve: Sequence[Step], g: float) -> float:
    """P(useful | G) as the curve has it; below its first step the first step's holds."""
    return [curve[0].p, *(step.p for step in curve if step.g <= g)][-1]


def suggest(curve: Sequence[Step]) -> float | None:
    """The lowest G from which a turn is useful more often than not; None where none is."""
    return next((step.g for step in curve if step.p >= _WORTH), None)


def operating(threshold: float, scores: Sequence[float], useful: Sequence[bool]) -> Operating:
    kept = [worth for g, worth in zip(scores, useful, strict=True) if g >= threshold]
    right, wanted = sum(kept), sum(useful)
    return Operating(threshold, right / len(kept) if kept else 0.0, right / wanted if wanted else 0.0)


def distribution(
    turns: Sequence[float], useful: Sequence[float] = (), useless: Sequence[float] = ()
) -> tuple[Bin, ...]:
    """How the scores of turns and of labels lie, in equal bars from 0 to 1."""
    columns = zip(_bars(turns), _bars(useful), _bars(useless), strict=True)
    return tuple(Bin(number / BINS, *counts) for number, counts in enumerate(columns))


def _bars(scores: Sequence[float]) -> list[int]:
    # A score of .35 that arithmetic left at .3499999 belongs to the bar it was meant for.
    places = np.clip(np.floor(np.asarray(scores, float) * BINS + 1e-9).astype(int), 0, BINS - 1)
    return [int(count) for count in np.bincount(places, minlength=BINS)]
