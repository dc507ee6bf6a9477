"""How much slower this machine is at the moment than the one that the limits of time were set on.

Machines are shared: a limit in milliseconds is a limit at a pace. The yardstick is plain Python, measured on the spot.
"""

from __future__ import annotations

import time

__all__ = ["slowness"]

_YARD_S = 0.012
"""The yardstick below on two quiet cores, where the limits were set."""


def slowness() -> float:
    """At least 1; the best of three, so that one interruption does not count."""
    return max(1.0, min(_yardstick() for _ in range(3)) / _YARD_S)


def _yardstick() -> float:
    started = time.process_time()
    total = 0
    for number in range(200_000):
        total += number & 7
    return time.process_time() - started
