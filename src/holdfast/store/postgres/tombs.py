"""Tombstones as rows: how they are put up, and how what comes again is known by them (log/tombstones.py)."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.log.compaction import read_compaction
from holdfast.log.tombstones import Tombstone, read_tombstone
from holdfast.model import Action
from holdfast.moments import to_micros
from holdfast.store.codes import role_number
from holdfast.store.postgres.transaction import Transaction
from holdfast.store.tombs import TOMB_COLUMNS, read_tomb
from holdfast.store.tombs import Tombs as AnyTombs

__all__ = ["Tombs", "apply_erases", "erased_since", "has_tombs", "last_erased_index", "misses_turns", "read_tombs"]

_THERE = "SELECT 1 FROM tombstones WHERE ns = %(ns)s LIMIT 1"


def apply_erases(tx: Transaction, lines: Sequence[tuple[int, Action]]) -> None:
    """The effect of erase lines at their places; one that only tells what an erase did has none."""
    stones = [(seq, action, stone) for seq, action in lines if (stone := read_tombstone(action.payload)) is not None]
    tx.insert(
        "tombstones (seq, noun, session, idx, role, said, timed, key, at)",
        ("bigint", "bytea", "bytea", "bigint", "smallint", "bytea", "bytea", "bytea", "bigint"),
        [
            (
                seq, one.noun, one.session, None if one.session is None else one.index,
                None if one.role is None else role_number(one.role), one.said or None, one.timed, one.key,
                to_micros(action.at),
            )
            for seq, action, one in stones
        ],
        """ON CONFLICT (ns, seq) DO UPDATE SET noun = excluded.noun, session = excluded.session, idx = excluded.idx,
           role = excluded.role, said = excluded.said, timed = excluded.timed, key = excluded.key, at = excluded.at""",
    )  # fmt: skip
    marks = list(dict.fromkeys(mark for _, _, one in stones for mark in one.statements))
    tx.insert("refused (statement)", ("bytea",), [(mark,) for mark in marks], "ON CONFLICT DO NOTHING")


def has_tombs(tx: Transaction) -> bool:
    """Whether anything was ever erased here: then what comes may be something that must not come back."""
    return tx.row(_THERE) is not None


def read_tombs(tx: Transaction, session: bytes) -> list[tuple[int, Tombstone]]:
    """The turns of a session that were erased, in its order."""
    rows = tx.rows(
        f"SELECT {TOMB_COLUMNS} FROM tombstones WHERE ns = %(ns)s AND session = %(session)s ORDER BY idx",
        {"session": session},
    )
    return [read_tomb(row) for row in rows]


def last_erased_index(tx: Transaction, session: str) -> int:
    """The highest index of an erased turn of the session, -1 if there is none: it is not given again."""
    last = tx.one(
        "SELECT max(idx) FROM tombstones WHERE ns = %(ns)s AND session = %(session)s",
        {"session": tx.marker.session(session)},
    )
    return -1 if last is None else int(last)


def erased_since(tx: Transaction, seq: int) -> bool:
    """Whether anything was erased after the log had come to this place: every erase writes a line at its end."""
    sql = "SELECT 1 FROM log WHERE ns = %(ns)s AND seq > %(seq)s AND entry = 'erase' LIMIT 1"
    return tx.row(sql, {"seq": seq}) is not None


def misses_turns(tx: Transaction, compaction: Action) -> bool:
    """Whether a compaction was made of turns that are not there any more."""
    ids = list({turn_id for told in read_compaction(compaction.payload).told for turn_id in told.turn_ids})
    there = tx.one(
        "SELECT count(*) FROM log WHERE ns = %(ns)s AND id = ANY(%(ids)s::text[]) AND entry = 'turn'", {"ids": ids}
    )
    return int(there) < len(ids)


class Tombs(AnyTombs):
    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        super().__init__(tx.marker if has_tombs(tx) else None, tx.namespace)

    def _by_key(self, session: bytes, mark: bytes) -> tuple[int, Tombstone] | None:
        return self._known("key", session, mark)

    def _by_time(self, session: bytes, mark: bytes) -> tuple[int, Tombstone] | None:
        return self._known("timed", session, mark)

    def _has_noun(self, mark: bytes) -> bool:
        sql = "SELECT 1 FROM tombstones WHERE ns = %(ns)s AND noun = %(noun)s"
        return self._tx.row(sql, {"noun": mark}) is not None

    def _has_said(self, session: bytes, index: int, said: bytes) -> bool:
        sql = """SELECT 1 FROM tombstones WHERE ns = %(ns)s AND session = %(session)s AND idx = %(index)s
                 AND said = %(said)s"""
        return self._tx.row(sql, {"session": session, "index": index, "said": said}) is not None

    def _known(self, column: str, session: bytes, mark: bytes) -> tuple[int, Tombstone] | None:
        row = self._tx.row(
            f"""SELECT {TOMB_COLUMNS} FROM tombstones
                WHERE ns = %(ns)s AND session = %(session)s AND {column} = %(mark)s""",
            {"session": session, "mark": mark},
        )
        return None if row is None else read_tomb(row)
