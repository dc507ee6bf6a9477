"""A history that belongs to a long session: it is recognised as in a short one, and costs what is new."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from holdfast.log.messages import align, read_message
from holdfast.memory import Memory
from holdfast.settings import CompactSettings
from holdfast.store import snapshot
from tests.support.memories import QUICK, Message, OpenMemory, system

MANUAL = replace(QUICK, compact=CompactSettings(automatic=False))
LENGTH = 2500
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def message(number: int) -> Message:
    """Return a message of a talk in which every seventh is "ok"."""
    text = "ok" if number % 7 == 3 else f"message {number} about topic {number % 97}"
    return {"role": "assistant" if number % 2 else "user", "content": text}


def talk(start: int, stop: int) -> list[Message]:
    return [message(number) for number in range(start, stop)]


@pytest.fixture
def memory(open_memory: OpenMemory) -> Memory:
    """A session of 2,500 turns after a system prompt: the last 2,000 are read whole."""
    memory = open_memory(embedder="none", settings=MANUAL)
    memory.ingest_many([system("Be brief."), *talk(0, LENGTH)])
    return memory


HISTORIES: dict[str, tuple[list[Message], int]] = {
    "its end and two new ones": (talk(LENGTH - 20, LENGTH + 2), 2),
    "one known and two new ones": (talk(LENGTH - 1, LENGTH + 2), 2),
    "only new ones": (talk(LENGTH, LENGTH + 2), 2),
    "behind the system prompt": ([system("Be brief."), *talk(LENGTH - 9, LENGTH + 2)], 2),
    "behind another system prompt": ([system("Be very brief."), *talk(LENGTH - 9, LENGTH + 2)], 3),
    "an old part": (talk(102, 140), 0),
    "an old part that begins with ok": (talk(101, 140), 0),
    "its beginning": ([system("Be brief."), *talk(0, 3)], 0),
    "its end without some": ([*talk(LENGTH - 12, LENGTH - 8), *talk(LENGTH - 6, LENGTH + 2)], 2),
    "everything": ([system("Be brief."), *talk(0, LENGTH + 2)], 2),
}


@pytest.mark.requirement("LOG-7")
@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_adds_what_is_new_to_a_long_session(memory: Memory, name: str) -> None:
    history, new = HISTORIES[name]
    turns = memory.ingest_many(history)
    assert [turn.text for turn in turns] == [one["content"] for one in history]
    assert sum(turn.index > LENGTH for turn in turns) == new
    assert memory.ingest_many(history) == turns


@pytest.mark.requirement("LOG-7")
def test_the_places_that_are_read_align_as_the_whole_session_does(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "ALIGN_WINDOW", 12)
    memory = open_memory()
    for seed in range(40):
        draw = random.Random(seed)
        roles = ["user", "assistant", "tool", "system"] if seed % 2 else ["user", "assistant"]
        words = [{"role": draw.choice(roles), "content": f"word {n}"} for n in range(draw.choice([3, 10, 100]))]
        said = [draw.choice(words) for _ in range(draw.randint(40, 120))]
        said = [one | {"at": f"2026-03-01T10:{n // 3:02}:00Z"} for n, one in enumerate(said)] if seed % 3 else said
        session = f"s{seed}"
        memory.ingest_many([one | {"key": str(n)} for n, one in enumerate(said)], session=session)
        for _ in range(6):
            start = draw.randrange(len(said))
            known = [one for one in said[start : start + draw.randint(1, 15)] if draw.random() < 0.9]
            history = [*known, *draw.choices(words, k=draw.randint(1, 3))]
            turns = [turn for one in history for turn in read_message(one, number=0, now=NOW, settings=QUICK.log)]
            with memory._store.snapshot("ana") as view:
                assert align(view.places(session, turns), turns) == align(view.places(session), turns)


def hand_over(memory: Memory, session: str, length: int) -> float:
    """Return the processor time in seconds that a history with two new turns takes: the least of seven."""
    costs = []
    for step in range(7):
        end = length + 2 * step
        history = [system("Be brief."), *talk(end - 20, end + 2)]
        started = time.thread_time()
        turns = memory.ingest_many(history, session=session)
        costs.append(time.thread_time() - started)
        assert turns[-2].index == end + 1
    return min(costs)


@pytest.mark.requirement("LOG-7")
@pytest.mark.slow
def test_a_history_without_keys_costs_what_is_new(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="none", settings=MANUAL)
    memory.ingest_many([system("Be brief."), *talk(0, 3000)], session="short")
    memory.ingest_many([system("Be brief."), *talk(0, 30_000)], session="long")
    assert hand_over(memory, "long", 30_000) < 2 * hand_over(memory, "short", 3000) + 0.002


@pytest.mark.requirement("LOG-7")
@pytest.mark.long
def test_two_new_turns_of_a_session_of_100_000_cost_20_ms(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="none", settings=MANUAL)
    memory.ingest_many([system("Be brief."), *talk(0, 100_000)])
    assert hand_over(memory, "default", 100_000) < 0.020
