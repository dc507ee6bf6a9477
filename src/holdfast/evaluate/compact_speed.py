"""How long one long session takes to be compacted, and how much memory that needs, in a process of its own."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from holdfast.evaluate.haystack import Haystack
from holdfast.evaluate.processes import KILOBYTES
from holdfast.memory import Memory
from holdfast.settings import Settings

__all__ = ["measure_speed"]

_SHORT = 5  # the memory of a session of a fifth of the length says whether it is flat
_TIMEOUT_S = 600.0
_PROGRAM = """
import json, time
from dataclasses import replace
from holdfast import Memory, Settings

settings = Settings()
settings = replace(settings, admit=replace(settings.admit, enabled=False))  # no other work beside it
memory = Memory(sys.argv[1], "bench", settings=settings)
started, cpu = time.perf_counter(), time.process_time()
made = memory.compact("long", force=True)
seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
print(json.dumps({
    "seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2), "peak_mb": round(kilobytes("VmHWM:") / 1024, 1),
    "turns_removed": made.turns_removed, "summaries": len(made.summaries),
}))
memory.close()
"""


def measure_speed(haystacks: Sequence[Haystack], turns: int) -> dict[str, object]:
    """One session of so many turns, told over and over from the conversations, and one of a fifth of that."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        return {
            "turns": turns,
            **_compacted(haystacks, turns, Path(folder) / "long.db"),
            "peak_mb_of_a_fifth": _compacted(haystacks, turns // _SHORT, Path(folder) / "short.db")["peak_mb"],
        }


def _compacted(haystacks: Sequence[Haystack], turns: int, path: Path) -> dict[str, object]:
    said = itertools.cycle(turn for haystack in haystacks for sitting in haystack.sittings for turn in sitting.turns)
    settings = Settings()
    quick = replace(
        settings,
        store=replace(settings.store, durable=False),
        compact=replace(settings.compact, automatic=False),
    )
    with Memory(path, "bench", embedder="none", settings=quick) as memory:
        for turn in itertools.islice(said, turns):
            memory.ingest(turn.text, turn.role, "long")
    done = subprocess.run(
        [sys.executable, "-c", KILOBYTES + _PROGRAM, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=_TIMEOUT_S,
    )
    figures = json.loads(done.stdout)
    assert isinstance(figures, dict)
    return figures
