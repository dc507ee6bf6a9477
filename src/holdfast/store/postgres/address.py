"""Addresses of stores on PostgreSQL servers, and errors of PostgreSQL in plain words."""

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
"""Parameters of libpq that are never shown: password, sslpassword, oauth_client_secret, scram_client_key."""
_LONGEST_NAME = 63  # bytes: PostgreSQL truncates longer names
# PostgreSQL reserves the first two; the last means, in a search path, the schema with the name of the role.
_NO_SCHEMA = re.compile(r"pg_|information_schema$|\$user$", re.I)


@dataclass(frozen=True)
class Address:
    conninfo: str = field(repr=False)
    shown: str
    """For messages: without the password."""
    schema: str
    allow_superuser: bool


def read_address(url: str) -> Address:
    """Read postgresql://USER@HOST/DATABASE, with the parameters `holdfast_schema` and `holdfast_allow_superuser`.

    It is split where libpq splits it, because a password may contain any character. No error quotes a possible part of
    the password.
    """
    _check_text(url)
    scheme, _, rest = url.partition("://")
    if scheme not in _SCHEMES:
        raise InputError(f"the address of a PostgreSQL store begins with postgresql://, not {scheme:.20}://")
    before, at, behind = rest.partition("@")
    who, place = (before, behind) if at and "/" not in before else ("", rest)
    place, _, query = place.partition("?")
    if "@" in place:
        raise InputError("in the user and password of the store's address, write @ as %40, / as %2F and % as %25")
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
    """Return the schema, and whether a superuser is allowed."""
    own = {unquote(name): unquote(value) for name, _, value in (one.partition("=") for one in given)}
    schema = own.pop("holdfast_schema", "holdfast")
    allow = own.pop("holdfast_allow_superuser", "").lower() in _YES
    if own:
        raise InputError(f"unknown parameter {next(iter(own))!r} in the address of the store")
    if not schema or len(schema.encode()) > _LONGEST_NAME or "\x00" in schema:
        raise InputError(f"holdfast_schema must be a name of at most {_LONGEST_NAME} bytes")
    if _NO_SCHEMA.match(schema):
        raise InputError(f"holdfast_schema cannot be {schema!r}: PostgreSQL means something else by that name")
    return schema, allow


def _check_text(url: str) -> None:
    try:
        url.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the address of the store contains a lone surrogate at position {error.start}") from None
    if "\x00" in url:
        raise InputError("the address of the store contains NUL")


def _check(conninfo: str) -> None:
    try:
        conninfo_to_dict(conninfo)
    except UnicodeDecodeError:
        raise InputError("the address of the store contains %-escapes that are not UTF-8") from None
    except psycopg.Error as error:
        message = str(error).strip().split("\n", 1)[0]
        if "invalid URI query parameter" not in message:  # other quotations may be a password
            message = re.sub(r'"[^"]*"', "…", message)
        raise InputError(f"this is not the address of a PostgreSQL server: {message}") from None


# --- Errors of PostgreSQL, and which of them are worth another attempt.

_LOST = (None, "08000", "08003", "08006", "57P05", "25P03", "25P04")
"""No state at all is a broken connection; the last three are time-outs of the server."""

_NO_CLASS = ("XX000", "58000")

# A refused connection has no state either, only the message of the server (libpq keeps no more of it).
_NOT_LET_IN = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|role .* (does not exist|is not permitted)"
    r"|permission denied for database|pg_hba\.conf rejects"
)
_NO_DATABASE = re.compile(r"database .* does not exist|not currently accepting connections")
_NO_ROOM = re.compile(r"too many (clients|connections)|remaining connection slots")
_NO_HOST = re.compile(r"could not translate host name|failed to resolve host|Name or service not known")
_NO_TLS = re.compile(r"does not support SSL|certificate verify failed|root certificate|server certificate")
_TO_NODE = "connection to the remote node"  # of Citus: it passes on why a node refused the connection

# A coordinator of Citus that lost a node says so in words only: a commit (whose end is then unknown), or a statement.
_NODE_LOST = re.compile(
    rf"could not commit transaction for shard|failure on connection marked as essential|{_TO_NODE}"
    r"|server closed the connection|connection not open|terminating connection"
)


def lost(error: BaseException) -> bool:
    """Return whether the connection was lost, to the server or from it to a node, or the server is just starting."""
    if isinstance(error, errors.QueryCanceled):
        return False
    if isinstance(error, errors.AdminShutdown | errors.CrashShutdown | errors.CannotConnectNow):
        return True
    if isinstance(error, psycopg.Error) and error.sqlstate in _NO_CLASS and _NODE_LOST.search(str(error)):
        return True
    return isinstance(error, psycopg.OperationalError) and error.sqlstate in _LOST and not _is_refused(error)


def collided(error: BaseException) -> bool:
    """Return whether a write collided with another one; nothing of it was kept."""
    return isinstance(error, errors.SerializationFailure | errors.DeadlockDetected)


def _is_refused(error: psycopg.Error) -> bool:
    """Return whether trying again cannot help: somebody has to change something first."""
    message = str(error)
    return (error.sqlstate is None or _TO_NODE in message) and any(
        one.search(message) for one in (_NOT_LET_IN, _NO_DATABASE, _NO_TLS) if not _NO_ROOM.search(message)
    )


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Turn errors of PostgreSQL into ours."""
    try:
        yield
    except psycopg.Error as error:
        raise _store_error(place, error) from error


def _store_error(place: str, error: psycopg.Error) -> StoreError:
    message = _message(error)
    match error:
        case errors.InvalidPassword() | errors.InvalidAuthorizationSpecification():
            return _not_let_in(place, message)
        case errors.InvalidCatalogName():
            return _no_database(place, message)
        case errors.InsufficientPrivilege():
            return StoreReadOnly(
                f"{place}: {message}. The role must own the tables, or the database before there are any: "
                "CREATE DATABASE … OWNER role"
            )
        case errors.ReadOnlySqlTransaction():
            return StoreReadOnly(
                f"{place} takes no writes ({message}). If it is a standby, use the address of the primary; otherwise "
                "default_transaction_read_only is on for this role, database or server, and must be off"
            )
        case errors.TooManyConnections():
            return _no_room(place, message)
        case errors.QueryCanceled() | errors.LockNotAvailable():
            return StoreBusy(f"{place} is too busy ({message}). Try again; store.statement_s is how long it waits")
        case errors.SerializationFailure() | errors.DeadlockDetected():
            return StoreBusy(f"{place}: the write collided with other writers again and again ({message}). Try again")
        case errors.DiskFull() | errors.OutOfMemory():
            return StoreError(f"the disk or memory of {place} is full ({message}); nothing of this write was kept")
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.DataCorrupted() | errors.IndexCorrupted():
            return StoreDamaged(f"{place} is damaged: {message}. Restore it from a backup (pg_restore)")
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
        return _not_connected(place, message)
    if _is_refused(error):
        whole = str(error).strip().split("\n", 1)[0]  # it names the node
        return StoreError(f"a node of {place} refuses the role ({whole}). See docs/how-to/scaling.md, step 1")
    if lost(error):
        return StoreBusy(f"{place} ended the connection ({message}). Try again")
    return StoreError(f"{place} failed: {message}")


def _not_connected(place: str, message: str) -> StoreError:
    if _NO_ROOM.search(message):
        return _no_room(place, message)
    if _NOT_LET_IN.search(message):
        return _not_let_in(place, message)
    if _NO_DATABASE.search(message):
        return _no_database(place, message)
    if _NO_HOST.search(message):
        return StoreBusy(f"{place}: the host was not found ({message}). Check the address, or try again")
    if _NO_TLS.search(message):
        return StoreError(
            f"{place}: no secure connection ({message}). Check sslmode and the certificates in the address"
        )
    return StoreBusy(f"{place} does not answer ({message}). Is the server running? Try again when it is")


def _not_let_in(place: str, message: str) -> StoreError:
    return StoreError(f"{place} does not let this role in ({message}). Check the user and password in the address")


def _no_room(place: str, message: str) -> StoreError:
    return StoreBusy(
        f"{place} has no connection left ({message}). Try again, lower store.connections, or raise max_connections of "
        "the server (docs/how-to/postgres.md)"
    )


def _no_database(place: str, message: str) -> StoreError:
    return StoreError(f"{place}: {message}. Create the database first: CREATE DATABASE … OWNER role ENCODING 'UTF8'")


def _message(error: psycopg.Error) -> str:
    """Return the message in one line, without libpq's preface about the connection."""
    whole = str(error).strip()
    fatal = re.search(r"FATAL:\s+(.*)", whole)
    return fatal[1] if fatal else whole.split("\n", 1)[0]
