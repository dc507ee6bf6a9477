"""What an operator's act does to the views. Replaying the log's acts in order gives the same views again (INV-3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

import apsw

from holdfast.model import Action, Entry, Kind
from holdfast.moments import from_micros, to_micros
from holdfast.store.codes import kind_number
from holdfast.store.protocol import Space
from holdfast.store.sqlite.keys import number_of, place

__all__ = ["apply_act", "replay_acts"]


def apply_act(connection: apsw.Connection, ns: int, action: Action) -> None:
    match action.entry:
        case Entry.REMEMBER:
            _remember(connection, ns, action)
        case Entry.FORGET:
            connection.execute("INSERT OR IGNORE INTO hidden VALUES (?, ?, ?)", (ns, *_find(connection, ns, action)))
        case Entry.UNFORGET:
            connection.execute(
                "DELETE FROM hidden WHERE ns = ? AND space = ? AND num = ?", (ns, *_find(connection, ns, action))
            )
        case Entry.TURN:
            raise AssertionError("a turn is no act")


def replay_acts(connection: apsw.Connection, ns: int) -> None:
    rows = connection.execute(
        "SELECT entry, id, at, text FROM log WHERE pos BETWEEN ? AND ? AND entry <> 'turn' ORDER BY pos",
        (place(ns, 0), place(ns + 1, 0) - 1),
    ).fetchall()
    for entry, subject, at, payload in rows:
        assert isinstance(subject, str) and isinstance(at, int) and isinstance(payload, str)
        apply_act(connection, ns, Action(Entry(str(entry)), subject, from_micros(at), json.loads(payload)))


def _remember(connection: apsw.Connection, ns: int, action: Action) -> None:
    said = cast("Mapping[str, str | float | list[str]]", action.payload)
    last = connection.execute(
        "SELECT max(pos) FROM records WHERE pos BETWEEN ? AND ?", (place(ns, 0), place(ns + 1, 0) - 1)
    ).fetchone()
    pos = place(ns, 1 if last is None or last[0] is None else number_of(last[0]) + 1)
    at = to_micros(action.at)
    connection.execute(
        """INSERT INTO records (pos, ns, id, kind, text, provenance, confidence, evidence_count, at, valid_from)
           VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?)""",
        (pos, ns, action.subject, kind_number(Kind(str(said["kind"]))), said["text"], said["provenance"],
         said["confidence"], at, at),
    )  # fmt: skip


def _find(connection: apsw.Connection, ns: int, action: Action) -> tuple[Space, int]:
    """The document an act is about. It was there when the act was written, so it is there in a replay."""
    for space, table in ((Space.RECORD, "records"), (Space.TURN, "log")):
        row = connection.execute(f"SELECT pos FROM {table} WHERE ns = ? AND id = ?", (ns, action.subject)).fetchone()
        if row:
            return space, number_of(row[0])
    raise AssertionError(f"the log forgets {action.subject}, which it never held")
