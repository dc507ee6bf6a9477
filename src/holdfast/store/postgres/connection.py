"""One store on a PostgreSQL server: its transactions, over connections that all users of a process share, and claims.

Every transaction names its namespace to the server (holdfast.ns), and row-level security shows it no other. A read is
one REPEATABLE READ transaction. A write is a function that is run in a transaction, and again if other writers were in
the way or the server went away; if it went away during the commit, what the log holds decides (Transaction.wrote).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psycopg
from psycopg import errors, sql
from psycopg.abc import ConnDict
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from holdfast.errors import StoreBusy, StoreError, StoreReadOnly
from holdfast.settings import StoreSettings
from holdfast.store.postgres.address import Address, lost, translated
from holdfast.store.postgres.transaction import register_types

# --- The connections of one process to one store: how they are opened and set up, lent, and kept for the next.


FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 1.0
"""Between two attempts, twice as long each time."""
_PREPARE_AFTER = 2  # uses of a statement on a connection: then it is parsed and planned once for all
_KEEPALIVE_S = 30  # a server that is gone is noticed by a connection that waits

# Every row is found by its namespace's index. A planner without statistics, as in a store that was just filled, would
# sometimes rather read whole tables, and keep such a plan for a prepared statement. The rest is what a role, a database
# or a server may have set otherwise, and this engine counts on.
_SETTINGS = sql.SQL(
    "SET search_path TO {schema}; SET statement_timeout = {statement_ms}; SET lock_timeout = {lock_ms}; SET jit = off;"
    " SET synchronous_commit = {synced}; SET client_encoding = 'UTF8'; SET timezone = 'UTC'; SET row_security = on;"
    " SET default_transaction_isolation = 'read committed'; SET array_nulls = on;"
    " SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;"
    " SET enable_material = off"
)
# A claim is an idle session, and an export may wait for whoever reads it: neither is a client that was forgotten.
_LIMITS_SINCE = {
    "idle_in_transaction_session_timeout": 0,
    "idle_session_timeout": 140000,
    "transaction_timeout": 170000,
}


class Pool:
    """As many connections as are used at once, up to a setting; idle ones are kept for the next."""

    def __init__(self, address: Address, settings: StoreSettings) -> None:
        self.address = address
        self.place = address.shown
        self.statement_ms = int(settings.statement_s * 1000)
        self.known = False
        """Whether the server was ever there: one that restarts is waited for, one that was never there is not."""
        self.deriving = threading.BoundedSemaphore(max(settings.connections // 2, 1))
        """Derived work of many namespaces leaves connections to those who ask."""
        self._settings = settings
        self._closed = False
        self._gate = threading.Lock()
        self._idle: list[psycopg.Connection] = []
        self._free = threading.BoundedSemaphore(settings.connections)

    @contextmanager
    def lending(self, take: Callable[[], psycopg.Connection]) -> Iterator[psycopg.Connection]:
        """One of the connections that may be in use at once; what was begun on it and failed is rolled back."""
        if not self._free.acquire(timeout=self._settings.busy_s):
            raise StoreBusy(
                f"all {self._settings.connections} connections to {self.place} have been in use for "
                f"{self._settings.busy_s:.0f} s. Try again, or raise store.connections"
            )
        try:
            connection = take()
            try:
                yield connection
            except BaseException:
                _roll_back(connection)
                raise
            finally:
                self._give_back(connection)
        finally:
            self._free.release()

    def patiently(self, attempt: Callable[[], psycopg.Connection]) -> psycopg.Connection:
        """A server that restarts is waited for."""
        deadline = time.monotonic() + self._settings.reconnect_s
        pause = FIRST_PAUSE_S
        while True:
            try:
                return attempt()
            except psycopg.Error as error:
                if not lost(error) or not self.known or time.monotonic() > deadline:
                    raise
            self._drop_idle()  # they are of the server that went away
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def take(self) -> psycopg.Connection:
        with self._gate:
            if self._idle:
                return self._idle.pop()
        return self.open()

    def take_alive(self) -> psycopg.Connection:
        connection = self.take()
        try:
            connection.execute("SELECT 1")
        except BaseException:
            connection.close()
            raise
        return connection

    def open(self) -> psycopg.Connection:
        """A connection beside those that are shared; whoever asks for it closes it."""
        usual: ConnDict = {
            "connect_timeout": str(max(int(self._settings.busy_s), 2)),
            "application_name": "holdfast",
            "keepalives_idle": str(_KEEPALIVE_S),
        }
        conninfo = make_conninfo("", **(usual | conninfo_to_dict(self.address.conninfo)))
        connection = psycopg.connect(conninfo, autocommit=True, prepare_threshold=_PREPARE_AFTER)
        try:
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_up(self, connection: psycopg.Connection) -> None:
        chosen = _SETTINGS.format(
            schema=sql.Identifier(self.address.schema),
            statement_ms=self.statement_ms,
            lock_ms=int(self._settings.busy_s * 1000),
            synced=sql.Literal("on" if self._settings.durable else "off"),
        )
        version = connection.info.server_version
        unlimited = [
            sql.SQL("; SET {} = 0").format(sql.SQL(name)) for name, at in _LIMITS_SINCE.items() if version >= at
        ]
        connection.execute(sql.Composed([chosen, *unlimited]))
        register_types(connection)

    def _give_back(self, connection: psycopg.Connection) -> None:
        if connection.closed:
            return
        with self._gate:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _drop_idle(self) -> None:
        with self._gate:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close what is idle; a connection in use is closed by whoever uses it, when it is done."""
        with self._gate:
            self._closed = True
        self._drop_idle()


def _roll_back(connection: psycopg.Connection) -> None:
    idle = psycopg.pq.TransactionStatus.IDLE
    with suppress(psycopg.Error):  # the error that brought us here is the one to tell
        if not connection.closed and connection.info.transaction_status != idle:
            connection.execute("ROLLBACK")
    if connection.info.transaction_status != idle:
        connection.close()


# --- Who derives for a namespace: a lock of a session on the server, which dies with its holder.
#
# All claims of a process to derive are locks of one session, beside the connections that are shared: who holds a
# claim needs a connection for the work itself, and must not take the last one. A session may end while its process
# lives (an administrator, a timeout, a wire that is cut): whoever writes under a claim therefore asks whether it
# still stands, once nobody else can write, and writes nothing if it does not.


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


# --- One set of connections for all that a process opens on one store.
#
# A server of 64 namespaces has a memory open for each. Each with connections of its own, it would hold some 200 of
# them, and a PostgreSQL takes 100 by default.


@dataclass
class Shared:
    pool: Pool
    claims: Claims
    users: int = 0


_open: dict[tuple[int, Address, StoreSettings], Shared] = {}
_gate = threading.Lock()


def share(address: Address, settings: StoreSettings) -> Shared:
    """What this process has open on a store; whoever asked gives it up again."""
    key = (os.getpid(), address, settings)  # after a fork the parent's connections are none of ours
    with _gate:
        shared = _open.get(key)
        if shared is None:
            pool = Pool(address, settings)
            shared = _open[key] = Shared(pool, Claims(pool))
        shared.users += 1
    return shared


def give_up(shared: Shared) -> None:
    """The last one closes it."""
    with _gate:
        shared.users -= 1
        if shared.users:
            return
        for key in [key for key, one in _open.items() if one is shared]:
            del _open[key]
    shared.claims.close()
    shared.pool.close()


# --- Whether a store may be opened where an address points: the role, the database's encoding, the schema.


_ROLE = "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
_CLOSED = "SELECT 1 FROM pg_namespace WHERE nspname = %s AND NOT has_schema_privilege(oid, 'USAGE')"


def check_place(connection: psycopg.Connection, address: Address, settings: StoreSettings) -> None:
    _check_role(connection, address.allow_superuser or settings.allow_superuser)
    _check_encoding(connection, address.shown)
    if connection.execute(_CLOSED, (address.schema,)).fetchone() is not None:
        raise StoreReadOnly(
            f"{address.shown}: the role may not use the schema {address.schema}. It must own the tables, or be let in: "
            "GRANT USAGE ON SCHEMA … TO role; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA … TO role"
        )


def _check_role(connection: psycopg.Connection, allowed: bool) -> None:
    row = connection.execute(_ROLE).fetchone()
    if row is None or not (row[1] or row[2]) or allowed:
        return
    what = "a superuser" if row[1] else "a role with BYPASSRLS"
    raise StoreError(
        f"{row[0]!r} is {what}: row-level security, which keeps namespaces apart, does not hold for it. Use a "
        "plain role that owns the database (CREATE ROLE holdfast LOGIN; CREATE DATABASE … OWNER holdfast), or say "
        "?holdfast_allow_superuser=1 in the address"
    )


def _check_encoding(connection: psycopg.Connection, place: str) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"{place} keeps text as {encoding}, which cannot hold every text or does not look at it. Use a database "
            "made with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )


def read_secret(connection: psycopg.Connection) -> bytes:
    row = connection.execute("SELECT value FROM secrets WHERE id = 1", binary=True).fetchone()
    assert row is not None
    return bytes(row[0])
