"""The torture tests at scale: hours of kills, power cuts and comparisons with a rebuild, in small runs that add up.

    python -m tests.torture.scale --kills 5000 --cuts 20000 --comparisons 2000

Each run has a store, a seed and a count of its own. What passed is written to a file beside the stores after every run
(`--progress`), so that an interrupted run goes on where it was. The first failure ends it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.torture.test_kill import check_kills
from tests.torture.test_power import DURABLE, lost_in_cuts, record
from tests.torture.test_two_writers import check_lives

KILLS, CUTS, COMPARISONS = 50, 250, 10
"""In one store."""


def kill(folder: Path, seed: int) -> None:
    check_kills(folder / "memory.db", KILLS, seed)


def cut(folder: Path, seed: int) -> None:
    tape = record(folder / "memory.db", 40 + 20 * (seed % 9), DURABLE)
    lost = lost_in_cuts(tape, folder, CUTS, seed)
    assert lost == 0, f"{lost} acknowledged turns were lost in {CUTS} power cuts"


def compare(folder: Path, seed: int) -> None:
    check_lives(folder, seed, COMPARISONS, longest=0.5)


def run(name: str, one: Callable[[Path, int], None], wanted: int, each: int, progress: Path) -> None:
    done = json.loads(progress.read_text()) if progress.exists() else {}
    while done.get(name, 0) < wanted:
        seed, started = 1000 + done.get(name, 0) // each, time.monotonic()
        folder = Path(tempfile.mkdtemp(prefix=f"holdfast-{name}-"))
        one(folder, seed)
        shutil.rmtree(folder)
        done = json.loads(progress.read_text()) if progress.exists() else {}
        done[name] = done.get(name, 0) + each
        progress.write_text(json.dumps(done))
        print(f"{name}: {done[name]:,} of {wanted:,} passed ({time.monotonic() - started:.0f} s)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--cuts", type=int, default=0)
    parser.add_argument("--comparisons", type=int, default=0)
    parser.add_argument("--progress", type=Path, default=Path(tempfile.gettempdir()) / "holdfast-torture.json")
    given = parser.parse_args()
    run("kills", kill, given.kills, KILLS, given.progress)
    run("cuts", cut, given.cuts, CUTS, given.progress)
    run("comparisons", compare, given.comparisons, COMPARISONS, given.progress)


if __name__ == "__main__":
    main()
