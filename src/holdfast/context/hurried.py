"""An embedder that has little time: late is as good as down, and recall goes on by words."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.context.patience import Patience
from holdfast.errors import ModelError, ModelUnavailable
from holdfast.models.breaker import Breaker
from holdfast.models.embedder import Embedder, Profile

__all__ = ["Hurried"]


class Hurried:
    """For one context: all it is asked shares one allowance, the same text is asked once, and it fails only once."""

    def __init__(self, embedder: Embedder, patience: Patience, breaker: Breaker, seconds: float) -> None:
        self._embedder = embedder
        self._patience = patience
        self._breaker = breaker
        self._left = seconds
        self._known: dict[tuple[str, ...], NDArray[np.float32]] = {}
        self._failed: str | None = None

    @property
    def profile(self) -> Profile:
        return self._embedder.profile

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        key = tuple(texts)
        if self._failed is not None:
            raise ModelUnavailable(self._failed)
        if key not in self._known:
            started = time.monotonic()
            try:
                self._known[key] = self._breaker.call(
                    lambda: self._patience.wait_for(lambda: self._embedder.embed(texts), self._left)
                )
            except ModelError as error:
                self._failed = str(error)
                raise
            self._left -= time.monotonic() - started
        return self._known[key]
