"""The connections of one process to one store: how they are opened and set up, lent, and kept for the next."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg import sql
from psycopg.abc import ConnDict
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from holdfast.errors import StoreBusy
from holdfast.settings import StoreSettings
from holdfast.store.postgres.address import Address
from holdfast.store.postgres.faults import lost
from holdfast.store.postgres.texts import register

__all__ = ["FIRST_PAUSE_S", "LONGEST_PAUSE_S", "Pool"]

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
        register(connection)

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
