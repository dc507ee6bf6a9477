"""What an operator's act does to the views. Replaying the log's acts in order gives the same views again (INV-3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

import apsw

from holdfast.model import Action, Entry, Kind, Provenance, Record
from holdfast.moments import from_micros
from holdfast.store.sqlite.keys import number_of, place
from holdfast.store.sqlite.records import insert_record, next_number

__all__ = ["apply_act", "replay_acts"]


def apply_act(connection: apsw.Connection, ns: int, seq: int, action: Action) -> None:
    """The effect of the act that stands at `seq` in the log."""
    match action.entry:
        case Entry.REMEMBER:
            _remember(connection, ns, seq, action)
        case Entry.FORGET:
            connection.execute("INSERT OR REPLACE INTO hidden VALUES (?, ?, ?)", (ns, action.subject, seq))
        case Entry.UNFORGET:
            connection.execute("DELETE FROM hidden WHERE ns = ? AND subject = ?", (ns, action.subject))
        case Entry.TURN:
            raise AssertionError("a turn is no act")


def replay_acts(connection: apsw.Connection, ns: int) -> None:
    rows = connection.execute(
        "SELECT pos, entry, id, at, text FROM log WHERE pos BETWEEN ? AND ? AND entry <> 'turn' ORDER BY pos",
        (place(ns, 0), place(ns + 1, 0) - 1),
    ).fetchall()
    for pos, entry, subject, at, payload in rows:
        assert isinstance(pos, int) and isinstance(subject, str) and isinstance(at, int) and isinstance(payload, str)
        act = Action(Entry(str(entry)), subject, from_micros(at), json.loads(payload))
        apply_act(connection, ns, number_of(pos), act)


def _remember(connection: apsw.Connection, ns: int, seq: int, action: Action) -> None:
    said = cast("Mapping[str, str]", action.payload)
    record = Record(
        id=action.subject,
        namespace="",  # rows know it by number
        kind=Kind(said["kind"]),
        text=said["text"],
        provenance=Provenance(said["provenance"]),
        confidence=float(said["confidence"]),
        evidence_count=1,
        at=action.at,
        valid_from=action.at,
    )
    insert_record(connection, ns, next_number(connection, ns), record, seq)
