"""PostgreSQL's errors in our own words, and which of them are worth another try."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from holdfast.errors import StoreBusy, StoreDamaged, StoreError, StoreReadOnly

__all__ = ["collided", "lost", "translated"]


def lost(error: BaseException) -> bool:
    """Whether the server went away, or is only just coming up."""
    if isinstance(error, errors.QueryCanceled):
        return False
    if isinstance(error, errors.AdminShutdown | errors.CrashShutdown | errors.CannotConnectNow):
        return True
    return isinstance(error, psycopg.OperationalError) and error.sqlstate in (None, "08000", "08003", "08006", "57P05")


def collided(error: BaseException) -> bool:
    """Whether another writer was in the way, and nothing of this one was kept."""
    return isinstance(error, errors.SerializationFailure | errors.DeadlockDetected)


@contextmanager
def translated(place: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise _in_our_words(place, error) from error


def _in_our_words(place: str, error: psycopg.Error) -> StoreError:
    told = str(error).strip().split("\n", 1)[0]
    match error:
        case errors.InvalidPassword() | errors.InvalidAuthorizationSpecification():
            return StoreError(f"{place} does not let this role in ({told}). Check the user and password of the address")
        case errors.InvalidCatalogName():
            return StoreError(f"{place}: {told}. Create the database first: createdb NAME")
        case errors.InsufficientPrivilege():
            return StoreReadOnly(
                f"{place}: {told}. The role must own the tables, or the database before there are any: "
                "CREATE DATABASE … OWNER role"
            )
        case errors.ReadOnlySqlTransaction():
            return StoreReadOnly(f"{place} takes no writes ({told}). Is it a standby? Give the primary's address")
        case errors.QueryCanceled() | errors.LockNotAvailable() | errors.TooManyConnections():
            return StoreBusy(f"{place} is too busy ({told}). Try again; store.statement_s is how long it waits")
        case errors.SerializationFailure() | errors.DeadlockDetected():
            return StoreBusy(f"{place}: other writers were in the way again and again ({told}). Try again")
        case errors.DiskFull() | errors.OutOfMemory():
            return StoreError(f"the disk or memory of {place} is full ({told}); nothing of this write was kept")
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.DataCorrupted() | errors.IndexCorrupted():
            return StoreDamaged(f"{place} is damaged: {told}. Restore it from a backup (pg_restore)")
    if lost(error):
        return StoreBusy(f"{place} does not answer ({told}). Is the server running? Try again when it is")
    return StoreError(f"{place} failed: {told}")
