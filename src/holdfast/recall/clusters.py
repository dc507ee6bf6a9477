"""Groups of vectors that lie together, the same from run to run: seeds are where the data is densest.

Nothing is drawn by chance. A seed is a vector with many near it that no earlier seed stands for, and a centre is
pulled by all vectors, near ones more, so a few more of them change little. k-means and linkage, tried on the same
conversations, changed more (docs/themes.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.models.unit import unit
from holdfast.settings import ThemeSettings

__all__ = ["Clusters", "cluster", "in_context"]

Vectors = NDArray[np.float32]
Numbers = NDArray[np.int64]

_ROUNDS = 3  # moves of the centres: with ten the groups of five conversations were the same
_SHARPNESS = 10.0
"""How fast a row's pull falls with its distance. With 5 and 20 groups change more when 3 % more turns are there."""
_FEW = 20  # of so many turns what is common to all is as likely their one theme as their owner's way of talking
_DIGITS = 4  # of a product: its last bits depend on how many rows are multiplied at once, and must decide nothing


@dataclass(frozen=True)
class Clusters:
    """Which group each row is in (-1: none), and where the groups lie; the largest group first."""

    of: Numbers
    centres: Vectors
    nearness: NDArray[np.float32]
    """Of each row to the centre of its group."""

    @property
    def sizes(self) -> list[int]:
        return [int(size) for size in np.bincount(self.of[self.of >= 0], minlength=len(self.centres))]


def in_context(vectors: Vectors, weights: Vectors, before: Numbers, share: float) -> Vectors:
    """Each row with a share of its neighbours' in the conversation; `before` is the row before it, -1 for none.

    What "yes, that one" is about stands beside it. What is common to all rows is taken away first: it groups nothing.
    """
    heard = np.linalg.norm(vectors, axis=1) > 0
    usual = vectors[heard].sum(axis=0, dtype=np.float64) / (np.count_nonzero(heard) + _FEW)
    # Rounded: one more vector must not turn every other by its last bits.
    own = np.where(heard[:, None], unit(vectors - np.round(usual, _DIGITS).astype(np.float32)), np.float32(0))
    own *= weights[:, None]
    mixed = own.copy()
    after = np.flatnonzero(before >= 0)
    mixed[after] += np.float32(share) * own[before[after]]
    np.add.at(mixed, before[after], np.float32(share) * own[after])
    return unit(mixed)


def cluster(vectors: Vectors, settings: ThemeSettings) -> Clusters:
    """Groups of unit vectors; rows that lie near no centre are in none."""
    centres = vectors[_seeds(vectors, settings)]
    for _ in range(_ROUNDS if len(centres) else 0):
        # By weight, not by membership: a row between two centres pulls both, and a few more rows move neither far.
        centres = unit(_pull(vectors @ centres.T).T @ vectors)
    return _largest_first(*_assign(vectors, centres, settings.near), centres, settings.least)


def _pull(products: Vectors) -> Vectors:
    """How much rows of these cosines count: 1 at 1, a third with each .11 less."""
    pull: Vectors = np.exp(np.float32(_SHARPNESS) * (products - 1))
    return pull


def _seeds(vectors: Vectors, settings: ThemeSettings) -> list[int]:
    """The densest rows, none near another; read from an even part of the rows where they are many."""
    part = np.arange(0, len(vectors), max(-(-len(vectors) // settings.seeded), 1))
    if not len(part):
        return []
    products = vectors[part] @ vectors[part].T
    density = _pull(products).sum(axis=1, dtype=np.float64)
    chosen: list[int] = []
    free = np.linalg.norm(vectors[part], axis=1) > 0
    for place in np.lexsort((part, -np.round(density, _DIGITS))):
        if free[place]:
            chosen.append(int(place))
            free &= products[place] < settings.apart
            if len(chosen) == settings.seeds:
                break
    return [int(part[place]) for place in chosen]


def _assign(vectors: Vectors, centres: Vectors, near: float) -> tuple[Numbers, NDArray[np.float32]]:
    if not len(centres):
        return np.full(len(vectors), -1, np.int64), np.zeros(len(vectors), np.float32)
    products = np.round(vectors @ centres.T, _DIGITS)
    of = products.argmax(axis=1)
    nearness = products[np.arange(len(vectors)), of]
    return np.where(nearness >= near, of, -1), nearness


def _largest_first(of: Numbers, nearness: NDArray[np.float32], centres: Vectors, least: int) -> Clusters:
    sizes = np.bincount(of[of >= 0], minlength=len(centres))
    order = [int(number) for number in np.argsort(-sizes, kind="stable") if sizes[number] >= least]
    places = np.full(len(centres) + 1, -1, np.int64)  # the last one is for rows of no group
    places[order] = np.arange(len(order))
    return Clusters(places[of], centres[order], nearness)
