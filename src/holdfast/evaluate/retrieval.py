"""Scores of a ranking against its gold: any, all, recall and MRR, for turns and for sessions.

any@k: one gold item is among the first k; all@k: every one is; recall@k: which share of them is. MRR: one over the
rank of the first gold item, 0 when it is not among the first DEPTH. A mean is over the questions that count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.evaluate.bootstrap import draws
from holdfast.evaluate.haystack import Question

__all__ = ["DEPTH", "MEASURES", "Outcome", "Scores", "abstention", "by_category", "intervals", "means", "score"]

DEPTH = 50
"""Hits that are looked at: ten distinct sessions are hardly ever farther, and MRR hardly sees what is."""
_CUTS = (5, 10)
MEASURES = (*(f"{measure}@{cut}" for cut in _CUTS for measure in ("any", "all", "recall")), "mrr")
_INTERVAL = (2.5, 97.5)
_DIGITS = 4

Scores = dict[str, float]
"""By MEASURES."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question with what a search put first: distinct turns in order, distinct sessions by their first turn."""

    question: Question
    turns: Sequence[str]
    sessions: Sequence[str]
    ms: float = 0.0

    def scores(self, level: str) -> Scores:
        if level == "turn":
            return score(self.turns, self.question.turns)
        return score(self.sessions, self.question.sessions)


def score(ranking: Sequence[str], gold: Collection[str]) -> Scores:
    """A ranking of distinct items against at least one gold item."""
    ranks = [rank for rank, item in enumerate(ranking[:DEPTH], 1) if item in gold]
    found: Scores = {}
    for cut in _CUTS:
        held = sum(rank <= cut for rank in ranks)
        found |= {f"any@{cut}": float(held > 0), f"all@{cut}": float(held == len(gold))}
        found[f"recall@{cut}"] = held / len(gold)
    return found | {"mrr": 1 / ranks[0] if ranks else 0.0}


def means(outcomes: Sequence[Outcome], level: str) -> Scores | None:
    """The mean of every measure; None where the set has no gold of that level."""
    table = _table(outcomes, level)
    return _named(table.mean(axis=0)) if len(table) else None


def by_category(outcomes: Sequence[Outcome]) -> dict[str, Mapping[str, object]]:
    parts: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.question.counts:
            parts.setdefault(outcome.question.category, []).append(outcome)
    return {
        category: {"n": len(part), "turn": means(part, "turn"), "session": means(part, "session")}
        for category, part in sorted(parts.items())
    }


def intervals(outcomes: Sequence[Outcome], level: str, seed: int = 0) -> dict[str, list[float]] | None:
    """95 % bootstrap interval of every mean, over questions; always the same for the same seed."""
    table = _table(outcomes, level)
    if not len(table):
        return None
    low, high = np.percentile(draws(len(table), seed) @ table / len(table), _INTERVAL, axis=0)
    lows, highs = _named(low), _named(high)
    return {measure: [lows[measure], highs[measure]] for measure in MEASURES}


def abstention(outcomes: Sequence[Outcome]) -> dict[str, float | int | None]:
    """How often search returns nothing: right where there is no answer, a loss where there is one."""
    without = [outcome for outcome in outcomes if not outcome.question.answerable]
    answerable = [outcome for outcome in outcomes if outcome.question.answerable]
    return {"unanswerable": len(without), "empty": _empty(without), "answerable_empty": _empty(answerable)}


def _empty(outcomes: Sequence[Outcome]) -> float | None:
    nothing = sum(not outcome.turns for outcome in outcomes)
    return round(nothing / len(outcomes), _DIGITS) if outcomes else None


def _table(outcomes: Sequence[Outcome], level: str) -> NDArray[np.float64]:
    """A row for each question that counts at this level."""
    counted = [one for one in outcomes if one.question.counts and (level == "session" or one.question.turns)]
    rows = [[scores[measure] for measure in MEASURES] for scores in (one.scores(level) for one in counted)]
    return np.array(rows, dtype=np.float64).reshape(-1, len(MEASURES))


def _named(values: NDArray[np.float64]) -> Scores:
    return {measure: round(float(value), _DIGITS) for measure, value in zip(MEASURES, values, strict=True)}
