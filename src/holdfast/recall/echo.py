"""The echo of the first hits: what says something like them is likely about the same matter, in other words than asked.

The mean of the best few is held beside the best hundreds only, whose codes the scan has in memory already. How far a
nearness stands out is told by a sample of the namespace's turns, so that there is no second scan.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.blocks import Segment
from holdfast.recall.semantic import Meant
from holdfast.recall.shelf import Shelves
from holdfast.settings import RecallSettings

__all__ = ["echo"]

Scores = NDArray[np.float32]
Positions = NDArray[np.int64]

_SAMPLE = 256  # turns; the spread of so many is within a twentieth of that of all
_AGAIN = 4  # documents that one turn may be: itself and its records, hardly ever more
_DIGITS = 5  # the last bits depend on the order of a sum, and must not decide between two that say the same


def echo(shelves: Shelves, meaning: Meant, first: Positions, near: Positions, settings: RecallSettings) -> Scores:
    """What each of `near` is given for its likeness to the hits at `first`, which come best first."""
    turns = np.flatnonzero(meaning.heard[: shelves.parts[0].pool.size])
    first = _apart(shelves, first[meaning.heard[first]][: _AGAIN * settings.echo_hits])[: settings.echo_hits]
    nothing = np.zeros(len(near), np.float32)
    if len(first) < settings.echo_hits or len(turns) < settings.echo_from:
        return nothing
    sample = turns[:: max(1, len(turns) // _SAMPLE)][:_SAMPLE]
    vectors = _vectors(shelves, meaning.segments, np.concatenate([first, sample, near]))
    like = vectors[: len(first)].mean(axis=0)
    likeness = np.round(np.einsum("ij,j->i", vectors[len(first) :], like), _DIGITS).astype(np.float64)
    usual, ours = likeness[: len(sample)], likeness[len(sample) :]
    spread = float(usual.std())
    if spread < 10.0**-_DIGITS:
        return nothing
    given = (ours - usual.mean()) * (settings.echo / spread)
    return np.where(meaning.heard[near], given, 0.0).astype(np.float32)


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


def _vectors(shelves: Shelves, segments: Sequence[Sequence[Segment]], positions: Positions) -> Scores:
    """The vectors at these positions, as the codes tell them."""
    found = np.zeros((len(positions), next(one.codes.shape[1] for some in segments for one in some)), np.float32)
    for start, some in zip(shelves.starts, segments, strict=True):
        for segment in some:
            there, rows = segment.rows(positions - start)
            found[there] = segment.codes[rows] * segment.scales[rows, None]
    return found
