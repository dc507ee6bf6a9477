"""What a fresh process costs: its start, its memory, its first answer. Measured from outside, as a user meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from holdfast.evaluate.metrics import median

__all__ = ["KILOBYTES", "cold_search_ms", "import_ms", "resident_mb"]

KILOBYTES = """
import sys

def kilobytes(name):
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(name))
    except OSError:
        import resource
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
"""
"""What a program begins with that tells of its memory: kilobytes("VmRSS:") now, kilobytes("VmHWM:") at the most."""
_RESIDENT = (
    KILOBYTES
    + """
import json
from holdfast import Memory

memory = Memory(sys.argv[1], namespace=sys.argv[2])
for question in json.loads(sys.stdin.read()):
    memory.search(question)
print(json.dumps([kilobytes("VmRSS:"), kilobytes("VmHWM:")]))
memory.close()
"""
)
_NAMES = {"bare": "pass", "import_ms": "import holdfast", "import_memory_ms": "from holdfast import Memory"}
_TIMEOUT_S = 120.0


def resident_mb(store: Path, namespace: str, questions: Sequence[str]) -> tuple[float, float]:
    """Memory of a process that opens the store and asks these questions: at its end, and at its peak."""
    done = subprocess.run(
        [sys.executable, "-c", _RESIDENT, str(store), namespace],
        input=json.dumps(questions), capture_output=True, text=True, check=True, timeout=_TIMEOUT_S,
    )  # fmt: skip
    now, peak = json.loads(done.stdout)
    return round(now / 1024, 1), round(peak / 1024, 1)


def import_ms(repeats: int) -> dict[str, float]:
    """`import holdfast` and `from holdfast import Memory`, beyond what Python itself needs to start."""
    taken: dict[str, list[float]] = {name: [] for name in _NAMES}
    for _ in range(repeats):  # interleaved: a busy moment of the machine meets all three
        for name, line in _NAMES.items():
            taken[name].append(_run_ms([sys.executable, "-c", line]))
    bare = median(taken["bare"])
    return {name: round(median(times) - bare, 2) for name, times in taken.items() if name != "bare"}


def cold_search_ms(store: Path, namespace: str, questions: Sequence[str]) -> float | None:
    """The `holdfast search` command from start to end, median; None where the command is not installed."""
    command = Path(sys.executable).with_name("holdfast")
    if not command.exists():
        return None
    environ = {**os.environ, "HOLDFAST_STORE": str(store), "HOLDFAST_NAMESPACE": namespace}
    # As an installer leaves it: modules that were edited since are compiled once, not at every start.
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        _run_ms([str(command), "search", *questions[:1], "--json"], environ)
        return round(
            median([_run_ms([str(command), "search", question, "--json"], environ) for question in questions]), 1
        )
    except subprocess.CalledProcessError:
        return None


def _run_ms(command: Sequence[str], environ: dict[str, str] | None = None) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=environ, capture_output=True, check=True, timeout=_TIMEOUT_S)
    return (time.perf_counter() - start) * 1000
