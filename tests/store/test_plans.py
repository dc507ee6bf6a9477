"""Reads use indexes, so that their cost does not grow with the store. White-box tests, on purpose."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from holdfast.log.messages import read_turn
from holdfast.memory import Memory
from holdfast.model import NewTurn, Turn
from holdfast.settings import LogSettings
from holdfast.store.open import open_store
from holdfast.store.snapshot import Snapshot
from holdfast.store.sqlite.transaction import SqliteTransaction
from holdfast.store.types import Space
from tests.support.memories import EAGER, QUICK, OpenMemory, ingest_month

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def turns(count: int, words: str = "the harbour is quiet tonight") -> list[NewTurn]:
    return [
        read_turn(f"{words} {number}", role="user", at=None, key=None, origin=None, stability=None, metadata=None,
                  now=NOW, settings=LogSettings())
        for number in range(count)
    ]  # fmt: skip


READS: dict[str, Callable[[Snapshot], object]] = {
    "recent": lambda view: list(view.recent_turns(5, None, None, None)),
    "recent since": lambda view: list(view.recent_turns(5, NOW, None, None)),
    "recent until": lambda view: list(view.recent_turns(5, None, NOW, None)),
    "recent of a session": lambda view: list(view.recent_turns(5, None, None, "2026-09-01-a")),
    "recent of a session between": lambda view: list(view.recent_turns(5, NOW, NOW, "2026-09-01-a")),
    "thread": lambda view: view.thread("2026-09-01-a", -1, 500),
    "places": lambda view: view.places("2026-09-01-a"),
    "places of a history": lambda view: view.places("2026-09-01-a", turns(3)),
    "last index": lambda view: view.last_index("2026-09-01-a"),
    "turn": lambda view: view.turn("t-1"),
    "turns": lambda view: view.turns([1, 2, 3]),
    "end": lambda view: view.end(),
    "end of records": lambda view: view.end(Space.RECORD),
    "documents": lambda view: view.documents(Space.TURN, 3, 5),
    "documents of records": lambda view: view.documents(Space.RECORD, 0, 5),
    "record": lambda view: view.record("r-1"),
    "recent records": lambda view: view.recent_records(5, None, None, None, None),
    "a page of turns": lambda view: list(view.recent_turns(5, before=list(view.recent_turns(5))[-1].id)),
    "a page of records": lambda view: view.recent_records(5, before="r-1", live=None),
    "hidden": lambda view: view.hidden(Space.TURN),
    "is hidden": lambda view: view.is_hidden("t-1"),
    "acts": lambda view: view.acts("t-1"),
    "receipts": lambda view: view.receipts("t-1"),
    "postings": lambda view: view.postings(Space.TURN, ["a"]),
    "vectors": lambda view: view.vectors(Space.TURN, "f", [1, 2]),
    "vectors between": lambda view: view.vectors_between(Space.TURN, "f", 1, 5),
    "segments": lambda view: view.segment_blocks(Space.TURN, "f"),
}


@pytest.mark.requirement("RECALL-5", "RECALL-6")
@pytest.mark.parametrize("read", READS)
def test_a_read_uses_an_index_and_neither_scans_nor_sorts(open_memory: OpenMemory, tmp_path: Path, read: str) -> None:
    ingest_month(open_memory(), 60)
    store = open_store(tmp_path / "memory.db", QUICK.store)
    asked: list[tuple[str, apsw.Bindings | None]] = []

    def note(_: object, sql: str, values: apsw.Bindings | None) -> bool:
        asked.append((sql, values))
        return True

    with store.snapshot("ana") as view:
        assert isinstance(view._tx, SqliteTransaction)
        connection = view._tx.connection
        connection.exec_trace = note
        READS[read](view)
        connection.exec_trace = None
        steps = [
            str(row[3])
            for sql, values in asked
            if sql.lstrip().startswith("SELECT")
            for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)
        ]
    store.close()
    assert steps
    assert [step for step in steps if step.startswith("SCAN") and "CONSTANT" not in step] == []
    assert [step for step in steps if "TEMP B-TREE" in step] == []


@pytest.mark.requirement("RECALL-5")
def test_retired_records_are_read_by_their_index(open_memory: OpenMemory, tmp_path: Path) -> None:
    ingest_month(open_memory(), 60)
    store = open_store(tmp_path / "memory.db", QUICK.store)
    asked: list[str] = []

    def note(_: object, sql: str, values: apsw.Bindings | None) -> bool:
        asked.append(sql)
        return True

    with store.snapshot("ana") as view:
        assert isinstance(view._tx, SqliteTransaction)
        connection = view._tx.connection
        connection.exec_trace = note
        view.retired()
        connection.exec_trace = None
        (step,) = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {asked[0]}", {"ns": view._tx.ns})]
    store.close()
    assert "records_retired" in step


@pytest.mark.requirement("RECALL-5", "INV-4")
def test_ten_thousand_namespaces_open_and_answer_as_quickly_as_forty(tmp_path: Path) -> None:
    def build(path: Path, namespaces: int) -> None:
        store = open_store(path, QUICK.store)
        said = turns(4)
        for number in range(namespaces):
            store.append(f"ns {number}", "s", said, NOW)
        store.close()

    def cost(path: Path) -> float:
        """Return the seconds to open and search, the best of a few attempts."""

        def once() -> float:
            started = time.perf_counter()
            with Memory(path, "ns 17", embedder="none", settings=QUICK) as memory:
                assert len(memory.search("harbour")) == len(memory.thread("s")) == len(memory.recent(4)) == 4
                memory.ingest("one more", key="k")
            return time.perf_counter() - started

        return min(once() for _ in range(7))

    few, many = tmp_path / "few.db", tmp_path / "many.db"
    build(few, 40)
    build(many, 10_000)
    assert cost(many) < 3 * cost(few) + 0.005


def newest(memory: Memory) -> list[Turn]:
    return memory.recent(10)


@pytest.mark.requirement("RECALL-5")
def test_recent_costs_the_same_in_a_store_fifty_times_as_large(tmp_path: Path) -> None:
    def cost(path: Path, count: int) -> float:
        store = open_store(path, QUICK.store)
        store.append("ana", "s", turns(count), NOW)
        store.close()
        with Memory(path, "ana", embedder="none", settings=EAGER) as memory:
            memory.flush()  # the worker must not run meanwhile
            newest(memory)

            def once() -> float:
                started = time.perf_counter()
                for _ in range(20):
                    newest(memory)
                return time.perf_counter() - started

            return min(once() for _ in range(5))

    assert cost(tmp_path / "large.db", 20_000) < 3 * cost(tmp_path / "small.db", 400) + 0.005
