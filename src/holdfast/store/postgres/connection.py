"""Connections to one store on a PostgreSQL server: how they are opened, kept, and used for a transaction.

Every transaction names its namespace to the server (holdfast.ns), and row-level security shows it no other. A read is
one REPEATABLE READ transaction. A write is a function that is run in a transaction, and again if other writers were in
the way or the server went away; if it went away during the commit, what the log holds decides (Transaction.wrote).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg import sql

from holdfast.errors import Closed, StoreBusy, StoreError
from holdfast.log.tombstones import Marker
from holdfast.settings import StoreSettings
from holdfast.store.postgres.address import Address
from holdfast.store.postgres.faults import collided, lost, translated
from holdfast.store.postgres.schema import migrate
from holdfast.store.postgres.texts import register
from holdfast.store.postgres.transaction import Open, Transaction

__all__ = ["WHOLE_STORE", "Connections"]

WHOLE_STORE = UUID(int=0)
"""The namespace of what belongs to none: that a backup of the whole store was made, for example."""

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 1.0
_PREPARE_AFTER = 2  # uses of a statement on a connection: then it is parsed and planned once for all

_KEEPALIVE_S = 30  # a server that is gone is noticed by a connection that waits

T = TypeVar("T")


class Connections:
    """As many connections as are used at once, up to a setting; idle ones are kept for the next."""

    def __init__(self, address: Address, settings: StoreSettings) -> None:
        self.address = address
        self.place = address.shown
        self.statement_ms = int(settings.statement_s * 1000)
        self._settings = settings
        self._closed = self._known = False
        self._gate = threading.Lock()
        self._idle: list[psycopg.Connection] = []
        self._free = threading.BoundedSemaphore(settings.connections)
        self._mine = threading.local()
        """The read that this thread is inside of, if any: a snapshot inside a snapshot sees the same moment."""
        with translated(self.place):
            connection = self._patiently(self._open)
            try:
                self._check_role(connection)
                self.found = migrate(connection, address.schema, self.place)
                self.secret = self._read_secret(connection)
            except BaseException:
                connection.close()
                raise
            self._idle.append(connection)
            self._known = True

    # --- transactions

    @contextmanager
    def reading(self, namespace: str) -> Iterator[Transaction]:
        """Everything in the block is seen as it stood at one moment."""
        current: Open | None = getattr(self._mine, "open", None)
        if current is not None:
            yield Transaction(current, namespace, self.ns_of(namespace), self.secret)
            return
        with translated(self.place), self._using(_READ, self.ns_of(namespace)) as opened:
            self._mine.open = opened
            try:
                yield Transaction(opened, namespace, self.ns_of(namespace), self.secret)
            finally:
                self._mine.open = None

    def write(self, namespace: str, work: Callable[[Transaction], T], unsure: Callable[[T], T] | None = None) -> T:
        """What `work` does in one transaction, durably.

        It may be run several times, but only one of them is kept. When the server went away during the commit, the
        log tells whether it was; for work that writes no line, `unsure` makes an answer of its own, or it is run again.
        """
        return self.write_as(self.ns_of(namespace), namespace, work, unsure)

    def write_as(
        self, ns: UUID, namespace: str, work: Callable[[Transaction], T], unsure: Callable[[T], T] | None = None
    ) -> T:
        deadline = time.monotonic() + self._settings.reconnect_s
        pause = _FIRST_PAUSE_S
        with translated(self.place):
            while True:
                committing = False
                try:
                    with self._using(_WRITE, ns) as opened:
                        transaction = Transaction(opened, namespace, ns, self.secret)
                        result = work(transaction)
                        committing = True
                    return result
                except psycopg.Error as error:
                    unknown = committing and lost(error)
                    again = collided(error) or lost(error)
                    if not unknown and (not again or time.monotonic() > deadline):
                        raise
                time.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_S)
                if unknown and transaction.wrote is None and unsure is not None:
                    return unsure(result)
                if unknown and transaction.wrote is not None and self._was_kept(transaction):
                    return result

    def at_once(self, ns: UUID, statements: Sequence[tuple[str, Mapping[str, object]]]) -> list[list[tuple[Any, ...]]]:
        """A transaction of statements none of which needs another's answer, in one round trip; what each gave.

        A psycopg.Error may leave it unknown whether it was kept: the caller looks. The same of call().
        """
        with self._lending(self._take) as connection:
            with connection.pipeline():  # what it sends is one transaction, and its end is waited for
                connection.execute("SELECT set_config('holdfast.ns', %s, true)", (str(ns),))
                cursors = [connection.execute(sql.encode(), values, binary=True) for sql, values in statements]
            return [cursor.fetchall() for cursor in cursors]

    def call(self, sql: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """One statement that is a transaction, and names its namespace to the server itself; what it gave."""
        with self._lending(self._take) as connection:
            return connection.execute(sql.encode(), values, binary=True).fetchall()

    def _was_kept(self, unknown: Transaction) -> bool:
        """Whether the line that a lost transaction wrote last is in the log.

        The server may not have noticed yet, and be about to commit: while it does, it holds the row of the log.
        """
        try:
            with self._using(_WRITE, unknown.ns) as opened:
                transaction = Transaction(opened, unknown.namespace, unknown.ns, self.secret)
                transaction.row("SELECT 1 FROM namespaces WHERE ns = %(ns)s FOR UPDATE")
                return transaction.holds(unknown.wrote)
        except psycopg.Error as error:
            raise StoreBusy(
                f"{self.place} went away while a write was being kept, and has not come back for "
                f"{self._settings.reconnect_s:.0f} s: whether it was kept is not known. Look for it before you hand it "
                "over again, or hand it over with a key"
            ) from error

    @contextmanager
    def _using(self, begin: str, ns: UUID) -> Iterator[Open]:
        """A connection inside a transaction, which is committed at the end."""
        with self._lending(lambda: self._patiently(lambda: self._begin(begin, ns))) as connection:
            yield Open(connection, ns)
            connection.execute("COMMIT")

    @contextmanager
    def session(self) -> Iterator[psycopg.Connection]:
        """A connection outside of any transaction, for what must be: locks of a session, VACUUM."""
        with translated(self.place), self._lending(lambda: self._patiently(self._take_alive)) as connection:
            yield connection

    @contextmanager
    def _lending(self, take: Callable[[], psycopg.Connection]) -> Iterator[psycopg.Connection]:
        """One of the connections that may be in use at once; what was begun on it and failed is rolled back."""
        self._admit()
        try:
            connection = take()
            try:
                yield connection
            except BaseException:
                self._roll_back(connection)
                raise
            finally:
                self._give_back(connection)
        finally:
            self._free.release()

    def ns_of(self, namespace: str) -> UUID:
        """What rows of this namespace are known by."""
        return UUID(bytes=Marker(self.secret, namespace).whole())

    # --- connections

    def _admit(self) -> None:
        if self._closed:
            raise Closed("this memory was closed; open it again to use it")
        if not self._free.acquire(timeout=self._settings.busy_s):
            raise StoreBusy(
                f"all {self._settings.connections} connections to {self.place} have been in use for "
                f"{self._settings.busy_s:.0f} s. Try again, or raise store.connections"
            )

    def _patiently(self, attempt: Callable[[], psycopg.Connection]) -> psycopg.Connection:
        """A server that restarts is waited for; one that was never there is not."""
        deadline = time.monotonic() + self._settings.reconnect_s
        pause = _FIRST_PAUSE_S
        while True:
            try:
                return attempt()
            except psycopg.Error as error:
                if not lost(error) or not self._known or time.monotonic() > deadline:
                    raise
            self._drop_idle()  # they are of the server that went away
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    def _begin(self, begin: str, ns: UUID) -> psycopg.Connection:
        connection = self._take()
        try:
            # A SELECT: the moment that a snapshot shows begins with the first of them, and not with BEGIN.
            connection.execute(f"{begin}; SET LOCAL holdfast.ns = '{ns}'; SELECT 1".encode(), prepare=False)
        except BaseException:
            connection.close()
            raise
        return connection

    def _take_alive(self) -> psycopg.Connection:
        connection = self._take()
        try:
            connection.execute("SELECT 1")
        except BaseException:
            connection.close()
            raise
        return connection

    def _take(self) -> psycopg.Connection:
        with self._gate:
            if self._idle:
                return self._idle.pop()
        return self._open()

    def _open(self) -> psycopg.Connection:
        connection = psycopg.connect(
            self.address.conninfo,
            autocommit=True,
            prepare_threshold=_PREPARE_AFTER,
            connect_timeout=max(int(self._settings.busy_s), 2),
            application_name="holdfast",
            keepalives_idle=_KEEPALIVE_S,
        )
        try:
            # Every row is found by its namespace's index. A planner without statistics, as in a store that was just
            # filled, would sometimes rather read whole tables, and keep such a plan for a prepared statement.
            connection.execute(
                sql.SQL(
                    "SET search_path TO {}; SET statement_timeout = {}; SET lock_timeout = {}; SET jit = off;"
                    " SET synchronous_commit = {}; SET client_encoding = 'UTF8'; SET timezone = 'UTC';"
                    " SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off"
                ).format(
                    sql.Identifier(self.address.schema),
                    self.statement_ms,
                    int(self._settings.busy_s * 1000),
                    sql.Literal("on" if self._settings.durable else "off"),
                )
            )
            register(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _roll_back(self, connection: psycopg.Connection) -> None:
        idle = psycopg.pq.TransactionStatus.IDLE
        with suppress(psycopg.Error):  # the error that brought us here is the one to tell
            if not connection.closed and connection.info.transaction_status != idle:
                connection.execute("ROLLBACK")
        if connection.info.transaction_status != idle:
            connection.close()

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

    def _check_role(self, connection: psycopg.Connection) -> None:
        row = connection.execute(
            "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        if row is None or not (row[1] or row[2]) or self.address.allow_superuser or self._settings.allow_superuser:
            return
        what = "a superuser" if row[1] else "a role with BYPASSRLS"
        raise StoreError(
            f"{row[0]!r} is {what}: row-level security, which keeps namespaces apart, does not hold for it. Use a "
            "plain role that owns the database (CREATE ROLE holdfast LOGIN; CREATE DATABASE … OWNER holdfast), or say "
            "?holdfast_allow_superuser=1 in the address"
        )

    def _read_secret(self, connection: psycopg.Connection) -> bytes:
        row = connection.execute("SELECT value FROM secrets WHERE id = 1", binary=True).fetchone()
        assert row is not None
        return bytes(row[0])

    def close(self) -> None:
        """Close what is idle; a connection in use is closed by whoever uses it, when it is done."""
        with self._gate:
            self._closed = True
        self._drop_idle()
