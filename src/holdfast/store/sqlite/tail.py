"""Where the log of a namespace and the turns of a session end: what every append must know first."""

from __future__ import annotations

import apsw

from holdfast.log.acts import read_compaction
from holdfast.log.tombstones import Marker, Tombstone, read_tombstone
from holdfast.model import Action
from holdfast.store.erase import TOMB_COLUMNS, read_tomb
from holdfast.store.erase import Tombs as AnyTombs
from holdfast.store.rows import role_number
from holdfast.store.sqlite.connection import number_of, place
from holdfast.text.time import to_micros

# --- Tombstones as rows: how they are put up, and how what comes again is known by them (log/tombstones.py).


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


_MOST = 1000  # sessions whose end is kept in mind


class Ends:
    """The ends as this process left them, valid while nobody else has written to the file.

    SQLite counts what other connections commit (data_version), and appends of one process share one connection: if the
    count stands where it stood, four look-ups that every acknowledgement would wait for can be spared.
    """

    def __init__(self) -> None:
        self._version = -1
        self._sessions: dict[tuple[str, str], tuple[int, int, int]] = {}
        self._seqs: dict[int, int] = {}
        self._tombstones: bool | None = None

    def read(self, connection: apsw.Connection, namespace: str, session: str) -> tuple[int, int, int, int]:
        """(namespace, session, last index, last place in the log), the first two made if need be.

        What is known is taken out, and put back by keep() after the commit: a transaction that fails leaves nothing.
        """
        self._look(connection)
        known = self._sessions.pop((namespace, session), None)
        seq = self._seqs.pop(known[0], None) if known else None
        if known and seq is not None:
            return *known, seq
        ns = namespace_number(connection, namespace)
        number = session_number(connection, ns, session)
        index = max(last_index(connection, ns, number), last_erased_index(connection, ns, namespace, session))
        return ns, number, index, last_seq(connection, ns)

    def has_tombstones(self, connection: apsw.Connection) -> bool:
        """Whether anything was ever erased from the store: then what comes may be something that must not come back."""
        self._look(connection)
        if self._tombstones is None:
            self._tombstones = bool(connection.execute("SELECT EXISTS (SELECT 1 FROM tombstones)").get)
        return self._tombstones

    def _look(self, connection: apsw.Connection) -> None:
        """Whether another connection has written meanwhile."""
        version = connection.execute("PRAGMA data_version").get
        if version != self._version:
            self.forget()
            self._version = version

    def keep(self, namespace: str, session: str, ns: int, number: int, index: int, seq: int) -> None:
        if len(self._sessions) >= _MOST:
            self.forget()
        self._sessions[namespace, session] = (ns, number, index)
        self._seqs[ns] = seq

    def forget(self) -> None:
        self._sessions.clear()
        self._seqs.clear()
        self._tombstones = None


def namespace_number(connection: apsw.Connection, name: str) -> int:
    """The namespace of this name, made if need be. One that was erased has its number, and its tombstones, again."""
    row = connection.execute("SELECT ns FROM namespaces WHERE name = ?", (name,)).fetchone()
    if row is not None:
        return int(row[0])
    number = nameless_number(connection, name)
    if number is None:
        number = connection.execute(
            "SELECT 1 + max(coalesce((SELECT max(ns) FROM namespaces), 0), coalesce((SELECT max(ns) FROM nameless), 0))"
        ).get
    connection.execute("DELETE FROM nameless WHERE ns = ?", (number,))
    connection.execute("INSERT INTO namespaces VALUES (?, ?)", (number, name))
    return int(number)


def known_namespace(connection: apsw.Connection, name: str) -> int | None:
    """The namespace of this name, also if it was erased; None if it was never there."""
    row = connection.execute("SELECT ns FROM namespaces WHERE name = ?", (name,)).fetchone()
    return nameless_number(connection, name) if row is None else int(row[0])


def nameless_number(connection: apsw.Connection, name: str) -> int | None:
    """The namespace that had this name before it was erased."""
    if not connection.execute("SELECT EXISTS (SELECT 1 FROM nameless)").get:
        return None
    mark = marker_of(connection, name).whole()
    row = connection.execute("SELECT ns FROM nameless WHERE mark = ?", (mark,)).fetchone()
    return None if row is None else int(row[0])


def session_number(connection: apsw.Connection, ns: int, name: str) -> int:
    row = connection.execute("SELECT session FROM sessions WHERE ns = ? AND name = ?", (ns, name)).fetchone()
    if row is not None:
        return int(row[0])
    last = connection.execute("SELECT coalesce(max(session), 0) FROM sessions WHERE ns = ?", (ns,)).get
    connection.execute("INSERT INTO sessions VALUES (?, ?, ?)", (ns, last + 1, name))
    return int(last + 1)


def last_seq(connection: apsw.Connection, ns: int) -> int:
    row = connection.execute(
        "SELECT max(pos) FROM log WHERE pos BETWEEN ? AND ?", (place(ns, 0), place(ns + 1, 0) - 1)
    ).fetchone()
    return 0 if row is None or row[0] is None else number_of(row[0])


def last_index(connection: apsw.Connection, ns: int, session: int) -> int:
    row = connection.execute(
        "SELECT max(idx) FROM log WHERE ns = ? AND session = ? AND entry = 'turn'", (ns, session)
    ).fetchone()
    return -1 if row is None or row[0] is None else int(row[0])
