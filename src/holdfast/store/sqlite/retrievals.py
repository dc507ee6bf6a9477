"""How often records were found. The log does not know it: a rebuild leaves these rows as they are (INV-3)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import apsw

from holdfast.moments import to_micros
from holdfast.store.nouns import COMPACTION
from holdfast.store.sqlite.keys import NS_SHIFT, NUMBER_MASK

__all__ = ["count_retrievals"]

_RAISE = "ON CONFLICT DO UPDATE SET count = count + excluded.count, last = max(last, excluded.last)"
_RECORD = f"INSERT INTO retrievals SELECT ?1, id, ?3, ?4 FROM records WHERE ns = ?1 AND id = ?2 {_RAISE}"
_OF_TURN = f"""INSERT INTO retrievals SELECT ?1, records.id, ?3, ?4 FROM log
               JOIN sources ON sources.ns = log.ns AND sources.turn = log.pos & {NUMBER_MASK}
               JOIN records ON records.pos = (sources.ns << {NS_SHIFT}) | sources.record
               WHERE log.ns = ?1 AND log.id = ?2 AND log.entry = 'turn' AND records.superseded_by IS NULL
               AND records.metadata ->> '$.{COMPACTION}' IS NULL {_RAISE}"""


def count_retrievals(connection: apsw.Connection, ns: int, found: Mapping[str, int], last: datetime) -> None:
    values = [(ns, noun, count, to_micros(last)) for noun, count in found.items()]
    connection.executemany(_RECORD, values)
    connection.executemany(_OF_TURN, values)
