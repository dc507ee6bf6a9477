"""What the janitor lowers and raises again. Each run is a line of the log; a rebuild replays it (INV-3).

Records that are derived from turns come after the replay, so what was lowered is kept by the record's id, and a record
finds it there when it is made. Who said it stays in the row as it was: admission compares by that.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.log.tidying import read_tidying
from holdfast.model import Action, Decision
from holdfast.moments import to_micros
from holdfast.store.postgres.receipts import write_receipts
from holdfast.store.postgres.transaction import Transaction

__all__ = ["apply_tidying", "lift", "standing", "undo_tidying"]


def apply_tidying(tx: Transaction, seq: int, action: Action) -> None:
    """The effect of the run at `seq`."""
    made = read_tidying(action.payload)
    lowered = [(record, one.told) for one in made.lowered for record in one.records]
    run = {"run": action.subject, "seq": seq, "at": to_micros(action.at), "factor": made.factor}
    tx.many(
        """INSERT INTO tended (ns, subject, run, seq, at, factor)
           VALUES (%(ns)s, %(record)s, %(run)s, %(seq)s, %(at)s, %(factor)s) ON CONFLICT DO NOTHING""",
        [{**run, "record": record} for record, _ in lowered],
    )
    tx.many(
        """UPDATE records SET notches = notches + 1, trust = trust * %(factor)s WHERE ns = %(ns)s AND id = %(record)s
           AND EXISTS (SELECT 1 FROM tended WHERE tended.ns = %(ns)s AND tended.subject = %(record)s
                       AND tended.run = %(run)s AND tended.seq = %(seq)s)""",
        [{"factor": made.factor, "record": record, "run": action.subject, "seq": seq} for record, _ in lowered],
    )
    culled = list(dict.fromkeys(made.culled))
    tx.insert("hidden (subject, seq)", ("text", "bigint"), [(one, seq) for one in culled], "ON CONFLICT DO NOTHING")
    _explain(tx, "demoted", lowered, action)
    _explain(tx, "culled", [(record, made.told) for record in made.culled], action)


def undo_tidying(tx: Transaction, action: Action) -> None:
    """Everything of that run is as it was; its age is counted from this moment."""
    run = {"run": action.subject, "at": to_micros(action.at)}
    lowered = tx.rows(
        "UPDATE tended SET undone = TRUE, at = %(at)s WHERE ns = %(ns)s AND run = %(run)s RETURNING subject", run
    )
    culled = tx.rows(
        """DELETE FROM hidden WHERE ns = %(ns)s AND seq IN
               (SELECT log.seq FROM log WHERE log.ns = %(ns)s AND id = %(run)s AND entry <> 'turn'
                AND entry = 'janitor')
           RETURNING subject""",
        {"run": action.subject},
    )
    tx.many(
        """INSERT INTO tended (ns, subject, run, seq, at, factor, undone)
           VALUES (%(ns)s, %(subject)s, %(run)s, 0, %(at)s, 1.0, TRUE)
           ON CONFLICT (ns, subject, run) DO UPDATE SET seq = 0, at = excluded.at, factor = 1.0, undone = TRUE""",
        [{**run, "subject": subject} for (subject,) in culled],
    )
    touched = [str(subject) for (subject,) in [*lowered, *culled]]
    for record in touched:
        notches, trust = standing(tx, record)
        tx.execute(
            "UPDATE records SET notches = %(notches)s, trust = %(trust)s WHERE ns = %(ns)s AND id = %(record)s",
            {"notches": notches, "trust": trust, "record": record},
        )
    told = f"the janitor's run {action.subject} was undone; it is as it was"
    _explain(tx, "restored", [(record, told) for record in touched], action)


def lift(tx: Transaction, record_id: str, seq: int) -> bool:
    """A turn at this line said it again: it counts in full. Whether it did not before."""
    rows = tx.rows(
        "DELETE FROM tended WHERE ns = %(ns)s AND subject = %(record)s AND seq < %(seq)s RETURNING undone",
        {"record": record_id, "seq": seq},
    )
    return any(not undone for (undone,) in rows)


def standing(tx: Transaction, record_id: str) -> tuple[int, float]:
    """How many notches down a record is, and the product of the factors."""
    notches, trust = 0, 1.0
    for (factor,) in tx.rows(
        "SELECT factor FROM tended WHERE ns = %(ns)s AND subject = %(record)s AND NOT undone ORDER BY seq",
        {"record": record_id},
    ):
        notches, trust = notches + 1, trust * float(factor)
    return notches, trust


def _explain(tx: Transaction, what: str, told: Iterable[tuple[str, str]], action: Action) -> None:
    write_receipts(
        tx, [(record, Decision(what, reason, action.at, {"run": action.subject})) for record, reason in told]
    )
