"""The whole server as one ASGI app: the verbs, what looks after them, the inspector and MCP, behind one guard."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.errors import InputError
from holdfast.results import IngestedTurn, IngestedTurns
from holdfast.serve.errors import INVALID_REQUEST, Fault, fault_of
from holdfast.serve.http.auth import PROBLEM, Addresses, Door, Refusal, is_confined, namespace_of, problem, told
from holdfast.serve.http.export import Export
from holdfast.serve.http.metrics import TEXT, Metrics
from holdfast.serve.http.middleware import Guard
from holdfast.serve.http.openapi import openapi
from holdfast.serve.inputs import Input
from holdfast.serve.inspector.app import inspector_routes
from holdfast.serve.mcp.transports import mcp_app
from holdfast.serve.memories import Memories
from holdfast.serve.rpc import ByKind, by_kind
from holdfast.serve.tracing import caller_of
from holdfast.serve.verbs import VERBS, Danger, Surroundings, Verb, answer
from holdfast.text.jsonio import NotJson, encode, read_json

# --- `POST /v1/VERB` for every verb of verbs.py: a JSON object in, the verb's answer out.


_JSON = "application/json"
_HEADERS = {"cache-control": "no-store"}


@dataclass(frozen=True)
class _Answer:
    status: int
    body: bytes
    media_type: str
    turns: int = 0


@dataclass(frozen=True)
class _Offer:
    verb: Verb[Input]
    memories: Memories
    around: Surroundings
    crews: ByKind[Executor]
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = time.perf_counter()
        try:
            body = await Request(scope, receive).body()
        except ClientDisconnect:
            return
        loop = asyncio.get_running_loop()
        made = await loop.run_in_executor(self.crews.of(self.verb), self._do, scope, body)
        self.metrics.called(self.verb.name, made.status, time.perf_counter() - start, made.turns)
        await Response(made.body, made.status, _HEADERS, made.media_type)(scope, receive, send)

    def _do(self, scope: Scope, body: bytes) -> _Answer:
        try:
            payload = _payload(scope, body)
            confined, reads = is_confined(scope), self.verb.danger is Danger.READS
            around = replace(self.around, confined=True) if confined else self.around
            with (
                caller_of(scope),
                self.memories.lend(namespace_of(scope), reads=reads, confined=confined) as memory,
            ):
                made = answer(self.verb, memory, payload, around)
            return _Answer(200, encode(made), _JSON, _turns(made))
        except Refusal as refusal:
            return _Answer(refusal.fault.status, encode(told(refusal.fault)), PROBLEM)
        except Exception as error:  # every error is told, and none ends the server
            fault = fault_of(error)
            return _Answer(fault.status, encode(told(fault)), PROBLEM)


def verb_apps(
    memories: Memories, around: Surroundings, crews: ByKind[Executor], metrics: Metrics
) -> dict[str, ASGIApp]:
    """An app for each verb, by its path."""
    return {f"/v1/{verb.name}": _Offer(verb, memories, around, crews, metrics) for verb in VERBS.values()}


class Straight:
    """The way of nearly every request: a POST to a verb's own path goes to it, past the routes that all others need."""

    def __init__(self, verbs: Mapping[str, ASGIApp], app: ASGIApp) -> None:
        self._verbs = verbs
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = self._verbs.get(scope["path"]) if scope.get("method") == "POST" else None
        await (asked or self._app)(scope, receive, send)


def _payload(scope: Scope, body: bytes) -> Mapping[str, object]:
    """The object that a body holds; none at all is an empty one, for verbs that need nothing."""
    if not body.strip():
        return {}
    kinds = [value.decode("latin-1") for key, value in scope["headers"] if key == b"content-type"]
    if len(kinds) != 1 or kinds[0].partition(";")[0].strip().lower() != _JSON:
        raise Refusal(415, "NotJson", f"a body is {_JSON}", f"Send the header Content-Type: {_JSON}.")
    try:
        said = read_json(body)
    except NotJson as error:
        raise Refusal(400, "NotJson", str(error), "Send one JSON object, as UTF-8.") from error
    if not isinstance(said, dict):
        raise InputError("a body is one JSON object with the verb's fields")
    return said


def _turns(made: object) -> int:
    """The turns that an answer acknowledges."""
    if isinstance(made, IngestedTurn):
        return int(made.turn is not None)
    return len(made.turns) if isinstance(made, IngestedTurns) else 0


def create_app(
    memories: Memories,
    token: str,
    addresses: Addresses,
    rules: Sequence[str] = (),
    bound: Mapping[str, str] | None = None,
) -> ASGIApp:
    """The app for a server that is called by these addresses; the memories stay the caller's to close.

    `bound` holds further tokens, by the namespace that each of them opens.
    """
    settings = memories.settings.serve
    metrics = Metrics()
    slow = CapacityLimiter(settings.slow_calls)
    around = Surroundings(tuple(rules), memories.bound, memories.places)
    # Executors instead of a limiter before anyio's threads: a call goes there and back with two turns of the event loop
    # less. Each turn lets go of the interpreter, and while others compute that costs as much as the call's own way.
    verbs = verb_apps(memories, around, by_kind(settings, ThreadPoolExecutor), metrics)
    mcp = mcp_app(memories, rules, hosts=sorted(addresses.hosts), origins=sorted(addresses.origins))

    async def counters(request: Request) -> Response:
        behind = await to_thread.run_sync(_behind, memories, limiter=slow)
        return Response(metrics.text(behind), media_type=TEXT)

    async def document(request: Request) -> Response:
        return Response(encode(openapi()), media_type=_JSON)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with mcp.run():
            yield

    routes: list[BaseRoute] = [
        *(Route(path, verb, methods=["POST"]) for path, verb in verbs.items()),
        Route("/v1/export", Export(memories, slow), methods=["GET"]),
        Route("/healthz", _health, methods=["GET"]),
        Route("/metrics", counters, methods=["GET"]),
        Route("/openapi.json", document, methods=["GET"]),
        Route("/mcp", mcp),
        *inspector_routes(memories, token, tuple(rules)),
    ]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _told, Exception: _failed})
    app.router.redirect_slashes = False  # a path is what it is, and is not spelled in two ways
    return Guard(Straight(verbs, app), Door(addresses, token, bound or {}), settings, metrics)


async def _health(request: Request) -> Response:
    return Response(encode({"ok": True}), media_type=_JSON)


def _behind(memories: Memories) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in memories.opened():
        with memories.lend(name, reads=True) as memory:
            found[name] = memory.status().behind
    return found


async def _told(request: Request, error: Exception) -> Response:
    """What no route answers."""
    assert isinstance(error, HTTPException)
    kind, advice = _KNOWN.get(error.status_code, ("Refused", "See docs/http.md."))
    fault = Fault(kind, str(error.detail), advice, INVALID_REQUEST, error.status_code)
    return problem(fault, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    return problem(fault_of(error))


_KNOWN = {
    404: ("NoSuchPath", "GET /openapi.json lists the paths."),
    405: ("WrongMethod", "Use a method that the header Allow names; verbs are called with POST."),
}
