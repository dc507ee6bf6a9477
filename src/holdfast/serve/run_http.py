"""`holdfast serve`: the HTTP API, the inspector and MCP on one port, from binding the socket to the last response."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.connect.socket import answer_hooks
from holdfast.errors import InputError
from holdfast.serve.http.auth import addresses_of, is_loopback
from holdfast.serve.mcp.tools import FOUR_TOOLS, Offer
from holdfast.serve.memories import JanitorSchedule, Memories
from holdfast.serve.process import ServeLimits, Stopping, end_in_time, log_to_stderr, worker_processes
from holdfast.serve.token import EndedLogins, read_token, token_path
from holdfast.settings import tuned

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

_METRICS_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
_OTHER_FILES = 256
"""Open files besides connections: all namespaces share those of the store, and each thread that reads has three."""


@dataclass(frozen=True)
class Binding:
    """The address to serve on, its names and its tokens."""

    host: str
    port: int
    """0: a free one."""
    known_as: tuple[str, ...] = ()
    """Additional names by which clients call it."""
    allow_remote: bool = False
    token_file: Path | None = None
    token_for: tuple[tuple[str, Path], ...] = ()
    """Namespaces, each with the file of a token that opens it alone."""
    offer: Offer = FOUR_TOOLS
    """The tools of its MCP server."""


def check_binding(binding: Binding) -> Path:
    """Return the token file. Off loopback the operator must allow it explicitly and provide the token."""
    given = binding.token_file or (Path(named) if (named := os.environ.get("HOLDFAST_TOKEN_FILE")) else None)
    if not is_loopback(binding.host):
        if not binding.allow_remote:
            raise InputError(
                f"{binding.host} can be reached from other machines. If you want that, add --allow-remote and name a "
                "token with --token-file, and put a proxy that speaks TLS in front of the server"
            )
        if given is None or not given.is_file():
            raise InputError(
                "off loopback you must provide the token: write at least 32 characters to a file of mode 600 and name "
                "it with --token-file (or HOLDFAST_TOKEN_FILE)"
            )
    return given or token_path()


def run_http(
    open_memories: Callable[[], Memories],
    binding: Binding,
    rules: Sequence[str],
    announce: Callable[[str, str, str | None], None],
    processes: int = 1,
) -> None:
    """Serve until a signal comes. `announce` gets the URL, the token file and the server's own namespace.

    With several `processes`, `open_memories` is called in each of them, so it must be picklable.
    """
    token_file = check_binding(binding)
    tokens = _read_tokens(binding)
    if processes > 1 and not sys.platform.startswith("linux"):
        raise InputError("--processes needs Linux, whose kernel distributes connections among several processes")
    with contextlib.ExitStack() as stack:
        if processes > 1:
            stack.enter_context(_shared_metrics())
        memories = stack.enter_context(contextlib.closing(open_memories()))
        settings = tuned(memories.settings, ServeLimits)
        listening = stack.enter_context(contextlib.closing(_bind(binding, processes > 1)))
        here = replace(binding, port=listening.getsockname()[1])
        app = _make_app(memories, here, rules, tokens)  # before workers start, so that errors are reported once
        shown = f"[{binding.host}]" if ":" in binding.host else binding.host
        started = partial(announce, f"http://{shown}:{here.port}", str(token_file), memories.namespace)
        stop_workers = stack.enter_context(
            worker_processes(
                processes - 1,
                partial(_serve_worker, open_memories, here, tuple(rules)),
                partial(_bind, here, shared=True, exclusive=False),
                settings.stop_s,
                _forget_metrics,
            )
        )
        end = end_in_time(settings, memories.close)

        def stopping() -> None:
            stop_workers()
            end()

        with JanitorSchedule(memories), answer_hooks(memories, memories.location):
            _serve(app, memories, listening, started, stopping)


def _serve_worker(
    open_memories: Callable[[], Memories],
    binding: Binding,
    rules: Sequence[str],
    listening: socket.socket,
    started: Callable[[], None],
) -> None:
    """Serve in a worker process. The janitor and the announcement are left to the first process."""
    log_to_stderr()
    with contextlib.closing(listening), contextlib.closing(open_memories()) as memories:
        end = end_in_time(tuned(memories.settings, ServeLimits), memories.close)
        _serve(_make_app(memories, binding, rules, _read_tokens(binding)), memories, listening, started, end)


@contextlib.contextmanager
def _shared_metrics() -> Iterator[None]:
    """Let prometheus-client sum the metrics of all processes through files. It reads the variable when imported."""
    with tempfile.TemporaryDirectory(prefix="holdfast-metrics-") as folder:
        os.environ[_METRICS_DIRECTORY] = folder
        try:
            yield
        finally:
            del os.environ[_METRICS_DIRECTORY]


def _forget_metrics(pid: int) -> None:
    """Remove the gauges of a worker that has ended; its counters stay in the sums."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(pid)  # type: ignore[no-untyped-call]


def _make_app(
    memories: Memories, binding: Binding, rules: Sequence[str], tokens: tuple[str, dict[str, str]]
) -> ASGIApp:
    from holdfast.serve.http.app import create_app

    token, bound = tokens
    addresses = addresses_of(binding.host, binding.port, binding.known_as)
    token_file = check_binding(binding)
    ended = EndedLogins(token_file.with_name(f"{token_file.name}.ended"))
    return create_app(memories, token, addresses, rules, bound, binding.offer, ended)


def _serve(
    app: ASGIApp, memories: Memories, listening: socket.socket, started: Callable[[], None], stopping: Stopping
) -> None:
    sys.setswitchinterval(tuned(memories.settings, ServeLimits).switch_s)
    _raise_file_limit(tuned(memories.settings, ServeLimits))
    make_server(app, tuned(memories.settings, ServeLimits), started, stopping).run([listening])


def _raise_file_limit(settings: ServeLimits) -> None:
    """Allow as many open files as all connections and the store may need together."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return
    current, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = settings.http_connections + _OTHER_FILES
    if most != resource.RLIM_INFINITY:
        needed = min(needed, most)
    if current != resource.RLIM_INFINITY and current < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))


def _read_tokens(binding: Binding) -> tuple[str, dict[str, str]]:
    """Return the server's token and those of namespaces, created at the first start; all of them must differ."""
    token = read_token(check_binding(binding))
    found = {namespace: read_token(path) for namespace, path in binding.token_for}
    if len({token, *found.values()}) <= len(found):
        raise InputError("two of the tokens are the same; they open different memories, so use a file for each")
    return token, found


def _bind(binding: Binding, shared: bool = False, exclusive: bool = True) -> socket.socket:
    """Return a bound socket, `shared` with the workers of this server but, if `exclusive`, not with another server."""
    if shared and exclusive:
        _bind(binding).close()  # a shared port would let a second server in unnoticed
    family = socket.AF_INET6 if ":" in binding.host else socket.AF_INET
    # With the protocol: asyncio disables Nagle's algorithm only where it recognises TCP.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # to restart a server at once; elsewhere it would let two servers share the port
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        made.bind((binding.host, binding.port))
    except (OSError, OverflowError) as error:
        made.close()
        raise InputError(
            f"cannot listen on {binding.host}:{binding.port}: {error}; --port 0 takes a free port"
        ) from error
    return made


def make_server(
    app: ASGIApp, settings: ServeLimits, started: Callable[[], None], stopping: Stopping = lambda: None
) -> uvicorn.Server:
    """Return a server for a bound socket: `run([socket])` ends when `should_exit` is set, or by a signal."""
    import uvicorn

    from holdfast.serve.http.connections import limited_protocol, watch_requests

    class HttpServer(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            stopping()
            await super().shutdown(sockets)

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Treat a requested stop as success: uvicorn's own method ends the process by the same signal."""
            if threading.current_thread() is not threading.main_thread():  # no other can handle signals
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
    return HttpServer(
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
