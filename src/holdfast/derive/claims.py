"""The vectors of what admission reads out of turns, kept beside the turns: a rebuild asks no model (INV-3).

A record keeps the vector of its own text, but a candidate that was merged or dropped leaves none, and a rebuild has to
compare it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from holdfast.models.embedder import Embedder
from holdfast.store.protocol import Changes, Snapshot, Space

__all__ = ["embed_claims"]

_ROOM = 64
"""Numbers that a turn has for its claims; those beyond, if anybody lets a turn make so many, are embedded again."""
_DIGEST = 16


def embed_claims(
    view: Snapshot, turn: int, texts: Sequence[str], embedder: Embedder, changes: Changes
) -> NDArray[np.float32]:
    """A vector for each text. The rules may read other claims out of a turn by now, so a stored one names its text."""
    stored = view.vectors(Space.CLAIM, changes.fingerprint, [turn * _ROOM + at for at in range(min(len(texts), _ROOM))])
    known = {data[:_DIGEST]: data[_DIGEST:] for _, data in stored}
    fresh = [at for at, text in enumerate(texts) if _digest(text) not in known]
    made = dict(zip(fresh, embedder.embed([texts[at] for at in fresh]) if fresh else (), strict=True))
    for at, vector in made.items():
        if at < _ROOM:
            data = _digest(texts[at]) + np.ascontiguousarray(vector, "<f4").tobytes()
            changes.vectors.append((Space.CLAIM, turn * _ROOM + at, data))
    return np.stack(
        [made[at] if at in made else np.frombuffer(known[_digest(text)], "<f4") for at, text in enumerate(texts)]
    )


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=_DIGEST).digest()
