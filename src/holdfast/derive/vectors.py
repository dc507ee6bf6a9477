"""Derived work: embed documents, and fold their vectors into quantised segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.models.embedder import Embedder
from holdfast.models.unit import rounded
from holdfast.recall.blocks import pack_segment
from holdfast.recall.vectors import segments_stage, vectors_stage
from holdfast.settings import IndexSettings
from holdfast.store.nouns import BLOCK, Changes, Move, Space
from holdfast.store.protocol import Snapshot, Store
from holdfast.words import script_of

__all__ = ["embed_documents", "embed_texts", "fold"]


def embed_documents(store: Store, namespace: str, space: Space, embedder: Embedder, settings: IndexSettings) -> int:
    """Embed one batch; how many documents it was. When the model fails, ModelError, and the cursor stays (SAL-5)."""
    fingerprint = embedder.profile.fingerprint
    embedding, folding = vectors_stage(space, fingerprint), segments_stage(space, fingerprint)
    with store.snapshot(namespace) as view:
        done, folded = view.cursor(embedding), view.cursor(folding)
        documents = view.documents(space, done, settings.batch)
        if not documents:
            return 0
        known = {num for num, _ in view.vectors_between(space, fingerprint, done, documents[-1].num)}
        fresh = [document for document in documents if document.num not in known]
        vectors = embed_texts([document.text for document in fresh], embedder)
        nums = [document.num for document in fresh]
        upto = documents[-1].num
        changes = Changes(
            fingerprint=fingerprint,
            vectors=[(space, num, vector.tobytes()) for num, vector in zip(nums, vectors, strict=True)],
        )
        moves = [Move(embedding, done, upto)]
        if upto - folded >= settings.vector_tail:
            fold(view, space, changes, dict(zip(nums, vectors, strict=True)), folded, upto)
            moves.append(Move(folding, folded, upto))
    return len(documents) if store.advance(namespace, moves, changes) else 0


def embed_texts(texts: Sequence[str], embedder: Embedder) -> NDArray[np.float32]:
    """Unit vectors; the zero vector for a text in a script the model does not know (RECALL-9)."""
    vectors = np.ascontiguousarray(embedder.embed(texts), "<f4") if texts else np.zeros((0, 0), np.float32)
    scripts = embedder.profile.scripts
    if scripts:
        for number, text in enumerate(texts):
            if not text.isascii() and script_of(text) not in scripts:
                vectors[number] = 0.0
    return rounded(vectors)


def fold(
    view: Snapshot, space: Space, changes: Changes, added: Mapping[int, NDArray[np.float32]], folded: int, upto: int
) -> None:
    """Write the segments of the blocks that have grown: the vectors they have already, and those of this batch.

    None beyond it, though there may be some (a rebuild keeps them, and records come with theirs): they are read as what
    waits behind the segments, and would count twice.
    """
    for block in range((folded + 1) // BLOCK, upto // BLOCK + 1):
        first, last = block * BLOCK, (block + 1) * BLOCK - 1
        stored = dict(view.vectors_between(space, changes.fingerprint, max(first - 1, 0), min(last, upto)))
        vectors = {num: np.frombuffer(data, "<f4") for num, data in stored.items()}
        vectors.update({num: vector for num, vector in added.items() if first <= num <= last})
        nums = sorted(vectors)
        if nums:  # a block may hold acts alone
            changes.segments.append((space, block, pack_segment(nums, np.stack([vectors[num] for num in nums]))))
