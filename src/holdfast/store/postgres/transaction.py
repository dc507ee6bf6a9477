"""One namespace of a PostgreSQL store inside a transaction, and how statements and values are sent to the server.

Statements are written once for both engines (see `Transaction` in store/types.py). Each names its namespace for every
table it touches: row-level security is the second lock, and a server that is sharded by namespace can send the
statement to one node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import count
from secrets import randbits
from typing import Any
from uuid import UUID

import psycopg
from psycopg import errors
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.postgres import types
from psycopg.pq import Format
from psycopg.types.array import ListBinaryDumper
from psycopg.types.numeric import Int8BinaryDumper

from holdfast.log.acts import Marker
from holdfast.store.postgres.reads import ReadCache
from holdfast.store.types import GLOBAL, Row, Space, WrittenLine

WHOLE_STORE = UUID(int=0)
"""The namespace of rows that belong to none, such as the list of backups."""
_INSERTED_AT_ONCE = 2000
_FEW = 100  # rows that are read in one round trip; a cursor takes four, and is planned each time
_PAGE = 100  # rows of a cursor's page: the texts of a log may be long
_CURSOR_NAMES = count()

_TEXT_COLUMNS = (
    "id", "entry", "origin", "key", "text", "metadata", "subject", "what", "reason", "details", "stage", "term",
    "fingerprint", "day", "name", "run", "path", "provenance", "superseded_by", "compaction",
)  # fmt: skip
_COLUMN_TYPES = {
    **dict.fromkeys(_TEXT_COLUMNS, "text"),
    **dict.fromkeys(("digest", "data", "statement", "noun", "said", "timed"), "bytea"),
    **dict.fromkeys(("tombstones.session", "tombstones.key"), "bytea"),
    **dict.fromkeys(("at_given", "undone", "partial"), "boolean"),
    **dict.fromkeys(("stability", "confidence", "factor", "trust"), "double precision"),
}
"""Columns of all tables that are not integers."""


@lru_cache(maxsize=2000)
def translate(sql: str) -> bytes:
    """Write named values the way psycopg expects them, and lists as arrays."""
    sql = sql.replace("%", "%%")
    sql = re.sub(r"\bIN :(\w+)", r"= ANY(%(\1)s)", sql)
    return re.sub(r"(?<!:):(\w+)", r"%(\1)s", sql).encode()


@lru_cache(maxsize=500)
def _insertion(table: str, columns: str, conflict: str, single: bool) -> str:
    """Return a statement that inserts one row, or many: one array per column.

    COPY would not be much faster, and is not allowed under row-level security. The namespace is read from its own row,
    so that Citus sends the statement whole to the node with that row.
    """
    names = columns.split(", ")
    if single:
        values = ", ".join(f":c{at}" for at in range(len(names)))
        return f"INSERT INTO {table} (ns, {columns}) VALUES (:ns, {values}) {conflict}"
    kinds = [_COLUMN_TYPES.get(f"{table}.{name}") or _COLUMN_TYPES.get(name, "bigint") for name in names]
    arrays = ", ".join(f":c{at}::{kind}[]" for at, kind in enumerate(kinds))
    return (
        f"INSERT INTO {table} (ns, {columns}) SELECT namespaces.ns, new.* FROM namespaces CROSS JOIN unnest({arrays}) "
        f"AS new WHERE namespaces.ns = :ns {conflict}"
    )


@dataclass
class OpenConnection:
    """A connection inside a transaction, and the namespace that the server knows it is about."""

    connection: psycopg.Connection
    ns: UUID
    ends: dict[UUID, int | None] = field(default_factory=dict)
    """The ends of the logs that were read, by namespace; None for one that does not exist."""
    versions: dict[UUID, int] = field(default_factory=dict)
    """The versions of the views that were read."""


class PostgresTransaction:
    engine = "postgresql"
    conflict: type[Exception] = errors.UniqueViolation

    def __init__(
        self,
        opened: OpenConnection,
        namespace: str,
        ns: UUID,
        secret: bytes,
        check_claim: Callable[[UUID], None] | None = None,
        cache: ReadCache | None = None,
    ) -> None:
        self._open = opened
        self.namespace = namespace
        self.ns = ns
        self._secret = secret
        self._check_claim = check_claim
        self._cache = cache
        self._end: int | None = None
        self.wrote: WrittenLine | None = None
        self.session_end: tuple[int, int, int] | None = None

    @cached_property
    def marker(self) -> Marker:
        return Marker(self._secret, self.namespace)

    # --- running statements

    def beginnings(self, chars: Mapping[int, int]) -> dict[int, str]:
        sql = """SELECT log.seq, substr(log.text, 1, CAST(:most AS INTEGER)) FROM log
            WHERE log.ns = :ns AND log.seq IN :seqs"""
        rows = self.rows(sql, seqs=list(chars), most=max(chars.values(), default=0))
        return {seq: text[: chars[seq]] for seq, text in rows}

    def ending(self, seq: int, chars: int) -> tuple[str, int]:
        sql = """SELECT right(log.text, CAST(:chars AS INTEGER)), octet_length(log.text) FROM log
            WHERE log.ns = :ns AND log.seq = :seq"""
        text, size = self.rows(sql, seq=seq, chars=chars)[0]
        return text, size

    def rows(self, sql: str, **values: object) -> list[Row]:
        cursor = self._run(sql, values)
        return cursor.fetchall() if cursor is not None and cursor.description else []

    def kept(self, sql: str, by: str = "", column: int = 0, /, **values: object) -> list[Row]:
        if self._cache is None:  # it writes
            return self.rows(sql, **values)
        reads, end = self._cache.of(self.ns, self._version()), self._log_end()
        others = ((name, value) for name, value in values.items() if name != by)
        key = (sql, *((name, tuple(value) if isinstance(value, list) else value) for name, value in others))
        if not by:
            return reads.whole(key, end, lambda: self.rows(sql, **values))
        asked = values[by]
        assert isinstance(asked, list)
        return reads.parts(key, end, asked, column, lambda some: self.rows(sql, **values | {by: some}))

    def row(self, sql: str, **values: object) -> Row | None:
        cursor = self._run(sql, values)
        return None if cursor is None else cursor.fetchone()

    def one(self, sql: str, **values: object) -> Any:
        row = self.row(sql, **values)
        return row[0] if row else None

    def execute(self, sql: str, **values: object) -> None:
        self._run(sql, values)

    def stream(self, sql: str, **values: object) -> Iterator[Row]:
        few = self.rows(f"{sql} LIMIT {_FEW + 1}", **values)  # most namespaces have few rows, and need no cursor
        if len(few) <= _FEW:
            yield from few
            return
        self._name_namespace()
        with self._open.connection.cursor(f"holdfast_{next(_CURSOR_NAMES)}", binary=True) as cursor:
            cursor.execute(translate(sql), {"ns": self.ns, **values})
            while rows := cursor.fetchmany(_PAGE):
                yield from rows

    def many(self, sql: str, values: Iterable[Mapping[str, object]]) -> None:
        every = [{"ns": self.ns, **one} for one in values]
        if every:
            self._name_namespace()
            with self._open.connection.cursor() as cursor:
                cursor.executemany(translate(sql), every)

    def insert(self, table: str, columns: str, rows: Iterable[Sequence[object]], conflict: str = "") -> None:
        every = list(rows)
        single = len(every) == 1  # the most common, and quicker without arrays
        sql = _insertion(table, columns, conflict, single)
        for start in range(0, len(every), _INSERTED_AT_ONCE):
            part = zip(*every[start : start + _INSERTED_AT_ONCE], strict=True)
            values = {f"c{at}": column[0] if single else list(column) for at, column in enumerate(part)}
            cursor = self._run(sql, values)
            if (
                cursor is not None and not cursor.rowcount and not single
            ):  # all rows are known, or the namespace has no row yet
                self.execute("INSERT INTO namespaces (ns) VALUES (:ns) ON CONFLICT DO NOTHING")
                self._run(sql, values)

    def _run(self, sql: str, values: Mapping[str, object]) -> psycopg.Cursor[Row] | None:
        if any(value == [] for value in values.values()):
            return None
        connection, statement, bound = self._open.connection, translate(sql), {"ns": self.ns, **values}
        if self._open.ns == self.ns:
            return connection.execute(statement, bound, binary=True)
        with connection.pipeline():  # one round trip for both
            self._name_namespace()
            return connection.execute(statement, bound, binary=True)

    def _name_namespace(self) -> None:
        """Tell the server which namespace is meant: two snapshots may share a transaction, and it shows one of them."""
        if self._open.ns != self.ns:
            # SET and not set_config(): Citus passes only the former on to its nodes.
            self._open.connection.execute(f"SET LOCAL holdfast.ns = '{self.ns}'".encode(), prepare=False)
            self._open.ns = self.ns

    # --- the namespace

    def every(self) -> list[PostgresTransaction]:
        found = self._listed("SELECT ns, name FROM namespaces ORDER BY ns")
        return [*(self._of(ns, name or "") for ns, name in found if ns != WHOLE_STORE), self.whole_store()]

    def every_unswept(self) -> list[UUID]:
        """Return the namespaces from which something was erased since the last sweep."""
        return [ns for (ns,) in self._listed("SELECT ns FROM unswept ORDER BY ns")]

    def _listed(self, sql: str) -> list[Row]:
        connection = self._open.connection
        connection.execute("SET LOCAL holdfast.listing = 'on'")
        rows = connection.execute(sql.encode(), binary=True).fetchall()
        connection.execute("SET LOCAL holdfast.listing = 'off'")
        return rows

    def whole_store(self) -> PostgresTransaction:
        return self._of(WHOLE_STORE, "")

    def _of(self, ns: UUID, namespace: str) -> PostgresTransaction:
        return PostgresTransaction(self._open, namespace, ns, self._secret)

    def stored_vectors(self) -> Iterator[tuple[Space, int, bytes]]:
        for space, num, data in self.stream(
            "SELECT vectors.space, vectors.num, vectors.data FROM vectors WHERE vectors.ns = :ns"
        ):
            yield Space(space), num, data

    def is_named(self) -> bool:
        return self.one("SELECT namespaces.name FROM namespaces WHERE namespaces.ns = :ns") is not None

    def is_missing(self) -> bool:
        if self.namespace == GLOBAL and self.ns not in self._open.ends:
            # Most stores do not have it, and on Citus its node need not be asked: every node knows this row.
            row = self._open.connection.execute("SELECT common FROM secrets WHERE id = 1").fetchone()
            if not (row and row[0]):
                self._open.ends[self.ns] = None
        return self._log_end() is None

    def _version(self) -> int:
        """Return what changes with every change of the views."""
        versions = self._open.versions
        if self.ns not in versions:
            versions[self.ns] = self.one("SELECT version FROM views WHERE ns = :ns") or 0
        return versions[self.ns]

    def _log_end(self) -> int | None:
        ends = self._open.ends
        if self.ns not in ends:
            ends[self.ns] = self.one("SELECT seq FROM namespaces WHERE ns = :ns")
        return ends[self.ns]

    def hold_log(self) -> int:
        if self._end is None:
            row = self.row("SELECT seq, name FROM namespaces WHERE ns = :ns FOR UPDATE")
            if row is None or row[1] is None:
                row = self.row(
                    """INSERT INTO namespaces (ns, name) VALUES (:ns, :name)
                       ON CONFLICT (ns) DO UPDATE SET name = excluded.name RETURNING seq""",
                    name=self.namespace,
                )
            if self.namespace == GLOBAL:
                self.execute("UPDATE secrets SET common = TRUE WHERE id = 1 AND NOT common")
            assert row is not None
            self._end = int(row[0])
        return self._end

    def move_end(self, seq: int) -> None:
        self._end = seq
        self.execute("UPDATE namespaces SET seq = :seq WHERE ns = :ns", seq=seq)

    def hold_views(self, change: bool = True) -> None:
        """Also check the claim of this thread, if it has one: from now on nobody else can write."""
        version = "excluded.version" if change else "views.version"
        self.execute(
            f"""INSERT INTO views (ns, version) VALUES (:ns, :version)
                ON CONFLICT (ns) DO UPDATE SET version = {version}""",
            version=randbits(62),  # not counted: after a restore it must not repeat one that a cache knows
        )
        if self._check_claim is not None:
            self._check_claim(self.ns)

    def drop_name(self) -> None:
        """Rows never contained the name: `ns` is a mark of it."""
        self.execute("UPDATE namespaces SET name = NULL WHERE ns = :ns")

    def note_unswept(self) -> None:
        self.execute("INSERT INTO unswept (ns) VALUES (:ns) ON CONFLICT DO NOTHING")

    def holds(self, line: WrittenLine | None) -> bool:
        """Return whether the log contains this line at its place; the log is locked first."""
        self.execute("SELECT 1 FROM namespaces WHERE ns = :ns FOR UPDATE")
        if line is None:
            return False
        sql = "SELECT 1 FROM log WHERE log.ns = :ns AND log.seq = :seq AND log.id = :id AND log.text = :text"
        return self.row(sql, seq=line.seq, id=line.id, text=line.text) is not None


# --- Values. PostgreSQL's text cannot contain U+0000, which SQLite's can, so it is written as two characters. The
# escape is one to one, so equality and unique keys mean the same.

_ESCAPE, _ESCAPED = "\ue000", "\ue000e"  # private use: ordinary text does not contain it
_NUL, _NUL_ESCAPED = "\x00", "\ue0000"
_MARK = _ESCAPE.encode()


class _TextDumper(Dumper):
    oid = types["text"].oid

    def dump(self, obj: str) -> Buffer:
        if _ESCAPE in obj or _NUL in obj:
            obj = obj.replace(_ESCAPE, _ESCAPED).replace(_NUL, _NUL_ESCAPED)
        return obj.encode()


class _BinaryTextDumper(_TextDumper):
    format = Format.BINARY


class _TextLoader(Loader):
    def load(self, data: Buffer) -> str:
        raw = bytes(data)
        text = raw.decode()
        return text.replace(_NUL_ESCAPED, _NUL).replace(_ESCAPED, _ESCAPE) if _MARK in raw else text


class _BinaryTextLoader(_TextLoader):
    format = Format.BINARY


def register_types(connection: psycopg.Connection) -> None:
    adapters = connection.adapters
    adapters.register_dumper(str, _TextDumper)
    adapters.register_dumper(str, _BinaryTextDumper)
    adapters.register_loader("text", _TextLoader)
    adapters.register_loader("text", _BinaryTextLoader)
    adapters.register_dumper(list, ListBinaryDumper)
    # All integers as bigint: otherwise a statement is prepared once per width of its values.
    adapters.register_dumper(int, Int8BinaryDumper)
