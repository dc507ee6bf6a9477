"""kill -9 during an erase: the next open finishes it, or nothing happened.

Run as a program (PATH FIRST STRIDE), this module copies the store, erases a session in a fork of itself and kills it
after its k-th file operation (tests/torture/killing.py), for each k. It prints "killed" or "done" for each k.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from holdfast.memory import Memory
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK
from tests.support.people import own_words, talk
from tests.torture.killing import die_at_each

SETTINGS = replace(QUICK, compact=replace(QUICK.compact, automatic=False))
STRIDE = 23
"""File operations between two kills: about twenty kills of the few hundred operations of an erase."""


@pytest.mark.requirement("KEEP-4", "INV-1")
def test_a_killed_erase_is_finished_by_the_next_open_or_did_not_happen(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, "ana", embedder=HashEmbedder(), settings=SETTINGS) as memory:
        kept = memory.ingest_many(talk(1), session="kept")
        gone = memory.ingest_many(talk(2), session="gone")
        memory.flush()
        memory.compact("gone", force=True)
        memory.flush()
    done = subprocess.run(
        [sys.executable, "-m", "tests.upkeep.test_erase_crash", str(path), "1", str(STRIDE)],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    steps = [line.split() for line in done.stdout.splitlines()]
    assert len(steps) > 5 and steps[-1][1] == "done"
    whole = 0
    for step, _ in steps:
        copy = tmp_path / f"killed at {step}.db"
        with Memory(copy, "ana", embedder=HashEmbedder(), settings=SETTINGS) as memory:
            assert memory.check() == []
            assert memory.thread("kept") == kept
            left = memory.thread("gone")
            assert left in ([], gone)
        if not left:
            whole += 1
            files = b"".join(file.read_bytes() for file in tmp_path.glob(copy.name + "*"))
            assert [word for word in own_words(2) if word.encode() in files or word.lower().encode() in files] == []
    assert whole > 2


if __name__ == "__main__":
    store, first, stride = sys.argv[1:]
    die_at_each(store, count(int(first), int(stride)), lambda memory: memory.erase(session="gone"))
