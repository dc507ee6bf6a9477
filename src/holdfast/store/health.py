"""Faults: lines of the log that have changed, rows of views that belong to nothing, vectors of the wrong size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.log.messages import act_digest, digest
from holdfast.store.rows import ROLES, unpack_metadata
from holdfast.store.types import PASSAGES_STAGE, Space, Transaction
from holdfast.store.writes import drop_cursors, drop_slot, drop_space

_IS_RECORD = "EXISTS (SELECT 1 FROM records AS found WHERE found.ns = :ns AND found.id = {}.subject)"
_IS_TURN = "EXISTS (SELECT 1 FROM log WHERE log.ns = :ns AND log.seq = {} AND log.entry = 'turn')"
_LOST_COUNTS = f"FROM retrievals WHERE retrievals.ns = :ns AND NOT {_IS_RECORD.format('retrievals')}"
_ORPHANS = {
    "record of no turn": """SELECT records.id FROM records WHERE records.ns = :ns
        AND NOT EXISTS (SELECT 1 FROM sources WHERE sources.ns = :ns AND sources.record = records.num)
        AND NOT EXISTS (SELECT 1 FROM log WHERE log.ns = :ns AND log.id = records.id
                        AND log.entry <> 'turn' AND log.entry = 'remember')""",
    "record of a turn that is gone": f"""SELECT DISTINCT records.id FROM sources
        JOIN records ON records.ns = :ns AND records.num = sources.record
        WHERE sources.ns = :ns AND NOT {_IS_TURN.format("sources.turn")}""",
    "link of no record": """SELECT DISTINCT sources.record FROM sources WHERE sources.ns = :ns
        AND NOT EXISTS (SELECT 1 FROM records WHERE records.ns = :ns AND records.num = sources.record)""",
    "receipt of nothing": f"""SELECT DISTINCT receipts.subject FROM receipts WHERE receipts.ns = :ns
        AND NOT EXISTS (SELECT 1 FROM log WHERE log.ns = :ns AND log.id = receipts.subject AND log.entry = 'turn')
        AND NOT {_IS_RECORD.format("receipts")}""",
    "count of no record": f"SELECT retrievals.subject {_LOST_COUNTS}",
    "signals of no turn": f"""SELECT signals.seq FROM signals WHERE signals.ns = :ns
        AND NOT {_IS_TURN.format("signals.seq")}""",
    "passage of no turn": f"""SELECT passages.num FROM passages WHERE passages.ns = :ns
        AND NOT {_IS_TURN.format("passages.turn")}""",
}
_IN_SPACE = "vectors.ns = :ns AND vectors.slot = :slot AND vectors.space = :space"
_LOST_TURN_VECTORS = f"FROM vectors WHERE {_IN_SPACE} AND NOT {_IS_TURN.format('vectors.num')}"
# A record whose text changed leaves the vector of its old number behind: that number is gone, not lost.
_LOST_RECORD_VECTORS = f"""FROM vectors WHERE {_IN_SPACE}
    AND NOT EXISTS (SELECT 1 FROM records WHERE records.ns = :ns AND records.num = vectors.num)
    AND NOT EXISTS (SELECT 1 FROM gone WHERE gone.ns = :ns AND gone.num = vectors.num)"""
_ODD_VECTORS = f"""SELECT vectors.num FROM vectors
    WHERE {_IN_SPACE} AND length(vectors.data) NOT IN (:float32, :float16)
    AND NOT (:statement = 1 AND length(vectors.data) = 0 AND EXISTS (SELECT 1 FROM vectors AS own
        WHERE own.ns = :ns AND own.slot = :slot AND own.space = {int(Space.TURN)} AND own.num = vectors.num))
    ORDER BY vectors.num"""


def orphans(tx: Transaction) -> list[tuple[str, str]]:
    found = [(what, str(one)) for what, sql in _ORPHANS.items() for (one,) in tx.rows(sql)]
    for slot, space, lost in _lost_vectors(tx):
        noun = "record" if space is Space.RECORD else "turn"
        rows = tx.rows(f"SELECT vectors.num {lost}", slot=slot, space=int(space))
        found += [(f"vector of no {noun}", f"{space.name.lower()} {num}") for (num,) in rows]
    return found


def drop_orphans(tx: Transaction) -> None:
    """Delete lost vectors and counts, which a rebuild keeps, and all passages, which are then cut again."""
    tx.execute("DELETE FROM passages WHERE passages.ns = :ns")
    for slot in _slots(tx).values():  # their numbers will be those of other passages
        drop_space(tx, slot, Space.PASSAGE)
    tx.execute("DELETE FROM cursors WHERE ns = :ns AND stage = :stage", stage=PASSAGES_STAGE)
    tx.execute(f"DELETE {_LOST_COUNTS}")
    for slot, space, lost in _lost_vectors(tx):
        tx.execute(f"DELETE {lost}", slot=slot, space=int(space))


def _lost_vectors(tx: Transaction) -> Iterator[tuple[int, Space, str]]:
    for slot in _slots(tx).values():
        yield from ((slot, space, _LOST_TURN_VECTORS) for space in (Space.TURN, Space.STATEMENT, Space.WINDOW))
        yield slot, Space.RECORD, _LOST_RECORD_VECTORS


def models(tx: Transaction) -> dict[str, int]:
    counted = f"SELECT count(*) FROM vectors WHERE {_IN_SPACE}"
    return {
        fingerprint: sum(tx.one(counted, slot=slot, space=int(space)) for space in (Space.TURN, Space.RECORD))
        for fingerprint, slot in _slots(tx).items()
    }


def odd_vectors(tx: Transaction, slot: int, sizes: Mapping[Space, int]) -> list[tuple[Space, int]]:
    found = []
    for space, size in sizes.items():
        statement = int(space is Space.STATEMENT)
        rows = tx.rows(
            _ODD_VECTORS, slot=slot, space=int(space), statement=statement, float32=size, float16=size // 2 + 1
        )  # rows.py
        found += [(space, num) for (num,) in rows]
    return found


def drop_vectors(tx: Transaction, fingerprint: str) -> None:
    """Delete everything that one model made; derived work asks it again."""
    slot = _slots(tx).get(fingerprint)
    if slot is not None:
        drop_slot(tx, slot)
        drop_cursors(tx, fingerprint, "vectors:", "segments:")


def _slots(tx: Transaction) -> dict[str, int]:
    return dict(tx.rows("SELECT fingerprint, slot FROM models WHERE ns = :ns ORDER BY slot"))


_CHECKED = """SELECT log.seq, log.entry, log.id, log.role, log.digest, log.text, log.metadata FROM log
    WHERE log.ns = :ns AND log.seq > :after ORDER BY log.seq LIMIT 200"""


def changed_lines(tx: Transaction) -> Iterator[str]:
    """Compare the lines of the log with their digests. Acts of versions before 0.2 have none."""
    after = -1
    while rows := tx.rows(_CHECKED, after=after):
        for seq, entry, noun, role, kept, text, metadata in rows:
            after = seq
            what = f"turn {noun}" if entry == "turn" else f"{entry} of {noun}"
            try:
                now = digest(ROLES[role], text) if entry == "turn" else act_digest(text)
                unpack_metadata(metadata if entry == "turn" else text)
            except (AssertionError, AttributeError, LookupError, TypeError, ValueError):
                yield f"line {seq} of the log ({what}) cannot be read"
                continue
            if now != kept and (kept is not None or entry == "turn"):
                yield f"the text of line {seq} of the log ({what}) has changed"
