"""Writes during which the connection is lost are committed exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from urllib.parse import urlsplit

import psycopg
import pytest

from holdfast.memory import Memory
from holdfast.settings import StoreSettings
from holdfast.store.open import open_store
from holdfast.store.types import Changes, Move
from holdfast.testing import HashEmbedder
from tests.postgres.wire import Cut, Wire
from tests.support.memories import QUICK, texts, user
from tests.support.postgres_engine import Engine

BOTH = pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])


@pytest.fixture
def wire(url: str) -> Iterator[Wire]:
    wire = Wire(url)
    yield wire
    wire.close()


@BOTH
@pytest.mark.requirement("INV-1", "LOG-2")
def test_a_turn_is_kept_once_wherever_the_connection_is_lost(wire: Wire, cut: Cut) -> None:
    with Memory(wire.url, "ana", embedder="none", settings=QUICK) as memory:
        first = memory.ingest("the one before", session="s")
        wire.cut, wire.cut_at = cut, b"zanzibar"
        kept = memory.ingest("I moved to zanzibar", session="s")
        assert wire.cuts == 1
        after = memory.ingest("the one after", session="s")
        assert [turn.id for turn in memory.thread("s")] == [first.id, kept.id, after.id]
        assert [turn.seq for turn in memory.thread("s")] == [1, 2, 3]


def test_a_turn_that_the_server_commits_late_is_kept_once(wire: Wire, postgres: Engine, url: str) -> None:
    """The first attempt waits on the server, and so does the second: there is one turn, whichever is first."""
    database = urlsplit(url).path.lstrip("/")
    with Memory(wire.url, "ana", embedder="none", settings=QUICK) as memory, ThreadPoolExecutor(1) as pool:
        memory.ingest("hello", session="s")
        memory.flush()
        with psycopg.connect(postgres.server.url_for_admin(database)) as slow:
            slow.execute("SELECT 1 FROM holdfast.namespaces FOR UPDATE")
            wire.cut, wire.cut_at = Cut.MEANWHILE, b"zanzibar"
            kept = pool.submit(memory.ingest, "I moved to zanzibar", session="s")
            while not postgres.server.run(_TWO_WAIT, database)[0][0]:
                assert not kept.done()
        turn = kept.result()
        assert [one.id for one in memory.thread("s")][1:] == [turn.id]
        assert texts(memory.thread("s")) == ["hello", "I moved to zanzibar"]


_TWO_WAIT = """SELECT count(*) >= 2 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'"""


@BOTH
def test_a_first_turn_and_many_turns_are_kept_once_too(wire: Wire, cut: Cut) -> None:
    with Memory(wire.url, "ana", embedder="none", settings=QUICK) as memory:
        wire.cut, wire.cut_at = cut, b"zanzibar"
        memory.ingest("I moved to zanzibar", session="s")
        wire.cut_at = b"mombasa"
        memory.ingest_many([user(f"{number} days to mombasa") for number in range(40)], session="t")
        assert wire.cuts == 2
        assert texts(memory.thread("s")) == ["I moved to zanzibar"]
        assert texts(memory.thread("t")) == [f"{number} days to mombasa" for number in range(40)]
        assert [turn.index for turn in memory.thread("t")] == list(range(40))


@BOTH
@pytest.mark.parametrize("ends_at", [b"zanzibar", b"COMMIT"])
def test_an_act_happens_once(wire: Wire, cut: Cut, ends_at: bytes) -> None:
    with Memory(wire.url, "ana", embedder="none", settings=QUICK) as memory:
        memory.ingest("hello")
        memory.flush()
        wire.cut, wire.cut_at = cut, ends_at
        record = memory.remember("I moved to zanzibar")
        assert wire.cuts == 1
        with memory.view as view:
            assert view.counts().records == 1
            assert [act.entry for act in view.acts(record.id)] == ["remember"]


@BOTH
def test_a_step_of_derived_work_counts_once(wire: Wire, cut: Cut) -> None:
    changes = Changes()
    changes.counters["2026-11-15", "turns"] += 1
    with closing(open_store(wire.url, StoreSettings())) as store:
        store.bootstrap("ana", "s")
        wire.cut, wire.cut_at = cut, b"COMMIT"
        assert store.advance("ana", [Move("stage", 0, 5)], changes)
        assert wire.cuts == 1
        with store.snapshot("ana") as view:
            assert (view.cursor("stage"), view.counters(None)) == (5, [("2026-11-15", "turns", 1)])
        assert store.advance("ana", [Move("stage", 5, 9)], Changes())


@BOTH
def test_an_erase_is_done_and_reported_once(wire: Wire, cut: Cut) -> None:
    with Memory(wire.url, "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        memory.ingest("I moved to zanzibar", session="away")
        memory.ingest("I like tea", session="here")
        memory.flush()
        wire.cut, wire.cut_at = cut, b'"scope": "session"'
        erased = memory.erase(session="away")
        assert (wire.cuts, erased.turns) == (1, 1)
        memory.flush()
        with memory.view as view:
            lines = view.line_counts()
        assert (lines["erase"], lines["turn"]) == (2, 1)  # the tombstone, and what was done


def test_an_erase_reports_success_if_the_connection_is_lost_afterwards(wire: Wire, postgres: Engine, url: str) -> None:
    with Memory(wire.url, "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        turn = memory.ingest("I moved to zanzibar", session="away")
        memory.flush()
        postgres.server.run(_END_ALL, urlsplit(url).path.lstrip("/"))  # so that statements are sent whole again
        wire.cut_at = b"UNION ALL SELECT"  # how far the views have come: what is left is derived anew
        wire.again = True  # the worker asks it too
        erased = memory.erase(turn=turn.id)
        assert (wire.cuts > 0, erased.turns) == (True, 1)
        assert erased.degraded is not None and "does not answer" in erased.degraded
        wire.cut_at = None
        memory.flush()
        assert memory.search("zanzibar") == []


_END_ALL = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""


def test_a_search_after_a_lost_connection_finds_the_same(wire: Wire) -> None:
    with Memory(wire.url, "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        memory.ingest("I moved to zanzibar")
        memory.flush()
        before = memory.search("zanzibar")
        wire.cut_at = b"BEGIN"
        assert [hit.text for hit in memory.search("zanzibar")] == [hit.text for hit in before]
        assert wire.cuts == 1


def test_a_retrieval_is_never_counted_twice(wire: Wire) -> None:
    with Memory(wire.url, "ana", embedder="none", settings=QUICK) as memory:
        record = memory.remember("I moved to zanzibar")
        with closing(open_store(wire.url, StoreSettings())) as store:
            wire.cut, wire.cut_at = Cut.AFTER, b"COMMIT"
            store.count_retrievals("ana", {record.id: 1}, datetime.now(UTC))
            assert wire.cuts == 1
            with store.snapshot("ana") as view:
                found = view.record(record.id)
                assert found is not None and found.retrieval_count == 1
