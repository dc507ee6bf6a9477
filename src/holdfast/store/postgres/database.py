"""The server engine: one store on a PostgreSQL server, for any number of namespaces and machines.

Every transaction names its namespace to the server (holdfast.ns), and row-level security shows it no other. A read is
one REPEATABLE READ transaction. A write is a function that runs in a transaction, and again if it collided with other
writers or the connection was lost; if it was lost during the commit, the log tells whether it was committed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import psycopg
from psycopg import errors

from holdfast.errors import Closed, StoreBusy, StoreError
from holdfast.log.acts import Marker, TurnLine
from holdfast.model import NewTurn, Turn
from holdfast.settings import StoreSettings
from holdfast.store.lines import append, turn_row
from holdfast.store.postgres.address import collided, lost, read_address, translated
from holdfast.store.postgres.connection import ClaimLost, Lent, WorkClaim, pauses, release, share
from holdfast.store.postgres.reads import ReadCache
from holdfast.store.postgres.schema import SCHEMA, TABLES, check_place, lock_number, migrate, read_secret
from holdfast.store.postgres.transaction import OpenConnection, PostgresTransaction, translate
from holdfast.store.rows import stored_turn
from holdfast.store.types import Server, StoreCounts, Transaction

T = TypeVar("T")
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
_CLAIM_ATTEMPTS = 3  # times that an erase takes its claim again when the session that has it is ended
_PIECE = 1_000_000  # bytes of a table that are searched at once

# --- Appending in one round trip. The functions do nothing if something is unusual (migrations/0002_append.sql).

_MOST_AT_ONCE = 500  # turns of one statement
_TURN_COLUMNS = {
    "id": "text", "role": "bigint", "origin": "text", "at": "bigint", "at_given": "boolean", "recorded_at": "bigint",
    "stability": "double precision", "key": "text", "digest": "bytea", "text": "text", "metadata": "text",
}  # fmt: skip
"""In the order of turn_row (store/lines.py), without the places, which the server gives."""
# Nothing but the call, and Citus sends it to the node of the namespace.
_APPEND = "SELECT new_seq, new_idx FROM {}(:ns, :in_session, :expect, {})"
_APPEND_ONE = _APPEND.format("append_turn", ", ".join(f":{name}" for name in _TURN_COLUMNS))
_APPEND_SEVERAL = _APPEND.format(
    "append_turns", ", ".join(f":{name}::{kind}[]" for name, kind in _TURN_COLUMNS.items())
)
_APPENDED = "SELECT log.id, log.seq, log.idx FROM log WHERE log.ns = :ns AND log.id IN :ids AND log.entry = 'turn'"

# --- Statements about the server and the tables as a whole.

_HERE = "relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())"  # a cast would fold its case
_SIZE = f"""SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_class
    WHERE {_HERE} AND relkind = 'r'"""
_INVALID = f"""SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = pg_index.indexrelid
    WHERE {_HERE} AND NOT (indisvalid AND indisready)"""
_CHECKSUMS = "SELECT coalesce(checksum_failures, 0) FROM pg_stat_database WHERE datname = current_database()"
_MISSING = """SELECT name FROM unnest(%s::text[]) AS name
    WHERE to_regclass(quote_ident(current_schema()) || '.' || quote_ident(name)) IS NULL"""
_SERVER = """SELECT current_setting('server_version'), current_user,
    (SELECT extversion FROM pg_extension WHERE extname = 'citus')"""
_HAS_CITUS = "SELECT 1 FROM pg_extension WHERE extname = 'citus'"
_IS_SHARDED = "SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = 'namespaces'::regclass"
_SHARDED_SIZE = f"""SELECT coalesce(sum(citus_total_relation_size(logicalrelid)), 0)::bigint FROM pg_dist_partition
    JOIN pg_class ON pg_class.oid = logicalrelid WHERE {_HERE}"""
_NODES = "SELECT count(*) FROM pg_dist_node WHERE noderole = 'primary' AND shouldhaveshards"


def distribution() -> str:
    """Return the statements that shard the tables: the only ones that need Citus."""
    return (files("holdfast.store.postgres") / "distribution.sql").read_text("utf-8")


class PostgresDatabase:
    engine = "postgresql"
    schema = SCHEMA

    def __init__(self, url: str, settings: StoreSettings) -> None:
        self.address = read_address(url)
        self.location = self.address.shown
        self._settings = settings
        self._closed = False
        self._local = threading.local()
        """Of this thread: the read that it is inside of, if any (a snapshot inside of a snapshot sees the same moment),
        and its claims."""
        self._cache = ReadCache()
        self._connections = share(self.address, settings)
        try:
            # Not from the pool, which would not say why it cannot connect.
            with translated(self.location), closing(self._connections.connect()) as connection:
                check_place(connection, self.address, settings)
                migrate(connection, self.address.schema, self.location)
                self.secret = read_secret(connection)
            self._connections.open()
        except BaseException:
            self.close()
            raise

    def ns_of(self, namespace: str) -> UUID:
        """Return the key of a namespace in all tables."""
        return UUID(bytes=Marker(self.secret, namespace).whole())

    # --- transactions

    @contextmanager
    def reading(self, namespace: str) -> Iterator[PostgresTransaction]:
        current: OpenConnection | None = getattr(self._local, "open", None)
        if current is not None:
            yield PostgresTransaction(current, namespace, self.ns_of(namespace), self.secret, cache=self._cache)
            return
        with translated(self.location), self._transaction(_READ, self.ns_of(namespace)) as opened:
            self._local.open = opened
            try:
                yield PostgresTransaction(opened, namespace, self.ns_of(namespace), self.secret, cache=self._cache)
            finally:
                self._local.open = None

    def write(self, namespace: str, work: Callable[[Transaction], T], repeat: bool = True) -> T:
        return self._write(self.ns_of(namespace), namespace, work, repeat)

    def _write(self, ns: UUID, namespace: str, work: Callable[[PostgresTransaction], T], repeat: bool = True) -> T:
        deadline = time.monotonic() + self._settings.reconnect_s
        with translated(self.location):
            for pause in pauses():
                committing = False
                try:
                    with self._transaction(_WRITE, ns) as opened:
                        tx = PostgresTransaction(opened, namespace, ns, self.secret, self._check_claim)
                        result = work(tx)
                        committing = True
                    return result
                except psycopg.Error as error:
                    unknown = committing and lost(error)
                    again = collided(error) or lost(error)
                    if not unknown and (not again or time.monotonic() > deadline):
                        raise
                time.sleep(pause)
                if unknown and tx.wrote is None and not repeat:
                    return result
                if unknown and tx.wrote is not None and self._was_committed(tx):
                    return result
        raise AssertionError("pauses() ended")

    def _was_committed(self, unknown: PostgresTransaction) -> bool:
        """Return whether the line that a lost transaction wrote last is in the log.

        The server may not have noticed the loss, and be about to commit: meanwhile it holds the row of the log.
        """
        try:
            with self._transaction(_WRITE, unknown.ns) as opened:
                tx = PostgresTransaction(opened, unknown.namespace, unknown.ns, self.secret)
                return tx.holds(unknown.wrote)
        except psycopg.Error as error:
            raise StoreBusy(
                f"the connection to {self.location} was lost during a commit, and the server has not come back for "
                f"{self._settings.reconnect_s:.0f} s: it is not known whether the write was kept. Check before you "
                "write it again, or write it with a key"
            ) from error

    @contextmanager
    def _transaction(self, begin: str, ns: UUID) -> Iterator[OpenConnection]:
        """Lend a connection inside of a transaction, and commit it at the end."""
        # The moment that a snapshot shows begins with its first SELECT, and on the node of the namespace.
        reads = [f"SELECT seq FROM namespaces WHERE ns = '{ns}'"] if begin == _READ else []
        first = (begin, f"SET LOCAL holdfast.ns = '{ns}'", *reads)
        with self._lend(*(statement.encode() for statement in first)) as (connection, answer):
            opened = OpenConnection(connection, ns)
            if reads:
                row = answer.fetchone()
                opened.ends[ns] = None if row is None else row[0]
            yield opened
            connection.execute("COMMIT")

    @contextmanager
    def session(self) -> Iterator[psycopg.Connection]:
        """Lend a connection outside of any transaction, for VACUUM for example."""
        with translated(self.location), self._lend(b"SELECT 1") as (connection, _):
            yield connection

    def _lend(self, *first: bytes) -> AbstractContextManager[Lent]:
        if self._closed:
            raise Closed("this memory was closed; open it again to use it")
        return self._connections.lend(*first)

    # --- appending

    def append(
        self,
        namespace: str,
        session: str,
        turns: Sequence[NewTurn],
        ids: Sequence[str],
        recorded_at: datetime,
        expect: int | None,
    ) -> list[Turn] | None:
        with translated(self.location):
            kept = self._append_at_once(namespace, session, turns, ids, recorded_at, expect)
        if kept is not None:
            return kept

        def work(tx: Transaction) -> list[Turn] | None:
            tx.hold_log()
            # An attempt before this one may have been committed: it has the same ids.
            places = {turn_id: (seq, index) for turn_id, seq, index in tx.rows(_APPENDED, ids=list(ids))}
            if places and len(places) == len(ids):
                return [
                    stored_turn(turn, turn_id, namespace, session, places[turn_id][1], places[turn_id][0], recorded_at)
                    for turn, turn_id in zip(turns, ids, strict=True)
                ]
            return append(tx, session, turns, ids, recorded_at, expect)

        return self.write(namespace, work)

    def _append_at_once(
        self,
        namespace: str,
        session: str,
        turns: Sequence[NewTurn],
        ids: Sequence[str],
        recorded_at: datetime,
        expect: int | None,
    ) -> list[Turn] | None:
        """Append in one round trip; None if something is unusual, or the connection was lost."""
        keys = [turn.key for turn in turns if turn.key is not None]
        if not turns or len(turns) > _MOST_AT_ONCE or len(set(keys)) < len(keys):
            return None
        columns: dict[str, list[object]] = {name: [] for name in _TURN_COLUMNS}
        for turn, turn_id in zip(turns, ids, strict=True):
            row = turn_row(TurnLine(0, turn_id, session, 0, recorded_at, turn), 0)
            for name, value in zip(columns, (row[1], *row[5:]), strict=True):
                columns[name].append(value)
        several = len(turns) > 1
        values = {"ns": self.ns_of(namespace), "in_session": session, "expect": expect}
        values |= columns if several else {name: value for name, (value,) in columns.items()}
        try:
            with self._lend() as (connection, _):
                call = translate(_APPEND_SEVERAL if several else _APPEND_ONE)
                placed = connection.execute(call, values, binary=True).fetchone()
        except psycopg.Error as error:
            # A node of Citus whose shard moves away during the call may no longer write it: the coordinator must.
            unusual = errors.UniqueViolation | errors.InsufficientPrivilege
            if lost(error) or collided(error) or isinstance(error, unusual):
                return None
            raise
        if placed is None or placed[0] is None:
            return None
        return [
            stored_turn(turn, turn_id, namespace, session, placed[1] + place, placed[0] + place, recorded_at)
            for place, (turn, turn_id) in enumerate(zip(turns, ids, strict=True))
        ]

    # --- claims

    @contextmanager
    def claimed(self, namespace: str, wait_s: float = 0.0) -> Iterator[bool]:
        if self._closed:
            raise Closed("this memory was closed; open it again to use it")
        ns = self.ns_of(namespace)
        number = lock_number(self.address.schema, str(ns))
        claims = self._connections.claims
        with claims.take_alone(number, wait_s) if wait_s > 0 else claims.take(number) as claim:
            if claim is not None:
                self._claims[ns] = claim
            try:
                yield claim is not None
            finally:
                if claim is not None:
                    del self._claims[ns]

    def write_claimed(self, namespace: str, work: Callable[[Transaction], T], wait_s: float) -> T | None:
        for _ in range(_CLAIM_ATTEMPTS - 1):
            with suppress(ClaimLost):
                return self._write_claimed(namespace, work, wait_s)
        return self._write_claimed(namespace, work, wait_s)

    def _write_claimed(self, namespace: str, work: Callable[[Transaction], T], wait_s: float) -> T | None:
        with self.claimed(namespace, wait_s) as mine:
            try:
                return self.write(namespace, work) if mine else None
            finally:
                self._cache.clear()  # it was an erase

    def _check_claim(self, ns: UUID) -> None:
        """Raise ClaimLost if this thread writes under a claim whose session has ended."""
        claim = self._claims.get(ns)
        if claim is not None:
            claim.check()

    @property
    def _claims(self) -> dict[UUID, WorkClaim]:
        claims: dict[UUID, WorkClaim] | None = getattr(self._local, "claims", None)
        if claims is None:
            claims = self._local.claims = {}
        return claims

    # --- erased rows

    def sweep(self) -> str | None:
        """Free the space of erased rows (VACUUM).

        From then on no query can read them, and the server overwrites the space as it needs it. Until it does, bytes
        may be left in free space of its files, and in its WAL, replicas and backups for as long as those are kept. Only
        the operator of the server has power over that (docs/how-to/erase.md).
        """
        with self.reading("") as tx:
            erased = tx.every_unswept()
        if not erased:
            return None
        left_out = self._vacuum()
        if left_out:
            return (
                f"{self.location} did not free what was erased ({left_out[0]}): the role must own the tables for that. "
                "The next erase by their owner does it"
            )
        for ns in erased:
            self._write(ns, "", lambda tx: tx.execute("DELETE FROM unswept WHERE ns = :ns"))
        return None

    def _vacuum(self) -> list[str]:
        """Return the server's warnings: it skips tables of other owners."""
        warned: list[str] = []

        def note(message: psycopg.errors.Diagnostic) -> None:
            if message.severity_nonlocalized == "WARNING":
                warned.append(message.message_primary or "")

        with self.session() as connection:
            connection.add_notice_handler(note)
            connection.execute("SET statement_timeout = 0")
            try:
                for table in TABLES:
                    connection.execute(f"VACUUM {table}".encode(), prepare=False)
            finally:
                connection.remove_notice_handler(note)
                connection.execute(f"SET statement_timeout = {self._connections.statement_ms}".encode())
        return warned

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Return each table with the values of its rows. A client cannot read the files of a server: freed space, the
        WAL and backups are not seen.
        """
        with self.reading("") as tx:
            every = tx.every()
            for table in TABLES:
                yield f"table {table}", _values(every, table)

    # --- the server

    def is_in_place(self) -> bool:
        return True  # a lost server is noticed by the next statement

    def replaced_files(self) -> list[str]:
        return []

    def check(self) -> list[str]:
        """Return what the server knows to be wrong: it checks its own pages (data_checksums) as it reads them."""
        with self.session() as connection:
            found = [f"the table {name} is missing" for (name,) in connection.execute(_MISSING, (list(TABLES),))]
            found += [f"the index {name} is invalid: REINDEX INDEX {name}" for (name,) in connection.execute(_INVALID)]
            row = connection.execute(_CHECKSUMS).fetchone()
        if row and row[0]:
            found.append(f"the server has found {row[0]} pages with a wrong checksum; look at its log")
        return found

    def copy(self, path: Path, progress: Callable[[int, int], None] | None = None) -> StoreCounts:
        raise StoreError(
            f"{self.location} is on a server: its own tools copy it whole (pg_dump --schema {self.address.schema}, as "
            "a role with BYPASSRLS: docs/how-to/postgres.md), and "
            f"`holdfast copy {self.location} FILE` copies its logs into a file"
        )

    def size(self) -> int:
        with self.reading("") as tx:  # inside of a snapshot this needs no second connection
            sharded = tx.one(_HAS_CITUS) and tx.one(_IS_SHARDED)
            return int(tx.one(_SHARDED_SIZE if sharded else _SIZE) or 0)

    def server(self) -> Server:
        with self.session() as connection:
            row = connection.execute(_SERVER).fetchone()
            assert row is not None
            version, role, citus = row
            nodes = _one(connection, _NODES) if citus and _one(connection, _IS_SHARDED) else None
            return Server(f"PostgreSQL {version}", str(role), self.address.schema, citus, nodes)

    def shard(self) -> Server:
        """Distribute every table by namespace, in one transaction; done again, it changes nothing."""
        if self.server().citus is None:
            raise StoreError(
                f"{self.location} has no Citus, so there is nothing to spread over; nothing was changed. Put citus "
                "into shared_preload_libraries, run CREATE EXTENSION citus and add nodes, or leave it: one server "
                "serves a store without it (docs/how-to/postgres.md)"
            )
        with self.session() as connection, connection.transaction():
            connection.execute(distribution().encode(), prepare=False)
        return self.server()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            release(self._connections)


def _one(connection: psycopg.Connection, sql: str) -> int:
    row = connection.execute(sql.encode()).fetchone()
    return 0 if row is None else int(row[0])


def _values(every: Sequence[PostgresTransaction], table: str) -> Iterator[bytes]:
    piece = bytearray()
    for tx in every:
        for row in tx.stream(f"SELECT * FROM {table} WHERE ns = :ns"):
            for value in row[1:]:
                if value is not None:
                    piece += value if isinstance(value, bytes) else str(value).encode()
                    piece += b"\n"
            if len(piece) >= _PIECE:
                yield bytes(piece)
                piece.clear()
    yield bytes(piece)
