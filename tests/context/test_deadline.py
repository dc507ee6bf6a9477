"""In time, whatever hangs: with the embedder or the store stuck, dead or raising, the host has its messages back."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.memory import Memory
from holdfast.models.embedder import DeadlineExceeded, DeadlineExecutor
from holdfast.results import Context
from holdfast.testing import FailingEmbedder, HashEmbedder
from tests.support.memories import QUICK, OpenMemory, WaitingEmbedder, user

ASKED = [user("where do I live now?")]
SLACK_S = 1.0
"""Other work on the machine is no failure: what hangs here hangs for half a minute."""


class Hanging(HashEmbedder):
    """Answers, until it hangs; `free` lets it go on."""

    def __init__(self) -> None:
        self.hangs = False
        self.free = threading.Event()
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        if self.hangs:
            self.free.wait(30)
        return super().embed(texts)


def timed(call: Callable[[], Context]) -> tuple[Context, float]:
    started = time.perf_counter()
    made = call()
    return made, time.perf_counter() - started


def told(memory: Memory) -> Memory:
    memory.ingest("I live in Lisbon now", session="before")
    memory.flush()
    memory.context(ASKED)  # loads what the first call loads
    return memory


@pytest.mark.requirement("SAFE-1", "CTX-5", "INV-5")
def test_an_embedder_that_hangs_costs_meaning_and_not_the_deadline(open_memory: OpenMemory) -> None:
    embedder = Hanging()
    memory = told(open_memory(embedder=embedder))
    embedder.hangs = True
    threads = threading.active_count()
    try:
        for _ in range(40):
            made, seconds = timed(lambda: memory.context(ASKED))
            assert seconds < QUICK.context.deadline_s + SLACK_S
            assert made.degraded is not None and "embedder" in made.degraded
            assert [message for message in made.messages if message in ASKED] == ASKED
        assert threading.active_count() - threads < 10  # a call that hangs does not cost a thread each time
        assert memory.status().degraded is not None
    finally:
        embedder.hangs = False
        embedder.free.set()


@pytest.mark.requirement("SAFE-1")
def test_it_heals_by_itself_when_the_embedder_is_back(open_memory: OpenMemory) -> None:
    embedder = FailingEmbedder()
    memory = told(open_memory(embedder=embedder))
    embedder.down = True
    made = memory.context(ASKED)
    assert made.degraded is not None and "words only" in made.degraded
    assert "I live in Lisbon now" in made.text  # found by words
    embedder.down = False
    healed = memory.context(ASKED)
    assert healed.degraded is None


HOLD = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX, 8, 120)  # every lock of SQLite's WAL: nobody can begin to read
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.requirement("SAFE-1", "CTX-5")
def test_a_locked_store_returns_the_original_messages_in_time(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = told(open_memory())
    messages = [user("where do I live?")]
    command = [sys.executable, "-c", HOLD, str(tmp_path / "memory.db-shm")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        for _ in range(5):
            made, seconds = timed(lambda: memory.context(messages))
            assert seconds < QUICK.context.deadline_s + SLACK_S
            assert made.messages is messages and made.text == "" and made.tokens == 0
            assert made.degraded is not None and "did not answer within" in made.degraded
            assert made.receipt.degraded == made.degraded
        holder.communicate()
    until = time.monotonic() + 30
    while memory.context(messages).degraded is not None:  # the breaker tries again by itself, after a second or two
        assert time.monotonic() < until
        threading.Event().wait(0.05)
    assert "Lisbon" in memory.context(messages).text


@pytest.mark.requirement("SAFE-1", "CTX-5")
def test_a_closed_memory_gives_the_messages_back(open_memory: OpenMemory) -> None:
    memory = told(open_memory())
    memory.close()
    made, seconds = timed(lambda: memory.context(ASKED))
    assert made.messages is ASKED
    assert made.degraded is not None and "closed" in made.degraded
    assert seconds < QUICK.context.deadline_s + SLACK_S


@pytest.mark.requirement("CTX-5", "INV-5")
def test_an_embedder_with_wrong_vectors_costs_semantic_search_only(open_memory: OpenMemory) -> None:
    class Lying(HashEmbedder):
        lies = False

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.full((1, 3), np.nan, np.float32) if self.lies else super().embed(texts)

    embedder = Lying()
    memory = told(open_memory(embedder=embedder))
    embedder.lies = True
    made = memory.context(ASKED)
    assert "I live in Lisbon now" in made.text and made.degraded is not None


@pytest.mark.requirement("SAFE-1")
def test_a_late_one_is_counted_and_takes_up_work_again() -> None:
    patience, go = DeadlineExecutor("test"), threading.Event()
    with pytest.raises(DeadlineExceeded, match="test did not answer within 10 ms"):
        patience.run(lambda: go.wait(30), 0.01)
    assert patience.run(lambda: 7, 30) == 7
    go.set()
    assert patience.run(lambda: 8, 30) == 8


@pytest.mark.requirement("SAFE-1")
def test_the_number_of_late_threads_is_limited() -> None:
    patience, go = DeadlineExecutor("many"), threading.Event()
    late = 0
    try:
        for _ in range(40):
            with pytest.raises(DeadlineExceeded):
                patience.run(lambda: go.wait(30), 0.0)
            late += 1
        running = [thread for thread in threading.enumerate() if thread.name == "holdfast-many"]
        assert late == 40 and len(running) <= 16
    finally:
        go.set()


@pytest.mark.requirement("SAFE-1")
def test_an_error_of_the_work_reaches_the_caller() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        DeadlineExecutor("test").run(fail, 30)


@pytest.mark.requirement("SAFE-1")
def test_many_threads_ask_at_once(open_memory: OpenMemory) -> None:
    calm = replace(QUICK, context=replace(QUICK.context, deadline_s=30.0, embedder_s=10.0))
    memory = told(open_memory(settings=calm))
    made: list[str] = []
    threads = [threading.Thread(target=lambda: made.append(memory.context(ASKED).text)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8 and len(set(made)) == 1 and "Lisbon" in made[0]


def test_a_context_waits_for_no_derived_work(open_memory: OpenMemory) -> None:
    embedder = WaitingEmbedder()
    memory = open_memory(embedder=embedder)
    try:
        memory.ingest("I live in Lisbon now", session="before")
        memory.context(ASKED)
        made, seconds = timed(lambda: memory.context(ASKED))
        assert "Lisbon" in made.text and seconds < QUICK.context.deadline_s + SLACK_S
    finally:
        embedder.go.set()
