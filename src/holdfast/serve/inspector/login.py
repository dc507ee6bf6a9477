"""Who may look: the token is shown once, and a cookie stands for it until the browser is closed."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import Response

from holdfast.serve.http.credentials import COOKIE, cookie_attributes
from holdfast.serve.inspector.asked import MEMORY_COOKIE, Asked
from holdfast.serve.inspector.desk import Desk
from holdfast.serve.token import matches

__all__ = ["ask", "choose_memory", "enter", "leave"]

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
