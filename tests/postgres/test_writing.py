"""Concurrent writers of one store, claims, snapshots, and texts that the server must keep as they are."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

import psycopg
import pytest

from holdfast.errors import Closed, InputError, MissingExtra, StoreBusy, StoreError
from holdfast.memory import Memory
from holdfast.settings import StoreSettings
from holdfast.store.open import open_store
from holdfast.store.postgres.address import read_address
from holdfast.store.types import Changes, Move
from tests.support.memories import QUICK, texts, user
from tests.support.postgres_engine import Engine

QUICK_STORE = StoreSettings(durable=False, busy_s=0.2, reconnect_s=0.2)


@pytest.mark.requirement("LOG-2", "LOG-3")
def test_eight_writers_of_one_session_leave_no_gap_and_no_duplicate(url: str) -> None:
    with Memory(url, "ana", embedder="none", settings=QUICK) as memory:

        def write(number: int) -> list[int]:
            return [memory.ingest(f"{number}.{turn}", session="s", key=f"{number}.{turn}").seq for turn in range(20)]

        with ThreadPoolExecutor(8) as pool:
            seqs = [seq for written in pool.map(write, range(8)) for seq in written]
        turns = memory.thread("s")
        assert sorted(seqs) == list(range(1, 161)) == [turn.seq for turn in turns]
        assert [turn.index for turn in turns] == list(range(160))


@pytest.mark.requirement("LOG-4")
def test_one_key_from_eight_writers_is_one_turn(url: str) -> None:
    together = threading.Barrier(8)
    with Memory(url, "ana", embedder="none", settings=QUICK) as memory:

        def write(_: int) -> str:
            together.wait()
            return memory.ingest("the same", session="s", key="k").id

        with ThreadPoolExecutor(8) as pool:
            assert len(set(pool.map(write, range(8)))) == 1
        assert len(memory.thread("s")) == 1


def test_a_key_that_occurs_twice_in_one_list_is_one_turn(url: str) -> None:
    with Memory(url, "ana", embedder="none", settings=QUICK) as memory:
        memory.ingest("hello", session="s")
        kept = memory.ingest_many([user("a", key="k"), user("b"), user("a", key="k")], session="s")
        assert [turn.id for turn in kept] == [kept[0].id, kept[1].id, kept[0].id]
        assert texts(memory.thread("s")) == ["hello", "a", "b"]


@pytest.mark.parametrize(
    "text", ["a\x00b", "\x00", "\ue000", "\ue000e", "\ue0000", "x\ue000\x00e\x00", "\U0001f600\x7f"]
)
def test_every_text_is_returned_as_it_was_given(url: str, text: str) -> None:
    with Memory(url, "ana", embedder="none", settings=QUICK) as memory:
        said, asked = (memory.ingest(text + end, session="s", metadata={"said": text}) for end in "!?")
        record = memory.remember(f"kept {text}")
        memory.flush()
        assert memory.thread("s") == [said, asked]
        assert [one.text for one in memory.thread("s")] == [text + "!", text + "?"]
        assert said.metadata == {"said": text}
        assert memory.why(record.id).text == f"kept {text}"


def test_an_append_does_not_wait_for_derived_work(url: str) -> None:
    with Memory(url, "ana", embedder="none", settings=replace(QUICK, store=QUICK_STORE)) as memory:
        memory.ingest("first", session="s")
        memory.flush()
        with psycopg.connect(url) as other:  # as a long batch of derived work does
            ns = memory._store.database.ns_of("ana")  # type: ignore[attr-defined]
            other.execute("SET citus.propagate_set_commands = 'local'")
            other.execute(f"SET LOCAL holdfast.ns = '{ns}'".encode())
            assert other.execute("SELECT 1 FROM holdfast.views WHERE ns = %s FOR UPDATE", (ns,)).fetchone()
            assert memory.ingest("second", session="s").index == 1
            with pytest.raises(StoreBusy, match="too busy"):
                memory.remember("what is written to the views waits")


def test_one_worker_at_a_time_has_the_claim_and_its_death_releases_it(postgres: Engine, url: str) -> None:
    with closing(open_store(url, QUICK_STORE)) as one, closing(open_store(url, QUICK_STORE)) as other:
        with one.claim("ana") as mine:
            assert mine
            with one.claim("ana") as again, other.claim("ana") as theirs, other.claim("bea") as elsewhere:
                assert (again, theirs, elsewhere) == (False, False, True)
        with other.claim("ana") as mine:
            assert mine
        with one.claim("ana") as mine:
            assert mine
            postgres.server.run(_END_ALL, urlsplit(url).path.lstrip("/"))  # as if its process had died
            with other.claim("ana") as theirs:
                assert theirs


def test_a_cursor_moves_only_from_where_it_was_found(url: str) -> None:
    with closing(open_store(url, QUICK_STORE)) as one, closing(open_store(url, QUICK_STORE)) as other:
        assert one.advance("ana", [Move("a", 0, 5), Move("b", 0, 2)], Changes())
        assert not other.advance("ana", [Move("a", 5, 6), Move("b", 0, 3)], Changes())
        assert other.advance("ana", [Move("a", 5, 6), Move("b", 2, 3)], Changes())
        with one.snapshot("ana") as view:
            assert (view.cursor("a"), view.cursor("b"), view.cursor("c")) == (6, 3, 0)


def test_a_snapshot_does_not_change_while_others_write(url: str) -> None:
    with Memory(url, "ana", embedder="none", settings=QUICK) as memory:
        memory.ingest("first", session="s")
        with memory.view as view:
            memory.ingest("second", session="s")
            memory.ingest("third", session="t")
            assert view.end() == 1 and view.last_index("s") == 0 and view.session_number("t") is None
            with memory._store.snapshot("bea") as inside:
                assert inside.end() == 0
            assert view.end() == 1
        with memory.view as view:
            assert view.end() == 3


def test_a_store_that_was_closed_says_so(url: str) -> None:
    store = open_store(url, QUICK_STORE)
    store.close()
    store.close()
    with pytest.raises(Closed, match="open it again"):
        store.bootstrap("ana", None)
    with pytest.raises(Closed), store.snapshot("ana"):
        raise AssertionError


def test_too_many_readers_wait_and_then_get_an_error_with_advice(url: str) -> None:
    few = replace(QUICK_STORE, connections=1, busy_s=0.05)
    with (
        closing(open_store(url, few)) as store,
        store.snapshot("ana"),
        ThreadPoolExecutor(1) as pool,
        pytest.raises(StoreBusy, match=r"raise store\.connections"),
    ):
        pool.submit(store.bootstrap, "ana", None).result()


def test_copies_lists_backups_and_exports_of_the_namespace(url: str) -> None:
    with closing(open_store(url, QUICK_STORE)) as store:
        store.bootstrap("ana", None)
        store.note_copy(None, "/backup/all", datetime.now(UTC))
        store.note_copy("ana", "/export/ana", datetime.now(UTC))
        store.note_copy("ana", "/export/ana", datetime.now(UTC))
        store.note_copy("nobody", "/export/nobody", datetime.now(UTC))
        assert store.copies("ana") == ["/backup/all", "/export/ana"]
        assert store.copies("bea") == ["/backup/all"] == store.copies("nobody")


def test_the_server_reports_its_size_and_faults(postgres: Engine, url: str) -> None:
    with closing(open_store(url, QUICK_STORE)) as store:
        assert store.size() > 100_000
        assert store.check() == []
        with pytest.raises(StoreError, match="pg_dump"):
            store.copy(__file__)  # type: ignore[arg-type]


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)  # what an import that fails leaves behind
    with pytest.raises(MissingExtra, match=r"pip install 'holdfast\[postgres\]'"):
        open_store("postgresql://ana@db.example/memories", QUICK_STORE)


def test_an_address_contains_its_password_but_does_not_show_it() -> None:
    given = "postgresql://ana:hunter2@db.example:5433/memories?sslmode=require&holdfast_schema=team&password=other"
    address = read_address(given)
    assert "hunter2" in address.conninfo and "holdfast" not in address.conninfo
    assert address.shown == "postgresql://ana@db.example:5433/memories?sslmode=require&holdfast_schema=team"
    assert (address.schema, address.allow_superuser) == ("team", False)
    assert read_address("postgres:///memories?holdfast_allow_superuser=1").allow_superuser


@pytest.mark.parametrize(
    "address",
    ["mysql://x/y", "postgresql://x/y?holdfast_shards=2", "postgresql://x/y?holdfast_schema=", "postgresql://[x/y"],
)
def test_an_address_that_cannot_be_used_is_refused(address: str) -> None:
    with pytest.raises(InputError):
        read_address(address)


_END_ALL = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""
