"""Vectors in rows take half their room where that loses nothing: derived work rounds them so that they can.

A row of half precision is known by its odd length. Whole ones, of other sizes or older stores, are kept as they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

__all__ = ["halved", "whole"]

_MARK = b"h"
_LEAST = 64
"""Bytes: what is shorter is no vector but a number or two."""


def halved(vectors: Sequence[bytes]) -> list[bytes]:
    """Vectors of float32 as they are stored."""
    stored: list[bytes] = []
    for size, run in groupby(vectors, len):
        part = list(run)
        if size < _LEAST or size % 4:
            stored += part
            continue
        full = np.frombuffer(b"".join(part), "<f4").reshape(len(part), -1)
        with np.errstate(over="ignore"):  # too large for half precision: it stays whole
            half = full.astype("<f2")
        exact = (half.astype("<f4") == full).all(axis=1)
        stored += [row.tobytes() + _MARK if fits else one for row, fits, one in zip(half, exact, part, strict=True)]
    return stored


def whole(stored: Sequence[bytes]) -> list[bytes]:
    """Vectors of float32, as they came."""
    vectors: list[bytes] = []
    for size, run in groupby(stored, len):
        part = list(run)
        if size % 2 == 0:
            vectors += part
            continue
        width = 2 * (size - 1)
        rows = np.frombuffer(b"".join(part), np.uint8).reshape(len(part), size)[:, :-1]
        joined = np.ascontiguousarray(rows).view("<f2").astype("<f4").tobytes()
        vectors += [joined[at : at + width] for at in range(0, len(joined), width)]
    return vectors
