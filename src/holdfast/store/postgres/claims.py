"""Who derives for a namespace: a lock of a session on the server, which dies with its holder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from holdfast.store.postgres.connection import Connections
from holdfast.store.postgres.schema import lock_number

__all__ = ["claimed"]


@contextmanager
def claimed(connections: Connections, namespace: str, timeout_s: float = 0.0) -> Iterator[bool]:
    """Whether the claim is ours, for the length of the block; how long to wait for another's end."""
    number = lock_number(connections.address.schema, str(connections.ns_of(namespace)))
    with connections.session() as connection:
        if timeout_s > 0:
            mine = _wait(connection, number, timeout_s)
        else:
            row = connection.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone()
            mine = bool(row and row[0])
        try:
            yield mine
        finally:
            if mine and not connection.closed:
                try:
                    connection.execute("SELECT pg_advisory_unlock(%s)", (number,))
                except psycopg.Error:  # the session is gone, and the lock with it
                    connection.close()


def _wait(connection: psycopg.Connection, number: int, timeout_s: float) -> bool:
    try:
        with connection.transaction():  # the limit is of this transaction, the lock of the session
            connection.execute(f"SET LOCAL lock_timeout = {int(timeout_s * 1000)}".encode())
            connection.execute("SET LOCAL statement_timeout = 0")
            connection.execute("SELECT pg_advisory_lock(%s)", (number,))
    except errors.LockNotAvailable:
        return False
    return True
