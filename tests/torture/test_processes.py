"""Many processes, one file: no error, nothing lost, no gap, and no work done twice."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from holdfast.memory import Memory
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK, texts, user
from tests.torture.processes import EAGER


def run_all(calls: list[list[object]]) -> list[list[str]]:
    """Start them all, wait for all; the lines each said."""
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.torture.processes", *map(str, call)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for call in calls
    ]
    said = []
    for child in children:
        out, errors = child.communicate(timeout=300)
        assert (child.returncode, errors) == (0, "")
        said.append(out.splitlines())
        assert said[-1][-1] == "done"
    return said


def check_writers(path: Path | str, processes: int, turns: int) -> None:
    said = run_all([["write", path, run, turns] for run in range(processes)])
    safe = [line for lines in said for line in lines if line != "done"]
    with Memory(path, "ana", embedder=HashEmbedder(), settings=EAGER) as memory:
        shared = memory.thread("shared")
        own = [turn for run in range(processes) for turn in memory.thread(f"own {run}")]
        assert Counter(turn.id for turn in (*shared, *own)) == Counter(safe)
        assert [turn.index for turn in shared] == list(range(processes * (turns // 2)))
        for run in range(processes):
            mine = memory.thread(f"own {run}")
            assert [turn.index for turn in mine] == list(range((turns + 1) // 2))
            assert texts(mine) == [f"process {run} turn {number}" for number in range(0, turns, 2)]
            in_shared = [turn.text for turn in shared if turn.text.startswith(f"process {run} ")]
            assert in_shared == [f"process {run} turn {number}" for number in range(1, turns, 2)]
        with memory.view as view:  # a long session is compacted meanwhile, which takes a line too
            lines = [line.seq for line in view.lines()]
        assert lines == list(range(1, len(lines) + 1))
        assert len({turn.seq for turn in (*shared, *own)} & set(lines)) == processes * turns
        memory.flush(60)
        assert (memory.status().turns, memory.status().behind) == (processes * turns, 0)
        counted = memory.search("process turn", limit=5).receipt.stages
        assert [stage.count for stage in counted if stage.name in ("words", "meaning")] == [processes * turns] * 2
        assert memory.check() == []


@pytest.mark.requirement("SAFE-2", "LOG-1")
def test_four_processes_write_one_file(tmp_path: Path) -> None:
    check_writers(tmp_path / "memory.db", 4, 60)


@pytest.mark.long
@pytest.mark.requirement("SAFE-2", "LOG-1")
def test_eight_processes_write_five_hundred_turns_each(tmp_path: Path) -> None:
    check_writers(tmp_path / "memory.db", 8, 500)


@pytest.mark.requirement("SAFE-2", "INV-3")
def test_processes_that_derive_at_once_embed_each_turn_once(tmp_path: Path) -> None:
    path, log, count = tmp_path / "memory.db", tmp_path / "embedded", 400
    with Memory(path, "ana", embedder="none", settings=QUICK) as memory:
        memory.ingest_many([user(f"mooring m{number}") for number in range(count)])
    run_all([["derive", path, log] for _ in range(4)])
    assert Counter(log.read_text().splitlines()) == Counter(f"mooring m{number}" for number in range(count))
    with Memory(path, "ana", embedder=HashEmbedder(), settings=EAGER) as memory:
        assert (memory.status().turns, memory.status().behind) == (count, 0)
        stages = memory.search("mooring", limit=5).receipt.stages
        assert [stage.count for stage in stages if stage.name in ("words", "meaning")] == [count] * 2


@pytest.mark.requirement("SAFE-2")
def test_processes_that_make_a_file_together_all_find_it_theirs(tmp_path: Path) -> None:
    for attempt in range(3):
        path = tmp_path / f"{attempt}.db"
        run_all([["open_new", path, run] for run in range(6)])
        with Memory(path, "ana", embedder="none", settings=QUICK) as memory:
            assert sorted(texts(memory.recent())) == [f"from {run}" for run in range(6)]
