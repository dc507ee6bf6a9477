"""The views of a namespace, dropped: what the log's acts say of them comes back at once, the rest is derived anew."""

from __future__ import annotations

from secrets import randbits

import apsw

from holdfast.store.nouns import EPOCH_STAGE, PASSAGES_STAGE, Space
from holdfast.store.sqlite.acts import note_admitted, replay_acts
from holdfast.store.sqlite.keys import NUMBER_MASK, SLOTS, number_of, vector_place

__all__ = ["clear_views"]

# Views that are dropped and derived anew; vectors stay, as a model's output (INV-3).
_VIEWS = (
    "records", "sources", "hidden", "gone", "tended", "receipts", "signals", "counters", "documents", "postings",
    "segments", "tombstones", "refused",
)  # fmt: skip


def clear_views(connection: apsw.Connection, ns: int) -> None:
    note_admitted(connection, ns)
    before = _record_texts(connection, ns)
    for table in _VIEWS:
        connection.execute(f"DELETE FROM {table} WHERE ns = ?", (ns,))
    connection.execute("DELETE FROM cursors WHERE ns = ? AND stage <> ?", (ns, PASSAGES_STAGE))
    connection.execute("INSERT INTO cursors VALUES (?, ?, ?)", (ns, EPOCH_STAGE, randbits(62)))
    replay_acts(connection, ns)
    _carry_vectors(connection, ns, before, _record_texts(connection, ns))


_Texts = dict[str, tuple[int, str]]
"""Number and text of a namespace's records, by id."""


def _record_texts(connection: apsw.Connection, ns: int) -> _Texts:
    rows = connection.execute("SELECT id, pos, text FROM records WHERE ns = ?", (ns,)).fetchall()
    return {str(name): (number_of(pos), str(text)) for name, pos, text in rows if isinstance(pos, int)}


def _carry_vectors(connection: apsw.Connection, ns: int, before: _Texts, after: _Texts) -> None:
    """A record that came back with its text keeps its vectors, under the number it has now; all others go."""
    same = [(before[name][0], num) for name, (num, text) in after.items() if before.get(name, (0, ""))[1] == text]
    for slot in range(SLOTS):
        first = vector_place(ns, slot, Space.RECORD, 0)
        kept = [
            (first + num, data)
            for old, num in same
            for (data,) in connection.execute("SELECT data FROM vectors WHERE pos = ?", (first + old,))
        ]
        connection.execute("DELETE FROM vectors WHERE pos BETWEEN ? AND ?", (first, first + NUMBER_MASK))
        connection.executemany("INSERT INTO vectors VALUES (?, ?)", kept)
