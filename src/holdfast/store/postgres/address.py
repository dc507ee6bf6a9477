"""The address of a store on a server: what libpq understands of it, and what is ours."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from holdfast.errors import InputError

__all__ = ["Address", "read_address"]

_SCHEMES = ("postgresql", "postgres")
_YES = ("1", "true", "yes", "on")


@dataclass(frozen=True)
class Address:
    conninfo: str
    shown: str
    """For messages: without the password."""
    schema: str
    allow_superuser: bool


def read_address(url: str) -> Address:
    """postgresql://USER@HOST/DATABASE, with `holdfast_schema` and `holdfast_allow_superuser` among its parameters."""
    try:
        parts = urlsplit(url)
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError as error:
        raise InputError(f"this is no address of a PostgreSQL server: {error}") from error
    if parts.scheme not in _SCHEMES:
        raise InputError(f"an address of a PostgreSQL store begins with postgresql://, not {parts.scheme}://")
    own = {name: value for name, value in given if name.startswith("holdfast_")}
    schema = own.pop("holdfast_schema", "holdfast")
    allow = own.pop("holdfast_allow_superuser", "").lower() in _YES
    if own:
        raise InputError(f"{next(iter(own))} is no parameter of a store's address")
    if not schema or len(schema.encode()) > 63 or "\x00" in schema:  # what PostgreSQL takes as a name
        raise InputError("holdfast_schema must be a name of at most 63 bytes")
    query = urlencode([(name, value) for name, value in given if not name.startswith("holdfast_")])
    conninfo = urlunsplit((parts.scheme, parts.netloc, parts.path, query, parts.fragment))
    public = [(name, value) for name, value in given if name not in ("password", "holdfast_allow_superuser")]
    netloc = parts.netloc
    if "@" in netloc:
        user, _, host = netloc.rpartition("@")
        netloc = f"{user.split(':', 1)[0]}@{host}"
    shown = urlunsplit((parts.scheme, netloc, parts.path, urlencode(public, safe="/"), ""))
    return Address(conninfo, shown, schema, allow)
