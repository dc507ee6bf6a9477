"""Tombstones as rows: how they are put up, and how what comes again is known by them (log/tombstones.py)."""

from __future__ import annotations

import apsw

from holdfast.log.compaction import read_compaction
from holdfast.log.tombstones import Marker, Tombstone, read_tombstone
from holdfast.model import Action
from holdfast.moments import to_micros
from holdfast.store.codes import role_number
from holdfast.store.sqlite.keys import place
from holdfast.store.tombs import TOMB_COLUMNS, read_tomb
from holdfast.store.tombs import Tombs as AnyTombs

__all__ = [
    "Tombs",
    "apply_erase",
    "erased_since",
    "last_erased_index",
    "marker_of",
    "misses_turns",
    "read_tombs",
]


def apply_erase(connection: apsw.Connection, ns: int, seq: int, action: Action) -> None:
    """The effect of an erase line at `seq`; the line that only tells what an erase did has none."""
    one = read_tombstone(action.payload)
    if one is None:
        return
    connection.execute(
        "INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            ns, seq, one.noun, one.session, None if one.session is None else one.index,
            None if one.role is None else role_number(one.role), one.said or None, one.timed, one.key,
            to_micros(action.at),
        ),
    )  # fmt: skip
    connection.executemany("INSERT OR IGNORE INTO refused VALUES (?, ?)", [(ns, mark) for mark in one.statements])


def marker_of(connection: apsw.Connection, namespace: str) -> Marker:
    secret = connection.execute("SELECT value FROM secrets WHERE ns = 0").get
    assert isinstance(secret, bytes)
    return Marker(secret, namespace)


def read_tombs(connection: apsw.Connection, ns: int, session: bytes) -> list[tuple[int, Tombstone]]:
    """The turns of a session that were erased, in its order."""
    rows = connection.execute(
        f"SELECT {TOMB_COLUMNS} FROM tombstones WHERE ns = ? AND session = ? ORDER BY idx", (ns, session)
    ).fetchall()
    return [read_tomb(row) for row in rows]


def last_erased_index(connection: apsw.Connection, ns: int, namespace: str, session: str) -> int:
    """The highest index of an erased turn of the session, -1 if there is none: it is not given again."""
    if not connection.execute("SELECT EXISTS (SELECT 1 FROM tombstones WHERE ns = ?)", (ns,)).get:
        return -1
    last = connection.execute(
        "SELECT max(idx) FROM tombstones WHERE ns = ? AND session = ?",
        (ns, marker_of(connection, namespace).session(session)),
    ).get
    return -1 if last is None else int(last)


def erased_since(connection: apsw.Connection, ns: int, seq: int) -> bool:
    """Whether anything was erased after the log had come to this place: every erase writes a line at its end."""
    row = connection.execute(
        "SELECT 1 FROM log WHERE pos > ? AND pos < ? AND entry = 'erase'", (place(ns, seq), place(ns + 1, 0))
    ).fetchone()
    return row is not None


def misses_turns(connection: apsw.Connection, ns: int, compaction: Action) -> bool:
    """Whether a compaction was made of turns that are not there any more."""
    return any(
        connection.execute("SELECT 1 FROM log WHERE ns = ? AND id = ? AND entry = 'turn'", (ns, turn_id)).fetchone()
        is None
        for told in read_compaction(compaction.payload).told
        for turn_id in told.turn_ids
    )


class Tombs(AnyTombs):
    def __init__(self, connection: apsw.Connection, ns: int, namespace: str) -> None:
        self._connection = connection
        self._ns = ns
        there = connection.execute("SELECT EXISTS (SELECT 1 FROM tombstones WHERE ns = ?)", (ns,)).get
        super().__init__(marker_of(connection, namespace) if there else None, namespace)

    def _by_key(self, session: bytes, mark: bytes) -> tuple[int, Tombstone] | None:
        return self._known("key", session, mark)

    def _by_time(self, session: bytes, mark: bytes) -> tuple[int, Tombstone] | None:
        return self._known("timed", session, mark)

    def _has_noun(self, mark: bytes) -> bool:
        row = self._connection.execute("SELECT 1 FROM tombstones WHERE ns = ? AND noun = ?", (self._ns, mark))
        return row.fetchone() is not None

    def _has_said(self, session: bytes, index: int, said: bytes) -> bool:
        row = self._connection.execute(
            "SELECT 1 FROM tombstones WHERE ns = ? AND session = ? AND idx = ? AND said = ?",
            (self._ns, session, index, said),
        )
        return row.fetchone() is not None

    def _known(self, column: str, session: bytes, mark: bytes) -> tuple[int, Tombstone] | None:
        row = self._connection.execute(
            f"SELECT {TOMB_COLUMNS} FROM tombstones WHERE ns = ? AND session = ? AND {column} = ?",
            (self._ns, session, mark),
        ).fetchone()
        return None if row is None else read_tomb(row)
