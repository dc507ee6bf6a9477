"""Embeddings from an OpenAI-compatible server: POST {base}/embeddings."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelMisbehaved
from holdfast.models.embedder import Profile, Thresholds
from holdfast.models.endpoint import Endpoint
from holdfast.models.installed import MINILM_THRESHOLDS
from holdfast.models.unit import unit

__all__ = ["API_KEY", "RemoteEmbedder"]

API_KEY = "HOLDFAST_EMBEDDER_API_KEY"
"""Not OPENAI_API_KEY: a key found in the environment must not travel to whichever server is configured."""
_TEXTS_PER_REQUEST = 64
"""Servers refuse large batches (Cohere's limit is 96, OpenAI's 300,000 tokens in all)."""
_MAX_CHARS = 8_000
"""OpenAI refuses texts beyond 8,191 tokens, and the batch with them; few scripts have over a token a character."""
_LARGEST = 1e15
"""A larger number is no part of an embedding, and the sum of its squares would leave float32."""


class RemoteEmbedder:
    """`url` is the base ("http://127.0.0.1:11434/v1"). Nothing is sent before the first embed().

    The size of the vectors is learned from the first reply unless `dims` says it; until then profile.dims is 0.
    The fingerprint (model, address, settings) never changes, so it can be compared before any call.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 10.0,
        dims: int | None = None,
        thresholds: Thresholds = MINILM_THRESHOLDS,
    ) -> None:
        self._endpoint = Endpoint(url, api_key=api_key or os.environ.get(API_KEY), timeout_s=timeout_s)
        self._model = model
        self._dims = dims or 0
        self._thresholds = thresholds

    @property
    def profile(self) -> Profile:
        return Profile(
            name=f"remote:{self._model}",
            fingerprint=f"remote|{self._model}|{self._endpoint.url}|max_chars={_MAX_CHARS}",
            dims=self._dims,
            thresholds=self._thresholds,
            scripts=frozenset(),  # nothing is known about it, so nothing is kept from it
        )

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # Servers refuse blank texts, and with them the whole batch.
        asked = [i for i, text in enumerate(texts) if text and not text.isspace()]
        answers: list[NDArray[np.float32]] = []
        for start in range(0, len(asked), _TEXTS_PER_REQUEST):
            batch = asked[start : start + _TEXTS_PER_REQUEST]
            answers.append(self._ask([texts[i][:_MAX_CHARS] for i in batch]))
        if texts and not self._dims:
            self._ask(["a"])  # only blank texts so far, but even zeros need a size
        vectors = np.zeros((len(texts), self._dims), dtype=np.float32)
        if answers:
            vectors[asked] = np.concatenate(answers)
        return vectors

    def close(self) -> None:
        self._endpoint.close()

    def _ask(self, texts: list[str]) -> NDArray[np.float32]:
        reply = self._endpoint.post("embeddings", {"model": self._model, "input": texts, "encoding_format": "float"})
        vectors = np.array(_in_order(reply, len(texts), self._model), dtype=np.float32)
        dims = vectors.shape[1]
        if self._dims and dims != self._dims:
            raise ModelMisbehaved(
                f"{self._model} gave vectors of {dims} numbers; they had {self._dims} before, or should have"
            )
        self._dims = dims
        return unit(vectors)


def _in_order(reply: object, count: int, model: str) -> list[list[float]]:
    """The vectors in the order of the texts; a server may answer in any order, `index` says which is which."""
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise ModelMisbehaved(f"{model} gave no list of embeddings")
    places = [item.get("index", place) for place, item in enumerate(data)]
    if not all(type(place) is int for place in places) or sorted(places) != list(range(count)):
        raise ModelMisbehaved(f"{model} gave {len(data)} embeddings for {count} texts, or numbered them wrongly")
    by_place = {place: item.get("embedding") for place, item in zip(places, data, strict=True)}
    vectors = [_checked(by_place[i], model) for i in range(count)]
    if len({len(vector) for vector in vectors}) != 1:
        raise ModelMisbehaved(f"{model} gave vectors of different sizes in one reply")
    return vectors


def _checked(vector: object, model: str) -> list[float]:
    if not isinstance(vector, list) or not vector:
        raise ModelMisbehaved(f"{model} gave an embedding that is no list of numbers")
    if not all(type(x) in (int, float) and abs(x) < _LARGEST for x in vector):  # False for NaN, too
        raise ModelMisbehaved(f"{model} gave an embedding with something that is no usable number")
    return vector
