"""Measuring tools: the machine, timers, an embedder with a cache, and the cost of a fresh process."""

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
from typing_extensions import TypedDict  # pydantic supports typing.TypedDict only from Python 3.12 on

from holdfast.models.embedder import Embedder, Profile
from holdfast.probe.metrics import median
from holdfast.version import __version__

Progress = Callable[[str, int, int], None]
"""Called with (step, done, total)."""
Value = TypeVar("Value")
Times = dict[str, list[float]]
"""Milliseconds by name."""

_ROUNDS = 3
_ADDITIONS = 1_000_000
_TIMEOUT_S = 120.0
_IMPORTS = {"bare": "pass", "import_ms": "import holdfast", "import_memory_ms": "from holdfast import Memory"}
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
"""Code for a program that measures its memory: kilobytes("VmRSS:") now, kilobytes("VmHWM:") at the peak."""
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


class Machine(TypedDict):
    cores: int
    load: float | None
    """Load average, if the system provides it."""
    loop_ms: float
    """A loop of a million additions, the best of three: runs are comparable as far as their loops are."""


class CachingEmbedder:
    """Embeds each text once: sessions are in many haystacks, and timings may leave the embedding out."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    @property
    def profile(self) -> Profile:
        return self._embedder.profile

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        if new:
            self._known |= dict(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._known[text] for text in texts]) if texts else self._embedder.embed(texts)


class QuestionCache(CachingEmbedder):
    """Caches only the texts it was warmed with; others are embedded each time, as part of what is timed."""

    def warm(self, texts: Sequence[str]) -> None:
        super().embed(texts)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().embed(texts) if self._known.keys() >= set(texts) else self._embedder.embed(texts)


class RunInfo(TypedDict):
    seconds: float
    embedder: str
    version: str


def run_info(started: float, embedder: Embedder) -> RunInfo:
    """Return the fields that end the figures of most benchmarks."""
    seconds = round(time.perf_counter() - started, 1)
    return {"seconds": seconds, "embedder": embedder.profile.name, "version": __version__}


def machine() -> Machine:
    """Describe the machine; its speed matters because one that is shared may be three times as slow an hour later."""
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    return {"cores": os.cpu_count() or 1, "load": load, "loop_ms": round(min(_loop_ms() for _ in range(_ROUNDS)), 1)}


def timed(times: Times, name: str, work: Callable[[], Value]) -> Value:
    start = time.perf_counter()
    value = work()
    times.setdefault(name, []).append((time.perf_counter() - start) * 1000)
    return value


def resident_mb(store: Path, namespace: str, questions: Sequence[str]) -> tuple[float, float]:
    """Return the final and peak memory of a process that opens the store and asks these questions."""
    done = subprocess.run(
        [sys.executable, "-c", _RESIDENT, str(store), namespace],
        input=json.dumps(questions), capture_output=True, text=True, check=True, timeout=_TIMEOUT_S,
    )  # fmt: skip
    now, peak = json.loads(done.stdout)
    return round(now / 1024, 1), round(peak / 1024, 1)


def import_ms(repeats: int) -> dict[str, float]:
    """Return the time of `import holdfast` and of `from holdfast import Memory`, without the start of Python."""
    times: dict[str, list[float]] = {name: [] for name in _IMPORTS}
    for _ in range(repeats):  # interleaved, so that a busy moment affects all three
        for name, line in _IMPORTS.items():
            times[name].append(_run_ms([sys.executable, "-c", line]))
    bare = median(times["bare"])
    return {name: round(median(taken) - bare, 2) for name, taken in times.items() if name != "bare"}


def cold_search_ms(store: Path, namespace: str, questions: Sequence[str]) -> float | None:
    """Return the median time of the `holdfast search` command; None if it is not installed."""
    command = Path(sys.executable).with_name("holdfast")
    if not command.exists():
        return None
    environ = {**os.environ, "HOLDFAST_STORE": str(store), "HOLDFAST_NAMESPACE": namespace}
    # As after an installation: edited modules are compiled once, not at every start.
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        _run_ms([str(command), "search", *questions[:1], "--json"], environ)
        times = [_run_ms([str(command), "search", question, "--json"], environ) for question in questions]
    except subprocess.CalledProcessError:
        return None
    return round(median(times), 1)


def _loop_ms() -> float:
    started = time.perf_counter()
    total = 0
    for number in range(_ADDITIONS):
        total += number
    return (time.perf_counter() - started) * 1000


def _run_ms(command: Sequence[str], environ: dict[str, str] | None = None) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=environ, capture_output=True, check=True, timeout=_TIMEOUT_S)
    return (time.perf_counter() - start) * 1000
