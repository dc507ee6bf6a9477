"""The socket between hooks and a running server of the same store.

Every `holdfast mcp` and `holdfast serve` on a store listens in the folder `STORE-hooks`, which only its user can enter;
hooks ask one of them instead of loading the memory. A token in the folder is the key, for not every system can tell who
is on the other side. Without Unix sockets, or with a path that is too long for one, hooks load the memory themselves.

The module imports the standard library only: every hook loads it.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.serve.memories import Memories

VERBS = ("context", "standing", "ingest_many")
"""All that hooks need."""
_TOKEN = "token"
_CHUNK = 1 << 16
_BACKLOG = 16


def hook_folder(store: str) -> str:
    """Return the folder of a store's hooks: next to the file, or in the temporary folder for one on a server."""
    if "://" not in store:
        return f"{os.path.abspath(store)}-hooks"
    import tempfile

    name = hashlib.sha256(store.encode()).hexdigest()[:16]
    return os.path.join(tempfile.gettempdir(), f"holdfast-{os.getuid() if hasattr(os, 'getuid') else 0}-{name}-hooks")


def ask(folder: str, verb: str, params: Mapping[str, object], timeout: float) -> Mapping[str, object] | None:
    """Return the answer of the first server that gives one; None if there is none."""
    for path in _sockets(folder):
        try:
            answer = _ask(path, folder, verb, params, timeout)
        except ConnectionRefusedError:  # of a process that was killed
            with suppress(OSError):
                os.unlink(path)
            continue
        except (OSError, ValueError):
            continue
        if isinstance(answer.get("result"), dict):
            return dict(answer["result"])  # type: ignore[call-overload,no-any-return]
    return None


def _sockets(folder: str) -> list[str]:
    """Return the sockets in the folder, the newest first; none if others than this user may enter it."""
    try:
        found = os.stat(folder)
        if hasattr(os, "geteuid") and (found.st_uid != os.geteuid() or found.st_mode & 0o077):
            return []
        names = [one for one in os.scandir(folder) if one.name.endswith(".sock")]
        return [one.path for one in sorted(names, key=lambda one: -one.stat().st_mtime)]
    except OSError:
        return []


def _ask(path: str, folder: str, verb: str, params: Mapping[str, object], timeout: float) -> dict[str, object]:
    with open(os.path.join(folder, _TOKEN), encoding="ascii") as file:
        token = file.read().strip()
    calls = [("authenticate", {"token": token}), (f"memory.{verb}", params)]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": n, "method": name, "params": given})
        for n, (name, given) in enumerate(calls)
    ]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(timeout)
        peer.connect(path)
        peer.sendall("".join(f"{line}\n" for line in lines).encode())
        answers = _lines(peer)
        next(answers)
        answer = json.loads(next(answers, b"{}"))
    return answer if isinstance(answer, dict) else {}


def _lines(peer: socket.socket) -> Iterator[bytes]:
    buffer = b""
    while chunk := peer.recv(_CHUNK):
        *whole, buffer = (buffer + chunk).split(b"\n")
        yield from whole


# --- the server's side


@contextmanager
def answer_hooks(memories: Memories, location: str) -> Iterator[None]:
    """Answer hooks of this store while it is entered. If that cannot be, hooks load the memory themselves."""
    import logging
    import threading
    from pathlib import Path

    from holdfast.errors import HoldfastError
    from holdfast.serve.process import ServeLimits
    from holdfast.serve.rpc import JsonRpc, Method
    from holdfast.serve.rpc_server import RpcServer, listen_unix, verb_methods
    from holdfast.serve.token import read_token
    from holdfast.settings import tuned

    folder = hook_folder(location)
    path = os.path.join(folder, f"{os.getpid()}.sock")
    try:
        if not hasattr(socket, "AF_UNIX"):
            raise OSError("this system has no Unix sockets")
        listener = listen_unix(path, _BACKLOG)
        token = read_token(Path(folder) / _TOKEN)
    except (HoldfastError, OSError) as error:
        logging.getLogger("holdfast").info("hooks open the store themselves: %s", error)
        yield
        return
    methods = {"authenticate": Method(lambda params: {"ok": True}, ("token",)), **verb_methods(memories, VERBS)}
    server = RpcServer(JsonRpc(methods, 1), tuned(memories.settings, ServeLimits))
    listening = threading.Thread(target=server.listen, args=(listener, token), name="holdfast-hooks", daemon=True)
    listening.start()
    try:
        yield
    finally:
        listener.clear()
        server.stop()
        with suppress(OSError):  # others may listen there, or have left something
            if os.listdir(folder) == [_TOKEN]:
                os.unlink(os.path.join(folder, _TOKEN))
                os.rmdir(folder)
