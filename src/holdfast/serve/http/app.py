"""The whole server as one ASGI app: verbs, export, health, metrics, the inspector and MCP, behind the middleware."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import BinaryIO, cast

import anyio
from anyio import CapacityLimiter, from_thread, to_thread
from anyio.streams.memory import MemoryObjectSendStream
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.errors import InputError
from holdfast.results import IngestedTurn, IngestedTurns
from holdfast.serve.errors import INVALID_REQUEST, Failure, failure_of
from holdfast.serve.http.auth import (
    PROBLEM,
    AccessPolicy,
    Addresses,
    HttpProblem,
    is_confined,
    namespace_of,
    problem_body,
    problem_response,
)
from holdfast.serve.http.metrics import MEDIA_TYPE, Metrics
from holdfast.serve.http.middleware import AccessMiddleware
from holdfast.serve.http.openapi import openapi
from holdfast.serve.inspector.app import inspector_routes
from holdfast.serve.mcp.tools import FOUR_TOOLS, Offer
from holdfast.serve.mcp.transports import mcp_app
from holdfast.serve.memories import Memories
from holdfast.serve.process import ServeLimits
from holdfast.serve.token import EndedLogins
from holdfast.serve.tracing import caller_of
from holdfast.serve.verbs import VERBS, CallContext, ConcurrencyLimits, Danger, Verb, call_verb
from holdfast.settings import tuned
from holdfast.text.jsonio import NotJson, encode, read_json

_log = logging.getLogger("holdfast")

_JSON = "application/json"
_LINES = "application/x-ndjson"
_NO_STORE = {"cache-control": "no-store"}
_PIECE = 1 << 16  # bytes of an export that are sent at once
_ROUTING_ERRORS = {
    404: ("NoSuchPath", "GET /openapi.json lists the paths."),
    405: ("WrongMethod", "Use a method that the header Allow names; verbs are called with POST."),
}


def create_app(
    memories: Memories,
    token: str,
    addresses: Addresses,
    rules: Sequence[str] = (),
    bound: Mapping[str, str] | None = None,
    offer: Offer = FOUR_TOOLS,
    ended: EndedLogins | None = None,
) -> ASGIApp:
    """Return the app; the caller closes the memories. `bound` holds additional tokens by their namespace."""
    ended = EndedLogins() if ended is None else ended
    settings = tuned(memories.settings, ServeLimits)
    metrics = Metrics()
    slow = CapacityLimiter(settings.slow_calls)
    context = CallContext(tuple(rules), memories.bound, memories.places)
    # Executors instead of anyio's threads: a call needs two turns of the event loop less, each of which releases the
    # interpreter and, while others compute, costs as much as the rest of the call's way.
    executors: ConcurrencyLimits[Executor] = ConcurrencyLimits.of(settings, ThreadPoolExecutor)
    mcp = mcp_app(memories, rules, offer, hosts=sorted(addresses.hosts), origins=sorted(addresses.origins))

    async def show_metrics(request: Request) -> Response:
        behind = await to_thread.run_sync(_count_behind, memories, limiter=slow)
        return Response(metrics.text(behind), media_type=MEDIA_TYPE)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with mcp.run():
            yield

    routes: list[BaseRoute] = [
        *(
            Route(f"/v1/{verb.name}", VerbEndpoint(verb, memories, context, executors, metrics), methods=["POST"])
            for verb in VERBS.values()
        ),
        Route("/v1/export", ExportEndpoint(memories, slow), methods=["GET"]),
        Route("/healthz", _show_health, methods=["GET"]),
        Route("/metrics", show_metrics, methods=["GET"]),
        Route("/openapi.json", _show_openapi, methods=["GET"]),
        Route("/mcp", mcp),
        *inspector_routes(memories, token, tuple(rules), ended),
    ]
    handlers = {HTTPException: _routing_error, Exception: _unexpected_error}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    app.router.redirect_slashes = False  # every path has one spelling
    return AccessMiddleware(app, AccessPolicy(addresses, token, bound or {}, ended), settings, metrics)


async def _show_health(request: Request) -> Response:
    return Response(encode({"ok": True}), media_type=_JSON)


async def _show_openapi(request: Request) -> Response:
    return Response(encode(openapi()), media_type=_JSON)


def _count_behind(memories: Memories) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in memories.used():
        with memories.lend(name, reads=True) as memory:
            found[name] = memory.status().behind
    return found


async def _routing_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind, advice = _ROUTING_ERRORS.get(error.status_code, ("Refused", "See docs/reference/http.md."))
    failure = Failure(kind, str(error.detail), advice, INVALID_REQUEST, error.status_code)
    return problem_response(failure, error.headers)


async def _unexpected_error(request: Request, error: Exception) -> Response:
    return problem_response(failure_of(error))


# --- POST /v1/VERB


@dataclass(frozen=True)
class VerbReply:
    status: int
    body: bytes
    media_type: str
    turns: int = 0


@dataclass(frozen=True)
class VerbEndpoint:
    """An ASGI app for one verb: a JSON object in, the verb's answer out."""

    verb: Verb
    memories: Memories
    context: CallContext
    executors: ConcurrencyLimits[Executor]
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = time.perf_counter()
        try:
            body = await Request(scope, receive).body()
        except ClientDisconnect:
            return
        loop = asyncio.get_running_loop()
        reply = await loop.run_in_executor(self.executors.for_verb(self.verb), self._call, scope, body)
        self.metrics.called(self.verb.name, reply.status, time.perf_counter() - start, reply.turns)
        await Response(reply.body, reply.status, _NO_STORE, reply.media_type)(scope, receive, send)

    def _call(self, scope: Scope, body: bytes) -> VerbReply:
        try:
            payload = _read_payload(scope, body)
            confined, reads = is_confined(scope), self.verb.danger is Danger.READS
            context = replace(self.context, confined=True) if confined else self.context
            with caller_of(scope), self.memories.lend(namespace_of(scope), reads=reads, confined=confined) as memory:
                answer = call_verb(self.verb, memory, payload, context)
            return VerbReply(200, encode(answer), _JSON, _count_turns(answer))
        except HttpProblem as problem:
            failure = problem.failure
        except Exception as error:  # every error becomes a response, and none ends the server
            failure = failure_of(error)
        return VerbReply(failure.status, encode(problem_body(failure)), PROBLEM)


def _read_payload(scope: Scope, body: bytes) -> Mapping[str, object]:
    """Return the JSON object of a body; an empty body is an empty object, for verbs that need nothing."""
    if not body.strip():
        return {}
    types = [value.decode("latin-1") for key, value in scope["headers"] if key == b"content-type"]
    if len(types) != 1 or types[0].partition(";")[0].strip().lower() != _JSON:
        raise HttpProblem(415, "NotJson", f"a body must be {_JSON}", f"Send the header Content-Type: {_JSON}.")
    try:
        document = read_json(body)
    except NotJson as error:
        raise HttpProblem(400, "NotJson", str(error), "Send one JSON object, as UTF-8.") from error
    if not isinstance(document, dict):
        raise InputError("a body must be one JSON object with the verb's fields")
    return document


def _count_turns(answer: object) -> int:
    """Return the number of turns that an answer acknowledges."""
    if isinstance(answer, IngestedTurn):
        return int(answer.turn is not None)
    return len(answer.turns) if isinstance(answer, IngestedTurns) else 0


# --- GET /v1/export


@dataclass(frozen=True)
class ExportEndpoint:
    """An ASGI app that streams the log of a namespace as JSON lines.

    A stream that breaks off lacks the last line, by which an import recognises it.
    """

    memories: Memories
    limiter: CapacityLimiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            namespace = namespace_of(scope)
            await to_thread.run_sync(self._check, namespace, is_confined(scope), limiter=self.limiter)
        except Exception as error:
            await problem_response(failure_of(error))(scope, receive, send)
            return
        headers = [(b"content-type", _LINES.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if scope["method"] == "HEAD" or await self._stream(namespace, receive, send):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _stream(self, namespace: str | None, receive: Receive, send: Send) -> bool:
        """Return whether everything was sent; if not, the response has no end and the connection is closed."""
        writer, reader = anyio.create_memory_object_stream[bytes](1)
        complete = False

        async def produce() -> None:
            nonlocal complete
            async with writer:
                try:
                    await to_thread.run_sync(self._write, namespace, writer, limiter=self.limiter)
                    complete = True
                except anyio.BrokenResourceError:
                    _log.info("the client left during an export")
                except Exception as error:
                    failure_of(error)  # logs it

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group, reader:
            group.start_soon(produce)
            group.start_soon(watch)
            async for piece in reader:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            group.cancel_scope.cancel()
        return complete

    def _check(self, namespace: str | None, confined: bool) -> None:
        with self.memories.lend(namespace, reads=True, confined=confined):
            pass

    def _write(self, namespace: str | None, writer: MemoryObjectSendStream[bytes]) -> None:
        with self.memories.lend(namespace, reads=True) as memory:
            memory.export(cast("BinaryIO", _SendingFile(writer)))


class _SendingFile:
    """A file whose content is sent piece by piece. It is written from a thread, which waits for a slow client."""

    def __init__(self, writer: MemoryObjectSendStream[bytes]) -> None:
        self._writer = writer
        self._buffer = bytearray()

    def write(self, data: bytes) -> int:
        self._buffer += data
        if len(self._buffer) >= _PIECE:
            self.flush()
        return len(data)

    def flush(self) -> None:
        from_thread.run(self._writer.send, bytes(self._buffer))
        self._buffer.clear()
