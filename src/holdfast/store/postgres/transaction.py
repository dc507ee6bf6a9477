"""One namespace inside one transaction: what every statement of the engine goes through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from holdfast.log.tombstones import Marker

Values = Mapping[str, object]


@dataclass
class Open:
    """A connection inside a transaction, and the namespace that the server was told."""

    connection: psycopg.Connection
    ns: UUID


@dataclass(frozen=True)
class Wrote:
    """A line that a transaction wrote: enough to know it again."""

    seq: int
    id: str
    text: str


class Transaction:
    """Statements name their values (`%(id)s`); `%(ns)s` is always there."""

    def __init__(self, opened: Open, namespace: str, ns: UUID, secret: bytes) -> None:
        self._open = opened
        self.namespace = namespace
        self.ns = ns
        self.secret = secret
        self.marker = Marker(secret, namespace)
        self.wrote: Wrote | None = None
        """The line of the log that was written last."""

    @property
    def connection(self) -> psycopg.Connection:
        """For pipelines and COPY; the server has been told the namespace."""
        self._tell()
        return self._open.connection

    def of(self, ns: UUID, namespace: str) -> Transaction:
        """Another namespace in the same transaction."""
        return Transaction(self._open, namespace, ns, self.secret)

    def every_namespace(self) -> list[tuple[UUID, str | None]]:
        """All that ever were there, with their names; an erased one has none."""
        return [(ns, name) for ns, name in self._listed("SELECT ns, name FROM namespaces ORDER BY ns")]

    def every_unswept(self) -> list[UUID]:
        """Namespaces that something was erased from since the last sweep."""
        return [ns for (ns,) in self._listed("SELECT ns FROM unswept ORDER BY ns")]

    def _listed(self, sql: str) -> list[tuple[Any, ...]]:
        connection = self._open.connection
        connection.execute("SET LOCAL holdfast.listing = 'on'")
        rows = connection.execute(sql.encode(), binary=True).fetchall()
        connection.execute("SET LOCAL holdfast.listing = 'off'")
        return rows

    def rows(self, sql: str, values: Values | None = None) -> list[tuple[Any, ...]]:
        return self._run(sql, values).fetchall()

    def row(self, sql: str, values: Values | None = None) -> tuple[Any, ...] | None:
        return self._run(sql, values).fetchone()

    def one(self, sql: str, values: Values | None = None) -> Any:
        """The first value of the first row, None without any."""
        row = self.row(sql, values)
        return row[0] if row else None

    def execute(self, sql: str, values: Values | None = None) -> int:
        """How many rows it changed."""
        return self._run(sql, values).rowcount

    def many(self, sql: str, values: Iterable[Values]) -> None:
        """The same statement for many values, without waiting for each."""
        every = [self._with_ns(one) for one in values]
        if every:
            with self.connection.cursor() as cursor:
                cursor.executemany(sql.encode(), every)

    def insert(
        self, into: str, types: Sequence[str], rows: Sequence[Sequence[object]], otherwise: str = "", most: int = 2000
    ) -> None:
        """Rows of a table in few statements: `into` is "table (columns but ns)", `types` those of the columns.

        COPY would be no quicker by much, and is not allowed under row-level security.
        """
        arrays = ", ".join(f"%(c{at})s::{kind}[]" for at, kind in enumerate(types))
        table, columns = into.split(" (", 1)
        sql = f"INSERT INTO {table} (ns, {columns} SELECT %(ns)s, new.* FROM unnest({arrays}) AS new {otherwise}"
        for start in range(0, len(rows), most):
            part = rows[start : start + most]
            self.execute(sql, {f"c{at}": [row[at] for row in part] for at in range(len(types))})

    def holds(self, line: Wrote | None) -> bool:
        """Whether the log holds this line at its place."""
        if line is None:
            return False
        sql = "SELECT 1 FROM log WHERE ns = %(ns)s AND seq = %(seq)s AND id = %(id)s AND text = %(text)s"
        return bool(self.one(sql, {"seq": line.seq, "id": line.id, "text": line.text}))

    def _with_ns(self, values: Values | None) -> Values:
        return {"ns": self.ns} if values is None else {"ns": self.ns, **values}

    def _run(self, sql: str, values: Values | None) -> psycopg.Cursor[tuple[Any, ...]]:
        connection = self._open.connection
        if self._open.ns == self.ns:
            return connection.execute(sql.encode(), self._with_ns(values), binary=True)
        with connection.pipeline():  # one round trip for both
            self._tell()
            return connection.execute(sql.encode(), self._with_ns(values), binary=True)

    def _tell(self) -> None:
        """A snapshot of another namespace shares the transaction: the server sees one of them at a time."""
        if self._open.ns != self.ns:
            # SET and not set_config(): Citus passes on to its nodes only the former (distribution.sql).
            self._open.connection.execute(f"SET LOCAL holdfast.ns = '{self.ns}'".encode(), prepare=False)
            self._open.ns = self.ns
