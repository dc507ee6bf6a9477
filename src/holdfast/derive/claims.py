"""The vectors of what admission reads out of turns, kept beside the turns: a rebuild asks no model (INV-3).

A record keeps the vector of its own text, but a candidate that was merged or dropped leaves none, and a rebuild has to
compare it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from holdfast.models.embedder import Embedder
from holdfast.models.unit import rounded
from holdfast.store.nouns import CLAIMS_A_TURN, Space
from holdfast.store.protocol import Snapshot

__all__ = ["Embedded", "embed_claims"]

_ROOM = CLAIMS_A_TURN
"""Those beyond, if anybody lets a turn make so many, are embedded again."""
_DIGEST = 16


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of one turn's claims, and the rows that keep those that were made now."""

    vectors: NDArray[np.float32]
    rows: list[tuple[Space, int, bytes]]


def embed_claims(view: Snapshot, claims: Mapping[int, Sequence[str]], embedder: Embedder) -> dict[int, Embedded]:
    """A vector for each text of each turn, by the turn's place in the log.

    The rules may read other claims out of a turn by now, so a stored one names its text.
    """
    dims, fingerprint = embedder.profile.dims, embedder.profile.fingerprint
    nums = [turn * _ROOM + at for turn, texts in claims.items() for at in range(min(len(texts), _ROOM))]
    known = {
        (num // _ROOM, data[:_DIGEST]): _read(data[_DIGEST:], dims)
        for num, data in view.vectors(Space.CLAIM, fingerprint, nums)
    }
    fresh = [
        (turn, at, text)
        for turn, texts in claims.items()
        for at, text in enumerate(texts)
        if (turn, _digest(text)) not in known
    ]
    rows: dict[int, list[tuple[Space, int, bytes]]] = {turn: [] for turn in claims}
    made = rounded(embedder.embed([text for _, _, text in fresh])) if fresh else ()
    for (turn, at, text), vector in zip(fresh, made, strict=True):
        digest = _digest(text)
        known[turn, digest] = vector
        if at < _ROOM:
            rows[turn].append((Space.CLAIM, turn * _ROOM + at, digest + vector.astype("<f2").tobytes()))
    return {
        turn: Embedded(np.stack([known[turn, _digest(text)] for text in texts]), rows[turn])
        for turn, texts in claims.items()
    }


def _read(data: bytes, dims: int) -> NDArray[np.float32]:
    """Older stores keep claims in full precision."""
    return np.frombuffer(data, "<f2" if len(data) == 2 * dims else "<f4").astype("<f4")


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=_DIGEST).digest()
