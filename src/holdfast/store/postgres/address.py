"""The address of a store on a server: what libpq understands of it, and what is ours."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from holdfast.errors import InputError

__all__ = ["Address", "read_address"]

_SCHEMES = ("postgresql", "postgres")
_YES = ("1", "true", "yes", "on")
_OURS = "holdfast_"
_SECRET = re.compile(r"password|secret|^scram_")
"""Parameters of libpq whose value nobody is shown: password, sslpassword, oauth_client_secret, scram_client_key."""
_LONGEST_NAME = 63  # bytes that PostgreSQL keeps of a name
# PostgreSQL keeps the first two for itself; the last, in a search path, means the schema that is named like the role.
_NO_SCHEMA = re.compile(r"pg_|information_schema$|\$user$", re.I)


@dataclass(frozen=True)
class Address:
    conninfo: str = field(repr=False)
    shown: str
    """For messages: without the password."""
    schema: str
    allow_superuser: bool


def read_address(url: str) -> Address:
    """postgresql://USER@HOST/DATABASE, with `holdfast_schema` and `holdfast_allow_superuser` among its parameters.

    It is cut where libpq cuts it: a password may hold what elsewhere ends one. No error quotes what may be part of it.
    """
    _check_text(url)
    scheme, _, rest = url.partition("://")
    if scheme not in _SCHEMES:
        raise InputError(f"an address of a PostgreSQL store begins with postgresql://, not {scheme:.20}://")
    before, at, behind = rest.partition("@")
    who, place = (before, behind) if at and "/" not in before else ("", rest)
    place, _, query = place.partition("?")
    if "@" in place:
        raise InputError("the user and password of a store's address write @ as %40, / as %2F and % as %25")
    given = [(unquote(one.partition("=")[0]), one) for one in query.split("&") if one]
    schema, allow = _read_ours([one for name, one in given if name.startswith(_OURS)])
    theirs = [(name, one) for name, one in given if not name.startswith(_OURS)]
    conninfo = _joined(f"{scheme}://{who}{'@' if who else ''}{place}", [one for _, one in theirs])
    _check(conninfo)
    user = who.partition(":")[0]
    public = [one for name, one in given if not _SECRET.search(name) and name != "holdfast_allow_superuser"]
    shown = _joined(f"{scheme}://{user}{'@' if who else ''}{place}", public)
    return Address(conninfo, shown, schema, allow)


def _joined(place: str, parameters: list[str]) -> str:
    return f"{place}?{'&'.join(parameters)}" if parameters else place


def _read_ours(given: list[str]) -> tuple[str, bool]:
    """The schema, and whether a superuser is allowed."""
    own = {unquote(name): unquote(value) for name, _, value in (one.partition("=") for one in given)}
    schema = own.pop("holdfast_schema", "holdfast")
    allow = own.pop("holdfast_allow_superuser", "").lower() in _YES
    if own:
        raise InputError(f"{next(iter(own))} is no parameter of a store's address")
    if not schema or len(schema.encode()) > _LONGEST_NAME or "\x00" in schema:
        raise InputError(f"holdfast_schema must be a name of at most {_LONGEST_NAME} bytes")
    if _NO_SCHEMA.match(schema):
        raise InputError(f"holdfast_schema cannot be {schema!r}: PostgreSQL means something else by that name")
    return schema, allow


def _check_text(url: str) -> None:
    try:
        url.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the address of the store holds a lone surrogate at position {error.start}") from None
    if "\x00" in url:
        raise InputError("the address of the store holds NUL")


def _check(conninfo: str) -> None:
    try:
        conninfo_to_dict(conninfo)
    except UnicodeDecodeError:
        raise InputError("what the address of the store writes with % is no UTF-8") from None
    except psycopg.Error as error:
        told = str(error).strip().split("\n", 1)[0]
        if "invalid URI query parameter" not in told:  # what else it quotes may be a password
            told = re.sub(r'"[^"]*"', "…", told)
        raise InputError(f"this is no address of a PostgreSQL server: {told}") from None
