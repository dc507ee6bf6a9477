"""A store on a Citus cluster: HOLDFAST_TEST_CITUS is the address of its coordinator, for a superuser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from holdfast.errors import StoreBusy, StoreError
from holdfast.memory import Memory
from holdfast.settings import StoreSettings
from holdfast.store.open import open_store
from holdfast.store.postgres.database import PostgresDatabase
from holdfast.store.postgres.schema import TABLES
from holdfast.testing import HashEmbedder
from tests.postgres.roles import database_of
from tests.support.memories import QUICK, texts, user
from tests.support.postgres_server import Cluster
from tests.support.postgres_statements import Statements

if TYPE_CHECKING:
    from tests.support.postgres_engine import Engine

CALLS = "SELECT new_seq, new_idx FROM append_turn"


@pytest.fixture
def cluster(postgres: Engine) -> Cluster:
    assert isinstance(postgres.server, Cluster)
    return postgres.server


@pytest.fixture
def unsharded(cluster: Cluster) -> Iterator[str]:
    """The address of an empty database of the cluster, without a store."""
    name = "holdfast_test_unsharded"
    with cluster.alone():
        cluster.drop_database(name)
        yield cluster.make_database(name)
        cluster.drop_database(name)


@pytest.mark.requirement("INV-4")
def test_citus_sends_an_append_to_the_node_of_its_namespace(url: str) -> None:
    """EXPLAIN does not show it (see test_routing.py for all other statements): Citus says it while it does so."""
    statements = Statements()
    with Memory(url, "ana", embedder="none", settings=QUICK) as memory, statements.collected():
        memory.ingest("hello", session="s")
        memory.ingest_many([user("one"), user("two")], session="s")
    calls = [one for one in statements.seen.values() if one.sql.startswith(CALLS)]
    assert len(calls) == 2
    database = PostgresDatabase(url, StoreSettings())
    said: list[str] = []
    try:
        with database.session() as connection:
            connection.add_notice_handler(lambda told: said.append(told.message_primary or ""))
            connection.execute("SET client_min_messages = debug1")
            for call in calls:
                nobody = dict(call.values) | {"ns": database.ns_of("nobody")}
                assert connection.execute(call.sql.encode(), nobody).fetchone() == (None, None)
    finally:
        database.close()
    assert said.count("pushing down the function call") == 2


@pytest.mark.requirement("KEEP-5")
def test_a_filled_store_is_sharded_and_keeps_everything(cluster: Cluster, unsharded: str) -> None:
    with Memory(unsharded, "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        memory.ingest_many([user(f"boat {number} is in the harbour") for number in range(30)], session="s")
        memory.remember("Ana keeps boats")
        memory.flush()
        before = [hit.text for hit in memory.search("which boats?")], texts(memory.thread("s"))
    with closing(open_store(unsharded, StoreSettings())) as store:
        size = store.size()
        for _ in range(2):  # done again, it changes nothing
            server = store.shard()
            assert server.nodes == len(cluster.nodes) and server.citus is not None
        assert store.size() > size and store.check() == []
    with Memory(unsharded, "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        assert ([hit.text for hit in memory.search("which boats?")], texts(memory.thread("s"))) == before
        assert memory.ingest("the ferry left", session="s").index == 30
    for table in TABLES:
        name = sql.Literal(f"holdfast.{table}")
        asked = sql.SQL("SELECT relforcerowsecurity, relrowsecurity FROM pg_class WHERE oid = {}::regclass").format(
            name
        )
        assert cluster.run(asked, database_of(unsharded)) == [(True, True)]
        shards = "SELECT count(*) FROM citus_shards WHERE table_name = {}::regclass"
        assert cluster.run(sql.SQL(shards).format(name), database_of(unsharded)) != [(0,)]


def test_a_write_waits_on_a_node_no_longer_than_the_store_says(unsharded: str) -> None:
    """Nodes do not hear what a session sets on the coordinator, so the role has these settings there."""
    short = StoreSettings(busy_s=0.2, reconnect_s=0.2)
    with closing(open_store(unsharded, short)) as store:
        store.shard()
    with Memory(unsharded, "ana", embedder="none", settings=replace(QUICK, store=short)) as memory:
        memory.ingest("first", session="s")
        memory.flush()
        with psycopg.connect(unsharded) as other:
            ns = memory._store.database.ns_of("ana")  # type: ignore[attr-defined]
            other.execute("SET citus.propagate_set_commands = 'local'")
            other.execute(f"SET LOCAL holdfast.ns = '{ns}'".encode())
            for table in ("views", "namespaces"):
                held = sql.SQL("SELECT 1 FROM holdfast.{} WHERE ns = %s FOR UPDATE").format(sql.Identifier(table))
                assert other.execute(held, (ns,)).fetchone()
            with pytest.raises(StoreBusy, match="lock timeout"):
                memory.remember("what is written to the views waits")
            with pytest.raises(StoreBusy, match="lock timeout"):
                memory.ingest("second", session="s")


def test_a_role_that_the_nodes_do_not_let_in_is_told_so_at_once(cluster: Cluster, url: str) -> None:
    """It was reported as a busy store, and tried again for as long as a restart may take."""
    role = sql.Identifier("holdfast_stranger")
    grants = "GRANT USAGE ON SCHEMA holdfast TO {0}; GRANT SELECT ON ALL TABLES IN SCHEMA holdfast TO {0}"
    with cluster.alone():
        cluster.run(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'hunter2'").format(role), database_of(url))
        try:
            cluster.run(sql.SQL(grants).format(role), database_of(url))
            for node in cluster.everywhere()[1:]:
                shut = "SET citus.enable_ddl_propagation = off; ALTER ROLE {} NOLOGIN"
                node.run(sql.SQL(shut).format(role), database_of(url))
            address = url.replace("holdfast_plain:plain@", "holdfast_stranger:hunter2@")
            with pytest.raises(StoreError, match=r"a node of .*(log in|password).*scaling\.md") as caught:
                Memory(address, "ana", embedder="none", settings=QUICK).close()
            assert not isinstance(caught.value, StoreBusy) and "hunter2" not in str(caught.value)
        finally:
            cluster.run(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(role), database_of(url))


def test_a_commit_is_as_durable_on_every_node_as_the_store_says(cluster: Cluster, unsharded: str) -> None:
    for durable in (False, True):
        with closing(open_store(unsharded, StoreSettings(durable=durable))) as store:
            store.shard()
        for node in cluster.everywhere():
            with psycopg.connect(node.url_of(database_of(unsharded))) as connection:
                assert connection.execute("SHOW synchronous_commit").fetchone() == ("on" if durable else "off",)


@pytest.mark.requirement("INV-4")
def test_row_level_security_holds_on_the_nodes(cluster: Cluster, url: str) -> None:
    """A statement that forgets its namespace sees nothing, also where Citus sends it to every shard."""
    for name in ("ana", "ben", "cleo", "dan"):
        with Memory(url, name, embedder="none", settings=QUICK) as memory:
            memory.ingest(f"{name} keeps a zeppelin")
    with psycopg.connect(url) as connection:
        connection.execute("SET search_path TO holdfast")
        assert connection.execute("SELECT text FROM log").fetchall() == []
    database = PostgresDatabase(url, StoreSettings())
    with database.session() as connection, connection.transaction():
        connection.execute(f"SET LOCAL holdfast.ns = '{database.ns_of('ben')}'".encode())
        assert connection.execute("SELECT text FROM log").fetchall() == [("ben keeps a zeppelin",)]
    database.close()
    asked = "SELECT count(DISTINCT nodeport) FROM citus_shards WHERE table_name = 'holdfast.log'::regclass"
    assert int(str(cluster.run(asked, database_of(url))[0][0])) == len(cluster.nodes)
