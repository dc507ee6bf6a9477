"""A server that is killed with all its processes, and many processes on one store: nothing lost, nothing twice."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.errors import StoreBusy
from holdfast.memory import Memory
from holdfast.settings import StoreSettings
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK, texts, user
from tests.support.postgres_server import Throwaway
from tests.torture.processes import EAGER
from tests.torture.test_processes import check_writers, run_all

PATIENT = replace(QUICK, store=StoreSettings(durable=True))


@pytest.fixture
def durable_server() -> Iterator[Throwaway]:
    """A server of its own that syncs to disk, and that nobody else is hurt by killing."""
    server = Throwaway(durable=True)
    yield server
    server.stop()


class Writer(threading.Thread):
    """Hands over one turn after another, without keys: the engine alone must know what was kept."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__()
        self.session = name
        self.safe: dict[str, str] = {}
        self.unsure: list[str] = []
        self.stopping = threading.Event()
        self._memory = Memory(url, "ana", embedder="none", settings=PATIENT)

    def run(self) -> None:
        number = 0
        while not self.stopping.is_set():
            text = f"{self.session} says {number}"
            try:
                self.safe[text] = self._memory.ingest(text, session=self.session).id
            except StoreBusy:  # not acknowledged: it may be there once, or not
                self.unsure.append(text)
            number += 1
        self._memory.close()


def check_kills(server: Throwaway, kills: int, seed: int) -> None:
    url, rng = server.make_database("killed"), random.Random(seed)
    with Memory(url, "ana", embedder="none", settings=PATIENT):
        pass
    writers = [Writer(url, f"writer {number}") for number in range(4)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(kills):
            before = sum(len(writer.safe) for writer in writers)
            deadline = time.monotonic() + 60
            while sum(len(writer.safe) for writer in writers) < before + 20 and time.monotonic() < deadline:
                writers[0].join(rng.uniform(0.0, 0.05))
            server.kill()
            server.start()
    finally:
        for writer in writers:
            writer.stopping.set()
        for writer in writers:
            writer.join()
    safe = {text: turn_id for writer in writers for text, turn_id in writer.safe.items()}
    unsure = {text for writer in writers for text in writer.unsure}
    assert len(safe) >= 20 * kills
    with Memory(url, "ana", embedder=HashEmbedder(), settings=EAGER) as memory:
        kept = [turn for writer in writers for turn in memory.thread(writer.session)]
        assert Counter(turn.text for turn in kept).most_common(1)[0][1] == 1
        known = {turn.text: turn.id for turn in kept}
        assert {text: known.get(text) for text in safe} == safe
        assert set(known) - set(safe) <= unsure
        assert sorted(turn.seq for turn in kept) == list(range(1, len(kept) + 1))
        for writer in writers:
            thread = memory.thread(writer.session)
            assert [turn.index for turn in thread] == list(range(len(thread)))
        assert memory.check() == []


@pytest.mark.requirement("INV-1", "LOG-4")
def test_two_kills_of_the_server_lose_and_double_nothing(durable_server: Throwaway) -> None:
    check_kills(durable_server, 2, seed=1)


@pytest.mark.long
@pytest.mark.requirement("INV-1", "LOG-4")
def test_twenty_kills_of_the_server_lose_and_double_nothing(durable_server: Throwaway) -> None:
    check_kills(durable_server, 20, seed=2)


def check_draining(url: str, log: Path, processes: int, count: int) -> None:
    with Memory(url, "ana", embedder="none", settings=QUICK) as memory:
        memory.ingest_many([user(f"mooring m{number}") for number in range(count)])
    run_all([["derive", url, log] for _ in range(processes)])
    assert Counter(log.read_text().splitlines()) == Counter(f"mooring m{number}" for number in range(count))
    with Memory(url, "ana", embedder=HashEmbedder(), settings=EAGER) as memory:
        assert (memory.status().turns, memory.status().behind) == (count, 0)
        stages = memory.search("mooring", limit=5).receipt.stages
        assert [stage.count for stage in stages if stage.name in ("words", "meaning")] == [count] * 2


@pytest.mark.requirement("SAFE-2", "INV-3")
def test_processes_that_drain_one_queue_derive_each_turn_once(url: str, tmp_path: Path) -> None:
    check_draining(url, tmp_path / "embedded", 3, 300)


@pytest.mark.long
@pytest.mark.requirement("SAFE-2", "INV-3")
def test_eight_processes_that_drain_one_queue_derive_each_turn_once(url: str, tmp_path: Path) -> None:
    check_draining(url, tmp_path / "embedded", 8, 2000)


@pytest.mark.long
@pytest.mark.requirement("SAFE-2", "LOG-1")
def test_eight_processes_write_one_namespace_of_a_server(url: str) -> None:
    check_writers(url, 8, 60)  # fewer than a compaction begins at, which would have a line of the log of its own


@pytest.mark.requirement("SAFE-2")
def test_processes_that_make_a_store_together_all_find_it_theirs(url: str) -> None:
    place = f"{url}{'&' if '?' in url else '?'}holdfast_schema=together"
    run_all([["open_new", place, run] for run in range(4)])
    with Memory(place, "ana", embedder="none", settings=QUICK) as memory:
        assert sorted(texts(memory.recent())) == [f"from {run}" for run in range(4)]
