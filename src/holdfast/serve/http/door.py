"""Who may come in: what a request says about itself, judged before a byte of its body is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from starlette.types import Scope

from holdfast.serve.http.addresses import Addresses
from holdfast.serve.http.credentials import bearer_of, cookie_of, is_cookie
from holdfast.serve.http.paths import is_plain
from holdfast.serve.http.problems import Refusal
from holdfast.serve.token import matches

__all__ = ["Caller", "Door", "Shown"]

_READING = ("GET", "HEAD")
_OPEN = frozenset(("/healthz", "/login"))
"""What is answered to anybody on this machine: neither tells anything of a memory …"""
_OPEN_FOLDER = "/static/"
"""… nor does what the login page is drawn with."""


class Shown(StrEnum):
    TOKEN = "token"
    COOKIE = "cookie"
    """Of a browser that showed the token at the login."""
    NOTHING = "nothing"


@dataclass(frozen=True)
class Caller:
    shown: Shown
    namespace: str | None = None
    """The only memory that the credential opens; None: all that the server reaches."""


@dataclass(frozen=True)
class Door:
    addresses: Addresses
    token: str
    """Opens all that the server reaches."""
    bound: Mapping[str, str] = field(default_factory=dict)
    """Further tokens, by the namespace that each of them opens."""

    def judge(self, scope: Scope) -> Caller:
        """Who asks, if they may ask this; else a Refusal is raised."""
        _check_framing(scope)
        host = self._host(scope)
        origin = self._origin(scope, host)
        if not is_plain(scope.get("raw_path") or scope["path"].encode()):
            raise Refusal(400, "BadPath", "the path is no plain one", "Send paths as docs/http.md has them.")
        caller = self._caller(scope)
        reading = scope["method"] in _READING
        if caller.shown is not Shown.TOKEN and not reading and origin is None:
            raise Refusal(
                403, "OriginMissing", "a browser that changes something says of which page it is, and this did not",
                "Send Authorization: Bearer TOKEN, or let the inspector's own pages send it.",
            )  # fmt: skip
        return caller

    def _host(self, scope: Scope) -> str:
        given = _headers(scope, b"host")
        if len(given) != 1 or given[0] not in self.addresses.hosts:
            raise Refusal(
                403, "WrongHost", "this server is not called by that name",
                "Use the address it printed at its start; further names are given to it with --known-as.",
            )  # fmt: skip
        return given[0]

    def _origin(self, scope: Scope, host: str) -> str | None:
        given = _headers(scope, b"origin")
        if not given:
            return None
        if len(given) != 1 or not self.addresses.is_origin(given[0], host):
            raise Refusal(
                403, "WrongOrigin", "pages of other sites may not ask here",
                "Ask from a program, or from the inspector's own pages.",
            )  # fmt: skip
        return given[0]

    def _caller(self, scope: Scope) -> Caller:
        shown = _headers(scope, b"authorization")
        if shown:  # a wrong token is an error, whatever else is shown
            given = bearer_of(shown[0]) if len(shown) == 1 else None
            # All are compared, whichever it is: how long it takes must not say.
            found = [name for name, token in self.bound.items() if matches(token, given)]
            if matches(self.token, given):
                return Caller(Shown.TOKEN)
            if found:
                return Caller(Shown.TOKEN, found[0])
        else:
            cookies = _headers(scope, b"cookie")
            if cookies and is_cookie(self.token, cookie_of("; ".join(cookies))):
                return Caller(Shown.COOKIE)
            if scope["path"] in _OPEN or scope["path"].startswith(_OPEN_FOLDER):
                return Caller(Shown.NOTHING)
        raise Refusal(
            401, "TokenNeeded", "the token is missing or wrong",
            "Send Authorization: Bearer TOKEN; it lies in the file that the server named at its start.",
            {"www-authenticate": 'Bearer realm="holdfast"'},
        )  # fmt: skip


def _check_framing(scope: Scope) -> None:
    """A body has one end. With two lengths a proxy may see another, and take the rest for somebody else's request."""
    if _headers(scope, b"transfer-encoding") and (
        _headers(scope, b"content-length") or scope.get("http_version") == "1.0"
    ):
        raise Refusal(
            400, "BadFraming", "the request says in two ways how long its body is",
            "Send Content-Length, or Transfer-Encoding over HTTP/1.1, and not both.",
        )  # fmt: skip


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
