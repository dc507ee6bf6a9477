"""Derived work: rows of the views, written together with the step of the cursor that says how far they have come."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from holdfast.store.codes import SLOTS
from holdfast.store.halves import halved
from holdfast.store.nouns import Changes, Move
from holdfast.store.postgres.receipts import write_receipts
from holdfast.store.postgres.records import write_record
from holdfast.store.postgres.transaction import Transaction
from holdfast.store.rows import pack_signals

__all__ = ["advance"]


def advance(tx: Transaction, moves: Sequence[Move], changes: Changes, again: bool = False) -> bool:
    """False, and nothing done, if a cursor does not stand where its move begins. The views are held.

    `again`: an attempt before this one may have been kept. Then the cursors stand where it moved them.
    """
    stood = dict(
        tx.rows(
            "SELECT stage, done FROM cursors WHERE ns = %(ns)s AND stage = ANY(%(stages)s::text[])",
            {"stages": [move.stage for move in moves]},
        )
    )
    moved = [move for move in moves if move.upto != move.after]
    if again and moved and all(stood.get(move.stage, 0) == move.upto for move in moved):
        return True
    if any(stood.get(move.stage, 0) != move.after for move in moves):
        return False
    tx.insert(
        "cursors (stage, done)",
        ("text", "bigint"),
        list({move.stage: move.upto for move in moves}.items()),
        "ON CONFLICT (ns, stage) DO UPDATE SET done = excluded.done",
    )
    _write(tx, changes)
    return True


def _write(tx: Transaction, changes: Changes) -> None:
    # Versions are drawn, not counted: a rebuild starts anew, and a block must never look like one that somebody has in
    # a cache.
    tx.insert(
        "postings (space, term, block, data)",
        ("smallint", "text", "bigint", "bytea"),
        _joined((int(space), term, block, data) for space, term, block, data in changes.postings),
        "ON CONFLICT (ns, space, term, block) DO UPDATE SET data = postings.data || excluded.data",
    )
    tx.insert(
        "documents (space, block, data, version)",
        ("smallint", "bigint", "bytea", "bigint"),
        [(*row, _version()) for row in _joined((int(space), block, data) for space, block, data in changes.documents)],
        """ON CONFLICT (ns, space, block)
           DO UPDATE SET version = excluded.version, data = documents.data || excluded.data""",
    )
    tx.insert(
        "passages (num, turn, start, stop)",
        ("bigint", "bigint", "bigint", "bigint"),
        [(one.num, one.turn, one.start, one.stop) for one in changes.passages],
    )
    slot = _slot(tx, changes.fingerprint) if changes.fingerprint else 0
    stored = halved([data for _, _, data in changes.vectors])
    tx.insert(
        "vectors (slot, space, num, data)",
        ("smallint", "smallint", "bigint", "bytea"),
        [
            (slot, *place, data)
            for place, data in {
                (int(space), num): data for (space, num, _), data in zip(changes.vectors, stored, strict=True)
            }.items()
        ],
        "ON CONFLICT (ns, slot, space, num) DO UPDATE SET data = excluded.data",
    )
    tx.insert(
        "segments (space, slot, block, version, data)",
        ("smallint", "smallint", "bigint", "bigint", "bytea"),
        [(int(space), slot, block, _version(), data) for space, block, data in changes.segments],
        "ON CONFLICT (ns, space, slot, block) DO UPDATE SET version = excluded.version, data = excluded.data",
    )
    for change in changes.records:
        write_record(tx, change, slot)
    tx.insert(
        "signals (seq, data)",
        ("bigint", "bytea"),
        [(seq, pack_signals(signals)) for seq, signals in dict(changes.signals).items()],
        "ON CONFLICT (ns, seq) DO UPDATE SET data = excluded.data",
    )
    tx.insert(
        "counters (day, name, count)",
        ("text", "text", "bigint"),
        [(day, name, count) for (day, name), count in changes.counters.items()],
        "ON CONFLICT (ns, day, name) DO UPDATE SET count = counters.count + excluded.count",
    )
    write_receipts(tx, changes.receipts)


def _joined(rows: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Rows of one key as one, their bytes behind each other: a statement may touch a row only once."""
    found: dict[tuple[object, ...], bytes] = {}
    for *key, data in rows:
        assert isinstance(data, bytes)
        place = tuple(key)
        found[place] = found.get(place, b"") + data
    return [(*place, data) for place, data in found.items()]


def _version() -> int:
    return secrets.randbits(63)


def _slot(tx: Transaction, fingerprint: str) -> int:
    """The slot of a model's vectors. The seventeenth model of a namespace takes the place of its first."""
    rows = tx.rows("SELECT fingerprint, slot FROM models WHERE ns = %(ns)s ORDER BY slot")
    known: dict[str, int] = dict(rows)
    if fingerprint in known:
        return known[fingerprint]
    if len(known) < SLOTS:
        slot = len(known)
        tx.execute(
            "INSERT INTO models (ns, slot, fingerprint) VALUES (%(ns)s, %(slot)s, %(fingerprint)s)",
            {"slot": slot, "fingerprint": fingerprint},
        )
        return slot
    old = next(iter(known))
    for table in ("vectors", "segments"):
        tx.execute(f"DELETE FROM {table} WHERE ns = %(ns)s AND slot = 0")
    tx.execute(
        """DELETE FROM cursors WHERE ns = %(ns)s AND NOT starts_with(stage, 'compact:')
           AND right(stage, length(%(ending)s)) = %(ending)s""",
        {"ending": f":{old}"},
    )
    tx.execute(
        "UPDATE models SET fingerprint = %(fingerprint)s WHERE ns = %(ns)s AND slot = 0", {"fingerprint": fingerprint}
    )
    return 0
