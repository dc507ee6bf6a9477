"""Turns that wait for the index cost a search a bounded time, however many an import has left there."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from holdfast.index import candidates
from holdfast.index.blocks import IndexSizes, cut_turns, index_words
from holdfast.memory import Memory
from holdfast.settings import tuned
from holdfast.store.types import Space
from holdfast.text.words import term_counts
from holdfast.worker.worker import Worker
from tests.support.memories import QUICK, found, user

pytestmark = pytest.mark.requirement("TRUST-5", "LOG-3")


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is derived behind the test's back."""
    monkeypatch.setattr(Worker, "wake", lambda worker, namespace: None)


def fill(place: Path, count: int) -> Memory:
    memory = Memory(place, "ana", settings=QUICK)
    said = "The committee talked about the harbour, the drains of the lower town and the price of paint. Part {}"
    memory.ingest_many([user(said.format(number), key=f"k{number}") for number in range(count)], session="old")
    memory.ingest("My sister Anna lives in Porto.", session="now")
    return memory


@pytest.mark.slow
def test_a_search_reads_few_of_the_turns_that_an_import_left(tmp_path: Path) -> None:
    took: dict[int, float] = {}
    for count in (500, 5000):
        with fill(tmp_path / f"{count}.db", count) as memory:
            times = []
            for _ in range(3):
                memory._shared.cache.clear()  # as in a fresh process, with its modules loaded
                started = time.process_time()
                hits = memory.search("Where does Anna live?")
                times.append(time.process_time() - started)
            took[count] = min(times)
            assert "My sister Anna lives in Porto." in found(hits)
    assert took[5000] < 3 * took[500]


def test_a_batch_that_was_indexed_does_not_cost_the_others_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(text: str) -> Counter[str]:
        read.append(text)
        return term_counts(text)

    monkeypatch.setattr(candidates, "term_counts", counted)
    with fill(tmp_path / "memory.db", 400) as memory:
        memory.search("harbour")
        assert len(read) == 401
        assert index_words(memory._shared.store, "ana", Space.TURN, tuned(memory.settings, IndexSizes)) > 0
        read.clear()
        assert memory.search("harbour") and read == []
        memory.ingest("The harbour is closed.", session="now")
        assert "The harbour is closed." in found(memory.search("harbour closed")) and len(read) == 1


def test_a_batch_lets_callers_go_first_now_and_then(tmp_path: Path) -> None:
    pauses: list[None] = []
    with fill(tmp_path / "memory.db", 400) as memory:
        sizes = tuned(memory.settings, IndexSizes)
        done = index_words(memory._shared.store, "ana", Space.TURN, sizes, lambda: pauses.append(None))
    assert done > 300 and len(pauses) >= done // 100


def test_a_waiting_turn_of_megabytes_is_not_read_by_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(text: str) -> Counter[str]:
        read.append(text)
        return term_counts(text)

    with fill(tmp_path / "memory.db", 40) as memory:
        monkeypatch.setattr(candidates, "term_counts", counted)
        memory.ingest("The harbour master wrote this. " * 150_000, session="large")
        assert memory.search("harbour")
        assert sum(map(len, read)) < 100_000


def test_deriving_a_long_turn_lets_callers_go_first(tmp_path: Path) -> None:
    pauses: list[None] = []
    with fill(tmp_path / "memory.db", 1) as memory:
        memory.ingest("The harbour master wrote this. " * 30_000, session="large")
        store, sizes = memory._shared.store, tuned(memory.settings, IndexSizes)
        cut_turns(store, "ana", sizes, lambda: pauses.append(None))
        assert len(pauses) > 5
        pauses.clear()
        while index_words(store, "ana", Space.TURN, sizes, lambda: pauses.append(None)):
            assert len(pauses) > 5
