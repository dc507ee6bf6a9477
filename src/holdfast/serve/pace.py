"""How many calls a server works on at once, by their kind."""

from __future__ import annotations

from dataclasses import dataclass

from anyio import CapacityLimiter

from holdfast.serve.inputs import Input
from holdfast.serve.verbs import Danger, Verb
from holdfast.settings import ServeSettings

__all__ = ["Pace", "open_pace"]


@dataclass(frozen=True)
class Pace:
    """Threads for each kind. What may take seconds has its own, so that no quick call waits for it; and so have
    writers, who wait for each other and for the disk.
    """

    reads: CapacityLimiter
    writes: CapacityLimiter
    slow: CapacityLimiter

    def of(self, verb: Verb[Input]) -> CapacityLimiter:
        if verb.slow:
            return self.slow
        return self.reads if verb.danger is Danger.READS else self.writes


def open_pace(settings: ServeSettings) -> Pace:
    return Pace(
        CapacityLimiter(settings.reads_at_once),
        CapacityLimiter(settings.writes_at_once),
        CapacityLimiter(settings.slow_calls),
    )
