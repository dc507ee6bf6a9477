"""`holdfast rpc`, from opening the store to the last answer: stdio, a Unix socket, or TCP on loopback."""

from __future__ import annotations

import logging
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.errors import InputError
from holdfast.serve.memories import Memories
from holdfast.serve.rpc import Rpc
from holdfast.serve.rpc_methods import rpc_methods
from holdfast.serve.sidecar import Sidecar
from holdfast.serve.sockets import Listener, has_unix_sockets, listen_tcp, listen_unix
from holdfast.serve.stopping import Stopping
from holdfast.serve.token import read_token, token_path
from holdfast.serve.weekly import Weekly

__all__ = ["Place", "read_place", "run_rpc"]

_log = logging.getLogger("holdfast")

_STDIO, _UNIX, _TCP = "stdio", "unix", "tcp"


@dataclass(frozen=True)
class Place:
    """Where to serve."""

    kind: str
    detail: str = ""
    """The path of a socket, or a port."""


def read_place(listen: str) -> Place:
    """`stdio`, `unix`, `unix:PATH`, `tcp`, `tcp:PORT`; `auto` looks at stdin: a program that pipes wants stdio."""
    if listen == "auto":
        return Place(_STDIO) if _piped() else Place(_UNIX if has_unix_sockets() else _TCP)
    kind, _, detail = listen.partition(":")
    if kind not in (_STDIO, _UNIX, _TCP) or (kind == _STDIO and detail) or (listen.endswith(":")):
        raise InputError(f"cannot listen on {listen!r}: say auto, stdio, unix, unix:PATH, tcp or tcp:PORT")
    if kind == _TCP and detail and not (detail.isascii() and detail.isdigit()):
        raise InputError(f"a port is a number from 1 to 65535, not {detail!r}; without one a free port is taken")
    if kind == _UNIX and not has_unix_sockets():
        raise InputError("this system has no Unix sockets; say tcp")
    return Place(kind, detail)


def _piped() -> bool:
    try:
        mode = os.fstat(0).st_mode
    except OSError:  # closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def run_rpc(
    memories: Memories,
    place: Place,
    rules: tuple[str, ...],
    announce: Callable[[str, str | None], None],
    stopping: Stopping = lambda: None,
) -> None:
    """Serve until the peer ends (stdio) or a signal comes. `announce` is told the endpoint and where its token lies."""
    settings = memories.settings.serve
    sidecar = Sidecar(Rpc(rpc_methods(memories, rules), settings.max_batch), settings)
    if place.kind == _STDIO:
        target = _own_stdout()
        announce(_STDIO, None)
        with Weekly(memories):
            _serve(sidecar, lambda: sidecar.serve_stdio(0, target), stopping)
        return
    listener, token_file = _open(place, settings.connections)
    try:
        token = None if token_file is None else read_token(token_path())
        announce(listener.endpoint, token_file)
        with Weekly(memories):
            _serve(sidecar, lambda: sidecar.listen(listener, token), stopping)
    finally:
        listener.clear()


def _open(place: Place, waiting: int) -> tuple[Listener, str | None]:
    """A token is needed wherever the system cannot say who is on the other side."""
    if place.kind == _TCP:
        return listen_tcp(int(place.detail or 0), waiting), str(token_path())
    import socket

    known = hasattr(socket, "SO_PEERCRED")
    return listen_unix(place.detail or None, waiting), None if known else str(token_path())


def _own_stdout() -> int:
    """Answers alone go to stdout: what anything else prints there would break the stream, and goes to stderr."""
    sys.stdout.flush()
    target = os.dup(1)
    os.dup2(2, 1)
    return target


def _serve(sidecar: Sidecar, serve: Callable[[], None], stopping: Stopping) -> None:
    ended = threading.Event()
    before = {name: signal.signal(name, lambda *_: ended.set()) for name in (signal.SIGTERM, signal.SIGINT)}

    def run() -> None:
        try:
            serve()
        finally:
            ended.set()

    # A daemon: a thread that waits for stdin cannot be woken, and must not keep the process.
    threading.Thread(target=run, name="holdfast-serve", daemon=True).start()
    try:
        ended.wait()
        stopping()
        if not sidecar.stop():
            _log.warning("stopped while calls were still in progress; what was acknowledged is kept")
    finally:
        for name, known in before.items():
            signal.signal(name, known)
