"""The seam to an embedding model: texts in, unit vectors out, and a profile that says how to read its cosines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["Embedder", "Profile", "Thresholds"]


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
