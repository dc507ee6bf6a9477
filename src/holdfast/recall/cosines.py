"""The cosines of documents with a question: in full precision for what is shown, else within bounds from the codes.

Most candidates lie so far above or below the floor that the codes, which the scan has in memory, decide; the full
vectors of the others are read from the store, and so are those of the hits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.recall.semantic import Gathered, scanned_space
from holdfast.recall.shelf import Shelves
from holdfast.recall.vectors import exact

__all__ = ["Cosines"]

Scores = NDArray[np.float32]

_ROUNDING = np.float32(1e-5)  # of sums in single precision


class Cosines:
    def __init__(self, shelves: Shelves, vector: Scores | None, fingerprint: str | None) -> None:
        self._shelves = shelves
        self._vector = vector
        self._fingerprint = fingerprint
        self._known: dict[int, float] = {}
        self._likely: Sequence[int] = ()

    def expect(self, positions: Sequence[int]) -> None:
        """These are likely to be asked for: they are read together with the first that are."""
        self._likely = positions

    def bounds(self, positions: NDArray[np.int64], vectors: Gathered | None) -> tuple[Scores, Scores]:
        """What each cosine is at least and at most, by vectors that hold these positions; 0 where there is none."""
        if self._vector is None or vectors is None or not vectors.vectors.size:
            return np.zeros(len(positions), np.float32), np.zeros(len(positions), np.float32)
        rows = vectors.rows(positions)
        near, scales = np.einsum("ij,j->i", vectors.vectors[rows], self._vector), vectors.scales[rows]
        # A code is off by half a step of its scale at most, in each component.
        slack = scales * np.float32(np.abs(self._vector).sum() / 2) + _ROUNDING * (scales > 0)
        return near - slack, near + slack

    def exactly(self, positions: Sequence[int]) -> dict[int, float]:
        """The cosines at these positions, each read once; none where the leg is silent, or has no vector."""
        if self._vector is None or self._fingerprint is None:
            return {}
        unknown = [at for at in positions if at not in self._known]
        if unknown:
            unknown = [*unknown, *(at for at in self._likely if at not in self._known and at not in unknown)]
            self._likely = ()
        for shelf, start, nums in zip(
            self._shelves.parts, self._shelves.starts, self._shelves.numbers(unknown), strict=True
        ):
            found = exact(shelf.view, scanned_space(shelf), self._fingerprint, self._vector, nums) if nums else {}
            self._known.update({start + num: cosine for num, cosine in found.items()})
        return {at: self._known[at] for at in positions if at in self._known}
