"""`holdfast serve`, from the socket to the last answer: the HTTP API, the inspector and MCP on one port."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import InputError, MissingExtra
from holdfast.serve.http.auth import addresses_of, is_loopback
from holdfast.serve.memories import Memories
from holdfast.serve.process import Stopping, Weekly, end_in_time, log_to_stderr, read_token, siblings, token_path
from holdfast.settings import ServeSettings

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

_FILES = 10
"""That a memory holds open: measured 6.4 with one caller each, and further readers have connections of their own."""
_OTHER_FILES = 100


@dataclass(frozen=True)
class Spot:
    """Where to serve, and who may know of it."""

    host: str
    port: int
    """0: a free one."""
    known_as: tuple[str, ...] = ()
    """Further names by which clients call it."""
    allow_remote: bool = False
    token_file: Path | None = None
    token_for: tuple[tuple[str, Path], ...] = ()
    """Namespaces, each with the file of a token that opens it alone."""


def check_spot(spot: Spot) -> Path:
    """Where the token lies. Off loopback the operator says so and has made a token; nobody comes into it by mistake."""
    given = spot.token_file or (Path(named) if (named := os.environ.get("HOLDFAST_TOKEN_FILE")) else None)
    if not is_loopback(spot.host):
        if not spot.allow_remote:
            raise InputError(
                f"{spot.host} can be reached from other machines. If that is meant, say --allow-remote and name a "
                "token with --token-file; put a proxy that speaks TLS before it"
            )
        if given is None or not given.is_file():
            raise InputError(
                "off loopback the token is yours to give: write one of 32 characters or more to a file of mode 600 and "
                "name it with --token-file (or HOLDFAST_TOKEN_FILE)"
            )
    return given or token_path()


def run_http(
    open_memories: Callable[[], Memories],
    spot: Spot,
    rules: Sequence[str],
    announce: Callable[[str, str, str | None], None],
    processes: int = 1,
) -> None:
    """Serve until a signal comes. `announce` is told the address, where the token lies, and the server's own namespace.

    With more `processes` than one, `open_memories` is called in each of them: it must be picklable.
    """
    token_file = check_spot(spot)
    tokens = _tokens(spot)
    _check_processes(processes)
    with contextlib.ExitStack() as ends:
        memories = ends.enter_context(contextlib.closing(open_memories()))
        settings = memories.settings.serve
        listening = ends.enter_context(contextlib.closing(_bound(spot, processes > 1)))
        here = replace(spot, port=listening.getsockname()[1])
        app = _app(memories, here, rules, tokens)  # before others are started: what is wrong is told once
        shown = f"[{spot.host}]" if ":" in spot.host else spot.host
        started = partial(announce, f"http://{shown}:{here.port}", str(token_file), memories.namespace)
        others = ends.enter_context(
            siblings(
                processes - 1,
                partial(_answer, open_memories, here, tuple(rules)),
                partial(_bound, here, shared=True, alone=False),
                settings.stop_s,
            )
        )
        end = end_in_time(settings, memories.close)

        def stopping() -> None:
            others()
            end()

        with Weekly(memories):
            _serve(app, memories, listening, started, stopping)


def _answer(
    open_memories: Callable[[], Memories],
    spot: Spot,
    rules: Sequence[str],
    listening: socket.socket,
    started: Callable[[], None],
) -> None:
    """What a sibling does. The janitor and the announcement are the first process's."""
    log_to_stderr()
    with contextlib.closing(listening), contextlib.closing(open_memories()) as memories:
        end = end_in_time(memories.settings.serve, memories.close)
        _serve(_app(memories, spot, rules, _tokens(spot)), memories, listening, started, end)


def _app(memories: Memories, spot: Spot, rules: Sequence[str], tokens: tuple[str, dict[str, str]]) -> ASGIApp:
    token, bound = tokens
    addresses = addresses_of(spot.host, spot.port, spot.known_as)
    return _create_app()(memories, token, addresses, rules, bound)


def _serve(
    app: ASGIApp, memories: Memories, listening: socket.socket, started: Callable[[], None], stopping: Stopping
) -> None:
    sys.setswitchinterval(memories.settings.serve.switch_s)
    _make_room(memories.settings.serve)
    make_server(app, memories.settings.serve, started, stopping).run([listening])


def _check_processes(count: int) -> None:
    if count > 1 and not sys.platform.startswith("linux"):
        raise InputError(
            "several processes on one port need Linux, whose kernel deals connections out among them; without "
            "--processes one serves here"
        )


def _make_room(settings: ServeSettings) -> None:
    """Ask for as many open files as all connections and all memories need together; systems begin with fewer."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return
    known, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = settings.http_connections + settings.namespaces * _FILES + _OTHER_FILES
    if most != resource.RLIM_INFINITY:
        needed = min(needed, most)
    if known != resource.RLIM_INFINITY and known < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))


def _tokens(spot: Spot) -> tuple[str, dict[str, str]]:
    """The server's own, and those of namespaces, made at the first start; two that are the same would open what was
    not meant.
    """
    token = read_token(check_spot(spot))
    found = {namespace: read_token(path) for namespace, path in spot.token_for}
    if len({token, *found.values()}) <= len(found):
        raise InputError("two of the tokens are the same; each opens something else, so give each a file of its own")
    return token, found


def _create_app() -> Callable[..., ASGIApp]:
    try:
        import jinja2  # noqa: F401  # the inspector's, which loads it when its first page is made
        import uvicorn  # noqa: F401

        from holdfast.serve.http.app import create_app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "holdfast":
            raise
        raise MissingExtra("serving over HTTP", "serve") from error
    return create_app


def _bound(spot: Spot, shared: bool = False, alone: bool = True) -> socket.socket:
    """A socket on the spot; `shared` with other processes of this server, `alone` with nobody else's."""
    if shared and alone:
        _bound(spot).close()  # sharing would let a second server come in unnoticed
    family = socket.AF_INET6 if ":" in spot.host else socket.AF_INET
    # Named in full: asyncio sends answers at once only where it sees that it is TCP.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # so that a server can be started again at once; elsewhere it would let two share the port
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        made.bind((spot.host, spot.port))
    except (OSError, OverflowError) as error:
        made.close()
        raise InputError(f"cannot listen on {spot.host}:{spot.port}: {error}; --port 0 takes a free port") from error
    return made


def make_server(
    app: ASGIApp, settings: ServeSettings, started: Callable[[], None], stopping: Stopping = lambda: None
) -> uvicorn.Server:
    """A server for a bound socket: `run([socket])` ends when `should_exit` is set, or by a signal."""
    import uvicorn

    from holdfast.serve.http.connections import limited_protocol, watch_requests

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            stopping()
            await super().shutdown(sockets)

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """A stop that was asked for is no failure: uvicorn's own would end the process by the same signal."""
            if threading.current_thread() is not threading.main_thread():  # no other can take signals
                yield
                return
            before = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGTERM, signal.SIGINT)}
            try:
                yield
            finally:
                for one, known in before.items():
                    signal.signal(one, known)

    # Its warnings are about what strangers send, who could fill the log with them.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return Server(
        uvicorn.Config(
            watch_requests(app),
            http=limited_protocol(settings),
            ws="none",
            loop="asyncio",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=settings.http_connections,
            # Not limit_concurrency: it counts idle connections too, and then answers 503 to everyone.
            timeout_keep_alive=int(settings.header_s) + 1,
            timeout_graceful_shutdown=max(int(settings.finish_s), 1),
        )
    )
