"""What the janitor lowers and raises again. Each run is a line of the log; a rebuild replays it (INV-3).

Records that are derived from turns come after the replay, so what was lowered is kept by the record's id, and a record
finds it there when it is made. Who said it stays in the row as it was: admission compares by that.
"""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from holdfast.log.tidying import read_tidying
from holdfast.model import Action
from holdfast.moments import to_micros
from holdfast.store.rows import pack_metadata
from holdfast.store.sqlite.keys import NUMBER_MASK

__all__ = ["apply_tidying", "lift", "standing", "undo_tidying"]


def apply_tidying(connection: apsw.Connection, ns: int, seq: int, action: Action) -> None:
    """The effect of the run at `seq`."""
    made = read_tidying(action.payload)
    run = action.subject
    lowered = [(record, one.told) for one in made.lowered for record in one.records]
    connection.executemany(
        "INSERT OR IGNORE INTO tended (ns, subject, run, seq, at, factor) VALUES (?, ?, ?, ?, ?, ?)",
        [(ns, record, run, seq, to_micros(action.at), made.factor) for record, _ in lowered],
    )
    connection.executemany(
        """UPDATE records SET notches = notches + 1, trust = trust * ?1 WHERE ns = ?2 AND id = ?3
           AND EXISTS (SELECT 1 FROM tended WHERE ns = ?2 AND subject = ?3 AND run = ?4 AND seq = ?5)""",
        [(made.factor, ns, record, run, seq) for record, _ in lowered],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO hidden VALUES (?, ?, ?)", [(ns, record, seq) for record in made.culled]
    )
    _explain(connection, ns, "demoted", lowered, action)
    _explain(connection, ns, "culled", [(record, made.told) for record in made.culled], action)


def undo_tidying(connection: apsw.Connection, ns: int, action: Action) -> None:
    """Everything of that run is as it was; its age is counted from this moment."""
    run, at = action.subject, to_micros(action.at)
    lowered = connection.execute(
        "UPDATE tended SET undone = 1, at = ? WHERE ns = ? AND run = ? RETURNING subject", (at, ns, run)
    ).fetchall()
    culled = connection.execute(
        """DELETE FROM hidden WHERE ns = ?1 AND seq IN
               (SELECT pos & ?3 FROM log WHERE ns = ?1 AND id = ?2 AND entry <> 'turn' AND entry = 'janitor')
           RETURNING subject""",
        (ns, run, NUMBER_MASK),
    ).fetchall()
    connection.executemany(
        "INSERT OR REPLACE INTO tended (ns, subject, run, seq, at, factor, undone) VALUES (?, ?, ?, 0, ?, 1.0, 1)",
        [(ns, subject, run, at) for (subject,) in culled],
    )
    touched = [str(subject) for (subject,) in [*lowered, *culled]]
    connection.executemany(
        "UPDATE records SET notches = ?, trust = ? WHERE ns = ? AND id = ?",
        [(*standing(connection, ns, record), ns, record) for record in touched],
    )
    told = f"the janitor's run {run} was undone; it is as it was"
    _explain(connection, ns, "restored", [(record, told) for record in touched], action)


def lift(connection: apsw.Connection, ns: int, record_id: str, seq: int) -> bool:
    """A turn at this line said it again: it counts in full. Whether it did not before."""
    rows = connection.execute(
        "DELETE FROM tended WHERE ns = ? AND subject = ? AND seq < ? RETURNING undone", (ns, record_id, seq)
    ).fetchall()
    return any(not undone for (undone,) in rows)


def standing(connection: apsw.Connection, ns: int, record_id: str) -> tuple[int, float]:
    """How many notches down a record is, and the product of the factors."""
    notches, trust = 0, 1.0
    for (factor,) in connection.execute(
        "SELECT factor FROM tended WHERE ns = ? AND subject = ? AND NOT undone ORDER BY seq", (ns, record_id)
    ):
        assert isinstance(factor, float)
        notches, trust = notches + 1, trust * factor
    return notches, trust


def _explain(connection: apsw.Connection, ns: int, what: str, told: Iterable[tuple[str, str]], action: Action) -> None:
    at, details = to_micros(action.at), pack_metadata({"run": action.subject})
    connection.executemany(
        """INSERT INTO receipts SELECT ?1, ?2, coalesce(max(number), 0) + 1, ?3, ?4, ?5, ?6
           FROM receipts WHERE ns = ?1 AND subject = ?2""",
        [(ns, record, what, reason, at, details) for record, reason in told],
    )
