"""How many calls a server works on at once, by their kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from holdfast.serve.inputs import Input
from holdfast.serve.verbs import Danger, Verb
from holdfast.settings import ServeSettings

__all__ = ["ByKind", "by_kind"]

Room = TypeVar("Room")


@dataclass(frozen=True)
class ByKind(Generic[Room]):
    """Room for each kind of call. What may take seconds has its own, so that no quick call waits for it; and so have
    writers, who wait for each other and for the disk.
    """

    reads: Room
    writes: Room
    slow: Room

    def of(self, verb: Verb[Input]) -> Room:
        if verb.slow:
            return self.slow
        return self.reads if verb.danger is Danger.READS else self.writes


def by_kind(settings: ServeSettings, make: Callable[[int], Room]) -> ByKind[Room]:
    """`make` is given how many calls of a kind may be at work."""
    return ByKind(make(settings.reads_at_once), make(settings.writes_at_once), make(settings.slow_calls))
