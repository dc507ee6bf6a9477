"""Products of vectors that wake no other thread.

A BLAS that shares a product out among threads has them spin on after it, which on two cores took more processor than
all else that a single turn costs (30 ms of 36; with one thread 13). It does so from a size on: many rows are worth it,
few are multiplied in pieces below that size.
"""

from __future__ import annotations

import numpy as np
import simsimd
from numpy.typing import NDArray

__all__ = ["product", "products"]

Vectors = NDArray[np.float32]

_MANY = 128  # rows from which BLAS as it is saves more than its threads cost
_PIECE = 1 << 18  # multiplications that OpenBLAS does in one thread
_ROWS = 32


def product(vectors: Vectors, vector: Vectors) -> Vectors:
    """Of each of the vectors with one."""
    found: Vectors = products(vector[None], vectors)[0]
    return found


def products(few: Vectors, many: Vectors) -> Vectors:
    """Of each of the few with each of the many: a row for each of the few."""
    if len(few) >= _MANY:
        return few @ many.T
    if len(few) == 1 and len(many):
        return np.asarray(simsimd.cdist(few, many, "dot", out_dtype="float32"))
    found = np.empty((len(few), len(many)), np.float32)
    for row in range(0, len(few), _ROWS):
        part = few[row : row + _ROWS]
        step = max(_PIECE // part.size, 1)
        for at in range(0, len(many), step):
            np.matmul(part, many[at : at + step].T, out=found[row : row + _ROWS, at : at + step])
    return found
