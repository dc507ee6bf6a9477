"""`holdfast rpc`: JSON-RPC over stdio, a Unix socket, or TCP on loopback (SAFE-3).

Each connection reads its own lines, in order; slow calls run in parallel to the others. A turn is on disk before its
response is written, so even a sudden stop loses none that was acknowledged.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import stat
import struct
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from holdfast.errors import InputError, Refused
from holdfast.serve.compat.lifecycle import ContextEngine
from holdfast.serve.compat.methods import CollectionMethods
from holdfast.serve.errors import INVALID_REQUEST, Failure, failure_of
from holdfast.serve.mcp.early import read_lines
from holdfast.serve.memories import JanitorSchedule, Memories
from holdfast.serve.process import ServeLimits, Stopping
from holdfast.serve.rpc import JsonRpc, Method, Params, RpcRequest, error_response
from holdfast.serve.token import is_token, read_token, token_path
from holdfast.serve.verbs import VERBS, CallContext, Danger, Verb, call_verb, schema
from holdfast.settings import tuned
from holdfast.text.jsonio import encode

_log = logging.getLogger("holdfast")

_VERB_PREFIX = "memory."
_USER = "userId"
"""A parameter of every verb here: the namespace (default: that of the connection)."""
AUTHENTICATE = "authenticate"
"""The first request of a connection that needs a token: {"token": …}."""
_STDIO, _UNIX, _TCP = "stdio", "unix", "tcp"
_OTHER_USERS = 0o077
_MAX_SOCKET_PATH = 100  # the kernel takes 107 bytes (Linux) or 103 (macOS)
_LOOPBACK = "127.0.0.1"
_CREDENTIALS = struct.Struct("3i")
_POLL_S = 0.5  # how often a listener checks whether to stop, where closing it does not wake it


# --- methods


def rpc_methods(memories: Memories, rules: tuple[str, ...] = ()) -> dict[str, Method]:
    """Return all methods: the compat ones under their own names, our verbs as memory.VERB, and a list of them."""
    context = CallContext(rules, memories.bound, memories.places)
    engine = ContextEngine(memories, rules)
    engine.warm_up()
    methods = {
        **CollectionMethods(memories, rules).methods(),
        **engine.methods(),
        # Also on connections that need no token, so that a client can always send it.
        AUTHENTICATE: Method(lambda params: {"ok": True}, ("token",)),
    }
    methods |= verb_methods(memories, VERBS, context)
    methods["rpc.discover"] = Method(lambda params: {"methods": _describe(methods)})
    return methods


def verb_methods(memories: Memories, verbs: Iterable[str], context: CallContext | None = None) -> dict[str, Method]:
    """Return these verbs as methods memory.VERB."""
    known = context or CallContext(confined=memories.bound, places=memories.places)
    return {
        _VERB_PREFIX + name: Method(
            partial(_call_verb, memories, known, VERBS[name]), (*VERBS[name].fields, _USER), VERBS[name].slow
        )
        for name in verbs
    }


def _call_verb(memories: Memories, context: CallContext, verb: Verb, params: Params) -> object:
    user = params.get(_USER)
    if user is not None and not isinstance(user, str):
        raise InputError(f"{verb.name}: {_USER} must be a string")
    payload = {name: value for name, value in params.items() if name != _USER}
    with memories.lend(user, reads=verb.danger is Danger.READS) as memory:
        return call_verb(verb, memory, payload, context)


def _describe(methods: Mapping[str, Method]) -> list[dict[str, object]]:
    """List names and parameters and, for our verbs, descriptions and schemas."""
    found: list[dict[str, object]] = []
    for name, method in methods.items():
        described: dict[str, object] = {"name": name, "params": list(method.fields)}
        verb = VERBS.get(name.removeprefix(_VERB_PREFIX)) if name.startswith(_VERB_PREFIX) else None
        if verb is not None:
            schemas = schema(verb.name)
            described |= {"description": verb.about, "danger": verb.danger.value}
            described |= {"input": schemas.input, "output": schemas.output}
        found.append(described)
    return found


# --- where to listen


@dataclass(frozen=True)
class ListenAddress:
    kind: str
    detail: str = ""
    """The path of a socket, or a port."""


def read_address(listen: str) -> ListenAddress:
    """Read `stdio`, `unix`, `unix:PATH`, `tcp` or `tcp:PORT`; `auto` is stdio if stdin is a pipe."""
    if listen == "auto":
        return ListenAddress(_STDIO) if _is_piped() else ListenAddress(_UNIX if has_unix_sockets() else _TCP)
    kind, _, detail = listen.partition(":")
    if kind not in (_STDIO, _UNIX, _TCP) or (kind == _STDIO and detail) or (listen.endswith(":")):
        raise InputError(f"cannot listen on {listen!r}: use auto, stdio, unix, unix:PATH, tcp or tcp:PORT")
    if kind == _TCP and detail and not (detail.isascii() and detail.isdigit()):
        raise InputError(f"a port is a number from 1 to 65535, not {detail!r}; leave it out to take a free one")
    if kind == _UNIX and not has_unix_sockets():
        raise InputError("this system has no Unix sockets; use tcp")
    return ListenAddress(kind, detail)


def _is_piped() -> bool:
    try:
        mode = os.fstat(0).st_mode
    except OSError:  # closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


@dataclass(frozen=True)
class Listener:
    socket: socket.socket
    endpoint: str
    """As it is printed: unix:PATH or tcp:ADDRESS:PORT."""
    clear: Callable[[], None] = field(default=lambda: None)
    """Removes what was created for it."""


def has_unix_sockets() -> bool:
    return hasattr(socket, "AF_UNIX")


def listen_unix(path: str | None, backlog: int) -> Listener:
    """Listen on a path of mode 600 in a folder of mode 700; without a path, in a new folder that is removed again."""
    own = None if path is not None else Path(tempfile.mkdtemp(prefix="holdfast-"))  # mode 700
    place = Path(path) if path is not None else Path(str(own)) / "rpc.sock"
    if len(os.fsencode(place)) > _MAX_SOCKET_PATH:
        raise InputError(f"the path of a socket may have {_MAX_SOCKET_PATH} bytes, and {place} is longer")
    if own is None:
        _check_folder(place.parent)
        _remove_stale(place)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(str(place))
    os.chmod(place, 0o600)  # its folder is closed, so nobody else could reach it before
    made.listen(backlog)

    def clear() -> None:
        place.unlink(missing_ok=True)
        if own is not None:
            shutil.rmtree(own, ignore_errors=True)

    return Listener(made, f"unix:{place}", clear)


def _check_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & _OTHER_USERS:
        raise InputError(
            f"the folder of a socket must be accessible to you only, and {folder} is not: run `chmod 700 {folder}`, "
            "or name a new folder, which is then created"
        )


def _remove_stale(place: Path) -> None:
    """Remove the socket of a killed server, but not that of a running one."""
    if not place.exists() and not place.is_symlink():
        return
    if not stat.S_ISSOCK(place.lstat().st_mode):
        raise InputError(f"{place} exists and is not a socket; name another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(place))
        except OSError:
            place.unlink()
            return
    raise InputError(f"another server listens on {place}; stop it or name another path")


def listen_tcp(port: int, backlog: int) -> Listener:
    """Listen on loopback only: this server is never offered to a network."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.bind((_LOOPBACK, port))
    except (OSError, OverflowError) as error:
        made.close()
        raise InputError(
            f"cannot listen on {_LOOPBACK}:{port}: {error}; leave the port out to take a free one"
        ) from error
    made.listen(backlog)
    return Listener(made, f"tcp:{_LOOPBACK}:{made.getsockname()[1]}")


def is_same_user(peer: socket.socket) -> bool | None:
    """Return whether the other process runs as this user; None where the system does not tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None or peer.family != getattr(socket, "AF_UNIX", None):
        return None
    _, user, _ = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return bool(user == os.geteuid())


# --- connections

_TOO_MANY = Failure("TooManyConnections", "all connections are in use", "Close one, or try again later.", -32010, 503)


@dataclass(eq=False)
class Channel:
    """One connected client."""

    read: Callable[[int], bytes]
    write: Callable[[bytes], None]
    stop_reading: Callable[[], None]
    """Ends its input; responses are still written."""
    token: str | None = None
    """The token that it must send first, if any."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, line: bytes) -> None:
        try:
            with self.lock:
                self.write(line)
        except OSError as error:  # the client left; its call is done all the same
            _log.info("a response could not be delivered: %s", error)


class RpcServer:
    """Serves clients in threads; a stop lets calls in progress finish."""

    def __init__(self, rpc: JsonRpc, settings: ServeLimits) -> None:
        self._rpc = rpc
        self._settings = settings
        self._changed = threading.Condition()
        self._channels: dict[Channel, None] = {}
        """Those that have been connected for longest first."""
        self._busy = 0
        self._stopping = False

    def serve_stdio(self, source: int, target: int) -> None:
        """Serve the process that started this one over two file descriptors, until it ends."""

        def write(line: bytes) -> None:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(target, rest) :]

        self._serve(Channel(lambda size: os.read(source, size), write, lambda: None))
        with self._changed:
            self._changed.wait_for(lambda: not self._busy)

    def listen(self, listener: Listener, token: str | None) -> None:
        """Accept clients until stopped. Without a token only processes of the same user are accepted."""
        listener.socket.settimeout(_POLL_S)
        while not self._stopping:
            try:
                peer, _ = listener.socket.accept()
            except TimeoutError:
                continue
            except OSError as error:  # out of file descriptors, say: connected clients continue
                _log.warning("a connection could not be accepted: %s", error)
                with self._changed:
                    self._changed.wait_for(lambda: self._stopping, _POLL_S)
                continue
            self._accept(peer, token)
        listener.socket.close()

    def stop(self) -> bool:
        """Take no more calls and wait for those in progress; return whether all of them finished."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            channels = list(self._channels)
        for channel in channels:
            channel.stop_reading()
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, self._settings.finish_s)

    def _accept(self, peer: socket.socket, token: str | None) -> None:
        peer.settimeout(None)
        if token is None and not is_same_user(peer):
            self._reject(peer, failure_of(Refused("this socket serves only processes of its own user")))
            return

        def stop_reading() -> None:
            try:
                peer.shutdown(socket.SHUT_RD)
            except OSError as error:
                _log.debug("a client had left: %s", error)

        channel = Channel(lambda size: _receive(peer, size), peer.sendall, stop_reading, token)
        with self._changed:
            full = len(self._channels) >= self._settings.connections
            # Clients that never send the token must not lock out one that does.
            stranger = next((one for one in self._channels if one.token is not None), None) if full else None
            if stranger is not None:
                self._channels.pop(stranger)
                stranger.stop_reading()
                full = False
            if not full:
                self._channels[channel] = None
        if full:
            self._reject(peer, _TOO_MANY)
            return

        def serve() -> None:
            try:
                self._serve(channel)
            finally:
                with self._changed:
                    self._channels.pop(channel, None)
                peer.close()

        threading.Thread(target=serve, name="holdfast-rpc", daemon=True).start()

    def _reject(self, peer: socket.socket, failure: Failure) -> None:
        _log.warning("a connection was rejected: %s", failure.message)
        peer.settimeout(_POLL_S)
        channel = Channel(lambda size: b"", peer.sendall, lambda: None)
        channel.send(encode(error_response(None, failure)))
        peer.close()

    def _serve(self, channel: Channel) -> None:
        slow = threading.BoundedSemaphore(self._settings.slow_calls)
        max_bytes = self._settings.max_request_bytes
        threads: list[threading.Thread] = []
        for line in read_lines(channel.read, max_bytes):
            if line is None:
                message = f"the request is longer than the maximum of {max_bytes:,} bytes"
                failure = Failure("TooLarge", message, "Send less at once.", INVALID_REQUEST, 413)
                channel.send(encode(error_response(None, failure)))
                if channel.token is not None:
                    return
                continue
            request = self._rpc.read(line)
            if channel.token is not None:
                if not self._authenticate(channel, request):
                    return
                continue
            if not self._begin():
                return
            if request.slow:
                slow.acquire()
                threads = [one for one in threads if one.is_alive()]
                threads.append(threading.Thread(target=self._answer, args=(channel, request, slow), daemon=True))
                threads[-1].start()
            else:
                self._answer(channel, request, None)
        for one in threads:  # their responses are written before the connection is closed
            one.join()

    def _authenticate(self, channel: Channel, request: RpcRequest) -> bool:
        """Check the token that a client must send first; a wrong one ends the connection."""
        call = request.calls[0]
        if request.name == AUTHENTICATE and is_token(channel.token or "", call.params.get("token")):
            channel.token = None
            channel.send(encode({"jsonrpc": "2.0", "result": {"ok": True}, "id": call.id}))
            return True
        wrong = Refused(f"the first request must be {AUTHENTICATE} with the token from the token file")
        channel.send(encode(error_response(call.id, failure_of(wrong))))
        return False

    def _begin(self) -> bool:
        with self._changed:
            if not self._stopping:
                self._busy += 1
            return not self._stopping

    def _answer(self, channel: Channel, request: RpcRequest, slow: threading.BoundedSemaphore | None) -> None:
        try:
            response = request.run()
            if response is not None:
                channel.send(response)
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


# --- the process


def run_rpc(
    memories: Memories,
    address: ListenAddress,
    rules: tuple[str, ...],
    announce: Callable[[str, str | None], None],
    stopping: Stopping = lambda: None,
) -> None:
    """Serve until the client ends (stdio) or a signal comes. `announce` gets the endpoint and the token file."""
    settings = tuned(memories.settings, ServeLimits)
    server = RpcServer(JsonRpc(rpc_methods(memories, rules), settings.max_batch), settings)
    if address.kind == _STDIO:
        target = _take_stdout()
        announce(_STDIO, None)
        with JanitorSchedule(memories):
            _serve_until_signal(server, lambda: server.serve_stdio(0, target), stopping)
        return
    listener, token_file = _open(address, settings.connections)
    try:
        token = None if token_file is None else read_token(token_path())
        announce(listener.endpoint, token_file)
        with JanitorSchedule(memories):
            _serve_until_signal(server, lambda: server.listen(listener, token), stopping)
    finally:
        listener.clear()


def _open(address: ListenAddress, backlog: int) -> tuple[Listener, str | None]:
    """Open a listener, with a token file where the system cannot tell who is on the other side."""
    if address.kind == _TCP:
        return listen_tcp(int(address.detail or 0), backlog), str(token_path())
    known = hasattr(socket, "SO_PEERCRED")
    return listen_unix(address.detail or None, backlog), None if known else str(token_path())


def _take_stdout() -> int:
    """Reserve stdout for responses: anything else that is printed goes to stderr."""
    sys.stdout.flush()
    target = os.dup(1)
    os.dup2(2, 1)
    return target


def _serve_until_signal(server: RpcServer, serve: Callable[[], None], stopping: Stopping) -> None:
    ended = threading.Event()
    before = {name: signal.signal(name, lambda *_: ended.set()) for name in (signal.SIGTERM, signal.SIGINT)}

    def run() -> None:
        try:
            serve()
        finally:
            ended.set()

    # A daemon: a thread that waits for stdin cannot be woken, and must not keep the process alive.
    threading.Thread(target=run, name="holdfast-serve", daemon=True).start()
    try:
        ended.wait()
        stopping()
        if not server.stop():
            _log.warning("stopped while calls were in progress; everything acknowledged is stored")
    finally:
        for name, known in before.items():
            signal.signal(name, known)
