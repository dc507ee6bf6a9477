"""Where the log of a namespace and the turns of a session end: what every append must know first."""

from __future__ import annotations

import apsw

from holdfast.store.sqlite.keys import number_of, place
from holdfast.store.sqlite.tombs import last_erased_index, marker_of

__all__ = ["Ends", "known_namespace", "last_index", "last_seq", "namespace_number", "session_number"]

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
