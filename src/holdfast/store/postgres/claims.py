"""Who derives for a namespace: a lock of a session on the server, which dies with its holder.

All claims of a process to derive are locks of one session, beside the connections that are shared: who holds a claim
needs a connection for the work itself, and must not take the last one. A session may end while its process lives (an
administrator, a timeout, a wire that is cut): whoever writes under a claim therefore asks whether it still stands, once
nobody else can write, and writes nothing if it does not.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from holdfast.errors import StoreBusy
from holdfast.store.postgres.faults import translated
from holdfast.store.postgres.pool import Pool

__all__ = ["Claim", "ClaimLost", "Claims", "claim_alone"]

_TURN_S = 0.5  # how long one waits for its turn among the namespaces of a process before it looks again


class ClaimLost(StoreBusy):
    """The session of a claim ended before what it protects was written; nothing was."""


class Claim:
    """A lock that was taken on a session."""

    def __init__(self, session: psycopg.Connection, gate: threading.Lock, place: str) -> None:
        self._session = session
        self._gate = gate
        self._place = place

    def check(self) -> None:
        """ClaimLost if the session ended, and the lock with it."""
        try:
            with self._gate:
                self._session.execute("SELECT 1")
        except psycopg.Error as error:
            self._session.close()
            raise ClaimLost(
                f"{self._place} ended the session that kept other workers away. Nothing of this step was written; try "
                "again"
            ) from error


class Claims:
    """Those of one process, on one session that is opened when the first is asked for."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._gate = threading.Lock()
        self._session: psycopg.Connection | None = None
        self._held: set[int] = set()

    @contextmanager
    def take(self, number: int) -> Iterator[Claim | None]:
        """The claim for the length of the block; None while another has it, or too many of this process derive."""
        if not self._pool.deriving.acquire(timeout=_TURN_S):
            yield None
            return
        try:
            session = self._lock(number)
            try:
                yield None if session is None else Claim(session, self._gate, self._pool.place)
            finally:
                if session is not None:
                    self._unlock(session, number)
        finally:
            self._pool.deriving.release()

    def close(self) -> None:
        with self._gate:
            if self._session is not None:
                self._session.close()

    def _lock(self, number: int) -> psycopg.Connection | None:
        """The session that has the lock now."""
        with self._gate, translated(self._pool.place):
            if number in self._held and self._is_alive():
                return None  # a session would be given a lock that it has once more
            session = self._pool.patiently(lambda: self._asked(number))
            return session if number in self._held else None

    def _is_alive(self) -> bool:
        try:
            return self._session is not None and self._session.execute("SELECT 1").rowcount == 1
        except psycopg.Error:
            return False

    def _asked(self, number: int) -> psycopg.Connection:
        if self._session is None or self._session.closed:
            self._session, self._held = self._pool.open(), set()  # whoever holds one of the old session will find out
        try:
            row = self._session.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone()
        except psycopg.Error:
            self._session.close()
            raise
        if row and row[0]:
            self._held.add(number)
        return self._session

    def _unlock(self, session: psycopg.Connection, number: int) -> None:
        with self._gate:
            if session is not self._session:
                return  # it went away, and its locks with it
            self._held.discard(number)
            try:
                session.execute("SELECT pg_advisory_unlock(%s)", (number,))
            except psycopg.Error:
                session.close()


@contextmanager
def claim_alone(pool: Pool, number: int, timeout_s: float) -> Iterator[Claim | None]:
    """The claim on a session of its own: it waits for whoever has it, and comes before those who ask later."""
    with translated(pool.place):
        session = pool.patiently(pool.open)
        try:
            if not _wait(session, number, timeout_s):
                yield None
                return
            yield Claim(session, threading.Lock(), pool.place)
        finally:
            session.close()


def _wait(session: psycopg.Connection, number: int, timeout_s: float) -> bool:
    try:
        with session.transaction():  # the limit is of this transaction, the lock of the session
            session.execute(f"SET LOCAL lock_timeout = {int(timeout_s * 1000)}".encode())
            session.execute("SET LOCAL statement_timeout = 0")
            session.execute("SELECT pg_advisory_lock(%s)", (number,))
    except errors.LockNotAvailable:
        return False
    return True
