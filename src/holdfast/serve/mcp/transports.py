"""Transports of MCP: stdio for `holdfast mcp`, and an ASGI app for streamable HTTP.

The SDK's own stdio transport drops calls in progress when stdin ends. This one answers every request that was read,
however the client leaves or the process is stopped.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import threading
from collections.abc import Callable, Collection, Sequence
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

from holdfast.connect.socket import answer_hooks
from holdfast.serve.mcp.early import END, EarlyReader, write_bytes
from holdfast.serve.mcp.server import mcp_server
from holdfast.serve.mcp.tools import FOUR_TOOLS, Offer
from holdfast.serve.memories import JanitorSchedule, Memories
from holdfast.serve.process import Stopping
from holdfast.settings import ServeSettings

_log = logging.getLogger("holdfast")


class _ErrorMessage(SessionMessage):
    """The response to a line that is not a message."""


_Outgoing = MemoryObjectSendStream[SessionMessage]


class StdioTransport:
    """One client over the lines of a reader. Run it in a daemon thread: reads cannot be woken, and the threads
    that wait for it are daemons only if the thread of the event loop is one.
    """

    def __init__(self, reader: EarlyReader, settings: ServeSettings) -> None:
        self._reader = reader
        self._settings = settings
        self._pending: set[RequestId] = set()
        self._ending = False
        self._answered = anyio.Event()
        self._stop: Callable[[], object] | None = None
        self._stopping = False

    async def serve(self, server: Server[dict[str, object]]) -> None:
        """Serve until the client's messages end or `stop` is called, and all requests are answered."""
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
        """Stop reading; may be called from any thread."""
        self._stopping = True
        if self._stop is not None:
            self._stop()

    async def _read(self, to_server: MemoryObjectSendStream[SessionMessage | Exception], to_peer: _Outgoing) -> None:
        self._reader.attach()
        async with to_server, to_peer:
            with anyio.CancelScope() as reading:
                self._stop = partial(asyncio.get_running_loop().call_soon_threadsafe, reading.cancel)
                while not self._stopping:
                    line = await anyio.to_thread.run_sync(self._reader.next, abandon_on_cancel=True)
                    if line is END:
                        break
                    with anyio.CancelScope(shield=True):  # a stop must not lose a message that was read
                        message = self._parse(line)
                        await (to_peer if isinstance(message, _ErrorMessage) else to_server).send(message)
            self._stop, self._ending = None, True
            if self._pending:
                with anyio.move_on_after(self._settings.finish_s) as waiting:
                    await self._answered.wait()
                if waiting.cancelled_caught:
                    _log.warning("stopped while calls were in progress; everything acknowledged is stored")

    def _parse(self, line: object) -> SessionMessage:
        if not isinstance(line, bytes):
            limit = self._settings.max_request_bytes
            return _error(INVALID_REQUEST, f"the message is longer than the maximum of {limit:,} bytes; send less")
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError as error:
            return _parse_error(line, error)
        if isinstance(message, JSONRPCRequest):
            self._pending.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))  # it will not be answered
        return SessionMessage(message)

    async def _write(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_server:
            async for one in from_server:
                if self._is_answered(one.message):
                    continue
                line = one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                try:
                    await anyio.to_thread.run_sync(write_bytes, self._reader.target, line, abandon_on_cancel=True)
                except OSError as error:  # the client left; its call is done all the same
                    _log.info("a response could not be delivered: %s", error)
                if isinstance(one.message, JSONRPCResponse | JSONRPCError):
                    self._settle(one.message.id)

    def _is_answered(self, message: object) -> bool:
        """Return whether this is the response to a request that was answered before the server was loaded."""
        if not isinstance(message, JSONRPCResponse | JSONRPCError) or message.id not in self._reader.answered:
            return False
        self._reader.answered.discard(message.id)
        self._settle(message.id)
        return True

    def _settle(self, request: object) -> None:
        self._pending = {one for one in self._pending if one != request}
        if self._ending and not self._pending:
            self._answered.set()


def _parse_error(line: bytes, error: ValidationError) -> SessionMessage:
    message = "the line is not a JSON-RPC 2.0 message; send one object per line"
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return _error(PARSE_ERROR, "the line is not JSON; send one object per line")
    if error.errors(include_url=False)[0]["type"] == "json_invalid":  # Python accepts what UTF-8 cannot encode
        message = "a text contains a lone surrogate, which UTF-8 cannot encode"
    known = found.get("id") if isinstance(found, dict) and "method" in found else None
    return _error(
        INVALID_REQUEST, message, known if isinstance(known, str | int) and not isinstance(known, bool) else None
    )


def _error(code: int, message: str, request: RequestId | None = None) -> SessionMessage:
    return _ErrorMessage(JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=message)))


def run_mcp(
    memories: Memories,
    reader: EarlyReader,
    rules: tuple[str, ...] = (),
    offer: Offer = FOUR_TOOLS,
    stopping: Stopping = lambda: None,
) -> None:
    """Serve the process that started this one until it closes stdin or a signal comes."""
    settings = memories.settings.serve
    transport = StdioTransport(reader, settings)
    ended = threading.Event()
    failed: list[BaseException] = []

    def serve() -> None:
        try:
            anyio.run(transport.serve, mcp_server(memories, rules, offer))
        except BaseException as error:  # raised again in the main thread, which decides how the process ends
            failed.append(error)
        finally:
            ended.set()

    before = {name: signal.signal(name, lambda *_: ended.set()) for name in (signal.SIGTERM, signal.SIGINT)}
    # A daemon, and so are the threads it starts: one that waits for stdin must not keep the process alive.
    serving = threading.Thread(target=serve, name="holdfast-mcp", daemon=True)
    serving.start()
    try:
        with JanitorSchedule(memories), answer_hooks(memories, memories.location):
            ended.wait()
            stopping()
            transport.stop()
            serving.join(settings.stop_s)  # a client that does not read takes all of it
    finally:
        for name, known in before.items():
            signal.signal(name, known)
    if failed:
        raise failed[0]


# --- streamable HTTP


class McpApp:
    """An ASGI app for one path. It answers only while `run()` is entered, which can be done once.

    It keeps no sessions, so a client can continue after a day of silence or a restart of the server. It offers no
    stream, because it sends nothing unasked; a response is one JSON document.
    """

    def __init__(self, requests: StreamableHTTPSessionManager) -> None:
        self._requests = requests

    def run(self) -> AbstractAsyncContextManager[None]:
        return self._requests.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await self._requests.handle_request(scope, receive, send)
        else:
            refusal = PlainTextResponse("There is no stream to listen to; POST a message.", 405, {"allow": "POST"})
            await refusal(scope, receive, send)


def mcp_app(
    memories: Memories,
    rules: Sequence[str] = (),
    offer: Offer = FOUR_TOOLS,
    *,
    hosts: Collection[str],
    origins: Collection[str],
) -> McpApp:
    """Return the app for `/mcp`, behind AccessMiddleware, which checks Host, Origin and token first.

    The server's lifespan must enter `run()`. The header `Holdfast-Namespace` names the memory (default: the server's
    own). The SDK checks `hosts` and `origins` a second time, exactly as they are given.
    """
    return McpApp(
        StreamableHTTPSessionManager(
            mcp_server(memories, tuple(rules), offer),
            json_response=True,  # as an event of a stream, the SDK's client takes 1 MiB at most
            stateless=True,
            security_settings=TransportSecuritySettings(allowed_hosts=list(hosts), allowed_origins=list(origins)),
            max_request_body_size=memories.settings.serve.max_request_bytes,
        )
    )
