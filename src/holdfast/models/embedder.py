"""The seam to an embedding model: texts in, unit vectors out, and a profile that says how to read its cosines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import simsimd
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Thresholds:
    """Cosine scales differ between models, so each profile carries its own (DESIGN, "Embedders")."""

    repeat: float
    """The seeds' .80: the same thing said again (GATE-4, input frequency)."""
    known: float
    """The seeds' .85: durable memory has it already (GATE-4, saturation)."""
    same: float
    """The seeds' .92: two wordings of one claim (MERGE-1)."""
    related: float
    """The seeds' .20: at all about the same matter (CTX-3)."""
    boost: float
    """The seeds' .78: close to a guidance prototype (COMP-3)."""
    relevant: float
    """A hit with no shared word must reach this to be more than chance."""


@dataclass(frozen=True)
class Profile:
    """What is known of an embedder: its name, its identity, its size and its thresholds."""

    name: str
    fingerprint: str
    """Name, weights hash and settings: vectors of different fingerprints are never compared (RECALL-12)."""
    dims: int
    thresholds: Thresholds
    scripts: frozenset[str]
    """Unicode scripts it was trained for ("Latin"); empty: every script. Outside them it stays silent (RECALL-9)."""


class Embedder(Protocol):
    """Anything that turns texts into unit vectors. A text with nothing it knows gets the zero vector."""

    @property
    def profile(self) -> Profile: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """float32 [len(texts), dims]; a text's vector never depends on the others in the batch.

        Raises ModelError when the model cannot answer; the caller keeps the turns and tries again later.
        """
        ...


# --- Vectors of length one, so that a dot product is a cosine.


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


# --- Products of vectors that wake no other thread.
#
# A BLAS that shares a product out among threads has them spin on after it, which on two cores took more processor
# than all else that a single turn costs (30 ms of 36; with one thread 13). It does so from a size on: many rows are
# worth it, few are multiplied in pieces below that size.


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
