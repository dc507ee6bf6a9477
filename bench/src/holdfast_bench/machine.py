"""What a figure was measured on: machines are shared, and one that is three times as slow as an hour ago looks idle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from holdfast.models.embedder import Embedder, Profile
from holdfast.probe.metrics import median

_ROUNDS = 3
_ADDITIONS = 1_000_000


class Machine(TypedDict):
    cores: int
    load: float | None
    """How busy it is with all that runs on it, where the system says so."""
    loop_ms: float
    """A loop of a million additions, the best of three: figures of two runs compare as far as their loops do."""


def machine() -> Machine:
    """As it is now."""
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    return {"cores": os.cpu_count() or 1, "load": load, "loop_ms": round(min(_loop() for _ in range(_ROUNDS)), 1)}


def _loop() -> float:
    started = time.perf_counter()
    total = 0
    for number in range(_ADDITIONS):
        total += number
    return (time.perf_counter() - started) * 1000


# --- What speed is measured with: times by name, how far a run has come, an embedder whose cost can be left out.


Progress = Callable[[str, int, int], None]
"""Called with (step, done, total)."""
Value = TypeVar("Value")
Times = dict[str, list[float]]
"""Milliseconds."""


def timed(times: Times, name: str, work: Callable[[], Value]) -> Value:
    start = time.perf_counter()
    value = work()
    times.setdefault(name, []).append((time.perf_counter() - start) * 1000)
    return value


class Remembering:
    """An embedder that is asked once for each question: search without the cost of embedding it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    @property
    def profile(self) -> Profile:
        return self._embedder.profile

    def warm(self, texts: Sequence[str]) -> None:
        self._known.update(zip(texts, self._embedder.embed(texts), strict=True))

    def forget(self, texts: Sequence[str]) -> None:
        for text in texts:
            self._known.pop(text, None)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(texts) == 1 and texts[0] in self._known:
            return self._known[texts[0]][None]
        return self._embedder.embed(texts)


# --- What a fresh process costs: its start, its memory, its first answer. Measured from outside, as a user meets
# it.


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
