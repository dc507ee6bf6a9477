"""Tombstones as rows: how they are put up, and how what comes again is known by them (log/tombstones.py)."""

from __future__ import annotations

from datetime import datetime

import apsw

from holdfast.log.compaction import read_compaction
from holdfast.log.tombstones import Marker, Tombstone, erased_turn, read_tombstone
from holdfast.model import Action, NewTurn, Turn
from holdfast.moments import to_micros
from holdfast.store.codes import ROLES, role_number
from holdfast.store.sqlite.keys import place

__all__ = [
    "Tombs",
    "apply_erase",
    "erased_since",
    "last_erased_index",
    "marker_of",
    "misses_turns",
    "read_tombs",
]

_COLUMNS = "seq, noun, session, idx, role, said, timed, key"


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
        f"SELECT {_COLUMNS} FROM tombstones WHERE ns = ? AND session = ? ORDER BY idx", (ns, session)
    ).fetchall()
    return [_read(row) for row in rows]


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


class Tombs:
    """Knows what was erased when it comes to a namespace again. Where nothing was, it costs one look."""

    def __init__(self, connection: apsw.Connection, ns: int, namespace: str) -> None:
        self._connection = connection
        self._ns = ns
        self._namespace = namespace
        there = connection.execute("SELECT EXISTS (SELECT 1 FROM tombstones WHERE ns = ?)", (ns,)).get
        self._marker = marker_of(connection, namespace) if there else None

    def turn(self, turn: NewTurn, session: str, now: datetime) -> Turn | None:
        """The erased turn that this one is, by its key or, if its time was given, by role, text and time."""
        if self._marker is None:
            return None
        if turn.key is not None:
            return self._known("key", self._marker.key(session, turn.key), turn, session, now)
        if turn.at_given:
            mark = self._marker.timed(session, turn.role, turn.text, turn.at)
            return self._known("timed", mark, turn, session, now)
        return None

    def noun(self, noun_id: str) -> bool:
        """Whether a turn or record of this id was erased here."""
        if self._marker is None:
            return False
        row = self._connection.execute(
            "SELECT 1 FROM tombstones WHERE ns = ? AND noun = ?", (self._ns, self._marker.noun(noun_id))
        ).fetchone()
        return row is not None

    def stood_at(self, turn: NewTurn, session: str, index: int) -> bool:
        """Whether this very turn stood at this place of the session and was erased."""
        if self._marker is None:
            return False
        row = self._connection.execute(
            "SELECT 1 FROM tombstones WHERE ns = ? AND session = ? AND idx = ? AND said = ?",
            (self._ns, self._marker.session(session), index, self._marker.said(session, turn.role, turn.text)),
        ).fetchone()
        return row is not None

    def _known(self, column: str, mark: bytes, turn: NewTurn, session: str, now: datetime) -> Turn | None:
        assert self._marker is not None
        row = self._connection.execute(
            f"SELECT {_COLUMNS} FROM tombstones WHERE ns = ? AND session = ? AND {column} = ?",
            (self._ns, self._marker.session(session), mark),
        ).fetchone()
        if row is None:
            return None
        seq, tombstone = _read(row)
        return erased_turn(tombstone, turn, self._namespace, session, seq, now)


def _read(row: tuple[object, ...]) -> tuple[int, Tombstone]:
    seq, noun, session, index, role, said, timed, key = row
    assert isinstance(seq, int) and isinstance(noun, bytes) and isinstance(session, bytes) and isinstance(said, bytes)
    assert isinstance(index, int) and isinstance(role, int)
    return seq, Tombstone(
        noun, session, index, ROLES[role], said, timed if isinstance(timed, bytes) else None,
        key if isinstance(key, bytes) else None,
    )  # fmt: skip
