"""Access control of HTTP requests by their headers, before a byte of the body is read; and errors as RFC 9457 has them.

A page of another site can make a browser call 127.0.0.1, or a name of its own that resolves there, but the browser says
which name it used. Host and Origin are therefore compared whole with the names of this server.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import unquote_to_bytes

from starlette.responses import Response
from starlette.types import Scope

from holdfast.errors import InputError
from holdfast.serve.errors import INVALID_REQUEST, Failure
from holdfast.serve.token import COOKIE, EndedLogins, is_cookie, is_token
from holdfast.text.jsonio import encode

# --- errors

PROBLEM = "application/problem+json"


class HttpProblem(Exception):
    """A refused request; it never reaches a memory."""

    def __init__(
        self, status: int, kind: str, message: str, advice: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.failure = Failure(kind, message, advice, INVALID_REQUEST, status)
        self.headers = headers or {}


def problem_body(failure: Failure) -> dict[str, object]:
    return {
        "type": f"urn:holdfast:{failure.type}",
        "title": failure.type,
        "status": failure.status,
        "detail": failure.message,
        "advice": failure.advice,
    }


def problem_response(failure: Failure, headers: Mapping[str, str] | None = None) -> Response:
    kept = {"cache-control": "no-store", **(headers or {})}
    return Response(encode(problem_body(failure)), failure.status, kept, media_type=PROBLEM)


# --- names of the server

_NAME = re.compile(r"(?:[a-z0-9](?:[a-z0-9.-]{0,252})|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?")
_HTTP = 80


@dataclass(frozen=True)
class Addresses:
    """The names by which clients may call this server: the only accepted Host headers and origins."""

    own: frozenset[str]
    """The addresses it listens on: ADDRESS:PORT."""
    named: frozenset[str] = frozenset()
    """Names that the operator gave it, perhaps behind a proxy that speaks TLS."""

    @property
    def hosts(self) -> frozenset[str]:
        return self.own | self.named

    @property
    def origins(self) -> frozenset[str]:
        return frozenset({f"http://{host}" for host in self.hosts} | {f"https://{host}" for host in self.named})

    def is_origin(self, origin: str, host: str) -> bool:
        """Return whether the origin is this server, under the very name that the request used."""
        return origin == f"http://{host}" or (host in self.named and origin == f"https://{host}")


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def addresses_of(host: str, port: int, names: Sequence[str] = ()) -> Addresses:
    """Return the addresses of a server; `names` are additional ones, with or without a port."""
    everywhere = _is_unspecified(host)
    called = {"127.0.0.1", "[::1]"} if everywhere else {f"[{host.lower()}]" if ":" in host else host.lower()}
    if is_loopback(host) or everywhere:
        called.add("localhost")
    own = {f"{one}:{port}" for one in called} | (called if port == _HTTP else set())
    named: set[str] = set()
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError(f"--known-as takes HOST or HOST:PORT in lower case, not {name!r}")
        with_port = bool(re.search(r":[0-9]+$", name)) and not name.endswith("]")
        named |= {name} if with_port else {name, f"{name}:{port}"}
    return Addresses(frozenset(own), frozenset(named))


def _is_unspecified(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


# --- paths

_URL_PATH = re.compile(rb"/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")
_FORBIDDEN = re.compile(rb"[\x00-\x1f\x7f\\/]")


def is_plain_path(raw: bytes) -> bool:
    """Return whether a path has no `..`, no empty segment, no encoded slash and only characters of a URL."""
    if not _URL_PATH.fullmatch(raw):
        return False
    segments = raw[1:].split(b"/")
    for number, segment in enumerate(segments):
        decoded = unquote_to_bytes(segment)
        if decoded in (b".", b"..") or _FORBIDDEN.search(decoded) or not _is_utf8(decoded):
            return False
        if not segment and number < len(segments) - 1:
            return False
    return True


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


# --- credentials

_READING = ("GET", "HEAD")
_PUBLIC = frozenset(("/healthz", "/login"))
"""Answered without a credential: neither reveals anything about a memory …"""
_PUBLIC_FOLDER = "/static/"
"""… nor do the files of the login page."""


class Credential(StrEnum):
    TOKEN = "token"
    COOKIE = "cookie"
    """Of a browser that sent the token at the login."""
    NONE = "none"


@dataclass(frozen=True)
class Caller:
    credential: Credential
    namespace: str | None = None
    """The only memory that the credential opens; None: all of this server."""


@dataclass(frozen=True)
class AccessPolicy:
    addresses: Addresses
    token: str
    """Opens all memories of the server."""
    bound: Mapping[str, str] = field(default_factory=dict)
    """Additional tokens, by the namespace that each of them opens."""
    ended: EndedLogins = field(default_factory=EndedLogins)

    def authenticate(self, scope: Scope) -> Caller:
        """Return the caller of a permitted request; raise an HttpProblem for any other."""
        _check_framing(scope)
        host = self._check_host(scope)
        origin = self._check_origin(scope, host)
        if not is_plain_path(scope.get("raw_path") or scope["path"].encode()):
            raise HttpProblem(
                400, "BadPath", "the path has .., //, an encoded slash or an invalid character", "Use a plain path."
            )
        caller = self._identify(scope)
        if caller.credential is not Credential.TOKEN and scope["method"] not in _READING and origin is None:
            raise HttpProblem(
                403, "OriginMissing", "a request that changes something needs the header Origin or a token",
                "Send Authorization: Bearer TOKEN, or use the inspector's own pages.",
            )  # fmt: skip
        return caller

    def _check_host(self, scope: Scope) -> str:
        given = _headers(scope, b"host")
        if len(given) != 1 or given[0] not in self.addresses.hosts:
            raise HttpProblem(
                403, "WrongHost", "this server is not known by that name",
                "Use the address that it printed at its start; --known-as gives it additional names.",
            )  # fmt: skip
        return given[0]

    def _check_origin(self, scope: Scope, host: str) -> str | None:
        given = _headers(scope, b"origin")
        if not given:
            return None
        if len(given) != 1 or not self.addresses.is_origin(given[0], host):
            raise HttpProblem(
                403, "WrongOrigin", "pages of other sites may not call this server",
                "Call it from a program, or from the inspector's own pages.",
            )  # fmt: skip
        return given[0]

    def _identify(self, scope: Scope) -> Caller:
        given = _headers(scope, b"authorization")
        if given:  # a wrong token is an error, whatever else is sent
            token = _bearer_token(given[0]) if len(given) == 1 else None
            # All of them are compared, so that the time reveals nothing.
            found = [name for name, known in self.bound.items() if is_token(known, token)]
            if is_token(self.token, token):
                return Caller(Credential.TOKEN)
            if found:
                return Caller(Credential.TOKEN, found[0])
        else:
            cookies = _headers(scope, b"cookie")
            cookie = _cookie_value("; ".join(cookies)) if cookies else None
            if is_cookie(self.token, cookie) and cookie not in self.ended:
                return Caller(Credential.COOKIE)
            if scope["path"] in _PUBLIC or scope["path"].startswith(_PUBLIC_FOLDER):
                return Caller(Credential.NONE)
        raise HttpProblem(
            401, "TokenNeeded", "the token is missing or wrong",
            "Send Authorization: Bearer TOKEN; the server named the token's file at its start.",
            {"www-authenticate": 'Bearer realm="holdfast"'},
        )  # fmt: skip


def _bearer_token(header: str) -> str | None:
    scheme, _, given = header.partition(" ")
    return given.strip() if scheme.lower() == "bearer" and given.strip() else None


def _cookie_value(header: str) -> str | None:
    """Return our cookie; None if it comes twice, because it is unknown which one was meant."""
    pairs = (one.partition("=") for one in header.split(";"))
    found = [value.strip() for name, _, value in pairs if name.strip() == COOKIE]
    return found[0] if len(found) == 1 else None


def _check_framing(scope: Scope) -> None:
    """Refuse two lengths of a body: a proxy may use the other one and take the rest for another client's request."""
    if _headers(scope, b"transfer-encoding") and (
        _headers(scope, b"content-length") or scope.get("http_version") == "1.0"
    ):
        raise HttpProblem(
            400, "BadFraming", "the request gives the length of its body in two ways",
            "Send Content-Length, or Transfer-Encoding over HTTP/1.1, and not both.",
        )  # fmt: skip


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


# --- the namespace of a request

NAMESPACE = "Holdfast-Namespace"
_HEADER = NAMESPACE.lower().encode()
_CONFINED = "holdfast.confined"
_CONFINED_PATHS = ("/v1/", "/mcp", "/openapi.json", "/healthz")
"""Paths that take the namespace from the header, and so can be opened for one memory only."""


def namespace_of(scope: Scope) -> str | None:
    """Return the namespace that the header names, if any."""
    given = [value for key, value in scope["headers"] if key == _HEADER]
    if not given:
        return None
    if len(given) > 1:
        raise InputError(f"the header {NAMESPACE} is given {len(given)} times; a request has one namespace")
    try:
        return bytes(given[0]).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"the header {NAMESPACE} is not UTF-8 at byte {error.start}") from error


def confine(scope: Scope, namespace: str) -> Scope:
    """Restrict a request to the memory that its credential opens."""
    own = namespace.encode("utf-8")
    if any(key == _HEADER and value != own for key, value in scope["headers"]):
        raise _refused(f"this token opens only the memory of {namespace!r}")
    if not scope["path"].startswith(_CONFINED_PATHS):
        raise _refused("this token opens one memory, through the verbs and MCP only")
    others = [(key, value) for key, value in scope["headers"] if key != _HEADER]
    return {**scope, "headers": [*others, (_HEADER, own)], _CONFINED: True}


def is_confined(scope: Scope) -> bool:
    """Return whether the credential of the request opens one memory only."""
    return _CONFINED in scope


def _refused(message: str) -> HttpProblem:
    return HttpProblem(403, "Refused", message, "Use the credential of that memory, or the server's own token.")
