"""The server engine: PostgreSQL holds the log and every view of it, for any number of namespaces and machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from importlib.resources import files
from pathlib import Path

import psycopg

from holdfast.errors import StoreBusy, StoreError
from holdfast.log.acts import Line
from holdfast.log.messages import new_id
from holdfast.model import Action, NewTurn, Turn
from holdfast.settings import StoreSettings
from holdfast.store.erase import erase
from holdfast.store.postgres.address import read_address, translated
from holdfast.store.postgres.append import append, append_at_once, take_over
from holdfast.store.postgres.connection import WHOLE_STORE, ClaimLost, Connections
from holdfast.store.postgres.erase import (
    PostgresGround,
    broken_parts,
    read_content,
    read_live_vectors,
    read_tables,
    read_truth,
    size_of,
    sweep,
)
from holdfast.store.postgres.health import drop_lost, drop_vectors
from holdfast.store.postgres.schema import SCHEMA
from holdfast.store.postgres.snapshot import PostgresSnapshot
from holdfast.store.postgres.tail import erased_since, hold_log, hold_views, is_known, misses_turns, session_number
from holdfast.store.postgres.transaction import Transaction
from holdfast.store.postgres.writes import (
    admitted,
    advance,
    apply_act,
    clear_views,
    count_retrievals,
    cursor,
    holds_act,
    write_act,
)
from holdfast.store.types import Changes, Content, Held, Move, Scope, Server, Swept, TakenOver
from holdfast.text.time import to_micros

# --- The server a store runs on, and spreading the store over the nodes of a cluster with Citus.


_WHO = "SELECT current_setting('server_version'), current_user"
_CITUS = "SELECT extversion FROM pg_extension WHERE extname = 'citus'"
_SPREAD = "SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = 'namespaces'::regclass"
_NODES = "SELECT count(*) FROM pg_dist_node WHERE noderole = 'primary' AND shouldhaveshards"


def distribution() -> str:
    """The statements that spread the tables: the only ones that speak of Citus."""
    return (files("holdfast.store.postgres") / "distribution.sql").read_text("utf-8")


def read_server(connections: Connections) -> Server:
    with connections.session() as connection:
        version, role = connection.execute("SELECT current_setting('server_version'), current_user").fetchone() or (
            "",
            "",
        )
        citus = _citus(connection)
        nodes = _one(connection, _NODES) if citus and _one(connection, _SPREAD) else None
        return Server(f"PostgreSQL {version}", str(role), connections.address.schema, citus, nodes)


def shard(connections: Connections) -> Server:
    """Spread every table over the cluster's nodes by namespace, in one transaction; again, it changes nothing."""
    with connections.session() as connection:
        if _citus(connection) is None:
            raise StoreError(
                f"{connections.place} has no Citus, so there is nothing to spread over; nothing was changed. Put citus "
                "into shared_preload_libraries, run CREATE EXTENSION citus and add nodes, or leave it: one server "
                "serves a store without it (docs/scaling.md)"
            )
        with connection.transaction():
            connection.execute(distribution().encode(), prepare=False)
    return read_server(connections)


def _citus(connection: psycopg.Connection) -> str | None:
    row = connection.execute(_CITUS).fetchone()
    return None if row is None else str(row[0])


def _one(connection: psycopg.Connection, sql: str) -> int:
    row = connection.execute(sql.encode()).fetchone()
    return 0 if row is None else int(row[0])


_CLAIMS = 3  # times that an erase takes its claim anew when the session that has it is ended


class PostgresStore:
    engine = "postgresql"
    schema = SCHEMA

    def __init__(self, url: str, settings: StoreSettings) -> None:
        self._settings = settings
        self._connections = Connections(read_address(url), settings)

    @property
    def location(self) -> str:
        """The address, without its password."""
        return self._connections.place

    def is_in_place(self) -> bool:
        return True  # a server that went away is found out by the next statement

    def namespaces(self) -> list[str]:
        with self._connections.reading("") as tx:
            return sorted(name for _, name in tx.every_namespace() if name is not None)

    # --- writing the log

    def bootstrap(self, namespace: str, session: str | None) -> None:
        def work(tx: Transaction) -> None:
            hold_log(tx)
            if session is not None:
                session_number(tx, session)

        self._connections.write(namespace, work)

    def append(
        self, namespace: str, session: str, turns: Sequence[NewTurn], recorded_at: datetime, expect: int | None = None
    ) -> list[Turn] | None:
        ids = [new_id("t", recorded_at) for _ in turns]
        with translated(self.location):
            kept = append_at_once(self._connections, namespace, session, turns, ids, recorded_at, expect)
        if kept is not None:
            return kept
        return self._connections.write(namespace, lambda tx: append(tx, session, turns, ids, recorded_at, expect))

    def act(self, namespace: str, action: Action) -> None:
        self._connections.write(namespace, lambda tx: _act(tx, action))

    def act_once(self, namespace: str, action: Action) -> bool:
        def work(tx: Transaction) -> bool:
            hold_views(tx)
            return not holds_act(tx, action) and _act(tx, action)

        return self._connections.write(namespace, work)

    def propose(self, namespace: str, action: Action, seq: int, seen: int | None = None) -> bool:
        def work(tx: Transaction) -> bool:
            hold_views(tx)
            hold_log(tx)
            late = admitted(tx) >= seq or holds_act(tx, action)
            if late or (seen is not None and erased_since(tx, seen)):
                return False
            write_act(tx, action)
            return True

        return self._connections.write(namespace, work)

    def compact(self, namespace: str, action: Action, move: Move) -> bool:
        def work(tx: Transaction) -> bool:
            hold_views(tx)
            if cursor(tx, move.stage) != move.after or misses_turns(tx, action):
                return False
            return _act(tx, action)

        return self._connections.write(namespace, work)

    def take_over(self, namespace: str, lines: Iterable[Line]) -> TakenOver:
        begun = False

        def work(tx: Transaction) -> TakenOver:
            nonlocal begun
            if begun:  # the lines may be a stream, which cannot be read twice
                raise StoreBusy(
                    f"{self.location} went away during the import; run it again. Nothing of it is taken twice"
                )
            begun = True
            return take_over(tx, lines)

        return self._connections.write(namespace, work)

    def count_retrievals(self, namespace: str, found: Mapping[str, int], last: datetime) -> None:
        def work(tx: Transaction) -> None:
            hold_views(tx)
            count_retrievals(tx, found, last)

        self._connections.write(namespace, work, unsure=lambda _: None)  # rather once too few than counted twice

    # --- reading

    @contextmanager
    def snapshot(self, namespace: str) -> Iterator[PostgresSnapshot]:
        with self._connections.reading(namespace) as tx:
            yield PostgresSnapshot(tx)

    def secret(self) -> bytes:
        return self._connections.secret

    # --- derived work

    @contextmanager
    def claim(self, namespace: str) -> Iterator[bool]:
        with self._connections.claimed(namespace) as mine:
            yield mine

    def advance(self, namespace: str, moves: Sequence[Move], changes: Changes) -> bool:
        begun = False

        def work(tx: Transaction) -> bool:
            nonlocal begun
            again, begun = begun, True
            hold_views(tx)
            self._connections.check_claim(tx)
            return advance(tx, moves, changes, again)

        return self._connections.write(namespace, work)

    def clear_views(self, namespace: str) -> None:
        def work(tx: Transaction) -> None:
            hold_views(tx)
            hold_log(tx)
            clear_views(tx)

        self._connections.write(namespace, work)

    def drop_lost(self, namespace: str) -> None:
        def work(tx: Transaction) -> None:
            hold_views(tx)
            drop_lost(tx)

        self._connections.write(namespace, work)

    def drop_vectors(self, namespace: str, fingerprint: str) -> None:
        def work(tx: Transaction) -> None:
            hold_views(tx)
            drop_vectors(tx, fingerprint)

        self._connections.write(namespace, work)

    # --- erasing

    def erase(self, namespace: str, scope: Scope, noun: str, at: datetime) -> Swept:
        def work(tx: Transaction) -> Swept:
            hold_views(tx)
            self._connections.check_claim(tx)
            tx.row("SELECT 1 FROM namespaces WHERE ns = %(ns)s FOR UPDATE")  # it must not be made by being asked for
            return erase(PostgresGround(tx), scope, noun, at)

        for _ in range(_CLAIMS - 1):
            with suppress(ClaimLost):
                return self._while_nobody_derives(namespace, work)
        return self._while_nobody_derives(namespace, work)

    def _while_nobody_derives(self, namespace: str, work: Callable[[Transaction], Swept]) -> Swept:
        """A worker that has read the turn already would write of it afterwards: none may be at work."""
        with self._connections.claimed(namespace, self._settings.erase_wait_s) as mine:
            if not mine:
                raise StoreBusy(
                    f"derived work on {namespace!r} has not paused for {self._settings.erase_wait_s:.0f} s. Try again"
                )
            return self._connections.write(namespace, work)

    def sweep(self) -> str | None:
        """Free the space of what was erased (VACUUM).

        From then on no query can read it, and the server writes over it as it needs the space. Until it does, bytes
        may lie in free space of its files, and in its WAL, replicas and backups for as long as those are kept: whoever
        runs the server rules over that, no client can (docs/erase.md).
        """
        return sweep(self._connections)

    def content(self, namespace: str, scope: Scope, noun: str) -> Content:
        with self._connections.reading(namespace) as tx:
            return read_content(tx, scope, noun)

    def truth(self, namespace: str) -> Iterator[str]:
        with self._connections.reading(namespace) as tx:
            yield from read_truth(tx)

    def live_vectors(self) -> Iterator[bytes]:
        with self._connections.reading("") as tx:
            yield from read_live_vectors(tx)

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Its tables, a row at a time: a client cannot read the server's files."""
        with self._connections.reading("") as tx:
            yield from read_tables(tx)

    def note_copy(self, namespace: str | None, path: str, at: datetime) -> None:
        def work(tx: Transaction) -> None:
            if namespace is None or is_known(tx):
                tx.execute(
                    """INSERT INTO copies (ns, path, at) VALUES (%(ns)s, %(path)s, %(at)s)
                       ON CONFLICT (ns, path) DO UPDATE SET at = excluded.at""",
                    {"path": path, "at": to_micros(at)},
                )

        ns = WHOLE_STORE if namespace is None else self._connections.ns_of(namespace)
        self._connections.write_as(ns, namespace or "", work)

    def copies(self, namespace: str) -> list[str]:
        sql = "SELECT path FROM copies WHERE ns = %(ns)s"
        with self._connections.reading(namespace) as tx:
            rows = tx.rows(sql) + tx.of(WHOLE_STORE, "").rows(sql)
        return sorted(str(path) for (path,) in rows)

    # --- the server

    def check(self) -> list[str]:
        return broken_parts(self._connections)

    def copy(self, path: Path, progress: Callable[[int, int], None] | None = None) -> Held:
        raise StoreError(
            f"{self.location} is on a server: its own tools copy it whole (pg_dump --schema "
            f"{self._connections.address.schema}), and `holdfast copy {self.location} FILE` puts its logs into a file"
        )

    def size(self) -> int:
        return size_of(self._connections)

    def server(self) -> Server | None:
        return read_server(self._connections)

    def shard(self) -> Server:
        return shard(self._connections)

    def close(self) -> None:
        self._connections.close()


def _act(tx: Transaction, action: Action) -> bool:
    hold_views(tx)
    apply_act(tx, write_act(tx, action), action)
    return True
