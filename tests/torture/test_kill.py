"""kill -9 at any moment: nothing acknowledged is lost, nothing is doubled, and the store opens at once."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from holdfast.memory import Memory
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK, found, user
from tests.torture.processes import EAGER


def start(name: str, *arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.torture.processes", name, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def kill_after(child: subprocess.Popen[bytes], seconds: float) -> list[str]:
    """What it had been told was safe when it was killed: whole lines only."""
    assert child.stdout is not None and child.stderr is not None
    assert child.stdout.readline() == b"ready\n", child.stderr.read().decode()
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.kill()
    said = child.stdout.read()
    errors = child.stderr.read().decode()
    child.stdout.close()
    child.stderr.close()
    child.wait()
    assert errors == "", errors[-2000:]
    return said[: said.rfind(b"\n") + 1].decode().splitlines()


def check_kills(path: Path, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    safe: dict[str, tuple[str, str, int]] = {}
    slowest = 0.0
    for run in range(kills):
        for line in kill_after(start("write_until_killed", path, f"r{run}"), rng.uniform(0.0, 0.25)):
            key, turn_id, session, index = line.split()
            safe[key] = (turn_id, session, int(index))
        started = time.perf_counter()
        memory = Memory(path, "ana", embedder=HashEmbedder(), settings=EAGER)
        memory.recent(1)
        slowest = max(slowest, time.perf_counter() - started)
        with memory:
            kept = [turn for name in ("s0", "s1") for turn in memory.thread(name)]
            assert Counter(turn.key for turn in kept).most_common(1)[0][1] == 1 if kept else True
            known = {str(turn.key): (turn.id, turn.session, turn.index) for turn in kept}
            assert {key: known.get(key) for key in safe} == safe
            for name in ("s0", "s1"):
                assert [turn.index for turn in memory.thread(name)] == list(range(len(memory.thread(name))))
            for turn in kept[-3:]:
                assert turn.text == f"turn {turn.key} in the log"
                assert memory.search(turn.text)[0].id == turn.id
            memory.flush(30)
            assert (memory.status().turns, memory.status().behind) == (len(kept), 0)
            assert memory.check() == []
    assert len(safe) > kills  # it did write
    assert slowest < 2.0


@pytest.mark.requirement("INV-1", "LOG-4")
def test_a_dozen_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    check_kills(tmp_path / "memory.db", 12, seed=1)


@pytest.mark.long
@pytest.mark.requirement("INV-1", "LOG-4")
def test_two_hundred_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    check_kills(tmp_path / "memory.db", 200, seed=2)


@pytest.mark.requirement("INV-1", "LOG-7")
def test_a_history_that_was_killed_on_its_way_goes_on_without_a_double(tmp_path: Path) -> None:
    path, rng = tmp_path / "memory.db", random.Random(3)
    for run in range(4):
        lines = kill_after(start("write_histories_until_killed", path, run), rng.uniform(0.02, 0.2))
        safe = int(lines[-1].split()[-1]) if lines else 0
        with Memory(path, "ana", embedder="none", settings=QUICK) as memory:
            said = [turn.text for turn in memory.thread(f"history {run}")]
            assert said == [f"line {run} {number}" for number in range(len(said))]
            assert safe <= len(said) <= safe + 1
            talk = [user(f"line {run} {number}") for number in range(safe + 5)]
            memory.ingest_many(talk, session=f"history {run}")
            assert len(memory.thread(f"history {run}")) == safe + 5


@pytest.mark.requirement("INV-1", "INV-3")
def test_a_worker_killed_in_the_middle_of_a_batch_is_resumed(tmp_path: Path) -> None:
    path, log, count, rng = tmp_path / "memory.db", tmp_path / "embedded", 3000, random.Random(4)
    with Memory(path, "ana", embedder="none", settings=QUICK) as memory:
        memory.ingest_many([user(f"mooring m{number}") for number in range(count)])
    for _ in range(6):
        kill_after(start("derive", path, log), rng.uniform(0.0, 0.15))
    with Memory(path, "ana", embedder=HashEmbedder(), settings=EAGER) as memory:
        memory.flush(60)
        assert (memory.status().turns, memory.status().behind) == (count, 0)
        assert memory.check() == []
        for number in rng.sample(range(count), 30):
            first = memory.search(f"mooring m{number}")[0]
            assert (first.text, round(first.semantic, 2)) == (f"mooring m{number}", 1.0)
        (words,) = [stage for stage in memory.search("mooring").receipt.stages if stage.name == "words"]
        assert words.count == count
        before = found(memory.search("mooring m17", limit=50))
        memory.rebuild()
        assert found(memory.search("mooring m17", limit=50)) == before
    # What a kill cost is the batch in hand, no more: 16 turns each.
    again = [text for text, times in Counter(log.read_text().splitlines()).items() if times > 1]
    assert len(again) <= 6 * 16
