"""An answer goes out as one piece: its head waits for its body, which follows at once or not at all.

uvicorn writes the two apart, and each is a packet that the kernel sends and that wakes the caller.
"""

from __future__ import annotations

import asyncio
from typing import cast

__all__ = ["Letters"]


class Letters:
    """A connection's transport for uvicorn. What is written waits for what else the same step of the loop writes."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held = b""
        self._due: asyncio.Handle | None = None

    @classmethod
    def of(cls, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> asyncio.Transport:
        return cast("asyncio.Transport", cls(transport, loop))

    def write(self, data: bytes) -> None:
        """The first piece waits, the second takes it along: a body of any length is held by nobody but the transport.

        A head without a body, as of a stream of events, leaves when the loop comes round.
        """
        if not data:
            return
        if self._due is None:
            self._held = data
            self._due = self._loop.call_soon(self._send)
        else:
            self._held += data
            self._send()

    def close(self) -> None:
        self._send()
        self._transport.close()

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)

    def _send(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due, held, self._held = None, self._held, b""
            self._transport.write(held)
