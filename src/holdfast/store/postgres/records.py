"""Writing records: new ones, merged ones, retired ones, each a few rows of the same transaction; the views are held."""

from __future__ import annotations

from holdfast.log.compaction import PARTIAL
from holdfast.model import Record
from holdfast.moments import to_micros
from holdfast.store.codes import SLOTS, kind_number
from holdfast.store.halves import halved
from holdfast.store.nouns import COMPACTION, Merged, NewRecord, Retired, Space
from holdfast.store.postgres.tending import lift, standing
from holdfast.store.postgres.transaction import Transaction
from holdfast.store.rows import pack_metadata

__all__ = ["insert_record", "next_number", "write_record"]

_INSERT = """INSERT INTO records (ns, num, id, kind, text, provenance, confidence, evidence_count, at, valid_from,
        valid_to, superseded_by, metadata, compaction, partial, born, notches, trust)
    VALUES (%(ns)s, %(num)s, %(id)s, %(kind)s, %(text)s, %(provenance)s, %(confidence)s, %(evidence)s, %(at)s,
        %(valid_from)s, %(valid_to)s, %(superseded_by)s, %(metadata)s, %(compaction)s, %(partial)s, %(born)s,
        %(notches)s, %(trust)s)"""


def write_record(tx: Transaction, change: NewRecord | Merged | Retired, slot: int) -> None:
    match change:
        case NewRecord(record, born, sources, vector):
            num = next_number(tx)
            insert_record(tx, num, record, born)
            _link(tx, num, sources)
            _keep_vector(tx, num, vector, slot)
        case Merged():
            _merge(tx, change, slot)
        case Retired(record_id, by, at, seq):
            tx.execute(
                """UPDATE records SET valid_to = %(at)s, superseded_by = %(by)s, retired = %(seq)s
                   WHERE ns = %(ns)s AND id = %(id)s""",
                {"at": to_micros(at), "by": by, "seq": seq, "id": record_id},
            )


def _merge(tx: Transaction, change: Merged, slot: int) -> None:
    record = change.record
    row = tx.row(
        "SELECT num, born, text, provenance, confidence FROM records WHERE ns = %(ns)s AND id = %(id)s",
        {"id": record.id},
    )
    num, born, *known = row or (0, 0)
    # What is said again is raised again: it is another document then, for it is trusted as another.
    raised = lift(tx, record.id, max(change.sources, default=0))
    if not raised and known == [record.text, record.provenance.value, record.confidence]:
        tx.execute(
            """UPDATE records SET evidence_count = %(evidence)s, metadata = %(metadata)s, compaction = %(compaction)s,
               partial = %(partial)s WHERE ns = %(ns)s AND num = %(num)s""",
            {"evidence": record.evidence_count, "num": num, **_noted(record)},
        )
    else:  # the indexes know a document by its number: another text or trust is another document
        tx.execute("DELETE FROM records WHERE ns = %(ns)s AND num = %(num)s", {"num": num})
        tx.execute("INSERT INTO gone (ns, num) VALUES (%(ns)s, %(num)s) ON CONFLICT DO NOTHING", {"num": num})
        old, num = num, next_number(tx, num)
        insert_record(tx, num, record, born)
        tx.execute(
            "UPDATE sources SET record = %(num)s WHERE ns = %(ns)s AND record = %(old)s", {"num": num, "old": old}
        )
        if change.vector is None:  # the same text keeps its vectors, of every model, under its new number
            tx.execute(
                """UPDATE vectors SET num = %(num)s
                   WHERE ns = %(ns)s AND slot = ANY(%(slots)s::smallint[]) AND space = %(space)s AND num = %(old)s""",
                {"num": num, "old": old, "space": int(Space.RECORD), "slots": list(range(SLOTS))},
            )
        _keep_vector(tx, num, change.vector, slot)
    _link(tx, num, change.sources)


def next_number(tx: Transaction, above: int = 0) -> int:
    """The number of the next record; numbers are never given twice, even if the last record went away."""
    last = tx.one(
        """SELECT greatest(coalesce((SELECT max(num) FROM records WHERE ns = %(ns)s), 0),
                           coalesce((SELECT max(num) FROM gone WHERE ns = %(ns)s), 0), %(above)s)""",
        {"above": above},
    )
    return int(last) + 1


def insert_record(tx: Transaction, num: int, record: Record, born: int) -> None:
    notches, trust = standing(tx, record.id)
    tx.execute(
        _INSERT,
        {
            "num": num,
            "id": record.id,
            "kind": kind_number(record.kind),
            "text": record.text,
            "provenance": record.provenance.value,
            "confidence": record.confidence,
            "evidence": record.evidence_count,
            "at": to_micros(record.at),
            "valid_from": to_micros(record.valid_from),
            "valid_to": None if record.valid_to is None else to_micros(record.valid_to),
            "superseded_by": record.superseded_by,
            "born": born,
            "notches": notches,
            "trust": trust,
            **_noted(record),
        },
    )


def _noted(record: Record) -> dict[str, object]:
    made = record.metadata.get(COMPACTION)
    return {
        "metadata": pack_metadata(record.metadata),
        "compaction": None if made is None else str(made),
        "partial": record.metadata.get(PARTIAL) is not None,
    }


def _link(tx: Transaction, num: int, turns: tuple[int, ...]) -> None:
    rows = [(num, turn) for turn in dict.fromkeys(turns)]
    tx.insert("sources (record, turn)", ("bigint", "bigint"), rows, "ON CONFLICT DO NOTHING")


def _keep_vector(tx: Transaction, num: int, vector: bytes | None, slot: int) -> None:
    if vector is not None:
        tx.execute(
            """INSERT INTO vectors (ns, slot, space, num, data) VALUES (%(ns)s, %(slot)s, %(space)s, %(num)s, %(data)s)
               ON CONFLICT (ns, slot, space, num) DO UPDATE SET data = excluded.data""",
            {"slot": slot, "space": int(Space.RECORD), "num": num, "data": halved([vector])[0]},
        )
