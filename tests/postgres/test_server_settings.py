"""The engine sets what it relies on, whatever the settings of server, database and role are."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread

import psycopg
import pytest

from holdfast.errors import StoreReadOnly
from holdfast.memory import Memory
from holdfast.settings import StoreSettings
from holdfast.store.open import open_store
from holdfast.testing import HashEmbedder
from tests.postgres.life import FULL, live
from tests.postgres.roles import database_of, set_for_role
from tests.support.memories import QUICK, texts
from tests.support.postgres_engine import Engine

ODD = {
    "default_transaction_isolation": "serializable",
    "search_path": "public, pg_catalog",
    "bytea_output": "escape",
    "datestyle": "German, DMY",
    "extra_float_digits": "-15",
    "timezone": "Asia/Kathmandu",
    "client_encoding": "latin1",
    "row_security": "off",
    "array_nulls": "off",
    "standard_conforming_strings": "off",
    "transform_null_equals": "on",
    "plan_cache_mode": "force_generic_plan",
    "statement_timeout": "20ms",  # a busy machine needs more than 1 ms to read the settings themselves
    "lock_timeout": "1ms",
    "synchronous_commit": "off",
}


@pytest.mark.requirement("SAFE-2")
def test_everything_works_over_one_connection_with_odd_role_settings(
    postgres: Engine, url: str, tmp_path: Path
) -> None:
    few = replace(FULL, store=StoreSettings(durable=False, connections=1, busy_s=20))
    with set_for_role(postgres.server, url, **ODD):
        live(url, "ana", "zeppelin", tmp_path, few)


@pytest.mark.requirement("SAFE-2")
def test_concurrent_starts_migrate_once_with_serializable_transactions(postgres: Engine, url: str) -> None:
    place, together = f"{url}&holdfast_schema=serial" if "?" in url else f"{url}?holdfast_schema=serial", Barrier(6)
    failures: list[BaseException] = []

    def start(number: int) -> None:
        try:
            together.wait()
            with Memory(place, "ana", embedder="none", settings=QUICK) as memory:
                memory.ingest(f"from {number}", session="s")
        except BaseException as error:  # told below: a thread's own goes nowhere
            failures.append(error)

    with set_for_role(postgres.server, url, default_transaction_isolation="serializable"):
        starting = [Thread(target=start, args=(number,)) for number in range(6)]
        for one in starting:
            one.start()
        for one in starting:
            one.join()
        assert failures == []
        with Memory(place, "ana", embedder="none", settings=QUICK) as memory:
            assert sorted(texts(memory.thread("s"))) == [f"from {number}" for number in range(6)]


_LIMITS = "SELECT name FROM pg_settings WHERE name ~ '^(idle_in_transaction_session|transaction|idle_session)_timeout$'"


def test_idle_limits_of_the_server_end_no_snapshot_and_no_claim(postgres: Engine, url: str) -> None:
    limits = [str(name) for (name,) in postgres.server.run(_LIMITS)]  # PostgreSQL 17 has one more
    assert "idle_in_transaction_session_timeout" in limits
    for limit in limits:
        _check_limit(postgres, url, limit, "" if limit == "idle_session_timeout" else "BEGIN")


def _check_limit(postgres: Engine, url: str, limit: str, begin: str) -> None:
    with (
        set_for_role(postgres.server, url, **{limit: "300ms"}),
        closing(open_store(url, StoreSettings(durable=False))) as store,
        store.claim("ana") as mine,
        store.snapshot("ana") as view,
    ):
        with closing(psycopg.connect(url, autocommit=True)) as forgotten:
            forgotten.execute(f"{begin}; SELECT 1".encode())
            pid = forgotten.info.backend_pid
            while postgres.server.run(f"SELECT 1 FROM pg_stat_activity WHERE pid = {pid}"):
                pass
        assert mine and view.end() == 0
        with closing(open_store(url, StoreSettings(durable=False, busy_s=5))) as other, other.claim("ana") as theirs:
            assert not theirs


@pytest.mark.requirement("SAFE-1")
def test_a_read_only_database_can_be_read_and_writes_say_why_they_fail(postgres: Engine, url: str) -> None:
    with Memory(url, "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        memory.ingest("I live in Lisbon now")
        memory.flush()
    with (
        set_for_role(postgres.server, url, default_transaction_read_only="on"),
        Memory(url, "ana", embedder=HashEmbedder(), settings=QUICK) as memory,
    ):
        assert [hit.text for hit in memory.search("where do I live")] == ["I live in Lisbon now"]
        for write in (lambda: memory.ingest("no"), lambda: memory.remember("no"), lambda: memory.rebuild()):
            with pytest.raises(StoreReadOnly, match=r"takes no writes .* default_transaction_read_only is on"):
                write()
        assert memory.doctor().findings is not None
    with Memory(url, "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        assert texts(memory.recent()) == ["I live in Lisbon now"]
        assert database_of(url) in memory.status().store
