"""How likely a sentence is to help a future conversation that does not include its turn.

A logistic score over what a reader sees at a glance (admit/glance.py). A turn's score adds up its sentences': one good
sentence is enough, two are better. The weights are learned from labels of our own (training/durability.py) and shipped
as a small table; public sets only judge them.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib import resources

from holdfast.admit.glance import FEATURES, glance
from holdfast.admit.sentences import sentences

__all__ = ["Weighed", "weigh", "weights_version"]


@dataclass(frozen=True, slots=True)
class Weighed:
    """A turn's sentences with the probability that each is worth keeping, and the turn's own."""

    sentences: tuple[str, ...]
    each: tuple[float, ...]
    whole: float


def weigh(text: str, answers_question: bool) -> Weighed:
    """`answers_question`: the turn before it, another's, ended in a question, so a fragment may be a full answer."""
    found = sentences(text)
    if not found:
        return Weighed((), (), 0.0)
    weights = _weights()
    scores = []
    for number, sentence in enumerate(found):
        seen = glance(sentence, answers_question and number == 0, number == 0, len(found) == 1)
        scores.append(sum(weight * value for weight, value in zip(weights, seen, strict=True)))
    highest = max(scores)
    together = highest + math.log(sum(math.exp(score - highest) for score in scores))
    return Weighed(tuple(found), tuple(map(_probability, scores)), _probability(together))


def _probability(score: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, score))))


@cache
def _table() -> dict[str, object]:
    table = json.loads(resources.files("holdfast.admit").joinpath("durability.json").read_text(encoding="utf-8"))
    assert isinstance(table, dict)
    return table


@cache
def _weights() -> tuple[float, ...]:
    by_name = _table()["weights"]
    assert isinstance(by_name, dict) and set(by_name) == set(FEATURES), "weights and features do not belong together"
    return tuple(float(by_name[name]) for name in FEATURES)


def weights_version() -> str:
    """Goes onto every record that this score let through (ADMIT-3)."""
    return f"durability-{_table()['version']}"
