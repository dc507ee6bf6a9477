"""What is in the tables and should not be: rows that belong to nothing, vectors of no length. For the doctor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import apsw

from holdfast.store.nouns import PASSAGES_STAGE, Space
from holdfast.store.sqlite.keys import NS_SHIFT, NUMBER_MASK, SLOTS, number_of, place, vector_place

__all__ = ["drop_lost", "drop_vectors", "models", "odd_vectors", "orphans"]

_IS_TURN = "EXISTS (SELECT 1 FROM log WHERE log.pos = (?1 << {shift}) | {num} AND log.entry = 'turn')"
_IS_RECORD = "EXISTS (SELECT 1 FROM records WHERE records.ns = ?1 AND records.id = subject)"
_IS_NOUN = f"""(EXISTS (SELECT 1 FROM log WHERE log.ns = ?1 AND log.id = subject AND log.entry = 'turn')
                OR {_IS_RECORD})"""


def _turn(num: str) -> str:
    return _IS_TURN.format(shift=NS_SHIFT, num=num)


_ORPHANS = {
    "record of no turn": f"""SELECT id FROM records WHERE ns = ?1
        AND NOT EXISTS (SELECT 1 FROM sources WHERE ns = ?1 AND record = records.pos & {NUMBER_MASK})
        AND NOT EXISTS (SELECT 1 FROM log WHERE log.ns = ?1 AND log.id = records.id
                        AND log.entry <> 'turn' AND log.entry = 'remember')""",
    "record of a turn that is gone": f"""SELECT DISTINCT records.id FROM sources
        JOIN records ON records.pos = (?1 << {NS_SHIFT}) | sources.record
        WHERE sources.ns = ?1 AND NOT {_turn("sources.turn")}""",
    "link of no record": f"""SELECT DISTINCT record FROM sources WHERE ns = ?1
        AND NOT EXISTS (SELECT 1 FROM records WHERE records.pos = (?1 << {NS_SHIFT}) | sources.record)""",
    "receipt of nothing": f"SELECT DISTINCT subject FROM receipts WHERE ns = ?1 AND NOT {_IS_NOUN}",
    "count of no record": f"SELECT subject FROM retrievals WHERE ns = ?1 AND NOT {_IS_RECORD}",
    "signals of no turn": f"""SELECT pos & {NUMBER_MASK} FROM signals WHERE ns = ?1
        AND NOT {_turn(f"(signals.pos & {NUMBER_MASK})")}""",
}
_NO_PASSAGE = f"pos BETWEEN ?2 AND ?3 AND NOT {_turn('passages.turn')}"
# A record whose text changed leaves the vector of its old number behind (records.py): that number is gone, not lost.
_NUM = f"(vectors.pos & {NUMBER_MASK})"
_BELONGS = {
    Space.TURN: _turn(_NUM),
    Space.TOLD: _turn(_NUM),
    Space.WINDOW: _turn(_NUM),
    Space.RECORD: f"""(EXISTS (SELECT 1 FROM records WHERE records.pos = (?1 << {NS_SHIFT}) | {_NUM})
                       OR EXISTS (SELECT 1 FROM gone WHERE gone.ns = ?1 AND gone.num = {_NUM}))""",
}


def orphans(connection: apsw.Connection, ns: int) -> list[tuple[str, str]]:
    """(what it is, its id or number)."""
    found = [(what, str(one)) for what, sql in _ORPHANS.items() for (one,) in connection.execute(sql, (ns,))]
    rows = connection.execute(f"SELECT pos FROM passages WHERE {_NO_PASSAGE}", _span(ns))
    found += [("passage of no turn", str(number_of(pos))) for (pos,) in rows if isinstance(pos, int)]
    for space, where, span in _lost_vectors(ns):
        rows = connection.execute(f"SELECT pos FROM vectors WHERE {where}", span)
        noun = "record" if space is Space.RECORD else "turn"
        found += [
            (f"vector of no {noun}", f"{space.name.lower()} {number_of(pos)}")
            for (pos,) in rows
            if isinstance(pos, int)
        ]
    return found


def drop_lost(connection: apsw.Connection, ns: int) -> None:
    """What a rebuild would leave, and must not where something is wrong: lost vectors and counts, and all the cuts of
    long turns, which are made anew.
    """
    connection.execute("DELETE FROM passages WHERE pos BETWEEN ? AND ?", _span(ns)[1:])
    connection.execute("DELETE FROM cursors WHERE ns = ? AND stage = ?", (ns, PASSAGES_STAGE))
    connection.execute(f"DELETE FROM retrievals WHERE ns = ?1 AND NOT {_IS_RECORD}", (ns,))
    for _, where, span in _lost_vectors(ns):
        connection.execute(f"DELETE FROM vectors WHERE {where}", span)


def _span(ns: int) -> tuple[int, int, int]:
    return ns, place(ns, 0), place(ns + 1, 0) - 1


def _lost_vectors(ns: int) -> Iterator[tuple[Space, str, tuple[int, int, int]]]:
    """Vectors of each space of each model that belong to nothing."""
    for slot in range(SLOTS):
        for space, belongs in _BELONGS.items():
            first = vector_place(ns, slot, space, 0)
            yield space, f"pos BETWEEN ?2 AND ?3 AND NOT {belongs}", (ns, first, first | NUMBER_MASK)


def models(connection: apsw.Connection, ns: int) -> dict[str, int]:
    """Every model that has vectors here, and how many turns and records it embedded."""
    found = {}
    for slot, fingerprint in list(connection.execute("SELECT slot, fingerprint FROM models WHERE ns = ?", (ns,))):
        assert isinstance(slot, int)
        count = 0
        for space in (Space.TURN, Space.RECORD):
            first = vector_place(ns, slot, space, 0)
            many = connection.execute(
                "SELECT count(*) FROM vectors WHERE pos BETWEEN ? AND ?", (first, first | NUMBER_MASK)
            ).get
            count += many
        found[str(fingerprint)] = count
    return found


def odd_vectors(
    connection: apsw.Connection, ns: int, slot: int, sizes: Mapping[Space, int]
) -> Iterator[tuple[Space, int]]:
    """Vectors whose row is not of the size, in bytes of float32, that it should be."""
    for space, size in sizes.items():
        first = vector_place(ns, slot, space, 0)
        away = first - vector_place(ns, slot, Space.TURN, 0)
        own = f"SELECT 1 FROM vectors AS own WHERE own.pos = vectors.pos - {away}"
        borrowed = f"(length(data) = 0 AND EXISTS ({own}))" if space is Space.TOLD else "FALSE"  # AS_TURN
        rows = connection.execute(
            f"""SELECT pos FROM vectors WHERE pos BETWEEN ? AND ? AND NOT {borrowed}
                AND (typeof(data) <> 'blob' OR length(data) NOT IN ({size}, {size // 2 + 1}))""",  # halves.py
            (first, first | NUMBER_MASK),
        ).fetchall()
        yield from ((space, number_of(pos)) for (pos,) in rows if isinstance(pos, int))


def drop_vectors(connection: apsw.Connection, ns: int, fingerprint: str) -> None:
    """Everything that one model made here; whoever derives next asks it again."""
    row = connection.execute("SELECT slot FROM models WHERE ns = ? AND fingerprint = ?", (ns, fingerprint)).fetchone()
    if row is None:
        return
    slot = row[0]
    assert isinstance(slot, int)
    for space in Space:
        first = vector_place(ns, slot, space, 0)
        connection.execute("DELETE FROM vectors WHERE pos BETWEEN ? AND ?", (first, first | NUMBER_MASK))
    connection.execute("DELETE FROM segments WHERE ns = ? AND slot = ?", (ns, slot))
    connection.execute(
        """DELETE FROM cursors WHERE ns = ?1 AND (stage GLOB 'vectors:*' OR stage GLOB 'segments:*')
           AND substr(stage, -length(?2) - 1) = ':' || ?2""",
        (ns, fingerprint),
    )
