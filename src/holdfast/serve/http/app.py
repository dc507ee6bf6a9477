"""The whole server as one ASGI app: the verbs, what looks after them, the inspector and MCP, behind one guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from holdfast.serve.faults import INVALID_REQUEST, Fault, fault_of
from holdfast.serve.http.addresses import Addresses
from holdfast.serve.http.door import Door
from holdfast.serve.http.export import Export
from holdfast.serve.http.guard import Guard
from holdfast.serve.http.metrics import TEXT, Metrics
from holdfast.serve.http.openapi import openapi
from holdfast.serve.http.problems import problem
from holdfast.serve.http.verb_routes import Straight, verb_apps
from holdfast.serve.inspector.app import inspector_routes
from holdfast.serve.json_text import encode
from holdfast.serve.mcp.http import mcp_app
from holdfast.serve.memories import Memories
from holdfast.serve.pace import by_kind
from holdfast.serve.verbs import Surroundings

__all__ = ["create_app"]

_JSON = "application/json"


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
