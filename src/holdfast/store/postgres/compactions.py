"""What a compaction does to the views: summaries, guidance, and how far its session is compacted."""

from __future__ import annotations

from holdfast.log.compaction import read_compaction
from holdfast.model import Action, Decision
from holdfast.store.acting import told_record
from holdfast.store.nouns import COMPACTION, NewRecord
from holdfast.store.postgres.receipts import write_receipts
from holdfast.store.postgres.records import write_record
from holdfast.store.postgres.transaction import Transaction

__all__ = ["apply_compaction"]


def apply_compaction(tx: Transaction, seq: int, action: Action) -> None:
    """The effect of the line at `seq`; the ids of its records stand in it, so that a rebuild gives the same."""
    made = read_compaction(action.payload)
    for told in made.told:
        sources = _numbers(tx, told.turn_ids)
        if len(sources) < len(told.turn_ids):  # a turn of it was erased: what was made of it is no more
            continue
        write_record(tx, NewRecord(told_record(told, action, tx.namespace), seq, sources, None), slot=0)
        write_receipts(tx, [(told.id, Decision(told.what, told.reason, action.at, {COMPACTION: action.subject}))])
    tx.execute(
        """INSERT INTO cursors (ns, stage, done) VALUES (%(ns)s, %(stage)s, %(upto)s)
           ON CONFLICT (ns, stage) DO UPDATE SET done = greatest(cursors.done, excluded.done)""",
        {"stage": made.stage, "upto": made.upto},
    )


def _numbers(tx: Transaction, turn_ids: tuple[str, ...]) -> tuple[int, ...]:
    """Places of those of the turns that are there, in the order they were named."""
    found = dict(
        tx.rows(
            "SELECT id, seq FROM log WHERE ns = %(ns)s AND id = ANY(%(ids)s::text[]) AND entry = 'turn'",
            {"ids": list(turn_ids)},
        )
    )
    return tuple(found[turn_id] for turn_id in turn_ids if turn_id in found)
