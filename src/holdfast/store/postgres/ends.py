"""Where the log of a namespace and the turns of a session end, and who may write there.

Two rows of a namespace are held while it is written to: one for its log, one for its views. Who needs both takes the
views first, so nobody waits for each other in a ring, and an append never waits for derived work.
"""

from __future__ import annotations

from holdfast.store.postgres.tombs import last_erased_index
from holdfast.store.postgres.transaction import Transaction

__all__ = ["hold_log", "hold_views", "is_known", "last_index", "move_end", "session_number"]


def hold_log(tx: Transaction) -> int:
    """The end of the namespace's log, which nobody else moves until this transaction ends. The namespace is made if
    need be; one that was erased has its name, and its tombstones, again.
    """
    row = tx.row("SELECT seq, name FROM namespaces WHERE ns = %(ns)s FOR UPDATE")
    if row is None or row[1] is None:
        row = tx.row(
            """INSERT INTO namespaces (ns, name) VALUES (%(ns)s, %(name)s)
               ON CONFLICT (ns) DO UPDATE SET name = excluded.name RETURNING seq""",
            {"name": tx.namespace},
        )
    assert row is not None
    return int(row[0])


def move_end(tx: Transaction, seq: int) -> None:
    tx.execute("UPDATE namespaces SET seq = %(seq)s WHERE ns = %(ns)s", {"seq": seq})


def hold_views(tx: Transaction) -> None:
    """Nobody else writes to the namespace's views until this transaction ends."""
    if tx.row("SELECT 1 FROM views WHERE ns = %(ns)s FOR UPDATE") is None:
        tx.execute("INSERT INTO views (ns) VALUES (%(ns)s) ON CONFLICT (ns) DO NOTHING")
        tx.execute("SELECT 1 FROM views WHERE ns = %(ns)s FOR UPDATE")


def is_known(tx: Transaction) -> bool:
    """Whether the namespace was ever there, erased or not."""
    return tx.row("SELECT 1 FROM namespaces WHERE ns = %(ns)s") is not None


def session_number(tx: Transaction, name: str) -> int:
    """The session of this name, made if need be; the log is held."""
    number = tx.one("SELECT session FROM sessions WHERE ns = %(ns)s AND name = %(name)s", {"name": name})
    if number is None:
        number = tx.one(
            """INSERT INTO sessions (ns, session, name)
               SELECT %(ns)s, coalesce(max(session), 0) + 1, %(name)s FROM sessions WHERE ns = %(ns)s
               RETURNING session""",
            {"name": name},
        )
    return int(number)


def last_index(tx: Transaction, session: int, name: str) -> int:
    """The highest index that the session ever gave, to a turn that was erased or not; -1 before its first."""
    last = tx.one(
        "SELECT max(idx) FROM log WHERE ns = %(ns)s AND session = %(session)s AND entry = 'turn'", {"session": session}
    )
    return max(-1 if last is None else int(last), last_erased_index(tx, name))
