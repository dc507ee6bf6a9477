"""Errors of servers that refuse connections or lack something say what happened and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
import pytest
from psycopg import sql

from holdfast.cli import main
from holdfast.errors import StoreBusy, StoreError, StoreReadOnly
from holdfast.memory import Memory
from holdfast.settings import StoreSettings
from holdfast.store.open import open_store
from holdfast.store.postgres.address import lost, translated
from holdfast.testing import HashEmbedder
from tests.postgres.roles import database_of
from tests.support.memories import QUICK, texts
from tests.support.postgres_engine import Engine
from tests.support.postgres_server import ROLE, Server, Throwaway

OTHER = "holdfast_other"
QUICKLY = StoreSettings(durable=False, busy_s=0.2, reconnect_s=0.2)


def as_role(url: str, role: str, password: str = "hunter2") -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=f"{role}:{password}@{parts.netloc.rpartition('@')[2]}").geturl()


def in_schema(url: str, schema: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}holdfast_schema={quote(schema)}"


@contextmanager
def another_role(server: Server, url: str, *grants: str) -> Iterator[str]:
    """Create a role that owns nothing, and return the address for it."""
    name = sql.Identifier(OTHER)
    with server.alone():
        server.run(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'hunter2'").format(name))
        try:
            for grant in grants:
                server.run(sql.SQL(grant).format(name), database_of(url))
            yield as_role(url, OTHER)
        finally:
            server.run(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(name), database_of(url))


@pytest.mark.requirement("SAFE-1")
def test_a_wrong_password_is_reported_but_not_shown(postgres: Engine, url: str) -> None:
    server = postgres.server
    with another_role(server, url) as address:
        if isinstance(server, Throwaway):  # which asks nobody for a password
            rules = server.folder / "data" / "pg_hba.conf"
            before = rules.read_text()
            rules.write_text(f"local all {OTHER} scram-sha-256\nhost all {OTHER} all scram-sha-256\n{before}")
            server.run("SELECT pg_reload_conf()")
        try:
            wrong = address.replace("hunter2", "hunter3")
            with pytest.raises(StoreError, match=r"does not let this role in .*password in the address") as caught:
                open_store(wrong, QUICKLY)
            assert "hunter3" not in str(caught.value) and not isinstance(caught.value, StoreBusy)
        finally:
            if isinstance(server, Throwaway):
                rules.write_text(before)
                server.run("SELECT pg_reload_conf()")


@pytest.mark.parametrize(
    "said",
    ["fe_sendauth: no password supplied", 'FATAL:  no pg_hba.conf entry for host "::1"', 'database "x" does not exist'],
)
def test_a_node_that_refuses_the_role_is_reported_and_not_tried_again(said: str) -> None:
    """See test_citus.py for a real one; a node that is down is tried again."""
    where = "connection to the remote node ana@node1.example:5432 failed with the following error: "
    error = psycopg.errors.ConnectionFailure(where + said)
    assert not lost(error) and lost(psycopg.errors.ConnectionFailure(f"{where}Connection refused"))
    with pytest.raises(StoreError, match=r"a node of .*node1\.example.*scaling\.md") as caught, translated("memory"):
        raise error
    assert not isinstance(caught.value, StoreBusy) and said in str(caught.value)


@pytest.mark.requirement("SAFE-1")
def test_errors_name_a_missing_role_and_a_missing_database(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    # A server that asks for passwords does not tell a stranger whether there is such a role.
    told = r'does not let this role in .*(role "nobody" does not exist|failed for user "nobody")'
    with pytest.raises(StoreError, match=told):
        open_store(as_role(url, "nobody"), QUICKLY)
    parts = urlsplit(url)
    nowhere = parts._replace(path="/nowhere").geturl()
    with pytest.raises(StoreError, match=r'database "nowhere" does not exist\. Create the database first'):
        open_store(nowhere, QUICKLY)
    assert main(["search", "tea", "--store", nowhere, "-n", "ana"]) == 2
    said = capsys.readouterr().err
    assert "Create the database first" in said and "plain:plain" not in said and said.count("\n") == 1


@pytest.mark.requirement("SAFE-1")
def test_a_server_without_free_connections_gives_advice(postgres: Engine, url: str) -> None:
    with another_role(postgres.server, url) as address:
        postgres.server.run(sql.SQL("ALTER ROLE {} CONNECTION LIMIT 0").format(sql.Identifier(OTHER)))
        with pytest.raises(StoreBusy, match=r"has no connection left .*lower store\.connections, or raise max_conn"):
            open_store(address, QUICKLY)
        # On a cluster the nodes keep the role.
        postgres.server.run(sql.SQL("ALTER ROLE {} CONNECTION LIMIT -1").format(sql.Identifier(OTHER)))


@pytest.mark.requirement("SAFE-1")
def test_a_role_without_permissions_gets_an_error_with_advice(postgres: Engine, url: str) -> None:
    with another_role(postgres.server, url) as address:
        with pytest.raises(StoreReadOnly, match=r"permission denied for database .*must own the tables, or the datab"):
            open_store(in_schema(address, "fresh"), QUICKLY)
        with pytest.raises(StoreReadOnly, match="may not use the schema holdfast"):
            open_store(address, QUICKLY)


@pytest.mark.requirement("KEEP-4")
def test_a_role_that_owns_nothing_may_use_a_store_but_not_sweep_it(postgres: Engine, url: str) -> None:
    granted = (
        "GRANT USAGE ON SCHEMA holdfast TO {}",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA holdfast TO {}",
    )
    with (
        another_role(postgres.server, url, *granted) as address,
        Memory(address, "ana", embedder=HashEmbedder(), settings=QUICK) as memory,
    ):
        turn = memory.ingest("my safe opens with zanzibar", session="s")
        memory.ingest("I live in Lisbon", session="s")
        memory.flush()
        erased = memory.erase(turn=turn.id)
        assert erased.turns == 1 and texts(memory.thread("s")) == ["I live in Lisbon"]
        assert erased.pending is not None and "own" in erased.pending
        with Memory(url, "ana", embedder=HashEmbedder(), settings=QUICK) as owner:
            told = owner.ingest("it opens with mombasa now", session="s")
            assert owner.erase(turn=told.id).pending is None  # and what the other could not is swept too


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_keep_every_text_is_refused(postgres: Engine, encoding: str) -> None:
    name = f"holdfast_{encoding.lower()}"
    made = "CREATE DATABASE {} OWNER {} ENCODING {} LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    server = postgres.server
    server.make_role()
    server.run(sql.SQL(made).format(sql.Identifier(name), sql.Identifier(ROLE), encoding))
    try:
        with pytest.raises(StoreError, match=rf"keeps text as {encoding}.*ENCODING 'UTF8' TEMPLATE template0"):
            open_store(server.url_of(name), QUICKLY)
    finally:
        server.drop_database(name)


@pytest.mark.parametrize(
    "schema", ['a"b', "Team", "select", "100%s {} %(ns)s", "o'brien", "x; DROP SCHEMA public", "é" * 31]
)
def test_a_schema_may_have_any_name(
    postgres: Engine, url: str, schema: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = in_schema(url, schema)
    try:
        with Memory(place, "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
            turn = memory.ingest("my safe opens with zanzibar", session="s")
            memory.flush()
            assert memory.status().size_bytes > 0 and memory.check() == []
            assert [hit.text for hit in memory.search("zanzibar")] == ["my safe opens with zanzibar"]
            assert memory.erase(turn=turn.id, prove=True).proof is not None
        with closing(open_store(place, QUICKLY)) as store:
            store.note_copy("ana", "/export/ana", datetime.now(UTC))
            assert store.namespaces() == ["ana"] and store.size() > 0
            with pytest.raises(StoreError, match="pg_dump"):
                store.copy(Path("x"))
        assert main(["store", "info", "--store", place]) == 0
        assert "1 namespace" in capsys.readouterr().out
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))
