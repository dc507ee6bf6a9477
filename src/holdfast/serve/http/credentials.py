"""Who asks: a bearer token, or the cookie of a browser that once showed it."""

from __future__ import annotations

import hashlib
import hmac

from holdfast.serve.token import matches

__all__ = ["COOKIE", "bearer_of", "cookie_attributes", "cookie_for", "cookie_of", "is_cookie"]

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
