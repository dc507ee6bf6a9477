"""Whether a sentence reads like a rule: a logistic score over how it is put and what it is about.

A second opinion on what the patterns say. Where they found nothing it may add a rule ("trainees shadow a nurse for two
weeks"); where they found one in a remark it may drop it. How a sentence is put are its marks (deontic_manner) and which
reader found a rule in it; what it is about is its vector in the packaged static model. The weights are learned from
sentences of our own (training/deontic.py) and shipped as a small table; public sets only judge them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from holdfast.compact.deontic_manner import SPOKEN, marks
from holdfast.models.static import shipped_embedder

__all__ = ["MOST_WORDS_DROPPED", "Opinion", "bar", "embed", "found_by", "opinions"]

ADDED = 0.5
"""From here a sentence is a rule that no pattern found: cross-validated, this finds four of ten of those …"""
ADDED_IN_TALK = 0.7
"""… and from here where people speak of themselves and each other (SPOKEN). With .5 for both, .0231 of DailyDialog's
turns that inform are flagged; with .7, .0192 (bar .02), and 15 of the 216 rules that were won are lost."""
KEPT = 0.1
"""Below it what a pattern found is dropped: cross-validated, that costs one rule of 919, and rids us of 46 of 238
remarks in talk. With .3 it cost eleven, and rules that users had planted: in doubt it protects (COMP-9)."""
MOST_WORDS_DROPPED = 18
"""What a pattern found in a longer sentence stays: contracts have long ones, and the weights were learned from talk."""
_AT_ONCE = 512  # sentences; their vectors take half a megabyte


@dataclass(frozen=True, slots=True)
class _Table:
    bias: float
    marks: dict[str, float]
    meaning: NDArray[np.float64]
    reach: float
    """The most that meaning added or took away in training: farther from the bar it is not asked."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """How likely a sentence is a rule, and whether that is enough."""

    chance: float
    enough: bool


def opinions(asked: Sequence[tuple[str, str]]) -> list[Opinion]:
    """For each sentence, with the reader that found a rule in it or "", whether it is one.

    Its meaning is looked at only where that could change the verdict, for vectors are what costs.
    """
    table = _table()
    seen = [marks(text) for text, _ in asked]
    scores = [_put(each, reader, table) for each, (_, reader) in zip(seen, asked, strict=True)]
    bars = [bar(each, reader) for each, (_, reader) in zip(seen, asked, strict=True)]
    near = [place for place, score in enumerate(scores) if abs(score - _log_odds(bars[place])) <= table.reach]
    for start in range(0, len(near), _AT_ONCE):
        places = near[start : start + _AT_ONCE]
        # No BLAS: a sentence's score must not depend on those it is weighed together with.
        added = np.einsum("ij,j->i", embed([asked[place][0] for place in places]), table.meaning)
        for place, more in zip(places, added.tolist(), strict=True):
            scores[place] += more
    chances = [1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, score)))) for score in scores]
    return [Opinion(chance, chance >= least) for chance, least in zip(chances, bars, strict=True)]


def bar(seen: Sequence[str], reader: str) -> float:
    """How likely a sentence with these marks must be a rule to count as one."""
    if reader:
        return KEPT
    return ADDED if SPOKEN.isdisjoint(seen) else ADDED_IN_TALK


def found_by(reader: str) -> str:
    """The mark of a sentence in which a reader found a rule."""
    return f"found by {reader}"


def embed(sentences: Sequence[str]) -> NDArray[np.float32]:
    """What sentences are about, as the packaged static model has it, whichever embedder is configured."""
    return shipped_embedder().embed([sentence.replace("’", "'") for sentence in sentences])


def _put(seen: Sequence[str], reader: str, table: _Table) -> float:
    weights = table.marks
    score = table.bias + sum([weights[mark] for mark in seen if mark in weights])
    return score + weights.get(found_by(reader), 0.0) if reader else score


def _log_odds(probability: float) -> float:
    return math.log(probability / (1.0 - probability))


@cache
def _table() -> _Table:
    table = json.loads(resources.files("holdfast.compact").joinpath("deontic.json").read_text(encoding="utf-8"))
    assert table["model"] == shipped_embedder().profile.fingerprint, "the weights belong to another static model"
    return _Table(table["bias"], table["marks"], np.array(table["meaning"], dtype=np.float64), table["reach"])
