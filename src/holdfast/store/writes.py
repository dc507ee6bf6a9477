"""Writes to the views: what acts of the log, derived work and retrievals change.

Replaying the acts of a log in order gives the same views again (INV-3). The caller holds the views of the namespace.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from secrets import randbits

from holdfast.log.acts import PARTIAL, noted_turns, read_compaction, read_janitor_run
from holdfast.model import Action, Decision, Entry, Record, from_micros, to_micros, utc_now
from holdfast.store.lines import admitted, apply_erases, cursor, turn_places, write_act
from holdfast.store.rows import (
    SLOTS,
    kind_number,
    pack_metadata,
    pack_signals,
    pack_vectors,
    record_of_compaction,
    record_of_remember,
)
from holdfast.store.types import (
    ADMIT_STAGE,
    COMPACTION,
    EPOCH_STAGE,
    PASSAGES_STAGE,
    Changes,
    Move,
    NewRecord,
    RecordMerge,
    RecordRetirement,
    Space,
    Transaction,
)

# --- Acts.


def apply_act(tx: Transaction, seq: int, action: Action) -> None:
    """Apply the act at this place of the log to the views."""
    match action.entry:
        case Entry.REMEMBER:
            _apply_remember(tx, seq, action)
        case Entry.FORGET:
            updated = "ON CONFLICT (ns, subject) DO UPDATE SET seq = excluded.seq"
            tx.insert("hidden", "subject, seq", [(action.subject, seq)], updated)
        case Entry.UNFORGET:
            tx.execute("DELETE FROM hidden WHERE ns = :ns AND subject = :subject", subject=action.subject)
        case Entry.CALIBRATE | Entry.PROPOSE | Entry.REBUILD:
            pass  # they change no view: calibration and admission read them from the log
        case Entry.COMPACT:
            _apply_compaction(tx, seq, action)
        case Entry.JANITOR:
            _apply_janitor_run(tx, seq, action)
        case Entry.JANITOR_UNDO:
            _undo_janitor_run(tx, action)
        case Entry.ERASE:
            apply_erases(tx, [(seq, action)])
        case Entry.TURN:
            raise AssertionError("a turn is not an act")


def _replay_acts(tx: Transaction) -> None:
    rows = tx.rows(
        """SELECT log.seq, log.entry, log.id, log.at, log.text FROM log
           WHERE log.ns = :ns AND log.seq >= 0 AND log.entry <> 'turn' ORDER BY log.seq"""
    )
    acts = [(seq, Action(Entry(entry), noun, from_micros(at), json.loads(text))) for seq, entry, noun, at, text in rows]
    for entry, run in groupby(acts, lambda one: one[1].entry):
        if entry is Entry.ERASE:  # there may be as many as there were turns
            apply_erases(tx, run)
            continue
        for seq, action in run:
            apply_act(tx, seq, action)


def _apply_remember(tx: Transaction, seq: int, action: Action) -> None:
    """Create its record, with the turns that bear it out if an agent wrote it (TRUST-2)."""
    turn_ids = noted_turns(action.payload)
    places = turn_places(tx, turn_ids)
    if len(places) == len(set(turn_ids)):  # else one of them was erased
        sources = tuple(places[turn_id] for turn_id in turn_ids)
        _write_record(tx, NewRecord(record_of_remember(action), seq, sources, None), slot=0)


def _apply_compaction(tx: Transaction, seq: int, action: Action) -> None:
    """Create its summaries and guidance. Their ids are in the log, so a rebuild gives the same."""
    made = read_compaction(action.payload)
    for one in made.records:
        places = turn_places(tx, one.turn_ids)
        if len(places) < len(set(one.turn_ids)):  # one of its turns was erased
            continue
        record = record_of_compaction(one, action, tx.namespace)
        sources = tuple(places[turn_id] for turn_id in one.turn_ids)
        _write_record(tx, NewRecord(record, seq, sources, None), slot=0)
        write_receipts(tx, [(one.id, Decision(one.what, one.reason, action.at, {COMPACTION: action.subject}))])
    moved = "ON CONFLICT (ns, stage) DO UPDATE SET done = greatest(cursors.done, excluded.done)"
    tx.insert("cursors", "stage, done", [(made.stage, made.upto)], moved)


# Records that are derived from turns come after the replay of the acts. So `tended` keeps what a run lowered by the id
# of the record, and a record reads it from there when it is created. The provenance in the row of a record stays as it
# was stated: admission compares by it.


def _apply_janitor_run(tx: Transaction, seq: int, action: Action) -> None:
    made = read_janitor_run(action.payload)
    lowered = [(record, one.reason) for one in made.demotions for record in one.records]
    run = {"run": action.subject, "seq": seq, "factor": made.factor}
    tx.insert(
        "tended",
        "subject, run, seq, at, factor",
        [(record, action.subject, seq, to_micros(action.at), made.factor) for record in dict(lowered)],
        "ON CONFLICT DO NOTHING",
    )
    tx.many(
        """UPDATE records SET notches = notches + 1, trust = trust * :factor WHERE ns = :ns AND id = :record
           AND EXISTS (SELECT 1 FROM tended WHERE tended.ns = :ns AND tended.subject = :record
                       AND tended.run = :run AND tended.seq = :seq)""",
        [run | {"record": record} for record, _ in lowered],
    )
    culled = dict.fromkeys(made.culled)
    tx.insert("hidden", "subject, seq", [(record, seq) for record in culled], "ON CONFLICT DO NOTHING")
    _explain_run(tx, "demoted", lowered, action)
    _explain_run(tx, "culled", [(record, made.reason) for record in made.culled], action)


def _undo_janitor_run(tx: Transaction, action: Action) -> None:
    """Restore everything that the run changed; the age of the records counts from this moment."""
    run, at = action.subject, to_micros(action.at)
    lowered = tx.rows(
        "UPDATE tended SET undone = TRUE, at = :at WHERE ns = :ns AND run = :run RETURNING subject", at=at, run=run
    )
    culled = tx.rows(
        """DELETE FROM hidden WHERE ns = :ns AND seq IN
               (SELECT log.seq FROM log WHERE log.ns = :ns AND log.id = :run AND log.entry <> 'turn'
                AND log.entry = 'janitor')
           RETURNING subject""",
        run=run,
    )
    tx.insert(
        "tended",
        "subject, run, seq, at, factor, undone",
        [(subject, run, 0, at, 1.0, True) for (subject,) in culled],
        """ON CONFLICT (ns, subject, run) DO UPDATE SET seq = excluded.seq, at = excluded.at, factor = excluded.factor,
           undone = excluded.undone""",
    )
    touched = [str(subject) for (subject,) in [*lowered, *culled]]
    for record in touched:
        notches, trust = _lowered(tx, record)
        sql = "UPDATE records SET notches = :notches, trust = :trust WHERE ns = :ns AND id = :record"
        tx.execute(sql, notches=notches, trust=trust, record=record)
    reason = f"the janitor's run {run} was undone; it is as it was"
    _explain_run(tx, "restored", [(record, reason) for record in touched], action)


def _lowered(tx: Transaction, record_id: str) -> tuple[int, float]:
    """Return by how many notches the janitor lowered a record, and the product of the factors."""
    notches, trust = 0, 1.0
    sql = "SELECT factor FROM tended WHERE ns = :ns AND subject = :record AND NOT undone ORDER BY seq"
    for (factor,) in tx.rows(sql, record=record_id):
        notches, trust = notches + 1, trust * float(factor)
    return notches, trust


def _explain_run(tx: Transaction, what: str, reasons: Iterable[tuple[str, str]], action: Action) -> None:
    details = {"run": action.subject}
    write_receipts(tx, [(record, Decision(what, reason, action.at, details)) for record, reason in reasons])


def write_receipts(tx: Transaction, decisions: Sequence[tuple[str, Decision]]) -> None:
    """Write (id of the turn or record, what was decided), numbered in the order in which it happened."""
    sql = "SELECT subject, max(number) FROM receipts WHERE ns = :ns AND subject IN :subjects GROUP BY subject"
    last: dict[str, int] = dict(tx.rows(sql, subjects=list(dict.fromkeys(subject for subject, _ in decisions))))
    rows = []
    for subject, decision in decisions:
        number = last[subject] = last.get(subject, 0) + 1
        at = None if decision.at is None else to_micros(decision.at)
        rows.append((subject, number, decision.what, decision.reason, at, pack_metadata(decision.details)))
    tx.insert("receipts", "subject, number, what, reason, at, details", rows)


# --- Records.


def _write_record(tx: Transaction, change: NewRecord | RecordMerge | RecordRetirement, slot: int) -> None:
    match change:
        case NewRecord(record, born, sources, vector):
            num = _next_number(tx)
            _insert_record(tx, num, record, born)
            _link(tx, num, sources)
            _keep_vector(tx, num, vector, slot)
        case RecordMerge():
            _merge(tx, change, slot)
        case RecordRetirement(record_id, by, at, seq):
            tx.execute(
                "UPDATE records SET valid_to = :at, superseded_by = :by, retired = :seq WHERE ns = :ns AND id = :id",
                at=to_micros(at),
                by=by,
                seq=seq,
                id=record_id,
            )


def _merge(tx: Transaction, change: RecordMerge, slot: int) -> None:
    record = change.record
    num, born, *known = tx.row(
        """SELECT records.num, records.born, records.text, records.provenance, records.confidence FROM records
           WHERE records.ns = :ns AND records.id = :id""",
        id=record.id,
    ) or (0, 0)
    # What is said again counts in full again. It is another document then, because it is trusted otherwise.
    raised = tx.rows(
        "DELETE FROM tended WHERE ns = :ns AND subject = :record AND seq < :seq RETURNING undone",
        record=record.id,
        seq=max(change.sources, default=0),
    )
    if all(undone for (undone,) in raised) and known == [record.text, record.provenance.value, record.confidence]:
        tx.execute(
            "UPDATE records SET evidence_count = :count, metadata = :metadata WHERE ns = :ns AND id = :id",
            count=record.evidence_count,
            metadata=pack_metadata(record.metadata),
            id=record.id,
        )
    else:  # the indexes identify a document by its number: another text or trust is another document
        tx.execute("DELETE FROM records WHERE ns = :ns AND id = :id", id=record.id)
        tx.insert("gone", "num", [(num,)], "ON CONFLICT DO NOTHING")
        old, num = num, _next_number(tx, num)
        _insert_record(tx, num, record, born)
        tx.execute("UPDATE sources SET record = :num WHERE ns = :ns AND record = :old", num=num, old=old)
        if change.vector is None:  # the same text keeps its vectors, of every model, under its new number
            tx.many(
                """UPDATE vectors SET num = :num WHERE vectors.ns = :ns AND vectors.slot = :slot
                   AND vectors.space = :space AND vectors.num = :old""",
                [{"slot": one, "space": int(Space.RECORD), "num": num, "old": old} for one in range(SLOTS)],
            )
        _keep_vector(tx, num, change.vector, slot)
    _link(tx, num, change.sources)


def _next_number(tx: Transaction, above: int = 0) -> int:
    """Return the number of the next record. No number is used twice, even if the last record went away."""
    last = tx.one(
        """SELECT greatest(coalesce((SELECT max(records.num) FROM records
                                     WHERE records.ns = :ns AND records.num >= 0), 0),
                           coalesce((SELECT max(gone.num) FROM gone WHERE gone.ns = :ns), 0), :above)""",
        above=above,
    )
    return int(last) + 1


def _insert_record(tx: Transaction, num: int, record: Record, born: int) -> None:
    made = record.metadata.get(COMPACTION)
    tx.insert(
        "records",
        "num, id, kind, text, provenance, confidence, evidence_count, at, valid_from, valid_to, superseded_by, "
        "metadata, compaction, partial, born, notches, trust",
        [
            (
                num, record.id, kind_number(record.kind), record.text, record.provenance.value, record.confidence,
                record.evidence_count, to_micros(record.at), to_micros(record.valid_from),
                None if record.valid_to is None else to_micros(record.valid_to), record.superseded_by,
                pack_metadata(record.metadata), None if made is None else str(made),
                record.metadata.get(PARTIAL) is not None, born, *_lowered(tx, record.id),
            )
        ],
    )  # fmt: skip


def _link(tx: Transaction, num: int, turns: Iterable[int]) -> None:
    tx.insert("sources", "record, turn", [(num, turn) for turn in dict.fromkeys(turns)], "ON CONFLICT DO NOTHING")


def _keep_vector(tx: Transaction, num: int, vector: bytes | None, slot: int) -> None:
    if vector is not None:
        _insert_vectors(tx, slot, [(Space.RECORD, num, vector)])


def _insert_vectors(tx: Transaction, slot: int, vectors: Sequence[tuple[Space, int, bytes]]) -> None:
    stored = pack_vectors([data for _, _, data in vectors])
    rows = {(int(space), num): data for (space, num, _), data in zip(vectors, stored, strict=True)}
    tx.insert(
        "vectors",
        "slot, space, num, data",
        [(slot, *key, data) for key, data in rows.items()],
        "ON CONFLICT (ns, slot, space, num) DO UPDATE SET data = excluded.data",
    )


# --- Derived work.


def advance(tx: Transaction, moves: Sequence[Move], changes: Changes, again: bool = False) -> bool:
    """Move cursors and write changes; do nothing and return False if a cursor is not where its move begins.

    `again`: an attempt before this one may have been committed. Then the cursors are where it moved them.
    """
    sql = "SELECT stage, done FROM cursors WHERE ns = :ns AND stage IN :stages"
    found: dict[str, int] = dict(tx.rows(sql, stages=[move.stage for move in moves]))
    moved = [move for move in moves if move.upto != move.after]
    if again and moved and all(found.get(move.stage, 0) == move.upto for move in moved):
        return True
    if any(found.get(move.stage, 0) != move.after for move in moves):
        return False
    steps = {move.stage: move.upto for move in moved}
    tx.insert("cursors", "stage, done", steps.items(), "ON CONFLICT (ns, stage) DO UPDATE SET done = excluded.done")
    _write_changes(tx, changes)
    return True


def _write_changes(tx: Transaction, changes: Changes) -> None:
    # Versions are random, not counted: after a rebuild a block must never look like one that is still in a cache.
    tx.insert(
        "postings",
        "space, term, block, data",
        _joined((int(space), term, block, data) for space, term, block, data in changes.postings),
        "ON CONFLICT (ns, space, term, block) DO UPDATE SET data = postings.data || excluded.data",
    )
    documents = _joined((int(space), block, data) for space, block, data in changes.documents)
    tx.insert(
        "documents",
        "space, block, data, version",
        [(*row, randbits(63)) for row in documents],
        """ON CONFLICT (ns, space, block)
           DO UPDATE SET version = excluded.version, data = documents.data || excluded.data""",
    )
    tx.insert(
        "passages", "num, turn, start, stop", [(one.num, one.turn, one.start, one.stop) for one in changes.passages]
    )
    slot = _slot(tx, changes.fingerprint) if changes.fingerprint else 0
    _insert_vectors(tx, slot, changes.vectors)
    tx.insert(
        "segments",
        "space, slot, block, version, data",
        [(int(space), slot, block, randbits(63), data) for space, block, data in changes.segments],
        "ON CONFLICT (ns, space, slot, block) DO UPDATE SET version = excluded.version, data = excluded.data",
    )
    for change in changes.records:
        _write_record(tx, change, slot)
    tx.insert(
        "signals",
        "seq, data",
        [(seq, pack_signals(signals)) for seq, signals in dict(changes.signals).items()],
        "ON CONFLICT (ns, seq) DO UPDATE SET data = excluded.data",
    )
    tx.insert(
        "counters",
        "day, name, count",
        [(day, name, count) for (day, name), count in changes.counters.items()],
        "ON CONFLICT (ns, day, name) DO UPDATE SET count = counters.count + excluded.count",
    )
    write_receipts(tx, changes.receipts)


def _joined(rows: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Join the bytes of rows with the same key: one statement may change a row only once."""
    found: dict[tuple[object, ...], list[bytes]] = {}
    for *key, data in rows:
        assert isinstance(data, bytes)
        found.setdefault(tuple(key), []).append(data)
    return [(*key, b"".join(parts)) for key, parts in found.items()]


def _slot(tx: Transaction, fingerprint: str) -> int:
    """Return the slot of a model's vectors. The seventeenth model of a namespace replaces its first."""
    known: dict[str, int] = dict(tx.rows("SELECT fingerprint, slot FROM models WHERE ns = :ns ORDER BY slot"))
    if fingerprint in known:
        return known[fingerprint]
    if len(known) < SLOTS:
        tx.insert("models", "slot, fingerprint", [(len(known), fingerprint)])
        return len(known)
    drop_slot(tx, 0)
    drop_cursors(tx, next(iter(known)), "")
    sql = "UPDATE models SET fingerprint = :fingerprint WHERE ns = :ns AND slot = 0"
    tx.execute(sql, fingerprint=fingerprint)
    return 0


def drop_slot(tx: Transaction, slot: int) -> None:
    """Delete the vectors of a model."""
    for space in Space:
        drop_space(tx, slot, space)
    tx.execute("DELETE FROM segments WHERE ns = :ns AND slot = :slot", slot=slot)


def drop_space(tx: Transaction, slot: int, space: Space) -> None:
    sql = "DELETE FROM vectors WHERE vectors.ns = :ns AND vectors.slot = :slot AND vectors.space = :space"
    tx.execute(sql, slot=slot, space=int(space))


def drop_cursors(tx: Transaction, fingerprint: str, *stages: str) -> None:
    """Delete the cursors of stages that belong to a model; those of compactions end with the name of a session."""
    for (stage,) in tx.rows("SELECT stage FROM cursors WHERE ns = :ns"):
        if stage.startswith(stages) and stage.endswith(f":{fingerprint}") and not stage.startswith("compact:"):
            tx.execute("DELETE FROM cursors WHERE ns = :ns AND stage = :stage", stage=stage)


# --- Retrievals. The log does not contain them: a rebuild leaves these rows as they are (INV-3).

_COUNTED = """ON CONFLICT (ns, subject) DO UPDATE
    SET count = retrievals.count + excluded.count, last = greatest(retrievals.last, excluded.last)"""
_KNOWN_RECORDS = "SELECT records.id, records.id FROM records WHERE records.ns = :ns AND records.id IN :nouns"
_RECORDS_OF_TURNS = """SELECT log.id, records.id FROM log
    JOIN sources ON sources.ns = :ns AND sources.turn = log.seq
    JOIN records ON records.ns = :ns AND records.num = sources.record
    WHERE log.ns = :ns AND log.id IN :nouns AND log.entry = 'turn' AND records.superseded_by IS NULL
    AND records.compaction IS NULL"""


def count_retrievals(tx: Transaction, found: Mapping[str, int], last: datetime) -> None:
    counts = Counter[str]()
    for sql in (_KNOWN_RECORDS, _RECORDS_OF_TURNS):
        for noun, record in tx.rows(sql, nouns=list(found)):
            counts[record] += found[noun]
    rows = [(record, count, to_micros(last)) for record, count in sorted(counts.items())]
    tx.insert("retrievals", "subject, count, last", rows, _COUNTED)


# --- Dropping the views: what the acts of the log say comes back at once, the rest is derived again.

_VIEWS = (
    "records", "sources", "hidden", "gone", "tended", "receipts", "signals", "counters", "documents", "postings",
    "segments", "tombstones", "refused",
)  # fmt: skip
"""Without vectors, which are the output of a model (INV-3)."""
_Texts = dict[str, tuple[int, str]]
"""By id, the number and text of the records of a namespace."""


def clear_views(tx: Transaction) -> None:
    """Drop all views and replay the acts. The caller holds the log too."""
    _note_admitted(tx)
    before = _record_texts(tx)
    for table in _VIEWS:
        tx.execute(f"DELETE FROM {table} WHERE {table}.ns = :ns")
    tx.execute("DELETE FROM cursors WHERE ns = :ns AND stage <> :stage", stage=PASSAGES_STAGE)
    tx.insert("cursors", "stage, done", [(EPOCH_STAGE, randbits(62))])
    _replay_acts(tx)
    _carry_vectors(tx, before, _record_texts(tx))


def _note_admitted(tx: Transaction) -> None:
    """Write into the log how far admission had come, unless the log says so already."""
    done = cursor(tx, ADMIT_STAGE)
    tx.execute("DELETE FROM cursors WHERE ns = :ns AND stage = :stage", stage=ADMIT_STAGE)
    if done > admitted(tx):
        write_act(tx, Action(Entry.REBUILD, ADMIT_STAGE, utc_now(), {"upto": done}))


def _record_texts(tx: Transaction) -> _Texts:
    rows = tx.rows("SELECT records.id, records.num, records.text FROM records WHERE records.ns = :ns")
    return {noun: (num, text) for noun, num, text in rows}


def _carry_vectors(tx: Transaction, before: _Texts, after: _Texts) -> None:
    """Keep the vectors of records that came back with the same text, under their new number, and drop all others."""
    same = {before[noun][0]: num for noun, (num, text) in after.items() if before.get(noun, (0, ""))[1] == text}
    for (slot,) in tx.rows("SELECT slot FROM models WHERE ns = :ns"):
        kept = tx.rows(
            """SELECT vectors.num, vectors.data FROM vectors
               WHERE vectors.ns = :ns AND vectors.slot = :slot AND vectors.space = :space AND vectors.num IN :nums""",
            slot=slot,
            space=int(Space.RECORD),
            nums=list(same),
        )
        drop_space(tx, slot, Space.RECORD)
        rows = [(slot, int(Space.RECORD), same[num], data) for num, data in kept]
        tx.insert("vectors", "slot, space, num, data", rows)
