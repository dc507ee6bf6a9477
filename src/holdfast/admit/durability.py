"""How likely a sentence is to help a future conversation that does not include its turn.

A logistic score over what a reader sees at a glance (admit/glance.py) and over what the sentence is about, as the
packaged static model has it, whichever embedder is configured: the same log gives the same records under any profile. A
turn's score adds up its sentences': one good sentence is enough, two are better. The weights are learned from labels of
our own (training/durability.py) and shipped as a small table; public sets only judge them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.glance import FEATURES, Glance, glance
from holdfast.models.static import shipped_embedder

__all__ = ["Weighed", "features", "weigh", "weigh_all", "weigh_apart", "weights_version"]

_Numbers = NDArray[np.float64]

_AT_ONCE = 64  # turns; of pastes with 200 sentences each the vectors take 13 MB


@dataclass(frozen=True, slots=True)
class Weighed:
    """A turn's sentences with the probability that each is worth keeping, and the turn's own."""

    sentences: tuple[str, ...]
    each: tuple[float, ...]
    whole: float
    vectors: NDArray[np.float32] = field(compare=False, repr=False)
    """The sentences' meanings, as the packaged static model has them."""


def weigh(text: str, answers_question: bool, before: Sequence[str] = ()) -> Weighed:
    """`answers_question`: the turn before it, another's, ended in a question, so a fragment may be a full answer.

    `before`: what was said in the session until then, oldest first. Saying again what is known by now tells little.
    """
    (weighed,) = _weigh([glance(text, answers_question, before)])
    return weighed


def weigh_apart(texts: Sequence[str]) -> list[Weighed]:
    """Many turns, each by itself, as `weigh(text, False)` does."""
    return weigh_all([(text, False, ()) for text in texts])


def weigh_all(turns: Sequence[tuple[str, bool, Sequence[str]]]) -> list[Weighed]:
    """Many turns, each with what `weigh` asks for; together they take half the time."""
    weighed: list[Weighed] = []
    for start in range(0, len(turns), _AT_ONCE):
        weighed += _weigh([glance(*turn) for turn in turns[start : start + _AT_ONCE]])
    return weighed


def _weigh(turns: Sequence[Glance]) -> list[Weighed]:
    vectors = _embed([sentence for turn in turns for sentence in turn.sentences])
    seen = np.concatenate([turn.features for turn in turns])
    of_glance, of_meaning = _weights()[: len(FEATURES)], _weights()[len(FEATURES) :]
    # No BLAS: a turn's score must not depend on the turns it is weighed together with.
    scores = np.einsum("ij,j->i", seen, of_glance) + np.einsum("ij,j->i", vectors, of_meaning)
    each = scores.tolist()
    weighed, start = [], 0
    for turn in turns:
        stop = start + len(turn.sentences)
        weighed.append(_together(turn.sentences, each[start:stop], vectors[start:stop]))
        start = stop
    return weighed


def _together(found: tuple[str, ...], scores: Sequence[float], vectors: NDArray[np.float32]) -> Weighed:
    if not found:
        return Weighed((), (), 0.0, vectors)
    highest = max(scores)
    together = highest + math.log(sum(math.exp(score - highest) for score in scores))
    return Weighed(found, tuple(map(_probability, scores)), _probability(together), vectors)


def features(text: str, answers_question: bool, before: Sequence[str]) -> tuple[tuple[str, ...], _Numbers]:
    """The sentences, and a row of numbers for each: the glance, then the vector of its meaning."""
    seen = glance(text, answers_question, before)
    if not seen.sentences:
        return (), np.zeros((0, len(FEATURES) + shipped_embedder().profile.dims))
    return seen.sentences, np.hstack([seen.features, _embed(seen.sentences)])


def _embed(found: Sequence[str]) -> NDArray[np.float32]:
    return shipped_embedder().embed([sentence.replace("’", "'") for sentence in found])


def _probability(score: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, score))))


@cache
def _table() -> dict[str, object]:
    table = json.loads(resources.files("holdfast.admit").joinpath("durability.json").read_text(encoding="utf-8"))
    assert isinstance(table, dict)
    return table


@cache
def _weights() -> _Numbers:
    by_name, meaning = _table()["weights"], _table()["meaning"]
    assert isinstance(by_name, dict) and list(by_name) == list(FEATURES), "weights and features do not belong together"
    assert _table()["model"] == shipped_embedder().profile.fingerprint, "the weights belong to another static model"
    assert isinstance(meaning, list)
    return np.array([*by_name.values(), *meaning], dtype=np.float64)


def weights_version() -> str:
    """Goes onto every record that this score let through (ADMIT-3)."""
    return f"durability-{_table()['version']}"
