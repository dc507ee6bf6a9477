"""Many threads and many memories use one file without errors, losses or duplicates."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from holdfast.errors import Closed
from holdfast.memory import Memory
from holdfast.store.sqlite import database
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK, OpenMemory, texts, user


def all_at_once(works: list[Callable[[], None]]) -> list[BaseException]:
    """Run each in its own thread, started together, and return what they raised."""
    gate, errors = threading.Barrier(len(works)), []

    def run(work: Callable[[], None]) -> None:
        gate.wait()
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@pytest.mark.requirement("SAFE-2", "LOG-1")
def test_eight_threads_write_and_search_one_memory(memory: Memory) -> None:
    def work(number: int) -> None:
        for turn in range(50):
            memory.ingest(f"thread {number} turn {turn}", session="shared" if turn % 2 else f"own {number}")
            if turn % 5 == 0:
                assert memory.search(f"thread {number}")
                memory.recent(5)

    assert all_at_once([lambda n=n: work(n) for n in range(8)]) == []  # type: ignore[misc]
    memory.flush(30)
    shared = memory.thread("shared")
    assert [turn.index for turn in shared] == list(range(200))
    for number in range(8):
        own = memory.thread(f"own {number}")
        assert texts(own) == [f"thread {number} turn {turn}" for turn in range(0, 50, 2)]
        mine = [turn.text for turn in shared if turn.text.startswith(f"thread {number} ")]
        assert mine == [f"thread {number} turn {turn}" for turn in range(1, 50, 2)]
    status = memory.status()
    assert (status.turns, status.log_end, status.vectors_done) == (400, 400, 400)


@pytest.mark.requirement("SAFE-2")
def test_two_memories_on_one_file_see_each_others_turns_at_once(open_memory: OpenMemory) -> None:
    one, other = open_memory(), open_memory()
    for number in range(20):
        writer, reader = (one, other) if number % 2 else (other, one)
        turn = writer.ingest(f"turn token{number}")
        assert turn.index == number
        assert reader.search(f"token{number}")[0].id == turn.id
        assert reader.recent(1) == [turn]
    one.close()
    assert len(other.thread("default")) == 20
    other.ingest("still open")


@pytest.mark.requirement("SAFE-2", "INV-4")
def test_memories_of_different_namespaces_write_concurrently(open_memory: OpenMemory) -> None:
    memories = [open_memory(f"ns {number}") for number in range(6)]

    def work(memory: Memory) -> None:
        for turn in range(30):
            memory.ingest(f"{memory.namespace} says {turn}")

    assert all_at_once([lambda m=m: work(m) for m in memories]) == []  # type: ignore[misc]
    for memory in memories:
        memory.flush(30)
        assert texts(memory.thread("default")) == [f"{memory.namespace} says {turn}" for turn in range(30)]
        assert [turn.seq for turn in memory.thread("default")] == list(range(1, 31))


@pytest.mark.requirement("SAFE-2")
def test_many_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    """The first one creates the tables; the others must not take an unfinished file for a foreign one."""

    def work(path: Path, number: int) -> None:
        with Memory(path, "ana", embedder="none", settings=QUICK) as memory:
            memory.ingest(f"from {number}")

    for attempt in range(25):
        path = tmp_path / f"{attempt}.db"
        assert all_at_once([lambda p=path, n=n: work(p, n) for n in range(8)]) == []  # type: ignore[misc]
        with Memory(path, "ana", embedder="none", settings=QUICK) as memory:
            assert sorted(texts(memory.recent())) == [f"from {number}" for number in range(8)]


@pytest.mark.requirement("SAFE-2")
def test_a_file_that_another_process_creates_is_not_foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The race of the test above, made certain: the tables appear between two checks of the file."""
    path, look = tmp_path / "memory.db", database._has_tables

    def look_late(one: apsw.Connection) -> bool:
        monkeypatch.setattr(database, "_has_tables", look)
        Memory(path, "ana", embedder="none", settings=QUICK).close()
        return look(one)

    monkeypatch.setattr(database, "_has_tables", look_late)
    with Memory(path, "ana", embedder="none", settings=QUICK) as memory:
        memory.ingest("words")


@pytest.mark.requirement("SAFE-2")
def test_the_same_key_from_many_threads_is_one_turn(memory: Memory) -> None:
    ids: list[str] = []
    errors = all_at_once([lambda: ids.append(memory.ingest("words", key="k").id)] * 8)
    assert errors == []
    assert len(ids) == 8 and len(set(ids)) == 1
    assert memory.status().turns == 1


@pytest.mark.requirement("SAFE-2")
def test_threads_that_have_ended_leave_no_open_files(memory: Memory) -> None:
    """A server with a thread for each request must not run out of file descriptors."""
    memory.ingest("words")
    memory.flush()

    def ask() -> None:
        thread = threading.Thread(target=memory.recent)
        thread.start()
        thread.join()

    ask()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(60):
        ask()
    assert len(os.listdir("/proc/self/fd")) - before < 20


@pytest.mark.requirement("SAFE-2")
def test_closing_during_reads_and_writes_raises_only_closed(tmp_path: Path) -> None:
    for attempt in range(10):
        memory = Memory(tmp_path / f"{attempt}.db", "ana", embedder=HashEmbedder(), settings=QUICK)
        memory.ingest("the harbour is quiet")
        under_way = threading.Barrier(5)

        with ThreadPoolExecutor(4) as pool:
            users = [pool.submit(use_until_it_fails, memory, under_way) for _ in range(4)]
            under_way.wait()
            memory.close()
            ended = [future.exception(30) for future in users]
        assert [type(error) for error in ended] == [Closed] * 4


def use_until_it_fails(memory: Memory, under_way: threading.Barrier) -> None:
    under_way.wait()
    while True:
        memory.search("harbour")
        memory.ingest("more words about the harbour")


@pytest.mark.requirement("LOG-7", "SAFE-2")
def test_concurrent_histories_in_one_session_lose_nothing(memory: Memory) -> None:
    """Two conversations of two hosts in one session are both complete, each in its own order."""

    def work(name: str) -> None:
        talk = [user(f"{name} {number}") for number in range(30)]
        for end in range(1, 31):
            memory.ingest_many(talk[:end])

    assert all_at_once([lambda: work("left"), lambda: work("right")]) == []
    said = texts(memory.thread("default"))
    for name in ("left", "right"):
        assert list(dict.fromkeys(text for text in said if text.startswith(name))) == [f"{name} {n}" for n in range(30)]
