"""What a compaction does to the views: summaries, guidance, and how far its session is compacted."""

from __future__ import annotations

import apsw

from holdfast.log.compaction import Told, read_compaction
from holdfast.model import Action, Decision
from holdfast.moments import to_micros
from holdfast.store.acting import told_record
from holdfast.store.nouns import COMPACTION, NewRecord
from holdfast.store.rows import pack_metadata
from holdfast.store.sqlite.keys import number_of
from holdfast.store.sqlite.records import write_record

__all__ = ["apply_compaction"]


def apply_compaction(connection: apsw.Connection, ns: int, seq: int, action: Action) -> None:
    """The effect of the line at `seq`; the ids of its records stand in it, so that a rebuild gives the same."""
    made = read_compaction(action.payload)
    namespace = connection.execute("SELECT name FROM namespaces WHERE ns = ?", (ns,)).get
    for told in made.told:
        sources = _numbers(connection, ns, told.turn_ids)
        if len(sources) < len(told.turn_ids):  # a turn of it was erased: what was made of it is no more
            continue
        write_record(connection, ns, NewRecord(told_record(told, action, str(namespace)), seq, sources, None), slot=0)
        _explain(connection, ns, told, action)
    connection.execute(
        "INSERT INTO cursors VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET done = max(done, excluded.done)",
        (ns, made.stage, made.upto),
    )


def _numbers(connection: apsw.Connection, ns: int, turn_ids: tuple[str, ...]) -> tuple[int, ...]:
    found = []
    for turn_id in turn_ids:
        row = connection.execute(
            "SELECT pos FROM log WHERE ns = ? AND id = ? AND entry = 'turn'", (ns, turn_id)
        ).fetchone()
        if row is not None and isinstance(row[0], int):
            found.append(number_of(row[0]))
    return tuple(found)


def _explain(connection: apsw.Connection, ns: int, told: Told, action: Action) -> None:
    decision = Decision(told.what, told.reason, action.at, {COMPACTION: action.subject})
    connection.execute(
        """INSERT INTO receipts SELECT ?1, ?2, coalesce(max(number), 0) + 1, ?3, ?4, ?5, ?6
           FROM receipts WHERE ns = ?1 AND subject = ?2""",
        (ns, told.id, decision.what, decision.reason, to_micros(action.at), pack_metadata(decision.details)),
    )
