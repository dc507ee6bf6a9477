"""What speed is measured with: times by name, how far a run has come, an embedder whose cost can be left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.models.embedder import Embedder, Profile

__all__ = ["Progress", "Remembering", "Times", "timed"]

Progress = Callable[[str, int, int], None]
"""Called with (step, done, total)."""
Value = TypeVar("Value")
Times = dict[str, list[float]]
"""Milliseconds."""


def timed(times: Times, name: str, work: Callable[[], Value]) -> Value:
    start = time.perf_counter()
    value = work()
    times.setdefault(name, []).append((time.perf_counter() - start) * 1000)
    return value


class Remembering:
    """An embedder that is asked once for each question: search without the cost of embedding it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    @property
    def profile(self) -> Profile:
        return self._embedder.profile

    def warm(self, texts: Sequence[str]) -> None:
        self._known.update(zip(texts, self._embedder.embed(texts), strict=True))

    def forget(self, texts: Sequence[str]) -> None:
        for text in texts:
            self._known.pop(text, None)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(texts) == 1 and texts[0] in self._known:
            return self._known[texts[0]][None]
        return self._embedder.embed(texts)
