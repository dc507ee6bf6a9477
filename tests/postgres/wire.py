"""A proxy between client and server that cuts the connection at a chosen moment."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from enum import StrEnum
from urllib.parse import parse_qs, urlsplit, urlunsplit

__all__ = ["Cut", "Wire"]

_CHUNK = 65536


class Cut(StrEnum):
    BEFORE = "before the server hears of it"
    MEANWHILE = "while the server is at it"
    AFTER = "after the server has done it, before it can say so"


class Wire:
    """Passes everything on, until data with `cut_at` is sent: then it cuts the connection once, before or after.

    With `again` it is cut whenever that is sent: whoever of several threads comes first, each meets it.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._folder = parse_qs(parts.query).get("host", [""])[0]  # of a Unix socket
        self._server = (parts.hostname or "localhost", parts.port or 5432)
        self.cut_at: bytes | None = None
        self.cut: Cut = Cut.BEFORE
        self.again = False
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        here = f"{parts.netloc.rpartition('@')[0]}@127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = urlunsplit(parts._replace(netloc=here, query="sslmode=disable&gssencmode=disable"))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = self._connect()
            line = _Line(self, client, server)
            for passing in (line.to_server, line.to_client):
                thread = threading.Thread(target=passing, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _connect(self) -> socket.socket:
        if not self._folder:
            return socket.create_connection(self._server)
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{self._folder}/.s.PGSQL.5432")
        return server

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(timeout=10)


class _Line:
    def __init__(self, wire: Wire, client: socket.socket, server: socket.socket) -> None:
        self._wire, self._client, self._server = wire, client, server
        self._mute = False

    def to_server(self) -> None:
        while data := _receive(self._client):
            wire = self._wire
            if wire.cut_at is not None and wire.cut_at in data:
                wire.cut_at, wire.cuts = wire.cut_at if wire.again else None, wire.cuts + 1
                self._mute = wire.cut is not Cut.BEFORE
                if not self._mute:
                    break
                meanwhile = wire.cut is Cut.MEANWHILE
            else:
                meanwhile = False
            with suppress(OSError):
                self._server.sendall(data)
            if meanwhile:
                _hang_up(self._client)
        if not self._mute:
            _hang_up(self._client, self._server)

    def to_client(self) -> None:
        while data := _receive(self._server):
            if self._mute:  # the server has answered: what it was told is done
                break
            with suppress(OSError):
                self._client.sendall(data)
        _hang_up(self._client, self._server)


def _receive(end: socket.socket) -> bytes:
    try:
        return end.recv(_CHUNK)
    except OSError:
        return b""


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
