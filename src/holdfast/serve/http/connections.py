"""Limit open connections and drop clients that stall while sending a request head or reading a response.

When there are too many, the one that has been without an admitted request for longest is dropped, not the newest:
connections that never send a request, or one without a credential, must not lock out a client that has one.

uvicorn alone waits for both without limit. This wraps its HTTP protocol through the interface of asyncio.Protocol; a
context variable connects a request in the ASGI app with the connection that it came on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from holdfast.serve.process import ServeLimits


class _Connection(Protocol):
    def request_started(self) -> None: ...
    def request_admitted(self) -> None: ...
    def request_finished(self) -> None: ...


_current: ContextVar[_Connection | None] = ContextVar("holdfast_connection", default=None)


def watch_requests(app: ASGIApp) -> ASGIApp:
    """Tell a limited connection when a request has arrived and when it is answered."""

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        connection = _current.get()
        if connection is None:
            await app(scope, receive, send)
            return
        connection.request_started()
        try:
            await app(scope, receive, send)
        finally:
            connection.request_finished()

    return watched


def keep_connection() -> None:
    """Keep the connection of the current request until the request is answered, however many others there are."""
    if (connection := _current.get()) is not None:
        connection.request_admitted()


class _Timeout:
    """Runs a function unless it is stopped in time."""

    def __init__(self, seconds: float, expire: Callable[[], object]) -> None:
        self._seconds = seconds
        self._expire = expire
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._expire)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def limited_protocol(settings: ServeLimits) -> type[asyncio.Protocol]:
    """Return the protocol class for uvicorn.Config(http=…); the app must be wrapped by `watch_requests`."""
    connections: set[asyncio.Protocol] = set()
    waiting: dict[asyncio.Protocol, asyncio.Transport] = {}
    """Connections without an admitted request, those that have been without one for longest first."""

    class LimitedProtocol(asyncio.Protocol):
        def __init__(self, **arguments: Any) -> None:
            self._http: asyncio.Protocol = H11Protocol(**arguments)
            self._requests = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            self._head = _Timeout(settings.header_s, transport.close)
            self._stall = _Timeout(settings.stall_s, transport.abort)
            self._transport = transport
            if len(connections) >= settings.http_connections:
                if not waiting:
                    transport.abort()
                    return
                waiting.pop(next(iter(waiting))).abort()
            connections.add(self)
            waiting[self] = transport
            self._http.connection_made(transport)
            self._head.start()

        def request_started(self) -> None:
            self._requests += 1
            self._head.stop()

        def request_admitted(self) -> None:
            waiting.pop(self, None)

        def request_finished(self) -> None:
            self._requests -= 1
            if not self._requests and self in connections:
                waiting[self] = self._transport
                self._head.start()

        def data_received(self, data: bytes) -> None:
            if self in connections:
                before = _current.set(self)
                try:
                    self._http.data_received(data)
                finally:
                    _current.reset(before)

        def eof_received(self) -> bool | None:
            return self._http.eof_received() if self in connections else None

        def pause_writing(self) -> None:
            """Wait for a client that does not read, but not without limit."""
            self._http.pause_writing()
            self._stall.start()

        def resume_writing(self) -> None:
            self._stall.stop()
            self._http.resume_writing()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head.stop()
            self._stall.stop()
            if self in connections:
                connections.discard(self)
                waiting.pop(self, None)
                self._http.connection_lost(exc)

    return LimitedProtocol
