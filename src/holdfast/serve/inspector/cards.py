"""Turns and records as the pages show them: with what became of them, not only what they say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.model import Decision, Record, Turn
from holdfast.recall.why import IN_PLACE
from holdfast.store.nouns import COMPACTION
from holdfast.store.protocol import Snapshot

__all__ = ["RecordCard", "TurnCard", "card_of", "record_cards", "turn_cards"]

_SCORED = "gated"
"""The receipt of every judged turn; the pages show its score instead."""


@dataclass(frozen=True)
class RecordCard:
    record: Record
    state: str
    """live, replaced, forgotten, or hidden (its turns were forgotten)."""

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def is_digest(self) -> bool:
        return COMPACTION in self.record.metadata

    @property
    def in_place_of(self) -> tuple[str, str] | None:
        """Why the operator had it remembered (acts.py), and the id it stands for."""
        given = self.record.metadata.get("given")
        known = given if isinstance(given, dict) else {}
        return next(((why, str(known[why])) for why in IN_PLACE if why in known), None)


@dataclass(frozen=True)
class TurnCard:
    turn: Turn
    forgotten: bool
    made: tuple[Record, ...]
    """What was read out of it."""
    digests: tuple[Record, ...]
    """What compactions made that stands for it."""
    outcomes: tuple[Decision, ...]
    """What the gates said of it."""

    @property
    def id(self) -> str:
        return self.turn.id

    @property
    def judged(self) -> bool:
        return any(self.turn.signals.values())


def record_cards(view: Snapshot, records: Iterable[Record]) -> list[RecordCard]:
    return [RecordCard(record, _state(view, record)) for record in records]


def _state(view: Snapshot, record: Record) -> str:
    if view.is_hidden(record.id):
        return "forgotten"
    if record.superseded_by is not None:
        return "replaced"
    return "live" if view.is_live(record) else "hidden"


def turn_cards(view: Snapshot, turns: Iterable[Turn]) -> list[TurnCard]:
    return [_turn_card(view, turn) for turn in turns]


def _turn_card(view: Snapshot, turn: Turn) -> TurnCard:
    records = view.records_of(turn)
    return TurnCard(
        turn,
        view.is_hidden(turn.id),
        tuple(record for record in records if COMPACTION not in record.metadata),
        tuple(record for record in records if COMPACTION in record.metadata),
        tuple(told for told in view.receipts(turn.id) if told.what != _SCORED),
    )


def card_of(view: Snapshot, noun_id: str) -> RecordCard | TurnCard | None:
    """The turn or record of an id as it stands now."""
    if (turn := view.turn(noun_id)) is not None:
        return turn_cards(view, [turn])[0]
    if (record := view.record(noun_id)) is not None:
        return record_cards(view, [record])[0]
    return None
