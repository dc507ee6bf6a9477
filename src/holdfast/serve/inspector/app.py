"""The routes of the inspector, each sealed: a strict content policy, nothing kept by the browser, nothing from outside.

They hang in the HTTP server behind its guard, which lets nobody in but to OPEN without the token or the cookie.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.serve.http.auth import COOKIE, cookie_attributes
from holdfast.serve.inspector import actions as acts
from holdfast.serve.inspector import pages as browse
from holdfast.serve.inspector import pages as health
from holdfast.serve.inspector import pages as look
from holdfast.serve.inspector import pages as overview
from holdfast.serve.inspector import pages as seek
from holdfast.serve.inspector.views import MEMORY_COOKIE, Asked, Desk, read_asked
from holdfast.serve.memories import Memories
from holdfast.serve.process import matches

# --- Who may look: the token is shown once, and a cookie stands for it until the browser is closed.


_GONE = "Path=/; HttpOnly; SameSite=Strict; Max-Age=0"


def ask(desk: Desk, asked: Asked) -> Response:
    return desk.page("login.html", asked, wrong=False)


def enter(desk: Desk, asked: Asked) -> Response:
    if not matches(desk.token, (asked.given("token") or "").strip()):
        return desk.page("login.html", asked, 403, wrong=True)
    return desk.go("/", {"Set-Cookie": cookie_attributes(desk.token)})


def leave(desk: Desk, asked: Asked) -> Response:
    return desk.go("/login", {"Set-Cookie": f"{COOKIE}=; {_GONE}"})


def choose_memory(desk: Desk, asked: Asked) -> Response:
    """Show another namespace, or the server's own again; one that may not be reached is refused at once."""
    name = asked.given("namespace")
    if name is None:
        return desk.go("/", {"Set-Cookie": f"{MEMORY_COOKIE}=; {_GONE}"})
    with desk.memories.lend(name, reads=True):
        return desk.go(
            "/", {"Set-Cookie": f"{MEMORY_COOKIE}={quote(name, safe='')}; Path=/; HttpOnly; SameSite=Strict"}
        )


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
    ("/login", ask),
)
_WRITES: tuple[tuple[str, Work], ...] = (
    ("/inspector/forget", acts.forget),
    ("/inspector/restore", acts.restore),
    ("/inspector/correct", acts.correct),
    ("/inspector/pin", acts.pin),
    ("/inspector/divide", acts.divide),
    ("/inspector/undo", acts.undo),
    ("/inspector/memory", choose_memory),
    ("/login", enter),
    ("/logout", leave),
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
