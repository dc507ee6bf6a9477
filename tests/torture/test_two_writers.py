"""Two processes write at once, with every verb, and are killed: the answers are those of a rebuild (INV-3).

A store whose answers differ is kept, beside the folder that pytest removes, and named in the failure.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.errors import NotFound
from holdfast.memory import Memory
from holdfast.settings import ContextSettings
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK
from tests.torture.test_kill import kill_after, start
from tests.worker.test_any_cuts import differs, everything, in_context

pytestmark = pytest.mark.requirement("INV-3", "SAFE-2")

KEPT = Path("/tmp/holdfast-two-writers")
PATIENT = replace(QUICK, context=ContextSettings(deadline_s=30.0, embedder_s=10.0))
"""A context that ran out of time on a busy machine is no difference."""


def check_lives(folder: Path, seed: int, kills: int, longest: float = 1.0) -> None:
    path, chance = folder / "memory.db", random.Random(f"kills {seed}")
    with Memory(path, "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        memory.ingest("My sister Rosa lives in Porto.", session="a")
    wrote = 0
    for run in range(kills):
        children = [start("live_until_killed", path, f"{seed}-{run}-{number}") for number in range(2)]
        wrote += sum(len(kill_after(child, chance.uniform(0.1, longest))) for child in children)
        compare(path, folder, f"{seed}-{run}")
    assert wrote  # on a busy machine a process may be killed before its first act, but not all of them


def compare(path: Path, folder: Path, name: str) -> None:
    for suffix in ("", "-wal"):  # nobody writes now, and opening it below folds in what waits
        (folder / f"before.db{suffix}").unlink(missing_ok=True)
        if (found := path.with_name(path.name + suffix)).exists():
            shutil.copy(found, folder / f"before.db{suffix}")
    with Memory(path, "ana", embedder=HashEmbedder(), settings=PATIENT) as memory:
        memory.flush(120)
        assert memory.check() == []
        before, context = everything(memory), in_context(memory)
        memory.rebuild()
        memory.flush(120)
        different = differs(before, everything(memory))
        if in_context(memory) != context:
            different["context"] = (context, in_context(memory))
    if different:
        KEPT.mkdir(exist_ok=True)
        shutil.copytree(folder, KEPT / name, dirs_exist_ok=True)
        pytest.fail(f"{sorted(different)} differ from a rebuild; the store is in {KEPT / name}: {different!r:.2000}")


@pytest.mark.slow
def test_two_killed_writers_leave_what_a_rebuild_makes(tmp_path: Path) -> None:
    check_lives(tmp_path, seed=1, kills=3)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_two_writers_killed_a_hundred_times_leave_what_a_rebuild_makes(tmp_path: Path, seed: int) -> None:
    check_lives(tmp_path, seed, kills=100)


def test_an_unknown_turn_is_not_found_rather_than_lost(tmp_path: Path) -> None:
    with (
        Memory(tmp_path / "memory.db", "ana", embedder=HashEmbedder(), settings=QUICK) as memory,
        pytest.raises(NotFound),
    ):
        memory.erase(turn="t-unknown")
