"""Automatic compaction of a growing session in the background."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest

from holdfast.compact.prepare import CompactSizes
from holdfast.compact.run import Compactor
from holdfast.memory import Memory
from holdfast.model import utc_now
from holdfast.models.tokens import TokenCounter
from holdfast.settings import CompactSettings
from holdfast.worker.compactor import CompactionWorker
from tests.support.chats import boatyard, ingest
from tests.support.memories import QUICK, OpenMemory


def say(memory: Memory, count: int, seed: int = 0, session: str = "yard") -> None:
    for message in boatyard(count, seed=seed):
        memory.ingest(str(message["content"]), str(message["role"]), session)


@pytest.mark.requirement("COMP-1", "LOG-3")
def test_a_session_over_two_thousand_tokens_is_compacted(memory: Memory) -> None:
    say(memory, 60)
    memory.flush()
    assert len(memory.active("yard").turns) == 60  # about 1,200 tokens
    say(memory, 80, seed=1)
    memory.flush()
    view = memory.active("yard")
    assert view.summaries and len(view.turns) < 140 and view.tokens < 2000
    assert len(memory.thread("yard")) == 140
    assert memory.search("varnished", kind="summary")[0].semantic != 0  # flush waits for its vectors too


@pytest.mark.requirement("COMP-1")
def test_an_imported_history_is_compacted_with_its_next_turn(memory: Memory) -> None:
    ingest(memory, boatyard(160))
    assert len(memory.active("yard").turns) == 160
    memory.ingest("And now we paint the ferry.", session="yard")
    memory.flush()
    assert len(memory.active("yard").turns) == 4


@pytest.mark.requirement("COMP-1", "LOG-7")
def test_a_rolling_history_is_compacted_when_it_grows(memory: Memory) -> None:
    talk = boatyard(160)
    ingest(memory, talk)
    ingest(memory, talk)
    assert len(memory.active("yard").turns) == 160  # nothing new
    ingest(memory, [*talk, *boatyard(2, seed=1)])
    assert len(memory.thread("yard")) == 162
    assert len(memory.active("yard").turns) == 4


@pytest.mark.requirement("COMP-1")
def test_four_long_turns_do_not_cause_one_compaction_per_turn(memory: Memory) -> None:
    long = " ".join(str(message["content"]) for message in boatyard(60))
    for number in range(9):
        memory.ingest(f"{number}. {long}", session="yard")
        memory.flush()
    made = [len(record.turn_ids) for record in memory.active("yard").summaries]
    assert made and min(made) >= 1 and len(made) <= 4


@pytest.mark.requirement("COMP-1")
def test_automatic_compaction_leaves_other_sessions_alone(memory: Memory) -> None:
    say(memory, 160)
    say(memory, 20, session="other")
    memory.flush()
    assert memory.active("yard").summaries
    assert len(memory.active("other").turns) == 20


def test_automatic_compaction_can_be_switched_off(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=replace(QUICK, compact=CompactSettings(automatic=False)))
    say(memory, 160)
    memory.flush()
    assert len(memory.active("yard").turns) == 160
    assert memory.compact("yard").did_compact


def test_closing_during_a_compaction_is_quick_and_loses_nothing(
    open_memory: OpenMemory, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_memory()
    memory.ingest_many(boatyard(600), session="yard")
    memory.ingest("And now we paint the ferry.", session="yard")
    with caplog.at_level(logging.WARNING, "holdfast"):
        memory.close()
    assert caplog.records == []
    again = open_memory()
    assert len(again.thread("yard")) == 601
    view = again.active("yard")
    told = {turn_id for record in (*view.summaries, *view.guidance) for turn_id in record.turn_ids}
    assert len(told) + len(view.turns) == 601


class Busy:
    """A compactor that signals when it starts and waits until it may continue."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

    def compact(self, session: str, cause: str, progress: Callable[[int, int], None]) -> None:
        self.begun.set()
        assert self.go.wait(30)
        progress(1, 2)

    def close(self) -> None:
        pass


@pytest.mark.requirement("LOG-3", "SAFE-2")
def test_closing_during_a_compaction_releases_a_waiting_flush() -> None:
    busy = Busy()
    compacting = CompactionWorker(lambda _: cast("Compactor", busy), True, lambda _: None)
    compacting.grew("ana", "yard")
    assert busy.begun.wait(30)
    compacting.grew("ana", "pier")  # while the first is at work
    waiting = threading.Thread(target=compacting.flush, args=("ana", None), daemon=True)
    waiting.start()
    closing = threading.Thread(target=compacting.close, daemon=True)
    closing.start()
    while not compacting._stopping:
        closing.join(0.01)
    busy.go.set()
    waiting.join(5)
    assert not waiting.is_alive()
    closing.join(5)


@pytest.mark.requirement("COMP-4")
def test_a_failing_session_does_not_block_others(caplog: pytest.LogCaptureFixture) -> None:
    looked_at: list[str] = []

    class Made:
        did_compact = False

    class Halting:
        def compact(self, session: str, **_: object) -> Made:
            looked_at.append(session)
            if session == "a":
                raise OSError("no space left on device")
            return Made()

        def close(self) -> None:
            pass

    compacting = CompactionWorker(lambda _: cast("Compactor", Halting()), True, lambda _: None)
    with caplog.at_level(logging.CRITICAL):
        for session in ("a", "b"):
            compacting.grew("ana", session)
        compacting.flush("ana", None)
    assert sorted(set(looked_at)) == ["a", "b"]
    assert "no space left" in (compacting.degraded("ana") or "")
    compacting.close()


class Counting:
    """Counts words and records the texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def count(self, text: str) -> int:
        self.texts.append(text)
        return len(text.split())


@pytest.mark.requirement("COMP-1")
def test_token_counts_are_incremental_and_restart_after_an_erase(memory: Memory) -> None:
    counter = Counting()
    settings = CompactSizes(budget_tokens=100, step=3)
    compactor = Compactor(memory._store, "ana", None, None, cast("TokenCounter", counter), settings, utc_now)
    said = [memory.ingest(f"we painted boat {number}", session="yard") for number in range(7)]
    memory.ingest("elsewhere", session="pier")
    assert "28 tokens" in compactor.compact("yard").reason
    assert len(counter.texts) == 7
    memory.ingest("and now the ferry", session="yard")
    assert "32 tokens" in compactor.compact("yard").reason
    assert counter.texts[7:] == ["and now the ferry"]
    memory.erase(turn=said[2].id)
    assert "28 tokens" in compactor.compact("yard").reason
    assert not compactor.due("yard")
    memory.ingest("boat " * 80, session="yard")
    assert compactor.due("yard")


@pytest.mark.requirement("COMP-1", "CTX-7")
def test_a_large_turn_is_counted_only_until_the_budget_is_exceeded(memory: Memory) -> None:
    counter = Counting()
    settings = CompactSizes(budget_tokens=10_000)
    compactor = Compactor(memory._store, "ana", None, None, cast("TokenCounter", counter), settings, utc_now)
    memory.ingest("green light " * 100_000, session="yard")
    assert compactor.due("yard")
    assert sum(len(text) for text in counter.texts) < 100_000
