"""What was taken for one: the statements that a record took in, as admission compared them."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.model import Decision, Record, Turn
from holdfast.store.protocol import Snapshot

__all__ = ["Statement", "statements_of"]

_MOST = 12
"""Statements side by side: a record that was said more often is judged by the first ones."""


@dataclass(frozen=True)
class Statement:
    text: str
    turn: Turn | None
    """Where it was said."""
    cosine: float | None
    """How near it was to what was known then; None for the first."""


def statements_of(view: Snapshot, record: Record) -> list[Statement]:
    """In the order of the log; each text once. Without a receipt, the turn speaks for itself."""
    found: dict[str, Statement] = {}
    for number, turn_id in enumerate(record.turn_ids[:_MOST]):
        turn = view.turn(turn_id)
        if turn is None:
            continue
        told = [_compared(decision) for decision in view.receipts(turn_id) if _is_about(decision, record)]
        compared = next((one for one in told if one), None)
        if compared is None:
            found.setdefault(turn.text, Statement(turn.text, turn, None))
            continue
        known, said, cosine = compared
        if number == 1:  # the first statement was the record itself then
            first = view.turn(record.turn_ids[0])
            found = {known: Statement(known, first, None)}
        found.setdefault(said, Statement(said, turn, cosine))
    return list(found.values())


def _is_about(decision: Decision, record: Record) -> bool:
    return decision.what == "merged" and decision.details.get("record") == record.id


def _compared(decision: Decision) -> tuple[str, str, float] | None:
    compared = decision.details.get("compared")
    if not isinstance(compared, dict) or not {"known", "said", "cosine"} <= compared.keys():
        return None
    return str(compared["known"]), str(compared["said"]), float(compared["cosine"])
