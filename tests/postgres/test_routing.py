"""Every statement of the engine stays in one namespace: it can be sent to one node, and leaks nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql

from holdfast.memory import Memory
from holdfast.settings import StoreSettings
from holdfast.store.postgres.database import PostgresDatabase, distribution
from holdfast.store.postgres.schema import TABLES
from holdfast.testing import HashEmbedder
from tests.postgres.life import FULL, live, tell
from tests.support.postgres_statements import Statements, administrator, crossing, without_namespace

if TYPE_CHECKING:
    from tests.support.postgres_engine import Engine

pytestmark = pytest.mark.requirement("INV-4")


@dataclass(frozen=True)
class Lived:
    """A store with two namespaces in which every verb was used, and the statements of the second."""

    url: str
    sent: Statements


@pytest.fixture(scope="module")
def lived(postgres: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lived]:
    folder = tmp_path_factory.mktemp("life")
    with postgres.lent(folder / "memory.db") as url:
        with Memory(url, "ben", embedder=HashEmbedder(), settings=FULL) as ben:
            tell(ben, "zeppelin")
        statements = Statements()
        with statements.collected():
            live(url, "ana", "harbour", folder)
        yield Lived(url, statements)


def test_every_statement_can_be_sent_to_one_node(lived: Lived, postgres: Engine) -> None:
    sent = lived.sent.of_tables()
    assert len(sent) > 100
    assert any("WITH RECURSIVE chain" in one.sql for one in sent)
    assert any("vectors.space = ANY" in one.sql for one in sent)
    assert {table for one in sent for table in one.tables} >= set(TABLES) - {"copies", "unswept", "views"}
    with administrator(postgres.server, lived.url) as admin:
        assert crossing(sent, admin) == []


def test_a_statement_without_namespace_sees_no_rows_of_others(lived: Lived, postgres: Engine) -> None:
    """Each statement is run without its predicate as the plain role, with and without rows of another namespace."""
    url = lived.url
    forgotten = [(one, without) for one in lived.sent.of_tables() if (without := without_namespace(one)) is not None]
    assert len(forgotten) > 80
    beside = answers_without_predicate(url, forgotten)
    with administrator(postgres.server, url) as admin:
        (others,) = admin.execute("SELECT count(*) FROM log WHERE text LIKE '%zeppelin%'").fetchone() or (0,)
        assert others > 50
        (ns,) = admin.execute("SELECT ns FROM namespaces WHERE name = 'ben'").fetchone() or (None,)
        for table in TABLES:
            admin.execute(sql.SQL("DELETE FROM {} WHERE ns = %s").format(sql.Identifier(table)), (ns,))
        admin.commit()
    assert answers_without_predicate(url, forgotten) == beside
    assert "zeppelin" not in str(beside)


def answers_without_predicate(url: str, forgotten: list[Any]) -> list[object]:
    """Return the rows of each statement, or how many it would change; everything is rolled back."""
    database = PostgresDatabase(url, StoreSettings())
    found: list[object] = []
    try:
        with database.session() as connection:
            ns = database.ns_of("ana")
            for statement, forgetting in forgotten:
                connection.execute("BEGIN")
                connection.execute(f"SET LOCAL holdfast.ns = '{ns}'".encode())
                try:
                    cursor = connection.execute(forgetting.encode(), statement.values)
                    found.append(_answer(cursor, forgetting))
                except psycopg.errors.UniqueViolation as error:  # it writes what its own namespace holds since then
                    found.append(str(error))
                except (psycopg.errors.FeatureNotSupported, psycopg.errors.InternalError_) as error:
                    found.append(str(error))  # Citus refuses some that are for all shards
                connection.execute("ROLLBACK")
    finally:
        database.close()
    return found


def _answer(cursor: psycopg.Cursor[Any], sent: str) -> object:
    if not cursor.description:
        return cursor.rowcount
    rows = sorted(map(str, cursor.fetchall()))
    if "LIMIT" in sent and "ORDER BY" not in sent:  # which of the rows come is the planner's choice
        assert "zeppelin" not in str(rows)
        return len(rows)
    return rows


def test_without_a_namespace_there_are_no_rows_at_all(lived: Lived) -> None:
    database = PostgresDatabase(lived.url, StoreSettings())
    with database.session() as connection:
        for table in TABLES:
            rows = connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(table))).fetchall()
            assert rows == [], table
    database.close()


def test_nothing_can_be_written_into_another_namespace(url: str) -> None:
    database = PostgresDatabase(url, StoreSettings())
    ana, ben = database.ns_of("ana"), database.ns_of("ben")
    with database.session() as connection:
        for table in TABLES:
            columns = connection.execute(_REQUIRED, (table,)).fetchall()
            names = sql.SQL(", ").join(sql.Identifier(str(name)) for name, _ in columns)
            values = sql.SQL(", ").join(
                sql.Literal(str(ben)) if name == "ns" else sql.SQL("DEFAULT" if kept else "{}").format(sql.Literal("1"))
                for name, kept in columns
            )
            connection.execute("BEGIN")
            connection.execute(f"SET LOCAL holdfast.ns = '{ana}'".encode())
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                connection.execute(
                    sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(sql.Identifier(table), names, values)
                )
            connection.execute("ROLLBACK")
    database.close()


_REQUIRED = """SELECT column_name, column_default IS NOT NULL FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = %s AND is_nullable = 'NO' ORDER BY ordinal_position"""


def test_every_key_begins_with_the_namespace_without_foreign_keys(postgres: Engine, url: str) -> None:
    with administrator(postgres.server, url) as admin:
        keys = admin.execute(
            """SELECT tablename, indexdef FROM pg_indexes
               WHERE schemaname = current_schema() AND tablename NOT IN ('secrets', 'schema_versions')"""
        ).fetchall()
        foreign = admin.execute(
            "SELECT conname FROM pg_constraint WHERE contype = 'f' AND connamespace = current_schema()::regnamespace"
        ).fetchall()
        forced = admin.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
            " AND relkind = 'r' AND relrowsecurity AND relforcerowsecurity"
        ).fetchall()
    assert {table for table, _ in keys} == set(TABLES)
    assert [index for _, index in keys if "(ns" not in index] == []
    assert foreign == []
    assert {name for (name,) in forced} == set(TABLES)


def test_server_functions_restrict_every_table_to_the_namespace(postgres: Engine, url: str) -> None:
    with administrator(postgres.server, url) as admin:
        bodies = admin.execute(
            "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = current_schema()::regnamespace"
        ).fetchall()
    for name, body in bodies:
        read = re.findall(r"\b(?:FROM|JOIN|UPDATE)\s+(\w+)", body)
        written = re.findall(r"\bINSERT INTO\s+(\w+)", body)
        assert {*read, *written} - {"unnest"} <= set(TABLES), name
        for table in TABLES:
            assert read.count(table) <= body.count(f"{table}.ns = of_ns"), f"{name} reads {table} of any namespace"
        own = r"\(ns,[^)]*\)\s*(?:VALUES \(of_ns,|SELECT namespaces\.ns,)"
        assert len(written) == len(re.findall(own, body)), name


def test_the_statements_of_distribution_name_every_table_once() -> None:
    told = distribution()
    assert [table for table in TABLES if told.count(f"'{table}'") < 1] == []
    inside = told.split("ARRAY[\n", 1)[1].split("]\n", 1)[0]
    assert sorted(part.strip().strip("'") for part in inside.split(",")) == sorted(TABLES)
