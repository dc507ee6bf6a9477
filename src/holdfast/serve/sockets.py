"""Where a local server listens: a Unix socket that only this user can reach, or TCP on loopback (SAFE-3)."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.errors import InputError

__all__ = ["Listener", "has_unix_sockets", "listen_tcp", "listen_unix", "same_user"]

_OTHERS = 0o077
_LONGEST_PATH = 100  # the kernel takes 107 bytes (Linux) or 103 (macOS)
_LOOPBACK = "127.0.0.1"
_CREDENTIALS = struct.Struct("3i")


@dataclass(frozen=True)
class Listener:
    socket: socket.socket
    endpoint: str
    """As it is printed: unix:PATH or tcp:ADDRESS:PORT."""
    clear: Callable[[], None] = field(default=lambda: None)
    """Takes away what was made for it."""


def has_unix_sockets() -> bool:
    return hasattr(socket, "AF_UNIX")


def listen_unix(path: str | None, waiting: int) -> Listener:
    """On a path of 0600 in a folder of 0700; without one, in a folder of its own that goes with the server."""
    own = None if path is not None else Path(tempfile.mkdtemp(prefix="holdfast-"))  # made with 0700
    place = Path(path) if path is not None else Path(str(own)) / "rpc.sock"
    if len(os.fsencode(place)) > _LONGEST_PATH:
        raise InputError(f"the path of a socket has at most {_LONGEST_PATH} bytes, and {place} is longer")
    if own is None:
        _check_folder(place.parent)
        _take_away_stale(place)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(str(place))
    os.chmod(place, 0o600)  # nobody else could reach it meanwhile: its folder is closed
    made.listen(waiting)

    def clear() -> None:
        place.unlink(missing_ok=True)
        if own is not None:
            shutil.rmtree(own, ignore_errors=True)

    return Listener(made, f"unix:{place}", clear)


def _check_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & _OTHERS:
        raise InputError(
            f"a socket lies in a folder that only you can enter, and {folder} is not: run `chmod 700 {folder}`, "
            "or name another folder, which is then made"
        )


def _take_away_stale(place: Path) -> None:
    """What a killed server left; one that lives is not disturbed."""
    if not place.exists() and not place.is_symlink():
        return
    if not stat.S_ISSOCK(place.lstat().st_mode):
        raise InputError(f"{place} is there and is no socket; name another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(place))
        except OSError:
            place.unlink()
            return
    raise InputError(f"another server listens on {place}; stop it or name another path")


def listen_tcp(port: int, waiting: int) -> Listener:
    """On loopback alone: a memory is never offered to a network this way."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.bind((_LOOPBACK, port))
    except (OSError, OverflowError) as error:
        made.close()
        raise InputError(
            f"cannot listen on {_LOOPBACK}:{port}: {error}; leave the port out to get a free one"
        ) from error
    made.listen(waiting)
    return Listener(made, f"tcp:{_LOOPBACK}:{made.getsockname()[1]}")


def same_user(peer: socket.socket) -> bool | None:
    """Whether the process on the other side runs as this user; None where the system does not tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None or peer.family != getattr(socket, "AF_UNIX", None):
        return None
    _, user, _ = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return bool(user == os.geteuid())
