"""Derived work of the ask encoder: it reads turns, passages and records when nothing else is left to do.

It takes about 8 ms per text, a hundred times as long as the static embedder. So a batch is small, new turns go first
after each, and foreground calls go first after every text: an import of 100,000 turns is searched by words and static
vectors at once, and by this reading as far as it has come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from holdfast.index.blocks import IndexSizes
from holdfast.index.vectors import embed_documents, vectors_stage
from holdfast.models.embedder import Embedder
from holdfast.store.store import Store
from holdfast.store.types import Space

_READ = (Space.TURN, Space.PASSAGE, Space.RECORD)
"""Of a long turn its beginning and its passages: the best of them counts."""
_BATCH = 32
"""Texts per transaction: about .3 s."""


class PoliteEmbedder:
    """Embeds one text after the other, and lets foreground calls go first in between."""

    def __init__(self, embedder: Embedder, step_aside: Callable[[], None]) -> None:
        self._embedder = embedder
        self._step_aside = step_aside
        self.profile = embedder.profile

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = []
        for text in texts:
            vectors.append(self._embedder.embed([text])[0])
            self._step_aside()
        return np.stack(vectors)


def read_for_questions(
    store: Store, namespace: str, encoder: Embedder, settings: IndexSizes, step_aside: Callable[[], None]
) -> int:
    """Read a few texts; returns the size of a full batch if there were any, for more are likely to follow."""
    polite, few = PoliteEmbedder(encoder, step_aside), replace(settings, batch=_BATCH)
    some = any(embed_documents(store, namespace, space, polite, few) for space in _READ)
    return settings.batch if some else 0


def count_unread(store: Store, namespace: str, encoder: Embedder) -> int:
    """Count the turns, passages and records that the encoder has yet to read."""
    left = 0
    with store.snapshot(namespace) as view:
        for space in _READ:
            done = view.cursor(vectors_stage(space, encoder.profile.fingerprint))
            if view.numbers(space, done, 1):
                left += view.end(space) - done
    return left
