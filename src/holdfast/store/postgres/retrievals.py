"""How often records were found. The log does not know it: a rebuild leaves these rows as they are (INV-3)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from holdfast.moments import to_micros
from holdfast.store.postgres.transaction import Transaction

__all__ = ["count_retrievals"]

_RAISE = """ON CONFLICT (ns, subject) DO UPDATE
    SET count = retrievals.count + excluded.count, last = greatest(retrievals.last, excluded.last)"""
_RECORD = f"""INSERT INTO retrievals (ns, subject, count, last)
    SELECT records.ns, records.id, %(count)s, %(last)s FROM records
    WHERE records.ns = %(ns)s AND records.id = %(noun)s {_RAISE}"""
_OF_TURN = f"""INSERT INTO retrievals (ns, subject, count, last)
    SELECT records.ns, records.id, %(count)s, %(last)s FROM log
    JOIN sources ON sources.ns = log.ns AND sources.turn = log.seq
    JOIN records ON records.ns = sources.ns AND records.num = sources.record
    WHERE log.ns = %(ns)s AND log.id = %(noun)s AND log.entry = 'turn' AND records.superseded_by IS NULL
    AND records.compaction IS NULL {_RAISE}"""


def count_retrievals(tx: Transaction, found: Mapping[str, int], last: datetime) -> None:
    # In one order for everybody: two who count the same records must not wait for each other in a ring.
    values = [{"noun": noun, "count": found[noun], "last": to_micros(last)} for noun in sorted(found)]
    tx.many(_RECORD, values)
    tx.many(_OF_TURN, values)
