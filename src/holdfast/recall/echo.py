"""The echo of the first hits: what says something like them is likely about the same matter, in other words than asked.

The mean of the best few is held beside the best hundreds only, whose codes the scan has in memory already. How far a
nearness stands out is told by a sample of the namespace's turns, so that there is no second scan.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.semantic import Gathered, Meant
from holdfast.recall.shelf import Shelves
from holdfast.settings import RecallSettings

__all__ = ["echo"]

Scores = NDArray[np.float32]
Positions = NDArray[np.int64]

_AGAIN = 4  # documents that one turn may be: itself and its records, hardly ever more
_DIGITS = 5  # the last bits depend on the order of a sum, and must not decide between two that say the same


def echo(
    shelves: Shelves, meaning: Meant, vectors: Gathered, first: Positions, near: Positions, settings: RecallSettings
) -> Scores:
    """What each of `near` is given for its likeness to the hits at `first`, which come best first.

    `vectors` holds those of both.
    """
    heard = meaning.heard
    first = _apart(shelves, first[heard.mask[first]][: _AGAIN * settings.echo_hits])[: settings.echo_hits]
    nothing = np.zeros(len(near), np.float32)
    if len(first) < settings.echo_hits or heard.turns < settings.echo_from:
        return nothing
    like = vectors.vectors[vectors.rows(first)].mean(axis=0)
    usual, ours = _likeness(heard.sample, like), _likeness(vectors.vectors, like)[vectors.rows(near)]
    spread = float(usual.std())
    if spread < 10.0**-_DIGITS:
        return nothing
    given = (ours - usual.mean()) * (settings.echo / spread)
    return np.where(heard.mask[near], given, 0.0).astype(np.float32)


def _likeness(vectors: Scores, like: Scores) -> NDArray[np.float64]:
    likeness: Scores = np.einsum("ij,j->i", vectors, like)
    return np.round(likeness, _DIGITS).astype(np.float64)


def _apart(shelves: Shelves, positions: Positions) -> Positions:
    """Without what the same turn says again: a turn and its record are one hit."""
    records, turns = shelves.columns.told_by
    owners = positions.copy()
    if len(records):
        places = np.minimum(np.searchsorted(records, positions), len(records) - 1)
        owners = np.where(records[places] == positions, turns[places], positions)
    _, once = np.unique(owners, return_index=True)
    apart: Positions = positions[np.sort(once)]
    return apart
