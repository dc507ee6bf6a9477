"""One store on a PostgreSQL server: its transactions, over connections that all users of a process share, and claims.

Every transaction names its namespace to the server (holdfast.ns), and row-level security shows it no other. A read is
one REPEATABLE READ transaction. A write is a function that is run in a transaction, and again if other writers were in
the way or the server went away; if it went away during the commit, what the log holds decides (Transaction.wrote).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import UUID

import psycopg

from holdfast.errors import Closed, StoreBusy
from holdfast.log.tombstones import Marker
from holdfast.settings import StoreSettings
from holdfast.store.postgres.address import Address
from holdfast.store.postgres.claims import Claim, claim_alone
from holdfast.store.postgres.entering import check_place, read_secret
from holdfast.store.postgres.faults import collided, lost, translated
from holdfast.store.postgres.pool import FIRST_PAUSE_S, LONGEST_PAUSE_S
from holdfast.store.postgres.schema import lock_number, migrate
from holdfast.store.postgres.sharing import give_up, share
from holdfast.store.postgres.transaction import Open, Transaction

__all__ = ["WHOLE_STORE", "Connections"]

WHOLE_STORE = UUID(int=0)
"""The namespace of what belongs to none: that a backup of the whole store was made, for example."""

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
T = TypeVar("T")


class Connections:
    """One store as one user of this process sees it, over the connections that all of them share."""

    def __init__(self, address: Address, settings: StoreSettings) -> None:
        self.address = address
        self.place = address.shown
        self._settings = settings
        self._closed = False
        self._mine = threading.local()
        """Of this thread: the read that it is inside of, if any (a snapshot inside a snapshot sees the same moment),
        and its claims."""
        self._shared = share(address, settings)
        self._pool = self._shared.pool
        self.statement_ms = self._pool.statement_ms
        try:
            with (
                translated(self.place),
                self._lending(lambda: self._pool.patiently(self._pool.take_alive)) as connection,
            ):
                check_place(connection, address, settings)
                self.found = migrate(connection, address.schema, self.place)
                self.secret = read_secret(connection)
                self._pool.known = True
        except BaseException:
            self.close()
            raise

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
        pause = FIRST_PAUSE_S
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
                pause = min(pause * 2, LONGEST_PAUSE_S)
                if unknown and transaction.wrote is None and unsure is not None:
                    return unsure(result)
                if unknown and transaction.wrote is not None and self._was_kept(transaction):
                    return result

    def at_once(self, ns: UUID, statements: Sequence[tuple[str, Mapping[str, object]]]) -> list[list[tuple[Any, ...]]]:
        """A transaction of statements none of which needs another's answer, in one round trip; what each gave.

        A psycopg.Error may leave it unknown whether it was kept: the caller looks. The same of call().
        """
        with self._lending(self._pool.take) as connection:
            with connection.pipeline():  # what it sends is one transaction, and its end is waited for
                connection.execute("SELECT set_config('holdfast.ns', %s, true)", (str(ns),))
                cursors = [connection.execute(sql.encode(), values, binary=True) for sql, values in statements]
            return [cursor.fetchall() for cursor in cursors]

    def call(self, sql: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """One statement that is a transaction, and names its namespace to the server itself; what it gave."""
        with self._lending(self._pool.take) as connection:
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
        with self._lending(lambda: self._pool.patiently(lambda: self._begin(begin, ns))) as connection:
            yield Open(connection, ns)
            connection.execute("COMMIT")

    def _begin(self, begin: str, ns: UUID) -> psycopg.Connection:
        connection = self._pool.take()
        try:
            # A SELECT: the moment that a snapshot shows begins with the first of them, and not with BEGIN.
            connection.execute(f"{begin}; SET LOCAL holdfast.ns = '{ns}'; SELECT 1".encode(), prepare=False)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def session(self) -> Iterator[psycopg.Connection]:
        """A connection outside of any transaction, for what must be: VACUUM, for example."""
        with (
            translated(self.place),
            self._lending(lambda: self._pool.patiently(self._pool.take_alive)) as connection,
        ):
            yield connection

    @contextmanager
    def _lending(self, take: Callable[[], psycopg.Connection]) -> Iterator[psycopg.Connection]:
        if self._closed:
            raise Closed("this memory was closed; open it again to use it")
        with self._pool.lending(take) as connection:
            yield connection

    def ns_of(self, namespace: str) -> UUID:
        """What rows of this namespace are known by."""
        return UUID(bytes=Marker(self.secret, namespace).whole())

    # --- claims

    @contextmanager
    def claimed(self, namespace: str, wait_s: float = 0.0) -> Iterator[bool]:
        """Whether the claim to derive for a namespace is ours, for the length of the block and in this thread; how
        long to wait for another's end.
        """
        if self._closed:
            raise Closed("this memory was closed; open it again to use it")
        ns = self.ns_of(namespace)
        number = lock_number(self.address.schema, str(ns))
        claiming = claim_alone(self._pool, number, wait_s) if wait_s > 0 else self._shared.claims.take(number)
        with claiming as claim:
            if claim is not None:
                self._claims[ns] = claim
            try:
                yield claim is not None
            finally:
                if claim is not None:
                    del self._claims[ns]

    def check_claim(self, tx: Transaction) -> None:
        """Where this thread writes under a claim: ClaimLost if it stands no more. What it protects is held by now."""
        claim = self._claims.get(tx.ns)
        if claim is not None:
            claim.check()

    @property
    def _claims(self) -> dict[UUID, Claim]:
        claims: dict[UUID, Claim] | None = getattr(self._mine, "claims", None)
        if claims is None:
            claims = self._mine.claims = {}
        return claims

    def close(self) -> None:
        """The last one of this process closes the connections; one in use is closed when its user is done."""
        if not self._closed:
            self._closed = True
            give_up(self._shared)
