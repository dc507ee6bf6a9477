"""Connections of the sidecar: each reads its own lines, in order; a stop lets calls in progress come to their end.

A call that may take seconds goes on beside the others of its connection. A turn is on disk before its answer is
written, so a stop, however sudden, loses none that was acknowledged.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import stat
import struct
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.errors import InputError, Refused
from holdfast.serve.errors import INVALID_REQUEST, Fault, fault_of
from holdfast.serve.process import matches
from holdfast.serve.rpc import Rpc, Work, failure, lines
from holdfast.settings import ServeSettings
from holdfast.text.jsonio import encode

# --- Where a local server listens: a Unix socket that only this user can reach, or TCP on loopback (SAFE-3).


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


_log = logging.getLogger("holdfast")

AUTHENTICATE = "authenticate"
"""The first request of a connection that needs a token: {"token": …}."""
_LOOK_S = 0.5  # a listener looks so often whether it is to stop, where closing it does not wake it

_TOO_MANY = Fault("TooManyConnections", "all connections are in use", "Close one, or try again later.", -32010, 503)


@dataclass(eq=False)
class _Channel:
    """One peer."""

    read: Callable[[int], bytes]
    write: Callable[[bytes], None]
    hang_up: Callable[[], None]
    """Lets its reader come to an end; what is being answered is still written."""
    token: str | None = None
    """What it must show first, if anything."""
    writing: threading.Lock = field(default_factory=threading.Lock)

    def say(self, line: bytes) -> None:
        try:
            with self.writing:
                self.write(line)
        except OSError as error:  # the peer left; what it asked for is done all the same
            _log.info("an answer found nobody: %s", error)


class Sidecar:
    def __init__(self, rpc: Rpc, settings: ServeSettings) -> None:
        self._rpc = rpc
        self._settings = settings
        self._changed = threading.Condition()
        self._channels: set[_Channel] = set()
        self._busy = 0
        self._stopping = False

    def serve_stdio(self, source: int, target: int) -> None:
        """Serve one peer over two file descriptors until it ends; its peer is whoever started this process."""

        def write(line: bytes) -> None:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(target, rest) :]

        self._serve(_Channel(lambda size: os.read(source, size), write, lambda: None))
        with self._changed:
            self._changed.wait_for(lambda: not self._busy)

    def listen(self, listener: Listener, token: str | None) -> None:
        """Accept peers until stopped. Without a token only processes of the same user are let in."""
        listener.socket.settimeout(_LOOK_S)
        while not self._stopping:
            try:
                peer, _ = listener.socket.accept()
            except TimeoutError:
                continue
            except OSError as error:  # out of file descriptors, say: those who are connected go on
                _log.warning("a connection could not be accepted: %s", error)
                with self._changed:
                    self._changed.wait_for(lambda: self._stopping, _LOOK_S)
                continue
            self._welcome(peer, token)
        listener.socket.close()

    def stop(self) -> bool:
        """Take no more calls and wait for those in progress; whether all of them came to their end."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            channels = list(self._channels)
        for channel in channels:
            channel.hang_up()
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, self._settings.finish_s)

    # --- one connection

    def _welcome(self, peer: socket.socket, token: str | None) -> None:
        peer.settimeout(None)
        if token is None and not same_user(peer):
            self._turn_away(peer, fault_of(Refused("this socket serves processes of its own user alone")))
            return

        def hang_up() -> None:
            try:
                peer.shutdown(socket.SHUT_RD)
            except OSError as error:
                _log.debug("a peer had left: %s", error)

        channel = _Channel(lambda size: _receive(peer, size), peer.sendall, hang_up, token)
        with self._changed:
            full = len(self._channels) >= self._settings.connections
            if not full:
                self._channels.add(channel)
        if full:
            self._turn_away(peer, _TOO_MANY)
            return

        def serve() -> None:
            try:
                self._serve(channel)
            finally:
                with self._changed:
                    self._channels.discard(channel)
                peer.close()

        threading.Thread(target=serve, name="holdfast-rpc", daemon=True).start()

    def _turn_away(self, peer: socket.socket, fault: Fault) -> None:
        _log.warning("a connection was turned away: %s", fault.message)
        peer.settimeout(_LOOK_S)
        channel = _Channel(lambda size: b"", peer.sendall, lambda: None)
        channel.say(encode(failure(None, fault)))
        peer.close()

    def _serve(self, channel: _Channel) -> None:
        slow = threading.BoundedSemaphore(self._settings.slow_calls)
        most = self._settings.max_request_bytes
        beside: list[threading.Thread] = []
        for line in lines(channel.read, most):
            if line is None:
                message = f"a request has at most {most:,} bytes, and this one was longer"
                fault = Fault("TooLarge", message, "Send less at once.", INVALID_REQUEST, 413)
                channel.say(encode(failure(None, fault)))
                if channel.token is not None:
                    return
                continue
            work = self._rpc.read(line)
            if channel.token is not None:
                if not self._let_in(channel, work):
                    return
                continue
            if not self._begin():
                return
            if work.slow:
                slow.acquire()
                beside = [one for one in beside if one.is_alive()]
                beside.append(threading.Thread(target=self._do, args=(channel, work, slow), daemon=True))
                beside[-1].start()
            else:
                self._do(channel, work, None)
        for one in beside:  # its answers are written before the connection is closed
            one.join()

    def _let_in(self, channel: _Channel, work: Work) -> bool:
        """Before anything else a peer shows the token; a wrong one ends the connection, so that none can be guessed."""
        call = work.calls[0]
        if work.name == AUTHENTICATE and matches(channel.token or "", call.params.get("token")):
            channel.token = None
            channel.say(encode({"jsonrpc": "2.0", "result": {"ok": True}, "id": call.id}))
            return True
        wrong = Refused(f"the first request must be {AUTHENTICATE} with the right token (it lies in the token file)")
        channel.say(encode(failure(call.id, fault_of(wrong))))
        return False

    def _begin(self) -> bool:
        with self._changed:
            if not self._stopping:
                self._busy += 1
            return not self._stopping

    def _do(self, channel: _Channel, work: Work, slow: threading.BoundedSemaphore | None) -> None:
        try:
            answer = work.run()
            if answer is not None:
                channel.say(answer)
        finally:
            if slow is not None:
                slow.release()
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()


def _receive(peer: socket.socket, size: int) -> bytes:
    try:
        return peer.recv(size)
    except OSError:  # reset: the same as an end
        return b""
