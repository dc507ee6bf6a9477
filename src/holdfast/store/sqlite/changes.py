"""Derived work: rows of the views, written together with the step of the cursor that says how far they have come."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from holdfast.moments import to_micros
from holdfast.store.halves import halved
from holdfast.store.nouns import Changes, Move, Space
from holdfast.store.rows import pack_metadata, pack_signals
from holdfast.store.sqlite.keys import SLOTS, place, vector_place
from holdfast.store.sqlite.records import write_record

__all__ = ["advance"]


def advance(connection: apsw.Connection, ns: int, moves: Sequence[Move], changes: Changes) -> bool:
    """False, and nothing done, if a cursor does not stand where its move begins."""
    for move in moves:
        row = connection.execute("SELECT done FROM cursors WHERE ns = ? AND stage = ?", (ns, move.stage)).fetchone()
        if (row[0] if row else 0) != move.after:
            return False
    connection.executemany(
        "INSERT INTO cursors VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET done = excluded.done",
        [(ns, move.stage, move.upto) for move in moves],
    )
    _write(connection, ns, changes)
    return True


def _write(connection: apsw.Connection, ns: int, changes: Changes) -> None:
    # SQLite's || makes text of two blobs, hence the casts. Versions are drawn, not counted: a rebuild starts
    # anew, and a block must never look like one that somebody has in a cache.
    connection.executemany(
        """INSERT INTO postings VALUES (?, ?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET data = CAST(data || excluded.data AS BLOB)""",
        [(ns, *row) for row in changes.postings],
    )
    connection.executemany(
        """INSERT INTO documents VALUES (?, ?, ?, random(), ?)
           ON CONFLICT DO UPDATE SET version = excluded.version, data = CAST(data || excluded.data AS BLOB)""",
        [(ns, *row) for row in changes.documents],
    )
    connection.executemany(
        "INSERT INTO passages VALUES (?, ?, ?, ?)",
        [(place(ns, one.num), one.turn, one.start, one.stop) for one in changes.passages],
    )
    slot = _slot(connection, ns, changes.fingerprint) if changes.fingerprint else 0
    connection.executemany(
        "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
        [
            (vector_place(ns, slot, space, num), data)
            for (space, num, _), data in zip(
                changes.vectors, halved([data for _, _, data in changes.vectors]), strict=True
            )
        ],
    )
    connection.executemany(
        """INSERT INTO segments VALUES (?, ?, ?, ?, random(), ?)
           ON CONFLICT DO UPDATE SET version = excluded.version, data = excluded.data""",
        [(ns, space, slot, block, data) for space, block, data in changes.segments],
    )
    for change in changes.records:
        write_record(connection, ns, change, slot)
    connection.executemany(
        "INSERT OR REPLACE INTO signals VALUES (?, ?, ?)",
        [(place(ns, seq), ns, pack_signals(signals)) for seq, signals in changes.signals],
    )
    connection.executemany(
        "INSERT INTO counters VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
        [(ns, day, name, count) for (day, name), count in changes.counters.items()],
    )
    connection.executemany(
        """INSERT INTO receipts SELECT ?1, ?2, coalesce(max(number), 0) + 1, ?3, ?4, ?5, ?6
           FROM receipts WHERE ns = ?1 AND subject = ?2""",
        [
            (
                ns,
                subject,
                decision.what,
                decision.reason,
                None if decision.at is None else to_micros(decision.at),
                pack_metadata(decision.details),
            )
            for subject, decision in changes.receipts
        ],
    )


def _slot(connection: apsw.Connection, ns: int, fingerprint: str) -> int:
    """The slot of a model's vectors. The seventeenth model of a namespace takes the place of its first."""
    rows = connection.execute("SELECT fingerprint, slot FROM models WHERE ns = ? ORDER BY slot", (ns,)).fetchall()
    known = {str(name): slot for name, slot in rows}
    if fingerprint in known:
        slot = known[fingerprint]
        assert isinstance(slot, int)
        return slot
    if len(known) < SLOTS:
        connection.execute("INSERT INTO models VALUES (?, ?, ?)", (ns, len(known), fingerprint))
        return len(known)
    old = next(iter(known))
    first = vector_place(ns, 0, Space.TURN, 0)
    last = vector_place(ns, 1, Space.TURN, 0) - 1
    connection.execute("DELETE FROM vectors WHERE pos BETWEEN ? AND ?", (first, last))
    connection.execute("DELETE FROM segments WHERE ns = ? AND slot = 0", (ns,))
    connection.execute(
        """DELETE FROM cursors WHERE ns = ?1 AND stage NOT GLOB 'compact:*'
           AND substr(stage, -length(?2) - 1) = ':' || ?2""",
        (ns, old),
    )
    connection.execute("UPDATE models SET fingerprint = ? WHERE ns = ? AND slot = 0", (fingerprint, ns))
    return 0
