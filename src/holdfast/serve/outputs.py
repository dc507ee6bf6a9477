"""Answers that only the surfaces need: a list or a maybe cannot grow a field later, an object can."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.model import Turn

__all__ = ["Flushed", "Kept", "KeptMany"]


@dataclass(frozen=True)
class Kept:
    """What an ingest kept."""

    turn: Turn | None
    """None for a heartbeat."""


@dataclass(frozen=True)
class KeptMany:
    """One turn for each message, new or known."""

    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Flushed:
    """Derived work has caught up with the log."""

    behind: int
    """Lines that came meanwhile."""
