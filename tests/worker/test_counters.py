"""Retrievals are counted in the background; records that are never retrieved stay at zero."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from holdfast.errors import StoreBusy
from holdfast.memory import Memory
from holdfast.model import Record
from holdfast.settings import JanitorSettings
from holdfast.store.store import Store
from holdfast.testing import FixedClock
from holdfast.worker import worker
from tests.support.memories import EAGER, QUICK, OpenMemory, ingest_month

COUNTING = replace(QUICK, janitor=JanitorSettings())
NOW = datetime(2026, 5, 4, 8, 30, tzinfo=UTC)


def counts(memory: Memory) -> dict[str, int]:
    memory.flush()
    return {record.text: record.retrieval_count for record in records(memory)}


def records(memory: Memory) -> list[Record]:
    found = memory.recent(1000, kind="record")
    return [record for record in found if isinstance(record, Record)]


@pytest.mark.requirement("KEEP-1")
def test_returned_records_are_counted_and_others_stay_at_zero(open_memory: OpenMemory) -> None:
    clock = FixedClock(NOW)
    memory = open_memory(settings=COUNTING, clock=clock)
    memory.remember("Ana keeps her sourdough starter in the cellar")
    memory.remember("The slipway server listens on port 9417")
    assert [hit.text for hit in memory.search("sourdough starter", kind="fact", limit=1)]
    memory.search("sourdough starter", kind="fact", limit=1)
    assert counts(memory) == {
        "Ana keeps her sourdough starter in the cellar": 2,
        "The slipway server listens on port 9417": 0,
    }
    (found,) = (record for record in records(memory) if record.retrieval_count)
    assert found.last_retrieved_at == NOW


@pytest.mark.requirement("KEEP-1")
def test_a_record_is_counted_when_its_turn_is_returned_for_it(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=COUNTING)
    memory.ingest("The API of our shop runs on port 8080.")
    memory.flush()
    assert [hit.kind for hit in memory.search("port of the shop's API", kind="turn")] == ["turn"]
    assert counts(memory) == {"The API of our shop runs on port 8080.": 1}


@pytest.mark.requirement("KEEP-1", "INV-3")
def test_counts_survive_a_rebuild_in_place_and_a_close(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=replace(EAGER, janitor=JanitorSettings()))
    ingest_month(memory, 120)
    memory.flush()
    memory.search("what does Bree do?")
    memory.search("piano tuning")
    memory.close()
    memory = open_memory(settings=COUNTING)
    before = counts(memory)
    assert sum(before.values()) > 0
    memory.rebuild()
    assert counts(memory) == before


@pytest.mark.requirement("KEEP-1", "INV-4")
def test_reading_global_changes_no_counters_there(open_memory: OpenMemory) -> None:
    common, memory = open_memory("global", settings=COUNTING), open_memory("ana", settings=COUNTING)
    common.remember("Releases are cut on Tuesdays")
    assert memory.search("when are releases cut?")
    memory.flush()
    assert counts(common) == {"Releases are cut on Tuesdays": 0}


@pytest.mark.requirement("KEEP-1")
def test_a_store_that_cannot_write_counts_loses_no_answer(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_memory(settings=COUNTING)
    memory.remember("Releases are cut on Tuesdays")

    def busy(*_: object) -> None:
        raise StoreBusy("it is locked")

    monkeypatch.setattr(Store, "count_retrievals", busy)
    with caplog.at_level(logging.WARNING, logger="holdfast"):
        for _ in range(2):
            assert memory.search("when are releases cut?")
            memory.flush()
    assert [message for message in caplog.messages if "not counted" in message] == [
        "ana: retrievals are not counted: it is locked"
    ]


@pytest.mark.requirement("KEEP-1")
def test_a_background_thread_writes_the_counts(open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    written = threading.Event()
    write = Store.count_retrievals

    def note(store: Store, namespace: str, found: Mapping[str, int], last: datetime) -> None:
        write(store, namespace, found, last)
        written.set()

    monkeypatch.setattr(Store, "count_retrievals", note)
    monkeypatch.setattr(worker, "COUNT_EVERY_S", 0.0)
    memory = open_memory(settings=COUNTING)
    record = memory.remember("Releases are cut on Tuesdays")
    memory.search("when are releases cut?")
    assert written.wait(30)
    assert [one.retrieval_count for one in records(memory) if one.id == record.id] == [1]


@pytest.mark.requirement("KEEP-1")
def test_records_recalled_into_a_context_are_counted(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=COUNTING)
    memory.remember("The slipway server listens on port 9417")
    memory.flush()
    made = memory.context([{"role": "user", "content": "which port does the slipway server listen on?"}], "s9")
    assert "9417" in made.text
    assert counts(memory) == {"The slipway server listens on port 9417": 1}
