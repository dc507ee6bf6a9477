"""What texts are about, as vectors that a summary is chosen and checked by: the same under any configured embedder.

The packaged static model, where it knows the script; elsewhere a text's own words, each in a place of its own. So the
same log gives the same summaries whichever embedder is there or down, and a rebuild asks no model (INV-3).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.models.static import shipped_embedder
from holdfast.models.unit import unit
from holdfast.words import query_terms, script_of

__all__ = ["Vectors", "beside_words", "centroid", "is_known", "meanings"]

Vectors = NDArray[np.float32]

_PLACES = 512  # for words: of a sentence's ten, two meet by chance in one of twelve sentences
_MOST_TERMS = 400


def is_known(text: str) -> bool:
    """Whether the packaged model knows the script that most of the text is in."""
    return script_of(text) in shipped_embedder().profile.scripts


def meanings(texts: Sequence[str]) -> Vectors:
    """Unit vectors; of a text without words the zero vector."""
    return beside_words(texts, shipped_embedder().embed([text.replace("’", "'") for text in texts]))


def beside_words(texts: Sequence[str], embedded: Vectors) -> Vectors:
    """The packaged model's vectors with those of unknown script replaced by places for their words."""
    vectors = np.zeros((len(texts), embedded.shape[1] + _PLACES), np.float32)
    vectors[:, : embedded.shape[1]] = embedded
    for row, text in enumerate(texts):
        if is_known(text):
            continue
        vectors[row] = 0
        for term in query_terms(text, _MOST_TERMS):
            vectors[row, embedded.shape[1] + zlib.crc32(term.encode()) % _PLACES] += 1
    return unit(vectors)


def centroid(vectors: Vectors) -> NDArray[np.float32]:
    """The middle of unit vectors, of length one."""
    middle: NDArray[np.float32] = unit(np.sum(vectors, axis=0, keepdims=True, dtype=np.float32))[0]
    return middle
