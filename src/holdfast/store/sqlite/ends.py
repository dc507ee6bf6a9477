"""Where the log of a namespace and the turns of a session end: what every append must know first."""

from __future__ import annotations

import apsw

from holdfast.store.sqlite.keys import number_of, place

__all__ = ["Ends", "last_index", "last_seq", "namespace_number", "session_number"]

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

    def read(self, connection: apsw.Connection, namespace: str, session: str) -> tuple[int, int, int, int]:
        """(namespace, session, last index, last place in the log), the first two made if need be.

        What is known is taken out, and put back by keep() after the commit: a transaction that fails leaves nothing.
        """
        version = connection.execute("PRAGMA data_version").get
        if version != self._version:
            self.forget()
            self._version = version
        known = self._sessions.pop((namespace, session), None)
        seq = self._seqs.pop(known[0], None) if known else None
        if known and seq is not None:
            return *known, seq
        ns = namespace_number(connection, namespace)
        number = session_number(connection, ns, session)
        return ns, number, last_index(connection, ns, number), last_seq(connection, ns)

    def keep(self, namespace: str, session: str, ns: int, number: int, index: int, seq: int) -> None:
        if len(self._sessions) >= _MOST:
            self.forget()
        self._sessions[namespace, session] = (ns, number, index)
        self._seqs[ns] = seq

    def forget(self) -> None:
        self._sessions.clear()
        self._seqs.clear()


def namespace_number(connection: apsw.Connection, name: str) -> int:
    row = connection.execute("SELECT ns FROM namespaces WHERE name = ?", (name,)).fetchone()
    if row is None:
        connection.execute("INSERT INTO namespaces (name) VALUES (?)", (name,))
        return connection.last_insert_rowid()
    return int(row[0])


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
