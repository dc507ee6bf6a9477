"""Vectors of length one, so that a dot product is a cosine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["rounded", "unit"]


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each row scaled to length one; a zero row stays zero. No BLAS: its sums may differ with the size of the batch."""
    lengths: NDArray[np.float32] = np.sqrt(np.sum(vectors * vectors, axis=1, keepdims=True))
    lengths[lengths == 0] = 1
    return vectors / lengths


def rounded(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """To what half precision holds, so that a store keeps them in half the room and loses nothing.

    A cosine moves by about 1e-5, a hundredth of what the int8 codes of a scan move it by.
    """
    return vectors.astype("<f2").astype("<f4")
