"""One OpenAI-compatible HTTP endpoint: JSON out and back, one deadline, and two kinds of failure."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from holdfast.errors import InputError, ModelMisbehaved, ModelUnavailable

__all__ = ["Endpoint"]

_MOST_BYTES = 64 * 1024 * 1024
"""A reply beyond this is no reply: 64 vectors of 4,096 numbers in JSON are about 6 MB."""
_BUSY = (408, 425, 429)
"""The statuses below 500 that mean "later", not "never"."""
_EXCERPT = 200


class Endpoint:
    """`url` is the base ("https://host/v1"); a query string, as Azure wants it, is kept. Threads may share it."""

    def __init__(self, url: str, *, api_key: str | None = None, timeout_s: float = 10.0) -> None:
        # Imported here: it costs over 100 ms, and most memories never talk to a network.
        import httpx2

        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"not an http(s) address: {url!r}")
        if parts.username or parts.password:  # it would end up in fingerprints, logs and error messages
            raise InputError(f"the address of {parts.hostname} carries a password. Put the key into the environment")
        self._parts = parts._replace(path=parts.path.rstrip("/"), fragment="")
        self.url = urlunsplit(self._parts)
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._client = httpx2.Client(
            timeout=timeout_s,
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            # A proxy of the environment cannot reach this machine's loopback.
            trust_env=parts.hostname not in ("127.0.0.1", "localhost", "::1"),
        )

    def post(self, path: str, body: Mapping[str, object]) -> object:
        """The parsed reply. ModelUnavailable: try again later; ModelMisbehaved: that alone will not help."""
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
        # httpx2's time-out is per read: a server that drips a byte a second would never meet it. So the clock is ours.
        deadline = time.monotonic() + self._timeout_s
        raw = bytearray()
        with self._client.stream("POST", url, json=dict(body)) as response:
            for block in response.iter_bytes():
                raw += block
                if time.monotonic() > deadline:
                    raise self._late(url)
                if len(raw) > _MOST_BYTES:
                    raise ModelMisbehaved(f"{url} answered with more than {_MOST_BYTES} bytes")
            return response.status_code, bytes(raw)

    def _late(self, url: str) -> ModelUnavailable:
        return ModelUnavailable(f"{url} did not answer within {self._timeout_s:g} s")

    def _excerpt(self, raw: bytes) -> str:
        text = " ".join(raw[:_EXCERPT].decode("utf-8", "replace").split())
        return text.replace(self._api_key, "***") if self._api_key else text
