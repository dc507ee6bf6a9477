"""Writing records: new ones, merged ones, retired ones, each a few rows of the same transaction."""

from __future__ import annotations

import apsw

from holdfast.model import Record
from holdfast.moments import to_micros
from holdfast.store.codes import kind_number
from holdfast.store.halves import halved
from holdfast.store.nouns import Merged, NewRecord, Retired, Space
from holdfast.store.rows import pack_metadata
from holdfast.store.sqlite.keys import SLOTS, number_of, place, vector_place
from holdfast.store.sqlite.tending import lift, standing

__all__ = ["insert_record", "next_number", "write_record"]

_INSERT = """INSERT INTO records (pos, ns, id, kind, text, provenance, confidence, evidence_count, at, valid_from,
                                  valid_to, superseded_by, metadata, born, notches, trust)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""


def write_record(connection: apsw.Connection, ns: int, change: NewRecord | Merged | Retired, slot: int) -> None:
    match change:
        case NewRecord(record, born, sources, vector):
            num = next_number(connection, ns)
            insert_record(connection, ns, num, record, born)
            _link(connection, ns, num, sources)
            _keep_vector(connection, ns, num, vector, slot)
        case Merged():
            _merge(connection, ns, change, slot)
        case Retired(record_id, by, at, seq):
            connection.execute(
                "UPDATE records SET valid_to = ?, superseded_by = ?, retired = ? WHERE ns = ? AND id = ?",
                (to_micros(at), by, seq, ns, record_id),
            )


def _merge(connection: apsw.Connection, ns: int, change: Merged, slot: int) -> None:
    record = change.record
    pos, born, *known = connection.execute(
        "SELECT pos, born, text, provenance, confidence FROM records WHERE ns = ? AND id = ?", (ns, record.id)
    ).fetchone() or (0, 0)
    assert isinstance(pos, int) and isinstance(born, int)
    num = number_of(pos)
    # What is said again is raised again: it is another document then, for it is trusted as another.
    raised = lift(connection, ns, record.id, max(change.sources, default=0))
    if not raised and known == [record.text, record.provenance.value, record.confidence]:
        connection.execute(
            "UPDATE records SET evidence_count = ?, metadata = ? WHERE pos = ?",
            (record.evidence_count, pack_metadata(record.metadata), pos),
        )
    else:  # the indexes know a document by its number: another text or trust is another document
        connection.execute("DELETE FROM records WHERE pos = ?", (pos,))
        connection.execute("INSERT OR IGNORE INTO gone VALUES (?, ?)", (ns, num))
        old, num = num, next_number(connection, ns, num)
        insert_record(connection, ns, num, record, born)
        connection.execute("UPDATE sources SET record = ? WHERE ns = ? AND record = ?", (num, ns, old))
        if change.vector is None:
            _move_vectors(connection, ns, old, num)
        _keep_vector(connection, ns, num, change.vector, slot)
    _link(connection, ns, num, change.sources)


def next_number(connection: apsw.Connection, ns: int, above: int = 0) -> int:
    """The number of the next record; numbers are never given twice, even if the last record went away."""
    last = connection.execute(
        "SELECT max(pos) FROM records WHERE pos BETWEEN ? AND ?", (place(ns, 0), place(ns + 1, 0) - 1)
    ).get
    gone = connection.execute("SELECT max(num) FROM gone WHERE ns = ?", (ns,)).get
    return max(number_of(last) if last is not None else 0, gone or 0, above) + 1


def insert_record(connection: apsw.Connection, ns: int, num: int, record: Record, born: int) -> None:
    connection.execute(
        _INSERT,
        (
            place(ns, num), ns, record.id, kind_number(record.kind), record.text, record.provenance.value,
            record.confidence, record.evidence_count, to_micros(record.at), to_micros(record.valid_from),
            None if record.valid_to is None else to_micros(record.valid_to), record.superseded_by,
            pack_metadata(record.metadata), born, *standing(connection, ns, record.id),
        ),
    )  # fmt: skip


def _link(connection: apsw.Connection, ns: int, num: int, turns: tuple[int, ...]) -> None:
    connection.executemany("INSERT OR IGNORE INTO sources VALUES (?, ?, ?)", [(ns, num, turn) for turn in turns])


def _keep_vector(connection: apsw.Connection, ns: int, num: int, vector: bytes | None, slot: int) -> None:
    if vector is not None:
        connection.execute(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
            (vector_place(ns, slot, Space.RECORD, num), *halved([vector])),
        )


def _move_vectors(connection: apsw.Connection, ns: int, old: int, num: int) -> None:
    """The same text keeps its vectors, of every model, under its new number."""
    connection.executemany(
        "UPDATE vectors SET pos = ? WHERE pos = ?",
        [
            (vector_place(ns, slot, Space.RECORD, num), vector_place(ns, slot, Space.RECORD, old))
            for slot in range(SLOTS)
        ],
    )
