"""Routes of the inspector, each with a strict content policy: nothing is cached, and nothing is loaded from outside.

They are served behind AccessMiddleware, which admits nobody without the token or its cookie, except to the login.
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

from holdfast.serve.inspector import actions, pages
from holdfast.serve.inspector.views import MEMORY_COOKIE, Inspector, PageRequest, parse_request
from holdfast.serve.memories import Memories
from holdfast.serve.token import COOKIE, EndedLogins, is_cookie, is_token, set_cookie_header

View = Callable[[Inspector, PageRequest], Response]

_COOKIE_RULES = "Path=/; HttpOnly; SameSite=Strict"
_POLICY = "; ".join((
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
    "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
))  # fmt: skip
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not "no-referrer": forms would be sent with `Origin: null` (Fetch, 3.2), which the middleware must refuse.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


# --- login


def show_login(inspector: Inspector, request: PageRequest) -> Response:
    return inspector.page("login.html", request, wrong=False)


def log_in(inspector: Inspector, request: PageRequest) -> Response:
    """Exchange the token for a cookie that lasts until the browser is closed."""
    if not is_token(inspector.token, (request.get("token") or "").strip()):
        return inspector.page("login.html", request, 403, wrong=True)
    return inspector.redirect("/", {"Set-Cookie": set_cookie_header(inspector.token)})


def log_out(inspector: Inspector, request: PageRequest) -> Response:
    """End the login on the server too: a copy of the cookie opens nothing any more."""
    if is_cookie(inspector.token, request.login):
        inspector.ended.add(request.login)
    return inspector.redirect("/login", {"Set-Cookie": f"{COOKIE}=; {_COOKIE_RULES}; Max-Age=0"})


def choose_memory(inspector: Inspector, request: PageRequest) -> Response:
    """Show another namespace, or the server's own again; one that is not allowed is refused at once."""
    name = request.get("namespace")
    if name is None:
        return inspector.redirect("/", {"Set-Cookie": f"{MEMORY_COOKIE}=; {_COOKIE_RULES}; Max-Age=0"})
    with inspector.memories.lend(name, reads=True):
        return inspector.redirect("/", {"Set-Cookie": f"{MEMORY_COOKIE}={quote(name, safe='')}; {_COOKIE_RULES}"})


# --- routes

_GET: tuple[tuple[str, View], ...] = (
    ("/", pages.overview),
    ("/inspector/timeline", pages.timeline),
    ("/inspector/sessions", pages.sessions),
    ("/inspector/session", pages.session),
    ("/inspector/records", pages.records),
    ("/inspector/guidance", pages.guidance),
    ("/inspector/merges", pages.merges),
    ("/inspector/record", pages.item),
    ("/inspector/turn", pages.item),
    ("/inspector/expand", pages.expand),
    ("/inspector/text", pages.text),
    ("/inspector/search", pages.search),
    ("/inspector/themes", pages.themes),
    ("/inspector/health", pages.health),
    ("/inspector/settings", pages.settings),
    ("/login", show_login),
)
_POST: tuple[tuple[str, View], ...] = (
    ("/inspector/forget", actions.forget),
    ("/inspector/restore", actions.restore),
    ("/inspector/correct", actions.correct),
    ("/inspector/pin", actions.pin),
    ("/inspector/divide", actions.divide),
    ("/inspector/undo", actions.undo),
    ("/inspector/memory", choose_memory),
    ("/login", log_in),
    ("/logout", log_out),
)


def inspector_routes(
    memories: Memories, token: str, rules: tuple[str, ...] = (), ended: EndedLogins | None = None
) -> list[BaseRoute]:
    """Return all pages, actions and files; `rules` are the rule files that the server adds to every context."""
    inspector = Inspector(memories, token, rules, ended)
    headers = [Middleware(HeaderMiddleware, cache="no-store")]
    routes: list[BaseRoute] = [
        Route(path, _endpoint(inspector, view), methods=[method], middleware=headers)
        for method, views in (("GET", _GET), ("POST", _POST))
        for path, view in views
    ]
    files = StaticFiles(directory=Path(__file__).parent / "static")
    return [*routes, Mount("/static", files, middleware=[Middleware(HeaderMiddleware, cache="no-cache")])]


def _endpoint(inspector: Inspector, view: View) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        parsed: PageRequest | None = None
        try:
            parsed = await parse_request(request, inspector.settings.form_bytes)
            return await run_in_threadpool(view, inspector, parsed)
        except Exception as error:  # shown on the page; unexpected ones are logged as well
            return inspector.error_page(parsed, error)

    return endpoint


class HeaderMiddleware:
    """Adds the security headers to every response of an app."""

    def __init__(self, app: ASGIApp, cache: str) -> None:
        self._app = app
        self._cache = cache

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({**_HEADERS, "Cache-Control": self._cache})
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except HTTPException as error:  # a missing file: answered here, so that it gets the headers too
            await PlainTextResponse(error.detail, error.status_code)(scope, receive, send_with_headers)
