"""Compaction under kill -9 and power cuts at every one of its steps, and by several processes at once."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from holdfast.memory import Memory
from holdfast.model import Turn
from holdfast.testing import HashEmbedder
from tests.support.chats import boatyard
from tests.torture.killing import SETTINGS
from tests.torture.powercut import Tape, noting_disk

HERE = Path(__file__).parent
TURNS = 80
Told = list[tuple[str, str, tuple[str, ...]]]


def opened(path: Path) -> Memory:
    return Memory(path, "ana", embedder=HashEmbedder(), settings=SETTINGS)


def fill(path: Path) -> list[Turn]:
    with opened(path) as memory:
        turns = memory.ingest_many(boatyard(TURNS, rules=4), session="yard")
        memory.flush(60)
        memory.ingest_many(boatyard(10, seed=5), session="other")
        memory.flush(60)
    return turns


def told(memory: Memory) -> Told:
    view = memory.active("yard")
    return [(record.kind.value, record.text, record.turn_ids) for record in (*view.summaries, *view.guidance)]


def undisturbed(path: Path, folder: Path) -> Told:
    copy = folder / "undisturbed.db"
    copy.write_bytes(path.read_bytes())
    with opened(copy) as memory:
        assert memory.compact("yard", force=True).turns_removed == TURNS - 4
        return told(memory)


def check_interrupted(path: Path, turns: list[Turn], whole: Told) -> int:
    """What an interrupted compaction left is a part of the whole one, and the next run finishes it."""
    with opened(path) as memory:
        assert memory.check() == []
        assert memory.thread("yard") == turns
        assert len(memory.active("other").turns) == 10
        left = told(memory)
        assert Counter(left) <= Counter(whole)
        view = memory.active("yard")
        here = Counter([turn.id for turn in view.turns] + [turn_id for _, _, ids in left for turn_id in ids])
        assert here == Counter(turn.id for turn in turns)
        memory.compact("yard", force=True)
        assert told(memory) == whole
        memory.rebuild()
        assert told(memory) == whole
        assert not memory.compact("yard", force=True).did_compact
    return len(left)


def kill_at(folder: Path, first: int, last: int, stride: int) -> tuple[list[int], bool]:
    """At each of these steps on a copy of its own; the steps that were there, and whether the last ended by itself."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture.killing", str(folder / "memory.db"), str(first), str(last), str(stride)],
        capture_output=True, text=True, timeout=1200, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    said = [line.split() for line in done.stdout.splitlines()]
    return [int(step) for step, what in said if what == "killed"], said[-1][1] == "done"


def check_kills(folder: Path, first: int, stride: int) -> None:
    turns = fill(folder / "memory.db")
    whole = undisturbed(folder / "memory.db", folder)
    steps, ended = kill_at(folder, first, 100_000, stride)
    assert ended and len(steps) > 3
    lengths = {check_interrupted(folder / f"killed at {step}.db", turns, whole) for step in steps}
    assert len(lengths) > 1  # kills fell between the transactions, not only before the first


@pytest.mark.requirement("COMP-4", "INV-1")
def test_a_compaction_killed_at_some_of_its_steps_loses_and_doubles_nothing(tmp_path: Path) -> None:
    check_kills(tmp_path, 11, 23)


@pytest.mark.long
@pytest.mark.requirement("COMP-4", "INV-1")
def test_a_compaction_killed_at_every_step_loses_and_doubles_nothing(tmp_path: Path) -> None:
    check_kills(tmp_path, 1, 1)


def check_cuts(folder: Path, stride: int) -> None:
    with noting_disk() as tape:
        turns = fill(folder / "memory.db")
        with opened(folder / "memory.db") as memory:
            begin = len(tape.events)
            memory.compact("yard", force=True)
            whole, end = told(memory), len(tape.events)
            events = list(tape.events)
    for moment in range(begin, end + 1, stride):
        here = folder / f"cut {moment}"
        here.mkdir()
        Tape(events).cut(moment, here, random.Random(moment))
        check_interrupted(here / "memory.db", turns, whole)


@pytest.mark.requirement("COMP-4", "INV-1")
def test_the_power_may_fail_at_some_steps_of_a_compaction(tmp_path: Path) -> None:
    check_cuts(tmp_path, 23)


@pytest.mark.long
@pytest.mark.requirement("COMP-4", "INV-1")
def test_the_power_may_fail_at_every_step_of_a_compaction(tmp_path: Path) -> None:
    check_cuts(tmp_path, 1)


def check_race(folder: Path, processes: int) -> None:
    path = folder / "memory.db"
    turns = fill(path)
    whole = undisturbed(path, folder)
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.torture.processes", "compact", str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(processes)
    ]  # fmt: skip
    for child in children:  # all are there before one begins
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
    removed = 0
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        out, errors = child.communicate(timeout=120)
        assert (child.returncode, errors) == (0, "")
        removed += int(out)
    assert removed == TURNS - 4
    assert check_interrupted(path, turns, whole) == len(whole)


@pytest.mark.requirement("COMP-4", "SAFE-2")
def test_two_processes_that_compact_one_session_make_each_summary_once(tmp_path: Path) -> None:
    check_race(tmp_path, 2)


@pytest.mark.long
@pytest.mark.requirement("COMP-4", "SAFE-2")
def test_eight_processes_that_compact_one_session_make_each_summary_once(tmp_path: Path) -> None:
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        check_race(folder, 8)
