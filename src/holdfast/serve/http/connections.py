"""Connections: no more of them than allowed, none that says nothing, and none that does not listen."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

from holdfast.serve.http.letters import Letters
from holdfast.settings import ServeSettings

__all__ = ["connections"]


def connections(settings: ServeSettings) -> type[H11Protocol]:
    """The protocol class for uvicorn, which by itself waits for the head of a request for ever."""

    class Connection(H11Protocol):
        _waiting: asyncio.TimerHandle | None = None
        _stalled: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            if len(self.connections) >= settings.http_connections:
                self.transport = transport  # connection_lost closes it
                transport.abort()
                return
            super().connection_made(Letters.of(transport, self.loop))
            self._wait()

        def handle_events(self) -> None:
            before = self.cycle
            super().handle_events()
            if self.cycle is not before:  # the head of a request is there
                self._rest()

        def on_response_complete(self) -> None:
            self._wait()  # first: what follows may find the next request in what was sent already
            super().on_response_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._rest()
            self._flow()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            """The peer has not taken what it was sent: it is waited for, but not for ever."""
            super().pause_writing()
            self._flow()
            self._stalled = self.loop.call_later(settings.stall_s, self.transport.abort)

        def resume_writing(self) -> None:
            self._flow()
            super().resume_writing()

        def _wait(self) -> None:
            self._rest()
            self._waiting = self.loop.call_later(settings.header_s, self._hang_up)

        def _rest(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

        def _flow(self) -> None:
            if self._stalled is not None:
                self._stalled.cancel()
                self._stalled = None

        def _hang_up(self) -> None:
            if not self.transport.is_closing():
                self.transport.close()

    return Connection
