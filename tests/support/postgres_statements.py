"""Collects the statements that the PostgreSQL engine sends, and checks that each can be sent to one node.

A store that is spread by namespace is right and quick only if no statement needs two nodes: each table's rows are
chosen by the namespace, each row that is written begins with it, and tables are joined inside one namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from holdfast.store.postgres.address import read_address
from holdfast.store.postgres.schema import TABLES
from tests.support.postgres_server import Server

__all__ = ["Statement", "Statements", "administrator", "crossing", "without_namespace"]

LISTINGS = ("SELECT ns, name FROM namespaces ORDER BY ns", "SELECT ns FROM unswept ORDER BY ns")
"""Sent to all nodes on purpose: the list of namespaces, and those that wait to be swept. No content."""

_OWN = re.compile(r"(?:\b\w+\.)?\bns = %\(ns\)s")
_INSERT = re.compile(r"\bINSERT INTO (\w+) \(ns\b[^)]*\)\s*(?:VALUES \(%\(ns\)s\b|SELECT (?:%\(ns\)s|\w+\.ns)\b)", re.I)
_COPY = re.compile(r"^\s*COPY (\w+) \(ns, .* FROM STDIN", re.I | re.S)
_NO_TABLE = re.compile(
    r"^\s*(--|CREATE|ALTER|DROP|DO |BEGIN|COMMIT|ROLLBACK|SET |RESET |SHOW |DISCARD|VACUUM|ANALYZE|CHECKPOINT)", re.I
)


@dataclass(frozen=True)
class Statement:
    sql: str
    values: Any

    @property
    def tables(self) -> set[str]:
        return {name for name in TABLES if re.search(rf"\b(?:FROM|JOIN|INTO|UPDATE|COPY)\s+{name}\b", self.sql, re.I)}


class Statements:
    """The statements that were sent, each once, with the first values it was sent with."""

    def __init__(self) -> None:
        self.seen: dict[str, Statement] = {}

    @contextmanager
    def collected(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("execute", "executemany", "copy", "stream"):
                patch.setattr(psycopg.Cursor, name, self._noting(getattr(psycopg.Cursor, name), name == "executemany"))
            yield

    def _noting(self, method: Any, many: bool) -> Any:
        def noting(cursor: object, query: Any, values: Any = None, *args: object, **more: object) -> object:
            sql = query.decode() if isinstance(query, bytes) else query if isinstance(query, str) else ""
            if sql and not (many and not values):
                first = next(iter(values)) if many else values
                self.seen.setdefault(sql, Statement(sql, first))
            return method(cursor, query, values, *args, **more)

        return noting

    def of_tables(self) -> list[Statement]:
        """Return those that touch the tables of namespaces."""
        return [one for one in self.seen.values() if not _NO_TABLE.match(one.sql) and one.tables]


def without_namespace(statement: Statement) -> str | None:
    """Return the statement without its restriction to the namespace; None if it has none."""
    sql, gone = _OWN.subn("TRUE", statement.sql)
    return sql if gone else None


@contextmanager
def administrator(server: Server, url: str) -> Iterator[psycopg.Connection[Any]]:
    """Connect as the administrator, in the schema of the store; everything is rolled back."""
    place = urlsplit(url).path.lstrip("/")
    with psycopg.connect(server.url_for_admin(place)) as connection:
        connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(read_address(url).schema)))
        yield connection
        connection.rollback()


def crossing(statements: Iterable[Statement], admin: psycopg.Connection[Any]) -> list[str]:
    """Return those that could not be sent to one node, each with the reason; on Citus, that are not."""
    on_citus = admin.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'").fetchone() is not None
    found = ((one, _crosses(one, admin, on_citus)) for one in statements if one.sql not in LISTINGS)
    return [f"{reason}: {one.sql}" for one, reason in found if reason is not None]


def _crosses(statement: Statement, admin: psycopg.Connection[Any], on_citus: bool) -> str | None:
    """Return why it could not be sent to one node, or None. The plan shows which rows of which table it reads."""
    if _COPY.match(statement.sql):
        return None
    if re.match(r"\s*COPY\b", statement.sql, re.I):
        return "a COPY whose rows do not begin with the namespace"
    written = re.findall(r"\bINSERT INTO (\w+)", statement.sql, re.I)
    if len(_INSERT.findall(statement.sql)) != len(written):
        return "a row is written that does not begin with the namespace"
    plan = admin.execute(("EXPLAIN (FORMAT JSON) " + statement.sql).encode(), statement.values).fetchone()
    assert plan is not None
    if on_citus:
        tasks = plan[0][0]["Plan"].get("Distributed Query", {}).get("Job", {}).get("Task Count")
        return None if tasks == 1 else f"Citus makes {tasks or 'no'} tasks of it"
    for node in _nodes(plan[0][0]["Plan"]):
        if node.get("Relation Name") in TABLES and node["Node Type"] != "ModifyTable" and not _is_chosen(node):
            return f"rows of {node['Relation Name']} are not chosen by their namespace"
    return None


def _is_chosen(node: Mapping[str, Any]) -> bool:
    told = " ".join(str(node.get(name, "")) for name in ("Index Cond", "Filter", "Recheck Cond", "One-Time Filter"))
    told += " ".join(str(inner.get("Index Cond", "")) for inner in _nodes(node))
    return re.search(r"\bns = ", told) is not None


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    inner: Sequence[Mapping[str, Any]] = plan.get("Plans", ())
    for one in inner:
        yield from _nodes(one)
