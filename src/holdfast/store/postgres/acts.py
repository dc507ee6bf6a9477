"""Acts in the log, and what they do to the views. Replaying them in order gives the same views again (INV-3)."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import groupby

from holdfast.model import Action, Entry
from holdfast.moments import from_micros, to_micros, utc_now
from holdfast.store.acting import remembered_record
from holdfast.store.nouns import ADMIT_STAGE
from holdfast.store.postgres.compactions import apply_compaction
from holdfast.store.postgres.ends import hold_log, move_end
from holdfast.store.postgres.records import insert_record, next_number
from holdfast.store.postgres.tending import apply_tidying, undo_tidying
from holdfast.store.postgres.tombs import apply_erases
from holdfast.store.postgres.transaction import Transaction, Wrote

__all__ = [
    "admitted",
    "apply_act",
    "cursor",
    "holds_act",
    "insert_act",
    "note_admitted",
    "replay_acts",
    "write_act",
]


def write_act(tx: Transaction, action: Action) -> int:
    """Put the act at the end of the log; its place there."""
    seq = hold_log(tx) + 1
    insert_act(tx, seq, action, action.at)
    move_end(tx, seq)
    return seq


def insert_act(tx: Transaction, seq: int, action: Action, recorded_at: datetime) -> None:
    payload = json.dumps(action.payload, ensure_ascii=False)
    tx.execute(
        """INSERT INTO log (ns, seq, id, entry, at, at_given, recorded_at, text)
           VALUES (%(ns)s, %(seq)s, %(id)s, %(entry)s, %(at)s, TRUE, %(recorded_at)s, %(text)s)""",
        {
            "seq": seq,
            "id": action.subject,
            "entry": action.entry.value,
            "at": to_micros(action.at),
            "recorded_at": to_micros(recorded_at),
            "text": payload,
        },
    )
    tx.wrote = Wrote(seq, action.subject, payload)


def holds_act(tx: Transaction, action: Action) -> bool:
    """Whether the log holds an act of this kind for the same subject."""
    sql = "SELECT 1 FROM log WHERE ns = %(ns)s AND id = %(id)s AND entry <> 'turn' AND entry = %(entry)s LIMIT 1"
    return tx.row(sql, {"id": action.subject, "entry": action.entry.value}) is not None


def cursor(tx: Transaction, stage: str) -> int:
    done = tx.one("SELECT done FROM cursors WHERE ns = %(ns)s AND stage = %(stage)s", {"stage": stage})
    return 0 if done is None else int(done)


def admitted(tx: Transaction) -> int:
    """How far admission ever came, the times before a rebuild included."""
    noted = tx.rows(
        "SELECT text FROM log WHERE ns = %(ns)s AND id = %(id)s AND entry <> 'turn' AND entry = %(entry)s",
        {"id": ADMIT_STAGE, "entry": Entry.REBUILD.value},
    )
    return max([cursor(tx, ADMIT_STAGE), *(int(json.loads(text)["upto"]) for (text,) in noted)])


def note_admitted(tx: Transaction) -> None:
    """Before the views are dropped: how far admission had come, unless the log says so already."""
    done = cursor(tx, ADMIT_STAGE)
    tx.execute("DELETE FROM cursors WHERE ns = %(ns)s AND stage = %(stage)s", {"stage": ADMIT_STAGE})
    if done > admitted(tx):
        write_act(tx, Action(Entry.REBUILD, ADMIT_STAGE, utc_now(), {"upto": done}))


def apply_act(tx: Transaction, seq: int, action: Action) -> None:
    """The effect of the act that stands at `seq` in the log; the views are held."""
    match action.entry:
        case Entry.REMEMBER:
            insert_record(tx, next_number(tx), remembered_record(action), seq)
        case Entry.FORGET:
            tx.execute(
                """INSERT INTO hidden (ns, subject, seq) VALUES (%(ns)s, %(subject)s, %(seq)s)
                   ON CONFLICT (ns, subject) DO UPDATE SET seq = excluded.seq""",
                {"subject": action.subject, "seq": seq},
            )
        case Entry.UNFORGET:
            tx.execute("DELETE FROM hidden WHERE ns = %(ns)s AND subject = %(subject)s", {"subject": action.subject})
        case Entry.CALIBRATE:
            pass  # it changes no view: who wants it reads the newest one in the log
        case Entry.PROPOSE | Entry.REBUILD:
            pass  # admission reads them when it comes to the turn
        case Entry.COMPACT:
            apply_compaction(tx, seq, action)
        case Entry.JANITOR:
            apply_tidying(tx, seq, action)
        case Entry.JANITOR_UNDO:
            undo_tidying(tx, action)
        case Entry.ERASE:
            apply_erases(tx, [(seq, action)])
        case Entry.TURN:
            raise AssertionError("a turn is no act")


def replay_acts(tx: Transaction) -> None:
    rows = tx.rows("SELECT seq, entry, id, at, text FROM log WHERE ns = %(ns)s AND entry <> 'turn' ORDER BY seq")
    acts = [(seq, Action(Entry(entry), noun, from_micros(at), json.loads(text))) for seq, entry, noun, at, text in rows]
    for entry, run in groupby(acts, lambda one: one[1].entry):
        if entry is Entry.ERASE:  # there may be as many as there were turns
            apply_erases(tx, list(run))
            continue
        for seq, action in run:
            apply_act(tx, seq, action)
