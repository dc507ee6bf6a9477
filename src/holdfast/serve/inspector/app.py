"""The routes of the inspector, each sealed: a strict content policy, nothing kept by the browser, nothing from outside.

They hang in the HTTP server behind its guard, which lets nobody in but to OPEN without the token or the cookie.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.serve.inspector import acts, browse, health, login, look, overview, seek
from holdfast.serve.inspector.asked import Asked, read_asked
from holdfast.serve.inspector.desk import Desk
from holdfast.serve.memories import Memories

__all__ = ["OPEN", "inspector_routes"]

OPEN = ("/login", "/static/")
"""Addresses (or, with a slash at the end, folders) that a browser needs before it has shown the token."""

Work = Callable[[Desk, Asked], Response]

_POLICY = "; ".join((
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
    "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
))  # fmt: skip
_SEAL = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not "no-referrer": a form would then be sent with `Origin: null` (Fetch, 3.2), which the guard must refuse.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_READS: tuple[tuple[str, Work], ...] = (
    ("/", overview.overview),
    ("/inspector/timeline", browse.timeline),
    ("/inspector/sessions", browse.sessions),
    ("/inspector/session", browse.session),
    ("/inspector/records", browse.records),
    ("/inspector/guidance", browse.guidance),
    ("/inspector/merges", browse.merges),
    ("/inspector/record", look.noun),
    ("/inspector/turn", look.noun),
    ("/inspector/expand", look.expand),
    ("/inspector/text", look.text),
    ("/inspector/search", seek.search),
    ("/inspector/themes", seek.themes),
    ("/inspector/health", health.health),
    ("/inspector/settings", health.settings),
    ("/login", login.ask),
)
_WRITES: tuple[tuple[str, Work], ...] = (
    ("/inspector/forget", acts.forget),
    ("/inspector/restore", acts.restore),
    ("/inspector/correct", acts.correct),
    ("/inspector/pin", acts.pin),
    ("/inspector/divide", acts.divide),
    ("/inspector/undo", acts.undo),
    ("/inspector/memory", login.choose_memory),
    ("/login", login.enter),
    ("/logout", login.leave),
)


def inspector_routes(memories: Memories, token: str, rules: tuple[str, ...] = ()) -> list[BaseRoute]:
    """Every page, act and file. `rules`: the rule files that the server gives every context."""
    desk = Desk(memories, token, rules)
    sealed = [Middleware(_Sealed, cache="no-store")]
    pages = [Route(path, _endpoint(desk, work), methods=["GET"], middleware=sealed) for path, work in _READS]
    posts = [Route(path, _endpoint(desk, work), methods=["POST"], middleware=sealed) for path, work in _WRITES]
    files = StaticFiles(directory=Path(__file__).parent / "static")
    return [*pages, *posts, Mount("/static", files, middleware=[Middleware(_Sealed, cache="no-cache")])]


def _endpoint(desk: Desk, work: Work) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        asked: Asked | None = None
        try:
            asked = await read_asked(request, desk.settings.form_bytes)
            return await run_in_threadpool(work, desk, asked)
        except Exception as error:  # told on the page; what nobody expected goes to the log as well (faults.py)
            return desk.fault(asked, error)

    return endpoint


class _Sealed:
    """Adds the headers to every answer of an app."""

    def __init__(self, app: ASGIApp, cache: str) -> None:
        self._app = app
        self._cache = cache

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({**_SEAL, "Cache-Control": self._cache})
            await send(message)

        try:
            await self._app(scope, receive, sealed)
        except HTTPException as error:  # a file that is not there: told here, so that it is sealed as well
            await PlainTextResponse(error.detail, error.status_code)(scope, receive, sealed)
