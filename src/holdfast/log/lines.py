"""Lines of the log, whole: what a transfer carries from one store to another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from holdfast.model import Action, NewTurn

__all__ = ["ActLine", "Line", "TurnLine"]


@dataclass(frozen=True)
class TurnLine:
    """A turn as it was handed over, with the place the log gave it. What was derived from it is no part of it."""

    seq: int
    id: str
    session: str
    index: int
    recorded_at: datetime
    turn: NewTurn


@dataclass(frozen=True)
class ActLine:
    """An operator's act, or a model's output, of whatever kind."""

    seq: int
    recorded_at: datetime
    action: Action


Line = TurnLine | ActLine
