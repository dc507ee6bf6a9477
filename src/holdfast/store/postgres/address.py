"""The address of a store on a server: what libpq understands of it, and what is ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from holdfast.errors import InputError, StoreBusy, StoreDamaged, StoreError, StoreReadOnly

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


# --- PostgreSQL's errors in our own words, and which of them are worth another try.


_WENT_AWAY = (None, "08000", "08003", "08006", "57P05", "25P03", "25P04")
"""No state at all is a broken connection; the last three: the server ended it for being idle or too long at it."""

# A connection that is refused has no state either, only what the server said (libpq keeps no more of it).
_NOT_LET_IN = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|role .* (does not exist|is not permitted)"
    r"|permission denied for database|pg_hba\.conf rejects"
)
_NO_DATABASE = re.compile(r"database .* does not exist|not currently accepting connections")
_NO_ROOM = re.compile(r"too many (clients|connections)|remaining connection slots")
_NO_HOST = re.compile(r"could not translate host name|failed to resolve host|Name or service not known")
_NO_TLS = re.compile(r"does not support SSL|certificate verify failed|root certificate|server certificate")


def lost(error: BaseException) -> bool:
    """Whether the server went away, or is only just coming up."""
    if isinstance(error, errors.QueryCanceled):
        return False
    if isinstance(error, errors.AdminShutdown | errors.CrashShutdown | errors.CannotConnectNow):
        return True
    return isinstance(error, psycopg.OperationalError) and error.sqlstate in _WENT_AWAY and not _is_refused(error)


def collided(error: BaseException) -> bool:
    """Whether another writer was in the way, and nothing of this one was kept."""
    return isinstance(error, errors.SerializationFailure | errors.DeadlockDetected)


def _is_refused(error: psycopg.Error) -> bool:
    """Whether it will not be otherwise in a moment: somebody has to do something first."""
    told = str(error)
    return error.sqlstate is None and any(
        one.search(told) for one in (_NOT_LET_IN, _NO_DATABASE, _NO_TLS) if not _NO_ROOM.search(told)
    )


@contextmanager
def translated(place: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise _in_our_words(place, error) from error


def _in_our_words(place: str, error: psycopg.Error) -> StoreError:
    told = _short(error)
    match error:
        case errors.InvalidPassword() | errors.InvalidAuthorizationSpecification():
            return _not_let_in(place, told)
        case errors.InvalidCatalogName():
            return _no_database(place, told)
        case errors.InsufficientPrivilege():
            return StoreReadOnly(
                f"{place}: {told}. The role must own the tables, or the database before there are any: "
                "CREATE DATABASE … OWNER role"
            )
        case errors.ReadOnlySqlTransaction():
            return StoreReadOnly(
                f"{place} takes no writes ({told}). If it is a standby, give the primary's address; else "
                "default_transaction_read_only is on for this role, database or server, and must be off"
            )
        case errors.TooManyConnections():
            return _no_room(place, told)
        case errors.QueryCanceled() | errors.LockNotAvailable():
            return StoreBusy(f"{place} is too busy ({told}). Try again; store.statement_s is how long it waits")
        case errors.SerializationFailure() | errors.DeadlockDetected():
            return StoreBusy(f"{place}: other writers were in the way again and again ({told}). Try again")
        case errors.DiskFull() | errors.OutOfMemory():
            return StoreError(f"the disk or memory of {place} is full ({told}); nothing of this write was kept")
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.DataCorrupted() | errors.IndexCorrupted():
            return StoreDamaged(f"{place} is damaged: {told}. Restore it from a backup (pg_restore)")
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
        return _not_connected(place, told)
    if lost(error):
        return StoreBusy(f"{place} ended the connection ({told}). Try again")
    return StoreError(f"{place} failed: {told}")


def _not_connected(place: str, told: str) -> StoreError:
    if _NO_ROOM.search(told):
        return _no_room(place, told)
    if _NOT_LET_IN.search(told):
        return _not_let_in(place, told)
    if _NO_DATABASE.search(told):
        return _no_database(place, told)
    if _NO_HOST.search(told):
        return StoreBusy(f"{place}: there is no such host ({told}). Check the address, or try again")
    if _NO_TLS.search(told):
        return StoreError(f"{place}: no safe connection ({told}). Check sslmode and the certificates of the address")
    return StoreBusy(f"{place} does not answer ({told}). Is the server running? Try again when it is")


def _not_let_in(place: str, told: str) -> StoreError:
    return StoreError(f"{place} does not let this role in ({told}). Check the user and password of the address")


def _no_room(place: str, told: str) -> StoreError:
    return StoreBusy(
        f"{place} has no connection left ({told}). Try again, lower store.connections, or raise max_connections of the "
        "server (docs/scaling.md)"
    )


def _no_database(place: str, told: str) -> StoreError:
    return StoreError(f"{place}: {told}. Create the database first: CREATE DATABASE … OWNER role ENCODING 'UTF8'")


def _short(error: psycopg.Error) -> str:
    """What it says in one line, without libpq's preface of how it connected."""
    said = str(error).strip()
    fatal = re.search(r"FATAL:\s+(.*)", said)
    return fatal[1] if fatal else said.split("\n", 1)[0]
