"""What a figure was measured on: machines are shared, and one that is three times as slow as an hour ago looks idle."""

from __future__ import annotations

import os
import time

from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

__all__ = ["Machine", "machine"]

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
