"""Clients for OpenAI-compatible servers: the HTTP endpoint, and embeddings (POST {base}/embeddings)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InputError, ModelMisbehaved, ModelUnavailable
from holdfast.models.embedder import Profile, Thresholds, unit
from holdfast.models.onnx import MINILM_THRESHOLDS

API_KEY = "HOLDFAST_EMBEDDER_API_KEY"
"""Not OPENAI_API_KEY: that key must not be sent to any other server that is configured."""
_MAX_BYTES = 64 * 1024 * 1024  # of a reply; 64 vectors of 4,096 numbers in JSON are about 6 MB
_BUSY = (408, 425, 429)  # statuses below 500 for which a later attempt may succeed
_EXCERPT = 200
_TEXTS_PER_REQUEST = 64  # servers refuse large batches (Cohere's limit is 96, OpenAI's 300,000 tokens in all)
_MAX_CHARS = 8_000
"""OpenAI refuses a batch with a text of more than 8,191 tokens; few scripts have more than one per character."""
_LARGEST = 1e15  # limit for a number in an embedding; the sum of squares of larger ones would overflow float32


class Endpoint:
    """JSON over HTTP with one deadline; `url` is the base ("https://host/v1"). Safe to share between threads.

    A query string, which Azure needs, is kept.
    """

    def __init__(self, url: str, *, api_key: str | None = None, timeout_s: float = 10.0) -> None:
        # Lazy: importing it takes over 100 ms, and most memories never use a network.
        import httpx2

        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"not an http(s) URL: {url!r}")
        if parts.username or parts.password:  # it would end up in fingerprints, logs and error messages
            raise InputError(f"the URL of {parts.hostname} contains a password. Put the key into the environment")
        self._parts = parts._replace(path=parts.path.rstrip("/"), fragment="")
        self.url = urlunsplit(self._parts)
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._client = httpx2.Client(
            timeout=timeout_s,
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            # A proxy from the environment cannot reach this machine's loopback.
            trust_env=parts.hostname not in ("127.0.0.1", "localhost", "::1"),
        )

    def post(self, path: str, body: Mapping[str, object]) -> object:
        """Return the parsed reply. Raises ModelUnavailable (a retry may help) or ModelMisbehaved (it will not)."""
        import httpx2

        url = urlunsplit(self._parts._replace(path=f"{self._parts.path}/{path}"))
        try:
            status, raw = self._exchange(url, body)
        except httpx2.TimeoutException as error:
            raise self._late(url) from error
        except httpx2.HTTPError as error:
            raise ModelUnavailable(f"{url} cannot be reached: {error or type(error).__name__}") from error
        if status >= 500 or status in _BUSY:
            raise ModelUnavailable(f"{url} answered HTTP {status}: {self._excerpt(raw)}")
        if status != 200:
            raise ModelMisbehaved(f"{url} answered HTTP {status}: {self._excerpt(raw)}")
        try:
            reply: object = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise ModelMisbehaved(f"{url} did not answer in JSON: {self._excerpt(raw)}") from error
        return reply

    def close(self) -> None:
        self._client.close()

    def _exchange(self, url: str, body: Mapping[str, object]) -> tuple[int, bytes]:
        # httpx2's time-out is per read: a server that sends a byte per second would never reach it.
        deadline = time.monotonic() + self._timeout_s
        raw = bytearray()
        with self._client.stream("POST", url, json=dict(body)) as response:
            for block in response.iter_bytes():
                raw += block
                if time.monotonic() > deadline:
                    raise self._late(url)
                if len(raw) > _MAX_BYTES:
                    raise ModelMisbehaved(f"{url} answered with more than {_MAX_BYTES} bytes")
            return response.status_code, bytes(raw)

    def _late(self, url: str) -> ModelUnavailable:
        return ModelUnavailable(f"{url} did not answer within {self._timeout_s:g} s")

    def _excerpt(self, raw: bytes) -> str:
        text = " ".join(raw[:_EXCERPT].decode("utf-8", "replace").split())
        return text.replace(self._api_key, "***") if self._api_key else text


class RemoteEmbedder:
    """Embedder of a server; `url` is the base ("http://127.0.0.1:11434/v1"). Nothing is sent before embed().

    Without `dims` the size of the vectors is taken from the first reply; until then profile.dims is 0. The fingerprint
    (model, URL, settings) never changes, so it can be compared before any call.
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
            scripts=frozenset(),  # unknown, so none is excluded
        )

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # Servers refuse a batch with a blank text.
        places = [i for i, text in enumerate(texts) if text and not text.isspace()]
        answers: list[NDArray[np.float32]] = []
        for start in range(0, len(places), _TEXTS_PER_REQUEST):
            batch = places[start : start + _TEXTS_PER_REQUEST]
            answers.append(self._request([texts[i][:_MAX_CHARS] for i in batch]))
        if texts and not self._dims:
            self._request(["a"])  # only blank texts so far, but zero vectors need a size too
        vectors = np.zeros((len(texts), self._dims), dtype=np.float32)
        if answers:
            vectors[places] = np.concatenate(answers)
        return vectors

    def close(self) -> None:
        self._endpoint.close()

    def _request(self, texts: list[str]) -> NDArray[np.float32]:
        reply = self._endpoint.post("embeddings", {"model": self._model, "input": texts, "encoding_format": "float"})
        vectors = np.array(_in_order(reply, len(texts), self._model), dtype=np.float32)
        dims = vectors.shape[1]
        if self._dims and dims != self._dims:
            raise ModelMisbehaved(f"{self._model} returned vectors of {dims} numbers instead of {self._dims}")
        self._dims = dims
        return unit(vectors)


def _in_order(reply: object, count: int, model: str) -> list[list[float]]:
    """Return the vectors in the order of the texts; a server may answer in another order and give an `index`."""
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise ModelMisbehaved(f"{model} returned no list of embeddings")
    places = [item.get("index", place) for place, item in enumerate(data)]
    if not all(type(place) is int for place in places) or sorted(places) != list(range(count)):
        raise ModelMisbehaved(f"{model} returned {len(data)} embeddings for {count} texts, or numbered them wrongly")
    by_place = {place: item.get("embedding") for place, item in zip(places, data, strict=True)}
    vectors = [_checked(by_place[i], model) for i in range(count)]
    if len({len(vector) for vector in vectors}) != 1:
        raise ModelMisbehaved(f"{model} returned vectors of different sizes in one reply")
    return vectors


def _checked(vector: object, model: str) -> list[float]:
    if not isinstance(vector, list) or not vector:
        raise ModelMisbehaved(f"{model} returned an embedding that is not a list of numbers")
    if not all(type(x) in (int, float) and abs(x) < _LARGEST for x in vector):  # also False for NaN
        raise ModelMisbehaved(f"{model} returned an embedding with an unusable number")
    return vector


def open_remote(place: str, timeout_s: float) -> RemoteEmbedder:
    """Open the model of a server: URL#MODEL."""
    url, _, model = place.partition("#")
    if not model:
        raise InputError(f"remote:{place} has no model name. Use remote:URL#MODEL")
    return RemoteEmbedder(url, model, timeout_s=timeout_s)
