"""Tables of a server are created once, migrated, and refused if they are newer."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from psycopg import sql

import holdfast.store.postgres.schema
from holdfast.errors import StoreError, StoreNewer
from holdfast.memory import Memory
from holdfast.settings import StoreSettings
from holdfast.store.open import open_store
from holdfast.store.postgres.address import read_address
from holdfast.store.postgres.schema import SCHEMA, migrations
from tests.support.memories import QUICK, texts

if TYPE_CHECKING:
    from tests.support.postgres_engine import Engine


def elsewhere(url: str, schema: str) -> str:
    """Return the address of an empty schema in the same database."""
    return f"{url}{'&' if '?' in url else '?'}holdfast_schema={schema}"


def versions(postgres: Engine, url: str) -> list[int]:
    table = sql.Identifier(read_address(url).schema, "schema_versions")
    rows = postgres.server.run(
        sql.SQL("SELECT version FROM {} ORDER BY version").format(table), urlsplit(url).path.lstrip("/")
    )
    return [int(str(version)) for (version,) in rows]


@pytest.mark.requirement("SAFE-2")
def test_ten_concurrent_starts_migrate_once(postgres: Engine, url: str) -> None:
    place = elsewhere(url, "at_once")
    failures: list[BaseException] = []

    def start(number: int) -> None:
        try:
            with Memory(place, "ana", embedder="none", settings=QUICK) as memory:
                memory.ingest(f"from {number}", key=str(number))
        except BaseException as error:  # told below: a thread's own goes nowhere
            failures.append(error)

    starting = [threading.Thread(target=start, args=(number,)) for number in range(10)]
    for one in starting:
        one.start()
    for one in starting:
        one.join()
    assert failures == []
    assert versions(postgres, place) == list(range(1, SCHEMA + 1))
    with Memory(place, "ana", embedder="none", settings=QUICK) as memory:
        assert sorted(texts(memory.recent())) == [f"from {number}" for number in range(10)]


def test_a_filled_store_of_the_previous_version_is_migrated(
    postgres: Engine, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next migration runs once on a filled store, and keeps its contents."""
    with Memory(url, "ana", embedder="none", settings=QUICK) as memory:
        memory.ingest("the harbour is quiet")
    following = [*migrations(), "ALTER TABLE sessions ADD COLUMN mood TEXT COLLATE \"C\" NOT NULL DEFAULT 'calm';"]
    monkeypatch.setattr(holdfast.store.postgres.schema, "migrations", lambda: following)
    monkeypatch.setattr(holdfast.store.postgres.schema, "SCHEMA", len(following))
    try:
        for _ in range(2):
            with Memory(url, "ana", embedder="none", settings=QUICK) as memory:
                memory.ingest("the ferry left", key="once")
                assert texts(memory.recent()) == ["the ferry left", "the harbour is quiet"]
        assert versions(postgres, url) == list(range(1, len(following) + 1))
    finally:
        table = sql.Identifier(read_address(url).schema, "sessions")
        name = urlsplit(url).path.lstrip("/")
        postgres.server.run(sql.SQL("ALTER TABLE {} DROP COLUMN mood").format(table), name)
        undone = sql.SQL("DELETE FROM {} WHERE version = {}")
        versioned = sql.Identifier(read_address(url).schema, "schema_versions")
        postgres.server.run(undone.format(versioned, len(following)), name)


def test_a_migration_that_fails_leaves_the_store_as_it_was(
    postgres: Engine, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(url, "ana", embedder="none", settings=QUICK) as memory:
        memory.ingest("the harbour is quiet")
    broken = [*migrations(), "CREATE TABLE half (ns UUID); SELECT 1 / 0;"]
    with monkeypatch.context() as patch:
        patch.setattr(holdfast.store.postgres.schema, "migrations", lambda: broken)
        patch.setattr(holdfast.store.postgres.schema, "SCHEMA", len(broken))
        with pytest.raises(StoreError, match="division by zero"):
            open_store(url, StoreSettings())
    assert versions(postgres, url) == list(range(1, SCHEMA + 1))
    with Memory(url, "ana", embedder="none", settings=QUICK) as memory:
        assert texts(memory.recent()) == ["the harbour is quiet"]


def test_a_store_of_a_newer_version_is_refused_with_advice(postgres: Engine, url: str) -> None:
    place = elsewhere(url, "newer")
    with closing(open_store(place, StoreSettings())):
        pass
    table = sql.Identifier("newer", "schema_versions")
    postgres.server.run(sql.SQL("INSERT INTO {} (version) VALUES (99)").format(table), urlsplit(url).path.lstrip("/"))
    with pytest.raises(StoreNewer, match=r"newer Holdfast \(schema 99, this one knows \d+\). Upgrade"):
        open_store(place, StoreSettings())


@pytest.mark.requirement("INV-4")
def test_a_superuser_is_refused_unless_allowed(postgres: Engine, url: str) -> None:
    admin = postgres.server.url_for_admin(urlsplit(url).path.lstrip("/"))
    with pytest.raises(StoreError, match="is a superuser: row-level security, which keeps namespaces apart"):
        open_store(admin, StoreSettings())
    with closing(open_store(elsewhere(admin, "told") + "&holdfast_allow_superuser=1", StoreSettings())) as store:
        assert store.namespaces() == []


def test_an_unreachable_server_is_named_without_its_password() -> None:
    with pytest.raises(StoreError, match="does not answer") as caught:
        open_store("postgresql://ana:hunter2@127.0.0.1:1/memory", StoreSettings())
    assert "hunter2" not in str(caught.value)


def test_sharding_without_citus_says_so_and_changes_nothing(url: str) -> None:
    with closing(open_store(url, StoreSettings())) as store:
        with pytest.raises(StoreError, match="has no Citus, so there is nothing to spread over; nothing was changed"):
            store.shard()
        server = store.server()
        assert server is not None and server.version.startswith("PostgreSQL ")
        assert (server.citus, server.nodes) == (None, None)


def test_a_lost_connection_is_replaced(postgres: Engine, url: str) -> None:
    with Memory(url, "ana", embedder="none", settings=QUICK) as memory:
        memory.ingest("before")
        postgres.server.run(_END_ALL, urlsplit(url).path.lstrip("/"))
        memory.ingest("after")
        postgres.server.run(_END_ALL, urlsplit(url).path.lstrip("/"))
        assert texts(memory.recent()) == ["after", "before"]


_END_ALL = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""
