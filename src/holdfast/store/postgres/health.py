"""What is in the tables and should not be: rows that belong to nothing, vectors of no length. For the doctor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.store.postgres.transaction import Transaction
from holdfast.store.types import PASSAGES_STAGE, Space

_IS_RECORD = "EXISTS (SELECT 1 FROM records AS there WHERE there.ns = %(ns)s AND there.id = {}.subject)"
_IS_NOUN = (
    "(EXISTS (SELECT 1 FROM log WHERE log.ns = %(ns)s AND log.id = receipts.subject AND log.entry = 'turn') OR "
    + _IS_RECORD.format("receipts")
    + ")"
)
_IS_TURN = "EXISTS (SELECT 1 FROM log WHERE log.ns = %(ns)s AND log.seq = {} AND log.entry = 'turn')"
_LOST_COUNTS = "FROM retrievals WHERE retrievals.ns = %(ns)s AND NOT " + _IS_RECORD.format("retrievals")
_ORPHANS: dict[str, str] = {
    "record of no turn": """SELECT records.id FROM records WHERE records.ns = %(ns)s
        AND NOT EXISTS (SELECT 1 FROM sources WHERE sources.ns = %(ns)s AND sources.record = records.num)
        AND NOT EXISTS (SELECT 1 FROM log WHERE log.ns = %(ns)s AND log.id = records.id
                        AND log.entry <> 'turn' AND log.entry = 'remember')""",
    "record of a turn that is gone": """SELECT DISTINCT records.id FROM sources
        JOIN records ON records.ns = sources.ns AND records.num = sources.record
        WHERE sources.ns = %(ns)s AND NOT """
    + _IS_TURN.format("sources.turn"),
    "link of no record": """SELECT DISTINCT sources.record FROM sources WHERE sources.ns = %(ns)s
        AND NOT EXISTS (SELECT 1 FROM records WHERE records.ns = %(ns)s AND records.num = sources.record)""",
    "receipt of nothing": "SELECT DISTINCT receipts.subject FROM receipts WHERE receipts.ns = %(ns)s AND NOT "
    + _IS_NOUN,
    "count of no record": "SELECT retrievals.subject " + _LOST_COUNTS,
    "signals of no turn": "SELECT signals.seq FROM signals WHERE signals.ns = %(ns)s AND NOT "
    + _IS_TURN.format("signals.seq"),
    "passage of no turn": "SELECT passages.num FROM passages WHERE passages.ns = %(ns)s AND NOT "
    + _IS_TURN.format("passages.turn"),
}
# A record whose text changed leaves the vector of its old number behind (records.py): that number is gone, not lost.
_OF_TURNS = "FROM vectors WHERE vectors.ns = %(ns)s AND vectors.space = %(space)s AND NOT " + (
    _IS_TURN.format("vectors.num")
)
_OF_RECORDS = """FROM vectors WHERE vectors.ns = %(ns)s AND vectors.space = %(space)s
    AND NOT EXISTS (SELECT 1 FROM records WHERE records.ns = %(ns)s AND records.num = vectors.num)
    AND NOT EXISTS (SELECT 1 FROM gone WHERE gone.ns = %(ns)s AND gone.num = vectors.num)"""
_LOST_VECTORS: dict[Space, str] = {
    Space.TURN: _OF_TURNS,
    Space.TOLD: _OF_TURNS,
    Space.WINDOW: _OF_TURNS,
    Space.RECORD: _OF_RECORDS,
}
_ODD = """SELECT vectors.num FROM vectors
    WHERE vectors.ns = %(ns)s AND vectors.slot = %(slot)s AND vectors.space = %(space)s
    AND length(vectors.data) NOT IN (%(whole)s, %(half)s)
    AND NOT (vectors.space = %(told)s AND length(vectors.data) = 0 AND EXISTS (
        SELECT 1 FROM vectors AS own WHERE own.ns = %(ns)s AND own.slot = %(slot)s AND own.space = %(turn)s
        AND own.num = vectors.num))
    ORDER BY vectors.num"""
_MODELS = """SELECT models.fingerprint, count(vectors.num) FROM models
    LEFT JOIN vectors ON vectors.ns = models.ns AND vectors.slot = models.slot AND vectors.space = ANY(%(spaces)s)
    WHERE models.ns = %(ns)s GROUP BY models.ns, models.slot, models.fingerprint ORDER BY models.slot"""
_OF_MODEL = "SELECT slot FROM models WHERE ns = %(ns)s AND fingerprint = %(fingerprint)s"


def orphans(tx: Transaction) -> list[tuple[str, str]]:
    """(what it is, its id or number)."""
    found = [(what, str(one)) for what, sql in _ORPHANS.items() for (one,) in tx.rows(sql, {})]
    for space, lost in _LOST_VECTORS.items():
        rows = tx.rows("SELECT vectors.num " + lost, {"space": int(space)})
        noun = "record" if space is Space.RECORD else "turn"
        found += [(f"vector of no {noun}", f"{space.name.lower()} {num}") for (num,) in rows]
    return found


def drop_lost(tx: Transaction) -> None:
    """What a rebuild would leave, and must not where something is wrong: lost vectors and counts, and all the cuts of
    long turns, which are made anew.
    """
    tx.execute("DELETE FROM passages WHERE ns = %(ns)s", {})
    tx.execute("DELETE FROM cursors WHERE ns = %(ns)s AND stage = %(stage)s", {"stage": PASSAGES_STAGE})
    tx.execute("DELETE " + _LOST_COUNTS, {})
    for space, lost in _LOST_VECTORS.items():
        tx.execute("DELETE " + lost, {"space": int(space)})


def models(tx: Transaction) -> dict[str, int]:
    """Every model that has vectors here, and how many turns and records it embedded."""
    return dict(tx.rows(_MODELS, {"spaces": [int(Space.TURN), int(Space.RECORD)]}))


def odd_vectors(tx: Transaction, slot: int, sizes: Mapping[Space, int]) -> Iterator[tuple[Space, int]]:
    """Vectors whose row is not of the size, in bytes of float32, that it should be; half precision has a mark more."""
    told = {"slot": slot, "told": int(Space.TOLD), "turn": int(Space.TURN)}
    for space, size in sizes.items():
        rows = tx.rows(_ODD, {**told, "space": int(space), "whole": size, "half": size // 2 + 1})
        yield from ((space, num) for (num,) in rows)


def drop_vectors(tx: Transaction, fingerprint: str) -> None:
    """Everything that one model made here; whoever derives next asks it again."""
    slot = tx.one(_OF_MODEL, {"fingerprint": fingerprint})
    if slot is None:
        return
    tx.execute("DELETE FROM vectors WHERE ns = %(ns)s AND slot = %(slot)s", {"slot": slot})
    tx.execute("DELETE FROM segments WHERE ns = %(ns)s AND slot = %(slot)s", {"slot": slot})
    tx.execute(
        """DELETE FROM cursors WHERE ns = %(ns)s AND (stage LIKE 'vectors:%%' OR stage LIKE 'segments:%%')
           AND right(stage, length(%(model)s) + 1) = ':' || %(model)s""",
        {"model": fingerprint},
    )
