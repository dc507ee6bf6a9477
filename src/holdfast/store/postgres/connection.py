"""Connections of one process to one store on a PostgreSQL server: a pool for transactions, and a session for claims.

All users of a process share them: a server of 64 namespaces would otherwise hold some 200 connections, and a PostgreSQL
takes 100 by default.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from holdfast.errors import Closed, StoreBusy
from holdfast.settings import StoreSettings
from holdfast.store.postgres.address import Address, lost, translated
from holdfast.store.postgres.transaction import register_types
from holdfast.store.types import Row

T = TypeVar("T")
Lent = tuple[psycopg.Connection, psycopg.Cursor[Row]]
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 1.0
_SHORTEST_TIMEOUT_S = 2.0  # of a new connection: libpq takes no less
_PREPARE_AFTER = 2  # uses of a statement on a connection: then it is parsed and planned once for all
_KEEPALIVE_S = 30  # a waiting connection notices that the server is gone
_CLOSE_S = 1.0  # how long a closing pool waits for its threads

# Every row is found by the index of its namespace. Without statistics, as in a store that was just filled, the planner
# would sometimes read whole tables instead, and keep such a plan for a prepared statement. The rest is what this engine
# relies on and a role, a database or a server may have set otherwise; Citus writes values for its nodes in the forms of
# the third and fourth line. The last setting is for Citus and means nothing without it: nodes must hear whose rows a
# transaction may see (SET LOCAL holdfast.ns), or the store looks empty.
_SETTINGS = sql.SQL(
    "SET search_path TO {schema}; SET statement_timeout = {statement_ms}; SET lock_timeout = {lock_ms}; SET jit = off;"
    " SET synchronous_commit = {synced}; SET client_encoding = 'UTF8'; SET timezone = 'UTC'; SET row_security = on;"
    " SET default_transaction_isolation = 'read committed'; SET array_nulls = on; SET datestyle = 'ISO';"
    " SET bytea_output = 'hex'; SET standard_conforming_strings = on; SET extra_float_digits = 1;"
    " SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;"
    " SET enable_material = off; SET plan_cache_mode = auto; SET citus.propagate_set_commands = 'local'"
)
# A claim is an idle session, and an export may wait for its reader: neither is a forgotten client.
_LIMITS_SINCE = {
    "idle_in_transaction_session_timeout": 0,
    "idle_session_timeout": 140000,
    "transaction_timeout": 170000,
}

# What the pool has to say about lost connections is handled here; without a handler, Python would print it.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())


class Connections:
    def __init__(self, address: Address, settings: StoreSettings) -> None:
        self.location = address.shown
        self.users = 0
        self.statement_ms = int(settings.statement_s * 1000)
        self.claims = WorkClaims(self)
        self.deriving = threading.BoundedSemaphore(max(settings.connections // 2, 1))
        """Derived work of many namespaces must leave connections to callers."""
        self._address = address
        self._settings = settings
        self._free = threading.BoundedSemaphore(settings.connections)
        usual = {
            "connect_timeout": str(int(max(settings.busy_s, _SHORTEST_TIMEOUT_S))),
            "application_name": "holdfast",
            "keepalives_idle": str(_KEEPALIVE_S),
        }
        self._conninfo = make_conninfo("", **(usual | conninfo_to_dict(address.conninfo)))
        self._pool = ConnectionPool(
            self._conninfo,
            kwargs={"autocommit": True, "prepare_threshold": _PREPARE_AFTER},
            configure=self._set_up,
            min_size=0,
            max_size=settings.connections,
            reconnect_timeout=settings.reconnect_s,
            open=False,
        )

    def open(self) -> None:
        """Let the pool make connections."""
        self._pool.open()

    def connect(self) -> psycopg.Connection:
        """Open a connection outside of the pool; the caller closes it."""
        connection = psycopg.connect(self._conninfo, autocommit=True, prepare_threshold=_PREPARE_AFTER)
        try:
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_up(self, connection: psycopg.Connection) -> None:
        settings = _SETTINGS.format(
            schema=sql.Identifier(self._address.schema),
            statement_ms=self.statement_ms,
            lock_ms=int(self._settings.busy_s * 1000),
            synced=sql.Literal("on" if self._settings.durable else "off"),
        )
        version = connection.info.server_version
        limits = [sql.SQL("; SET {} = 0").format(sql.SQL(name)) for name, at in _LIMITS_SINCE.items() if version >= at]
        connection.execute(sql.Composed([settings, *limits]))
        register_types(connection)

    @contextmanager
    def lend(self, *first: bytes) -> Iterator[Lent]:
        """Lend a connection, after its first statements: if they find it lost, they are sent on another one.

        With it comes the answer to the last of them.

        What was begun on the connection and failed is rolled back. Who waits for a server or a node that is gone takes
        no connection from others meanwhile.
        """
        connection, answer = self.retry(lambda: self._begin(first)) if first else self._begin(first)
        try:
            yield connection, answer
        except BaseException:
            _roll_back(connection)
            raise
        finally:
            self._pool.putconn(connection)
            self._free.release()

    def _begin(self, first: Sequence[bytes]) -> Lent:
        if not self._free.acquire(timeout=self._settings.busy_s):
            raise StoreBusy(
                f"all {self._settings.connections} connections to {self.location} have been in use for "
                f"{self._settings.busy_s:.0f} s. Try again, or raise store.connections"
            )
        try:
            connection = self._take()
            answer = connection.cursor()
            try:
                if first:
                    # Not one string: Citus passes all of it on to its nodes with each SET in it.
                    with connection.pipeline():
                        for statement in first:
                            answer = connection.execute(statement, prepare=False)
            except BaseException:
                _roll_back(connection)
                self._pool.putconn(connection)
                raise
        except BaseException:
            self._free.release()
            raise
        return connection, answer

    def _take(self) -> psycopg.Connection:
        try:
            return self._pool.getconn(timeout=max(self._settings.reconnect_s, _SHORTEST_TIMEOUT_S))
        except PoolClosed as error:
            raise Closed("this memory was closed; open it again to use it") from error
        except PoolTimeout as error:
            self.connect().close()  # raises what the server has to say
            raise StoreBusy(f"{self.location} gave no connection in time. Try again") from error

    def retry(self, attempt: Callable[[], T]) -> T:
        """Repeat an attempt while the connection is lost, for as long as a restart may take."""
        deadline = time.monotonic() + self._settings.reconnect_s
        for pause in pauses():
            try:
                return attempt()
            except psycopg.Error as error:
                if not lost(error) or time.monotonic() > deadline:
                    raise
            time.sleep(pause)
        raise AssertionError("pauses() ended")

    def close(self) -> None:
        """Close what is idle; a connection in use is closed when it is returned."""
        self.claims.close()
        self._pool.close(_CLOSE_S)


def pauses() -> Iterator[float]:
    """Return the pauses between attempts, each twice as long as the one before."""
    pause = _FIRST_PAUSE_S
    while True:
        yield pause
        pause = min(pause * 2, _LONGEST_PAUSE_S)


def _roll_back(connection: psycopg.Connection) -> None:
    idle = psycopg.pq.TransactionStatus.IDLE
    with suppress(psycopg.Error):  # the error that brought us here is the one to raise
        if not connection.closed and connection.info.transaction_status != idle:
            connection.execute("ROLLBACK")
    if connection.info.transaction_status != idle:
        connection.close()


_open: dict[tuple[int, Address, StoreSettings], Connections] = {}
_gate = threading.Lock()


def share(address: Address, settings: StoreSettings) -> Connections:
    """Return the connections of this process to a store; every caller must release() them."""
    key = (os.getpid(), address, settings)  # after a fork the parent's connections must not be used
    with _gate:
        connections = _open.setdefault(key, _open.get(key) or Connections(address, settings))
        connections.users += 1
    return connections


def release(connections: Connections) -> None:
    """Close the connections with their last user."""
    with _gate:
        connections.users -= 1
        if connections.users:
            return
        for key in [key for key, one in _open.items() if one is connections]:
            del _open[key]
    connections.close()


# --- Claims: locks of a session on the server, which die with their holder.
#
# All claims of a process to derive are locks of one session outside of the pool: the holder of a claim needs a
# connection for the work itself, and must not take the last one. A session may end while its process lives (an
# administrator, a timeout, a lost connection). So a write under a claim checks it, once nobody else can write.

_TURN_S = 0.5  # how long a namespace waits for its turn among those of a process before it looks again


class ClaimLost(StoreBusy):
    """The session of a claim ended before the work that it protects was written; nothing was written."""


class WorkClaim:
    """A lock that was taken on a session."""

    def __init__(self, session: psycopg.Connection, gate: threading.Lock, location: str) -> None:
        self._session = session
        self._gate = gate
        self._location = location

    def check(self) -> None:
        """Raise ClaimLost if the session has ended, and the lock with it."""
        try:
            with self._gate:
                self._session.execute("SELECT 1")
        except psycopg.Error as error:
            self._session.close()
            raise ClaimLost(
                f"{self._location} ended the session that kept other workers away. Nothing of this step was written; "
                "try again"
            ) from error


class WorkClaims:
    """The claims of one process, on one session that is opened with the first of them."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._gate = threading.Lock()
        self._session: psycopg.Connection | None = None
        self._held: set[int] = set()

    @contextmanager
    def take(self, number: int) -> Iterator[WorkClaim | None]:
        """Take a claim for the length of the block; None while another has it, or too many of this process derive."""
        if not self._connections.deriving.acquire(timeout=_TURN_S):
            yield None
            return
        try:
            session = self._lock(number)
            try:
                yield None if session is None else WorkClaim(session, self._gate, self._connections.location)
            finally:
                if session is not None:
                    self._unlock(session, number)
        finally:
            self._connections.deriving.release()

    @contextmanager
    def take_alone(self, number: int, timeout_s: float) -> Iterator[WorkClaim | None]:
        """Take a claim on its own session: it waits for the holder, and goes before those who ask later."""
        with translated(self._connections.location):
            session = self._connections.retry(self._connections.connect)
            try:
                mine = _wait(session, number, timeout_s)
                yield WorkClaim(session, threading.Lock(), self._connections.location) if mine else None
            finally:
                session.close()

    def close(self) -> None:
        with self._gate:
            if self._session is not None:
                self._session.close()

    def _lock(self, number: int) -> psycopg.Connection | None:
        """Return the session that has the lock now, or None."""
        with self._gate, translated(self._connections.location):
            if number in self._held and self._is_alive():
                return None  # a session would get a lock again that it has
            session = self._connections.retry(lambda: self._ask(number))
            return session if number in self._held else None

    def _is_alive(self) -> bool:
        try:
            return self._session is not None and self._session.execute("SELECT 1").rowcount == 1
        except psycopg.Error:
            return False

    def _ask(self, number: int) -> psycopg.Connection:
        if self._session is None or self._session.closed:
            self._session, self._held = self._connections.connect(), set()  # holders on the old one will find out
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
                return  # it ended, and its locks with it
            self._held.discard(number)
            try:
                session.execute("SELECT pg_advisory_unlock(%s)", (number,))
            except psycopg.Error:
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
