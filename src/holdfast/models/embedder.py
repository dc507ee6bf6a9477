"""Embedder protocol, the profile that gives its cosines a meaning, and arithmetic on unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import simsimd
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

# A BLAS that splits a product among threads keeps them spinning afterwards, which on two cores cost more processor time
# than everything else for a single turn (30 ms of 36; with one thread 13). It does so from a certain size on: for many
# rows that pays, few rows are multiplied in blocks below that size.
_MANY_ROWS = 128  # from here on threaded BLAS saves more than it costs
_BLOCK = 1 << 18  # multiplications that OpenBLAS does in one thread
_BLOCK_ROWS = 32


@dataclass(frozen=True)
class Thresholds:
    """Cosine thresholds; scales differ between models, so each profile has its own."""

    repeat: float
    """The seeds' .80: the same thing said again (GATE-4, input frequency)."""
    known: float
    """The seeds' .85: durable memory has it already (GATE-4, saturation)."""
    same: float
    """The seeds' .92: two wordings of one claim (MERGE-1)."""
    related: float
    """The seeds' .20: about the same matter (CTX-3)."""
    boost: float
    """The seeds' .78: close to a guidance prototype (COMP-3)."""
    relevant: float
    """Minimum for a hit without a shared word; below it is chance."""


@dataclass(frozen=True)
class Profile:
    """Name, identity, size and thresholds of an embedder."""

    name: str
    fingerprint: str
    """Name, weights hash and settings: vectors of different fingerprints are never compared (RECALL-12)."""
    dims: int
    thresholds: Thresholds
    scripts: frozenset[str]
    """Unicode scripts it was trained for ("Latin"), empty for all; it is not asked about others (RECALL-9)."""


class Embedder(Protocol):
    """Converts texts to unit vectors; a text without any known token gets the zero vector."""

    @property
    def profile(self) -> Profile: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32 [len(texts), dims]; a vector must not depend on the other texts of the batch.

        Raises ModelError if the model cannot answer; the caller keeps the turns and tries again later.
        """
        ...


def unit(vectors: Vectors) -> Vectors:
    """Scale each row to length one; a zero row stays zero. No BLAS: its sums may depend on the size of the batch."""
    lengths: Vectors = np.sqrt(np.sum(vectors * vectors, axis=1, keepdims=True))
    lengths[lengths == 0] = 1
    return vectors / lengths


def round_to_half(vectors: Vectors) -> Vectors:
    """Round to half precision, so that the store can keep them in half the space without loss.

    A cosine changes by about 1e-5, a hundredth of the error of the int8 codes in a scan.
    """
    return vectors.astype("<f2").astype("<f4")


def dot_product(vectors: Vectors, vector: Vectors) -> Vectors:
    """Return the dot product of each vector with one."""
    found: Vectors = dot_products(vector[None], vectors)[0]
    return found


def dot_products(few: Vectors, many: Vectors) -> Vectors:
    """Return the dot products of each of the few (rows) with each of the many (columns)."""
    if len(few) >= _MANY_ROWS:
        return few @ many.T
    if len(few) == 1 and len(many):
        return np.asarray(simsimd.cdist(few, many, "dot", out_dtype="float32"))
    found = np.empty((len(few), len(many)), np.float32)
    for row in range(0, len(few), _BLOCK_ROWS):
        part = few[row : row + _BLOCK_ROWS]
        step = max(_BLOCK // part.size, 1)
        for at in range(0, len(many), step):
            np.matmul(part, many[at : at + step].T, out=found[row : row + _BLOCK_ROWS, at : at + step])
    return found
