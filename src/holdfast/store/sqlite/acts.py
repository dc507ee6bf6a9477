"""Acts in the log, and what they do to the views. Replaying them in order gives the same views again (INV-3)."""

from __future__ import annotations

import json
from datetime import datetime

import apsw

from holdfast.model import Action, Entry
from holdfast.moments import from_micros, to_micros, utc_now
from holdfast.store.acting import remembered_record
from holdfast.store.nouns import ADMIT_STAGE
from holdfast.store.sqlite.compactions import apply_compaction
from holdfast.store.sqlite.ends import last_seq
from holdfast.store.sqlite.keys import number_of, place
from holdfast.store.sqlite.records import insert_record, next_number
from holdfast.store.sqlite.tending import apply_tidying, undo_tidying
from holdfast.store.sqlite.tombs import apply_erase

__all__ = ["admitted", "apply_act", "holds_act", "insert_act", "note_admitted", "replay_acts", "write_act"]


def write_act(connection: apsw.Connection, ns: int, action: Action) -> int:
    """Put the act at the end of the log; its place there."""
    seq = last_seq(connection, ns) + 1
    insert_act(connection, ns, seq, action, action.at)
    return seq


def insert_act(connection: apsw.Connection, ns: int, seq: int, action: Action, recorded_at: datetime) -> None:
    connection.execute(
        """INSERT INTO log (pos, ns, id, entry, at, at_given, recorded_at, text)
           VALUES (?, ?, ?, ?, ?, 1, ?, ?)""",
        (
            place(ns, seq), ns, action.subject, action.entry.value, to_micros(action.at), to_micros(recorded_at),
            json.dumps(action.payload, ensure_ascii=False),
        ),
    )  # fmt: skip


def holds_act(connection: apsw.Connection, ns: int, action: Action) -> bool:
    """Whether the log holds an act of this kind for the same subject."""
    return bool(
        connection.execute(
            "SELECT 1 FROM log WHERE ns = ? AND id = ? AND entry <> 'turn' AND entry = ?",
            (ns, action.subject, action.entry.value),
        ).fetchone()
    )


def admitted(connection: apsw.Connection, ns: int) -> int:
    """How far admission ever came, the times before a rebuild included."""
    cursor = connection.execute("SELECT done FROM cursors WHERE ns = ? AND stage = ?", (ns, ADMIT_STAGE)).fetchone()
    noted = connection.execute(
        "SELECT text FROM log WHERE ns = ? AND id = ? AND entry <> 'turn' AND entry = ?",
        (ns, ADMIT_STAGE, Entry.REBUILD.value),
    ).fetchall()
    return max(
        [int(row[0]) for row in [cursor] if row] + [int(json.loads(str(text))["upto"]) for (text,) in noted] + [0]
    )


def note_admitted(connection: apsw.Connection, ns: int) -> None:
    """Before the views are dropped: how far admission had come, unless the log says so already."""
    cursor = connection.execute("SELECT done FROM cursors WHERE ns = ? AND stage = ?", (ns, ADMIT_STAGE)).fetchone()
    connection.execute("DELETE FROM cursors WHERE ns = ? AND stage = ?", (ns, ADMIT_STAGE))
    if cursor and int(cursor[0]) > admitted(connection, ns):
        write_act(connection, ns, Action(Entry.REBUILD, ADMIT_STAGE, utc_now(), {"upto": int(cursor[0])}))


def apply_act(connection: apsw.Connection, ns: int, seq: int, action: Action) -> None:
    """The effect of the act that stands at `seq` in the log."""
    match action.entry:
        case Entry.REMEMBER:
            insert_record(connection, ns, next_number(connection, ns), remembered_record(action), seq)
        case Entry.FORGET:
            connection.execute("INSERT OR REPLACE INTO hidden VALUES (?, ?, ?)", (ns, action.subject, seq))
        case Entry.UNFORGET:
            connection.execute("DELETE FROM hidden WHERE ns = ? AND subject = ?", (ns, action.subject))
        case Entry.CALIBRATE:
            pass  # it changes no view: who wants it reads the newest one in the log
        case Entry.PROPOSE | Entry.REBUILD:
            pass  # admission reads them when it comes to the turn
        case Entry.COMPACT:
            apply_compaction(connection, ns, seq, action)
        case Entry.JANITOR:
            apply_tidying(connection, ns, seq, action)
        case Entry.JANITOR_UNDO:
            undo_tidying(connection, ns, action)
        case Entry.ERASE:
            apply_erase(connection, ns, seq, action)
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
