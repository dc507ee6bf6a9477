"""Turns by the company their words keep: vectors without an embedder, from the words of the window alone.

Words that stand in the same turns point the same way (latent semantic analysis): the main directions of the table of
turns and words, each word counting the more the rarer it is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.models.unit import unit
from holdfast.recall.theme_words import Worded
from holdfast.settings import ThemeSettings

__all__ = ["by_company"]

Vectors = NDArray[np.float32]

_ROWS = 2000  # turns of the table that are in memory at a time
_COMMON = 0.5  # a word that half of the turns hold is about nothing


def by_company(turns: Sequence[Worded], settings: ThemeSettings) -> Vectors:
    """A unit vector for each turn; zero for one that shares no word with another."""
    rarity = _rarity(turns, settings.vocabulary)
    if not rarity:
        return np.zeros((len(turns), 1), np.float32)
    columns = {term: number for number, term in enumerate(rarity)}
    weights = np.array(list(rarity.values()), np.float32)
    together = np.zeros((len(rarity), len(rarity)), np.float64)
    for table in _tables(turns, columns, weights):
        together += table.T @ table
    _, directions = np.linalg.eigh(together)  # the largest last
    main = directions[:, -settings.dimensions :].astype(np.float32)
    return unit(np.concatenate([table @ main for table in _tables(turns, columns, weights)]))


def _rarity(turns: Sequence[Worded], most: int) -> dict[str, float]:
    """The most frequent words that more than one turn holds, with how rare each is."""
    held: Counter[str] = Counter()
    for turn in turns:
        held.update(turn.terms)
    shared = [(term, count) for term, count in held.items() if 1 < count <= max(2, _COMMON * len(turns))]
    shared.sort(key=lambda one: (-one[1], one[0]))
    return {term: math.log(len(turns) / count) + 1 for term, count in shared[:most]}


def _tables(turns: Sequence[Worded], columns: dict[str, int], weights: Vectors) -> Iterator[Vectors]:
    for start in range(0, len(turns), _ROWS):
        part = turns[start : start + _ROWS]
        table = np.zeros((len(part), len(columns)), np.float32)
        for row, turn in enumerate(part):
            held = [columns[term] for term in turn.terms if term in columns]
            table[row, held] = weights[held]
        yield unit(table)
