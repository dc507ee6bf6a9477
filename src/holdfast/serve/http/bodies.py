"""The body of a request: no larger than allowed, there in time, and never more of them in memory than is meant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from starlette.types import Message, Receive, Scope

from holdfast.serve.http.problems import Refusal

__all__ = ["Bodies", "Left"]


class Left(Exception):
    """The caller went away before all was said."""


class Bodies:
    def __init__(self, seconds: float, held_bytes: int) -> None:
        self._seconds = seconds
        self._most_held = held_bytes
        self._held = 0

    @contextmanager
    def holding(self) -> Iterator[_Share]:
        """What is read inside is counted until it is left."""
        share = _Share()
        try:
            yield share
        finally:
            self._held -= share.bytes

    async def read(self, scope: Scope, receive: Receive, most: int, share: _Share) -> Receive:
        """Read all of it; what the app is to read it from. Raises a Refusal, or Left."""
        declared = _declared(scope)
        if declared == 0:
            return receive
        if declared is not None and declared > most:
            raise _too_large(most)
        pieces: list[bytes] = []
        with anyio.move_on_after(self._seconds) as waiting:
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Left
                piece = message.get("body", b"")
                more = message.get("more_body", False)
                if piece:
                    pieces.append(piece)
                    share.bytes += len(piece)
                    self._held += len(piece)
                if share.bytes > most:
                    raise _too_large(most)
                if self._held > self._most_held:
                    raise Refusal(503, "TooBusy", "too many large requests at once", "Try again later.", _LATER)
        if waiting.cancelled_caught:
            raise Refusal(
                408, "TooSlow", f"the body was not there after {self._seconds:g} s", "Send it faster, or send less."
            )
        return _again(b"".join(pieces), receive)


class _Share:
    """The bytes of one request."""

    bytes = 0


_LATER = {"retry-after": "1"}


def _declared(scope: Scope) -> int | None:
    """The length that the headers give; None: it comes in chunks."""
    headers = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return None
    return int(headers.get(b"content-length", b"0"))  # h11 let only digits through


def _too_large(most: int) -> Refusal:
    return Refusal(
        413, "TooLarge", f"a request has at most {most:,} bytes, and this one has more", "Send less at once."
    )


def _again(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        return waiting.pop() if waiting else await receive()

    return read
