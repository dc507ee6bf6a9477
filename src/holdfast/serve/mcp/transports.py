"""MCP on stdio: a line of JSON is a message. The SDK's own transport drops what is in progress when stdin ends; this
one lets every request that was read come to its answer, however the peer leaves or the process is stopped.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from holdfast.serve.mcp.server import mcp_server
from holdfast.serve.memories import Memories
from holdfast.serve.rpc import lines
from holdfast.settings import ServeSettings

_log = logging.getLogger("holdfast")
_END = object()


class _Refusal(SessionMessage):
    """What a peer is told of a line that is no message."""


_Outgoing = MemoryObjectSendStream[SessionMessage]


class Pipes:
    """One peer over two file descriptors. To be served in a daemon thread: a read of stdin cannot be woken, and the
    threads that wait in one are daemons only if the loop's thread is.
    """

    def __init__(self, source: int, target: int, settings: ServeSettings) -> None:
        self._source = source
        self._target = target
        self._settings = settings
        self._asked: set[RequestId] = set()
        self._ending = False
        self._answered = anyio.Event()
        self._stop: Callable[[], object] | None = None
        self._stopping = False

    async def serve(self, server: Server[dict[str, object]]) -> None:
        """Until the peer's messages end or `stop` is called, and what was asked is answered."""
        to_server, from_peer = anyio.create_memory_object_stream[SessionMessage | Exception]()
        to_peer, from_server = anyio.create_memory_object_stream[SessionMessage]()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, to_server, to_peer.clone())
                tasks.start_soon(self._write, from_server)
                await server.run(from_peer, to_peer, server.create_initialization_options())
        finally:
            self._stop = None

    def stop(self) -> None:
        """Read no more; from any thread."""
        self._stopping = True
        if self._stop is not None:
            self._stop()

    async def _read(self, to_server: MemoryObjectSendStream[SessionMessage | Exception], to_peer: _Outgoing) -> None:
        found = lines(partial(_read_bytes, self._source), self._settings.max_request_bytes)
        async with to_server, to_peer:
            with anyio.CancelScope() as reading:
                self._stop = partial(asyncio.get_running_loop().call_soon_threadsafe, reading.cancel)
                while not self._stopping:
                    line = await anyio.to_thread.run_sync(_next, found, abandon_on_cancel=True)
                    if line is _END:
                        break
                    with anyio.CancelScope(shield=True):  # a message that was read is not lost by a stop
                        message = self._understood(line)
                        await (to_peer if isinstance(message, _Refusal) else to_server).send(message)
            self._stop, self._ending = None, True
            if self._asked:
                with anyio.move_on_after(self._settings.finish_s) as waiting:
                    await self._answered.wait()
                if waiting.cancelled_caught:
                    _log.warning("stopped while calls were still in progress; what was acknowledged is kept")

    def _understood(self, line: object) -> SessionMessage:
        if not isinstance(line, bytes):
            most = self._settings.max_request_bytes
            return _refusal(
                INVALID_REQUEST, f"a message has at most {most:,} bytes, and this one was longer; send less"
            )
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError as error:
            return _unreadable(line, error)
        if isinstance(message, JSONRPCRequest):
            self._asked.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))  # it will not be answered
        return SessionMessage(message)

    async def _write(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_server:
            async for one in from_server:
                line = one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                try:
                    await anyio.to_thread.run_sync(_write_bytes, self._target, line, abandon_on_cancel=True)
                except OSError as error:  # what it asked for is done all the same
                    _log.info("an answer found nobody: %s", error)
                if isinstance(one.message, JSONRPCResponse | JSONRPCError):
                    self._settle(one.message.id)

    def _settle(self, request: object) -> None:
        self._asked = {one for one in self._asked if one != request}
        if self._ending and not self._asked:
            self._answered.set()


def _next(found: Iterator[bytes | None]) -> object:
    return next(found, _END)


def _read_bytes(source: int, size: int) -> bytes:
    try:
        return os.read(source, size)
    except OSError:  # the same as an end
        return b""


def _write_bytes(target: int, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(target, rest) :]


def _unreadable(line: bytes, error: ValidationError) -> SessionMessage:
    code, said = INVALID_REQUEST, "this is no message of JSON-RPC 2.0; one object a line is one message"
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return _refusal(PARSE_ERROR, "this is no JSON; one object a line is one message")
    if error.errors(include_url=False)[0]["type"] == "json_invalid":  # Python reads what UTF-8 cannot keep
        said = "a text holds a lone surrogate, which no UTF-8 can keep; send it without"
    known = found.get("id") if isinstance(found, dict) and "method" in found else None
    return _refusal(code, said, known if isinstance(known, str | int) and not isinstance(known, bool) else None)


def _refusal(code: int, message: str, request: RequestId | None = None) -> SessionMessage:
    return _Refusal(JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=message)))


# --- MCP over streamable HTTP, as one ASGI app for the server of serve/http.


class McpApp:
    """An ASGI app for one path. It answers only while `run()` is entered, and that can be done once.

    It keeps no sessions: a client that was silent for a day, or whose server was started again, just goes on. And it
    offers no stream to listen on, for it has nothing to say unasked; an answer is one JSON document.
    """

    def __init__(self, requests: StreamableHTTPSessionManager) -> None:
        self._requests = requests

    def run(self) -> AbstractAsyncContextManager[None]:
        return self._requests.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await self._requests.handle_request(scope, receive, send)
        else:
            refusal = PlainTextResponse("There is no stream to listen on; POST a message.", 405, {"allow": "POST"})
            await refusal(scope, receive, send)


def mcp_app(
    memories: Memories, rules: Sequence[str] = (), *, hosts: Collection[str], origins: Collection[str]
) -> McpApp:
    """The app for `/mcp`, to be hung behind the Guard, which has checked Host, Origin and token by then.

        mcp = mcp_app(memories, rules, hosts=["127.0.0.1:8765"], origins=["http://127.0.0.1:8765"])
        Starlette(routes=[Route("/mcp", mcp)], lifespan=…)     # a Route, not a Mount: the path is exact

    The server's lifespan must enter it: `async with mcp.run(): yield`. Whose memory a request is about says its header
    `Holdfast-Namespace`; without it, it is the server's own. `hosts` and `origins` are checked by the SDK a second
    time, exactly as they are given.
    """
    return McpApp(
        StreamableHTTPSessionManager(
            mcp_server(memories, tuple(rules)),
            json_response=True,  # as an event of a stream, the SDK's client takes 1 MiB at most
            stateless=True,
            security_settings=TransportSecuritySettings(allowed_hosts=list(hosts), allowed_origins=list(origins)),
            max_request_body_size=memories.settings.serve.max_request_bytes,
        )
    )
