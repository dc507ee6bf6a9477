"""Who may come in: what a request says about itself, judged before a byte of its body is read."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import unquote_to_bytes

from starlette.responses import Response
from starlette.types import Scope

from holdfast.errors import InputError
from holdfast.serve.errors import INVALID_REQUEST, Fault
from holdfast.serve.process import matches
from holdfast.text.jsonio import encode

# --- Who asks: a bearer token, or the cookie of a browser that once showed it.


COOKIE = "holdfast"
_PURPOSE = b"holdfast: a browser that showed the token"
_SCHEME = "bearer"


def cookie_for(token: str) -> str:
    """The cookie's value: who reads it out of a browser has not got the token, and a new token ends it."""
    return hmac.new(token.encode(), _PURPOSE, hashlib.sha256).hexdigest()


def is_cookie(token: str, value: object) -> bool:
    """Whether this is the cookie's value; how long it takes says nothing about how much of it was right."""
    return matches(cookie_for(token), value)


def cookie_attributes(token: str) -> str:
    """The `Set-Cookie` header of a login: out of reach of scripts and of other sites; it ends with the browser."""
    return f"{COOKIE}={cookie_for(token)}; Path=/; HttpOnly; SameSite=Strict"


def bearer_of(header: str) -> str | None:
    """The token of an `Authorization: Bearer …` header."""
    scheme, _, given = header.partition(" ")
    return given.strip() if scheme.lower() == _SCHEME and given.strip() else None


def cookie_of(header: str) -> str | None:
    """Our cookie out of a `Cookie` header; one that comes twice is none, for nobody can say which was meant."""
    found = [value.strip() for name, _, value in (one.partition("=") for one in header.split(";"))
             if name.strip() == COOKIE]  # fmt: skip
    return found[0] if len(found) == 1 else None


# --- Under which names this server is called: the only Host headers, and the only origins, that it answers.
#
# A page of another site can make a browser call 127.0.0.1, or a name of its own that leads there; the browser says
# which name it used. Names are compared whole and byte for byte, so nothing can begin, end or be spelled like one
# of ours.


_NAME = re.compile(r"(?:[a-z0-9](?:[a-z0-9.-]{0,252})|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?")
_HTTP = 80


@dataclass(frozen=True)
class Addresses:
    own: frozenset[str]
    """Where it listens: ADDRESS:PORT."""
    named: frozenset[str] = frozenset()
    """What the operator says it is called from outside, perhaps behind a proxy that speaks TLS."""

    @property
    def hosts(self) -> frozenset[str]:
        return self.own | self.named

    @property
    def origins(self) -> frozenset[str]:
        return frozenset({f"http://{host}" for host in self.hosts} | {f"https://{host}" for host in self.named})

    def is_origin(self, origin: str, host: str) -> bool:
        """Whether a page of this origin is a page of this server, under the very name that the request used."""
        return origin == f"http://{host}" or (host in self.named and origin == f"https://{host}")


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def addresses_of(host: str, port: int, names: Sequence[str] = ()) -> Addresses:
    """Of a server that listens on an address and a port; `names` are further ones, with or without a port."""
    called = {_shown(host)} if not _is_everywhere(host) else {"127.0.0.1", "[::1]"}
    if is_loopback(host) or _is_everywhere(host):
        called.add("localhost")
    own = {f"{one}:{port}" for one in called} | (called if port == _HTTP else set())
    named: set[str] = set()
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError(f"a server is known as HOST or HOST:PORT, in lower case, not as {name!r}")
        with_port = bool(re.search(r":[0-9]+$", name)) and not name.endswith("]")
        named |= {name} if with_port else {name, f"{name}:{port}"}
    return Addresses(frozenset(own), frozenset(named))


def _is_everywhere(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _shown(host: str) -> str:
    return f"[{host.lower()}]" if ":" in host else host.lower()


# --- Paths that say what they mean: no way up, no second spelling of a slash, nothing that is not part of a URL.


_SPELLED = re.compile(rb"/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")
_SMUGGLED = re.compile(rb"[\x00-\x1f\x7f\\/]")


def is_plain(raw: bytes) -> bool:
    """Whether a path, as it came over the wire, is one that is looked up as it stands."""
    if not _SPELLED.fullmatch(raw):
        return False
    pieces = raw[1:].split(b"/")
    for number, piece in enumerate(pieces):
        meant = unquote_to_bytes(piece)
        if meant in (b".", b"..") or _SMUGGLED.search(meant) or not _is_utf8(meant):
            return False
        if not piece and number < len(pieces) - 1:  # a slash after a slash
            return False
    return True


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


# --- Errors as RFC 9457 tells them: `application/problem+json`, with the name of holdfast.errors and what to do.


PROBLEM = "application/problem+json"
_NAMED = "urn:holdfast:"


class Refusal(Exception):
    """A request that goes no further; it never reaches a memory."""

    def __init__(
        self, status: int, kind: str, message: str, advice: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.fault = Fault(kind, message, advice, INVALID_REQUEST, status)
        self.headers = headers or {}


def told(fault: Fault) -> dict[str, object]:
    """The body of an error."""
    return {
        "type": _NAMED + fault.type,
        "title": fault.type,
        "status": fault.status,
        "detail": fault.message,
        "advice": fault.advice,
    }


def problem(fault: Fault, headers: Mapping[str, str] | None = None) -> Response:
    kept = {"cache-control": "no-store", **(headers or {})}
    return Response(encode(told(fault)), fault.status, kept, media_type=PROBLEM)


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


# --- Whose memory a request is about: the header, or the server's own; what the credential allows is Memories'
# matter.


NAMESPACE = "Holdfast-Namespace"
_HEADER = NAMESPACE.lower().encode()
_MARK = "holdfast.confined"
_CONFINED = ("/v1/", "/mcp", "/openapi.json", "/healthz")
"""What takes the namespace from the header, and so can be opened for one memory alone."""


def namespace_of(scope: Scope) -> str | None:
    """The namespace that the request names, as UTF-8; None where it names none."""
    given = [value for key, value in scope["headers"] if key == _HEADER]
    if not given:
        return None
    if len(given) > 1:
        raise InputError(f"the header {NAMESPACE} comes {len(given)} times; a request is about one memory")
    try:
        return bytes(given[0]).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"the header {NAMESPACE} is no UTF-8: byte {error.start} cannot be read") from error


def confined(scope: Scope, namespace: str) -> Scope:
    """The request of a credential that opens one memory: it is about that one, whether it says so or not."""
    own = namespace.encode("utf-8")
    if any(key == _HEADER and value != own for key, value in scope["headers"]):
        raise _refused(f"this token opens the memory of {namespace!r} and no other")
    if not scope["path"].startswith(_CONFINED):
        raise _refused("this token opens one memory; it is for the verbs and for MCP")
    others = [(key, value) for key, value in scope["headers"] if key != _HEADER]
    return {**scope, "headers": [*others, (_HEADER, own)], _MARK: True}


def is_confined(scope: Scope) -> bool:
    """Whether the credential of the request opens one memory alone."""
    return _MARK in scope


def _refused(message: str) -> Refusal:
    return Refusal(403, "Refused", message, "Use the credential of that memory, or the server's own token.")
