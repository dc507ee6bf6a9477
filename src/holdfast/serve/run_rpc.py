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
from functools import partial

from holdfast.errors import InputError, MissingExtra
from holdfast.serve.compat.lifecycle import ContextEngine
from holdfast.serve.compat.methods import SeedMethods
from holdfast.serve.memories import Memories
from holdfast.serve.process import Stopping, Weekly, read_token, token_path
from holdfast.serve.rpc import Method, Params, Rpc
from holdfast.serve.sidecar import AUTHENTICATE, Listener, Sidecar, has_unix_sockets, listen_tcp, listen_unix
from holdfast.serve.verbs import VERBS, CallContext, Danger, Verb, call_verb, schema

# --- All methods of the sidecar: the seed's under their bare names, ours as memory.VERB, and a list of them.


_OURS = "memory."
_WHOSE = "userId"
"""A parameter of every verb here: whose memory it is; the connection's, if it is left out."""


@dataclass(frozen=True)
class _Offer:
    memories: Memories
    context: CallContext

    def call(self, verb: Verb, params: Params) -> object:
        whose = params.get(_WHOSE)
        if whose is not None and not isinstance(whose, str):
            raise InputError(f"{verb.name}: {_WHOSE} must be a string")
        payload = {name: value for name, value in params.items() if name != _WHOSE}
        with self.memories.lend(whose, reads=verb.danger is Danger.READS) as memory:
            return call_verb(verb, memory, payload, self.context)


def rpc_methods(memories: Memories, rules: tuple[str, ...] = ()) -> dict[str, Method]:
    offer = _Offer(memories, CallContext(rules, memories.bound, memories.places))
    engine = ContextEngine(memories, rules)
    engine.warm_up()
    methods = {
        **SeedMethods(memories, rules).methods(),
        **engine.methods(),
        # On a connection that needed no token; so a client may say it everywhere.
        AUTHENTICATE: Method(lambda params: {"ok": True}, ("token",)),
    }
    for verb in VERBS.values():
        methods[_OURS + verb.name] = Method(partial(offer.call, verb), (*verb.fields, _WHOSE), verb.slow)
    methods["rpc.discover"] = Method(lambda params: {"methods": _described(methods)})
    return methods


def _described(methods: dict[str, Method]) -> list[dict[str, object]]:
    """Names, parameters and, for our verbs, what they do and the schemas of what they take and answer."""
    found: list[dict[str, object]] = []
    for name, method in methods.items():
        told: dict[str, object] = {"name": name, "params": list(method.fields)}
        verb = VERBS.get(name.removeprefix(_OURS)) if name.startswith(_OURS) else None
        if verb is not None:
            shapes = schema(verb.name)
            told |= {"description": verb.about, "danger": verb.danger.value}
            told |= {"input": shapes.input, "output": shapes.output}
        found.append(told)
    return found


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


# --- `holdfast mcp`: MCP on stdio, from the first message to the last answer.


def run_mcp(memories: Memories, rules: tuple[str, ...] = (), stopping: Stopping = lambda: None) -> None:
    """Serve the process that started this one until it ends stdin or a signal comes; requests that were read are
    answered before it returns.
    """
    try:
        import mcp  # noqa: F401  # an extra
    except ImportError as error:
        raise MissingExtra("the MCP server", "serve") from error
    import anyio

    from holdfast.serve.mcp.server import mcp_server
    from holdfast.serve.mcp.transports import Pipes

    settings = memories.settings.serve
    pipes = Pipes(*_own_stdio(), settings)
    ended = threading.Event()
    failed: list[BaseException] = []

    def serve() -> None:
        try:
            anyio.run(pipes.serve, mcp_server(memories, rules))
        except BaseException as error:  # told in the main thread, which decides how the process ends
            failed.append(error)
        finally:
            ended.set()

    before = {name: signal.signal(name, lambda *_: ended.set()) for name in (signal.SIGTERM, signal.SIGINT)}
    # A daemon, and so are the threads it starts: one that waits for stdin must not keep the process.
    serving = threading.Thread(target=serve, name="holdfast-mcp", daemon=True)
    serving.start()
    try:
        with Weekly(memories):
            ended.wait()
            stopping()
            pipes.stop()
            serving.join(settings.stop_s)  # a peer that reads nothing takes all of it
    finally:
        for name, known in before.items():
            signal.signal(name, known)
    if failed:
        raise failed[0]


def _own_stdio() -> tuple[int, int]:
    """Duplicates of stdin and stdout for messages alone: whatever else prints goes to stderr, whatever reads finds an
    end.
    """
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, target
