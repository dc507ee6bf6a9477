"""Receipts: what was decided of a turn or record, numbered in the order it happened."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.model import Decision
from holdfast.moments import to_micros
from holdfast.store.postgres.transaction import Transaction
from holdfast.store.rows import pack_metadata

__all__ = ["write_receipts"]


def write_receipts(tx: Transaction, decided: Sequence[tuple[str, Decision]]) -> None:
    """(id of the turn or record, what was decided), in order; the views are held."""
    if not decided:
        return
    subjects = list(dict.fromkeys(subject for subject, _ in decided))
    last = dict(
        tx.rows(
            """SELECT subject, max(number) FROM receipts WHERE ns = %(ns)s AND subject = ANY(%(subjects)s::text[])
               GROUP BY subject""",
            {"subjects": subjects},
        )
    )
    rows = []
    for subject, decision in decided:
        number = last[subject] = last.get(subject, 0) + 1
        at = None if decision.at is None else to_micros(decision.at)
        rows.append((subject, number, decision.what, decision.reason, at, pack_metadata(decision.details)))
    tx.insert(
        "receipts (subject, number, what, reason, at, details)",
        ("text", "bigint", "text", "text", "bigint", "text"),
        rows,
    )
