"""Claims for derived work: sessions that an administrator ends, and few connections."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from threading import Event

import pytest

from holdfast.memory import Memory
from holdfast.serve.memories import Memories
from holdfast.settings import StoreSettings
from holdfast.store.open import open_store
from holdfast.store.types import Changes, Move
from holdfast.testing import HashEmbedder
from tests.postgres.roles import database_of
from tests.support.memories import EAGER, QUICK, WaitingEmbedder, user
from tests.support.postgres_engine import Engine

_END_CLAIMS = """SELECT pg_terminate_backend(pid) FROM pg_locks
    WHERE locktype = 'advisory' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
_CONNECTIONS = """SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'holdfast'"""
_OF_VIEWS = "SELECT (SELECT count(*) FROM holdfast.vectors) + (SELECT count(*) FROM holdfast.postings)"
SOON_S = 60.0  # a busy machine may be slow; what is waited for takes a second


def end_claims(postgres: Engine, url: str) -> int:
    """End the sessions that hold claims, as an administrator would, and return their number."""
    return len(postgres.server.run(_END_CLAIMS, database_of(url)))


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + SOON_S
    while not true():
        assert time.monotonic() < until
        Event().wait(0.02)


@pytest.mark.requirement("KEEP-4")
def test_a_worker_that_lost_its_claim_writes_nothing_that_was_erased(postgres: Engine, url: str) -> None:
    slow = WaitingEmbedder()
    with (
        Memory(url, "ana", embedder=slow, settings=EAGER) as memory,
        Memory(url, "ana", embedder="none", settings=replace(QUICK, store=StoreSettings())) as other,
    ):
        turn = memory.ingest("my safe opens with zanzibar")
        assert slow.asked.wait(SOON_S)  # it has read the turn
        assert end_claims(postgres, url) == 1
        assert other.erase(turn=turn.id).turns == 1
        slow.go.set()
        memory.flush()
        assert postgres.server.run(_OF_VIEWS, database_of(url)) == [(0,)]


@pytest.mark.requirement("LOG-3")
def test_a_worker_recovers_from_a_lost_claim(postgres: Engine, url: str) -> None:
    slow = WaitingEmbedder()
    with Memory(url, "ana", embedder=slow, settings=EAGER) as memory:
        memory.ingest_many([user(f"I keep {number} boats in the harbour") for number in range(30)], session="s")
        assert slow.asked.wait(SOON_S)
        assert end_claims(postgres, url) == 1
        slow.go.set()
        wait_until(lambda: not memory.status().behind)
        assert len(memory.search("boats in the harbour", limit=30, kind="turn")) == 30
        wait_until(lambda: memory.status().degraded is None)


def test_a_step_under_a_lost_claim_is_not_taken(postgres: Engine, url: str) -> None:
    with closing(open_store(url, StoreSettings(durable=False))) as store:
        store.bootstrap("ana", None)
        with store.claim("ana") as mine:
            assert mine and store.advance("ana", [Move("stage", 0, 1)], Changes())
            end_claims(postgres, url)
            with pytest.raises(Exception, match="ended the session that kept other workers away"):
                store.advance("ana", [Move("stage", 1, 2)], Changes())
            assert store.advance("bea", [Move("stage", 0, 1)], Changes())  # under no claim
        with store.claim("ana") as mine:
            assert mine and store.advance("ana", [Move("stage", 1, 2)], Changes())


@pytest.mark.requirement("SAFE-2")
def test_many_memories_of_one_process_share_few_connections(postgres: Engine, url: str) -> None:
    few = replace(QUICK, store=StoreSettings(durable=False, connections=2, busy_s=30))
    with ExitStack() as opened, ThreadPoolExecutor(12) as pool:
        memories = [
            opened.enter_context(Memory(url, f"user {number}", embedder=HashEmbedder(), settings=few))
            for number in range(12)
        ]
        list(pool.map(lambda memory: memory.ingest("I live in Lisbon with my sister"), memories))
        list(pool.map(lambda memory: memory.flush(SOON_S), memories))
        found = list(pool.map(lambda memory: len(memory.search("where do I live")), memories))
        assert found == [1] * 12
        assert postgres.server.run(_CONNECTIONS, database_of(url)) == [(3,)]  # two, and that of the claims


@pytest.mark.requirement("SAFE-2")
def test_many_namespaces_stay_within_the_limit_of_connections(postgres: Engine, url: str) -> None:
    settings = replace(QUICK, store=StoreSettings(durable=False, connections=4))
    memories = Memories(url, embedder=HashEmbedder(), settings=settings)
    try:
        for number in range(40):
            with memories.lend(f"user {number}") as memory:
                memory.ingest("I live in Lisbon")
        assert len(memories.used()) == 40
        assert int(str(postgres.server.run(_CONNECTIONS, database_of(url))[0][0])) <= 5
    finally:
        memories.close()
    wait_until(lambda: postgres.server.run(_CONNECTIONS, database_of(url)) == [(0,)])
