"""Pairs that lie close: what the similarity gate compared, and the user's turns beside their nearest earlier ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.secrets import mask
from holdfast.admit.tuning import weigh
from holdfast.insight import Pair
from holdfast.model import Origin, Role
from holdfast.recall.vectors import matrix
from holdfast.store.nouns import Space
from holdfast.store.protocol import Snapshot

__all__ = ["pairs_of_records", "pairs_of_turns"]

_PLACED = ("added", "merged", "replaces", "dropped")  # what derive/placing.py says of a candidate
_ROWS = 512  # turns compared with all before them in one product


def pairs_of_records(view: Snapshot, lowest: float) -> tuple[int, list[Pair]]:
    """How many candidates were placed, and those with a record at least this near, as it stood then."""
    told = view.decisions(_PLACED)
    pairs = []
    candidates = 0
    for _, decision in told:
        if "record" not in decision.details:  # a record's own receipt of the same event
            continue
        candidates += 1
        near = decision.details.get("compared")
        if isinstance(near, Mapping) and near["cosine"] >= lowest:
            pairs.append(weigh(near["said"], near["known"], near["cosine"], "record"))
    return candidates, pairs


def pairs_of_turns(view: Snapshot, fingerprint: str, lowest: float, most: int) -> tuple[int, list[Pair]]:
    """The user's newest turns, each with the nearest earlier one; one row a turn, as the gate would see it."""
    hidden = set(view.hidden(Space.TURN))
    own = {
        turn.seq: turn.text
        for turn in view.recent_turns(2 * most, None, None, None)
        if turn.role is Role.USER and turn.origin is Origin.USER and turn.seq not in hidden
    }
    seqs = sorted(own)[-most:]
    stored = sorted(view.vectors(Space.TURN, fingerprint, seqs))
    if not stored:
        return 0, []
    vectors = matrix(stored)
    nearest, cosines = _nearest_before(vectors)
    pairs = [
        _masked(weigh(own[stored[row][0]], own[stored[nearest[row]][0]], round(float(cosine), 4), "turn"))
        for row, cosine in enumerate(cosines)
        if cosine >= lowest
    ]
    return len(stored), pairs


def _masked(pair: Pair) -> Pair:
    """Compared as it was said, shown without secrets: a candidate's are masked already, a turn's are not (ADMIT-7)."""
    return replace(pair, new=mask(pair.new).text, old=mask(pair.old).text, reason=mask(pair.reason).text)


def _nearest_before(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each row the row before it that is nearest, and how near; the first has none (-1)."""
    nearest = np.zeros(len(vectors), np.int64)
    cosines = np.full(len(vectors), -1.0, np.float32)
    for start in range(0, len(vectors), _ROWS):
        part = vectors[start : start + _ROWS]
        products = part @ vectors[: start + len(part)].T
        products[np.arange(products.shape[1])[None, :] >= np.arange(start, start + len(part))[:, None]] = -1.0
        nearest[start : start + len(part)] = products.argmax(axis=1)
        cosines[start : start + len(part)] = products.max(axis=1)
    return nearest, cosines
