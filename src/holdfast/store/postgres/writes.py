"""Derived work: rows of the views, written together with the step of the cursor that says how far they have come."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from secrets import randbits

from holdfast.log.acts import PARTIAL, read_compaction, read_tidying
from holdfast.model import Action, Decision, Entry, Record
from holdfast.store.postgres.tail import apply_erases, hold_log, move_end
from holdfast.store.postgres.transaction import Transaction, Wrote
from holdfast.store.rows import SLOTS, halved, kind_number, pack_metadata, pack_signals, remembered_record, told_record
from holdfast.store.types import (
    ADMIT_STAGE,
    COMPACTION,
    EPOCH_STAGE,
    PASSAGES_STAGE,
    Changes,
    Merged,
    Move,
    NewRecord,
    Retired,
    Space,
)
from holdfast.text.time import from_micros, to_micros, utc_now

# --- Receipts: what was decided of a turn or record, numbered in the order it happened.


def write_receipts(tx: Transaction, decided: Sequence[tuple[str, Decision]]) -> None:
    """(id of the turn or record, what was decided), in order; the views are held."""
    if not decided:
        return
    subjects = list(dict.fromkeys(subject for subject, _ in decided))
    last = dict(
        tx.rows(
            """SELECT subject, max(number) FROM receipts WHERE ns = %(ns)s AND subject = ANY(%(subjects)s::text[])
               GROUP BY subject""",
            {"subjects": subjects},
        )
    )
    rows = []
    for subject, decision in decided:
        number = last[subject] = last.get(subject, 0) + 1
        at = None if decision.at is None else to_micros(decision.at)
        rows.append((subject, number, decision.what, decision.reason, at, pack_metadata(decision.details)))
    tx.insert(
        "receipts (subject, number, what, reason, at, details)",
        ("text", "bigint", "text", "text", "bigint", "text"),
        rows,
    )


# --- What the janitor lowers and raises again. Each run is a line of the log; a rebuild replays it (INV-3).
#
# Records that are derived from turns come after the replay, so what was lowered is kept by the record's id, and a
# record finds it there when it is made. Who said it stays in the row as it was: admission compares by that.


def apply_tidying(tx: Transaction, seq: int, action: Action) -> None:
    """The effect of the run at `seq`."""
    made = read_tidying(action.payload)
    lowered = [(record, one.told) for one in made.lowered for record in one.records]
    run = {"run": action.subject, "seq": seq, "at": to_micros(action.at), "factor": made.factor}
    tx.many(
        """INSERT INTO tended (ns, subject, run, seq, at, factor)
           VALUES (%(ns)s, %(record)s, %(run)s, %(seq)s, %(at)s, %(factor)s) ON CONFLICT DO NOTHING""",
        [{**run, "record": record} for record, _ in lowered],
    )
    tx.many(
        """UPDATE records SET notches = notches + 1, trust = trust * %(factor)s WHERE ns = %(ns)s AND id = %(record)s
           AND EXISTS (SELECT 1 FROM tended WHERE tended.ns = %(ns)s AND tended.subject = %(record)s
                       AND tended.run = %(run)s AND tended.seq = %(seq)s)""",
        [{"factor": made.factor, "record": record, "run": action.subject, "seq": seq} for record, _ in lowered],
    )
    culled = list(dict.fromkeys(made.culled))
    tx.insert("hidden (subject, seq)", ("text", "bigint"), [(one, seq) for one in culled], "ON CONFLICT DO NOTHING")
    _explain(tx, "demoted", lowered, action)
    _explain(tx, "culled", [(record, made.told) for record in made.culled], action)


def undo_tidying(tx: Transaction, action: Action) -> None:
    """Everything of that run is as it was; its age is counted from this moment."""
    run = {"run": action.subject, "at": to_micros(action.at)}
    lowered = tx.rows(
        "UPDATE tended SET undone = TRUE, at = %(at)s WHERE ns = %(ns)s AND run = %(run)s RETURNING subject", run
    )
    culled = tx.rows(
        """DELETE FROM hidden WHERE ns = %(ns)s AND seq IN
               (SELECT log.seq FROM log WHERE log.ns = %(ns)s AND id = %(run)s AND entry <> 'turn'
                AND entry = 'janitor')
           RETURNING subject""",
        {"run": action.subject},
    )
    tx.many(
        """INSERT INTO tended (ns, subject, run, seq, at, factor, undone)
           VALUES (%(ns)s, %(subject)s, %(run)s, 0, %(at)s, 1.0, TRUE)
           ON CONFLICT (ns, subject, run) DO UPDATE SET seq = 0, at = excluded.at, factor = 1.0, undone = TRUE""",
        [{**run, "subject": subject} for (subject,) in culled],
    )
    touched = [str(subject) for (subject,) in [*lowered, *culled]]
    for record in touched:
        notches, trust = standing(tx, record)
        tx.execute(
            "UPDATE records SET notches = %(notches)s, trust = %(trust)s WHERE ns = %(ns)s AND id = %(record)s",
            {"notches": notches, "trust": trust, "record": record},
        )
    told = f"the janitor's run {action.subject} was undone; it is as it was"
    _explain(tx, "restored", [(record, told) for record in touched], action)


def lift(tx: Transaction, record_id: str, seq: int) -> bool:
    """A turn at this line said it again: it counts in full. Whether it did not before."""
    rows = tx.rows(
        "DELETE FROM tended WHERE ns = %(ns)s AND subject = %(record)s AND seq < %(seq)s RETURNING undone",
        {"record": record_id, "seq": seq},
    )
    return any(not undone for (undone,) in rows)


def standing(tx: Transaction, record_id: str) -> tuple[int, float]:
    """How many notches down a record is, and the product of the factors."""
    notches, trust = 0, 1.0
    for (factor,) in tx.rows(
        "SELECT factor FROM tended WHERE ns = %(ns)s AND subject = %(record)s AND NOT undone ORDER BY seq",
        {"record": record_id},
    ):
        notches, trust = notches + 1, trust * float(factor)
    return notches, trust


def _explain(tx: Transaction, what: str, told: Iterable[tuple[str, str]], action: Action) -> None:
    write_receipts(
        tx, [(record, Decision(what, reason, action.at, {"run": action.subject})) for record, reason in told]
    )


# --- Writing records: new ones, merged ones, retired ones, each a few rows of the same transaction; the views are
# held.


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


def advance(tx: Transaction, moves: Sequence[Move], changes: Changes, again: bool = False) -> bool:
    """False, and nothing done, if a cursor does not stand where its move begins. The views are held.

    `again`: an attempt before this one may have been kept. Then the cursors stand where it moved them.
    """
    stood = dict(
        tx.rows(
            "SELECT stage, done FROM cursors WHERE ns = %(ns)s AND stage = ANY(%(stages)s::text[])",
            {"stages": [move.stage for move in moves]},
        )
    )
    moved = [move for move in moves if move.upto != move.after]
    if again and moved and all(stood.get(move.stage, 0) == move.upto for move in moved):
        return True
    if any(stood.get(move.stage, 0) != move.after for move in moves):
        return False
    tx.insert(
        "cursors (stage, done)",
        ("text", "bigint"),
        list({move.stage: move.upto for move in moves}.items()),
        "ON CONFLICT (ns, stage) DO UPDATE SET done = excluded.done",
    )
    _write(tx, changes)
    return True


def _write(tx: Transaction, changes: Changes) -> None:
    # Versions are drawn, not counted: a rebuild starts anew, and a block must never look like one that somebody has in
    # a cache.
    tx.insert(
        "postings (space, term, block, data)",
        ("smallint", "text", "bigint", "bytea"),
        _joined((int(space), term, block, data) for space, term, block, data in changes.postings),
        "ON CONFLICT (ns, space, term, block) DO UPDATE SET data = postings.data || excluded.data",
    )
    tx.insert(
        "documents (space, block, data, version)",
        ("smallint", "bigint", "bytea", "bigint"),
        [(*row, _version()) for row in _joined((int(space), block, data) for space, block, data in changes.documents)],
        """ON CONFLICT (ns, space, block)
           DO UPDATE SET version = excluded.version, data = documents.data || excluded.data""",
    )
    tx.insert(
        "passages (num, turn, start, stop)",
        ("bigint", "bigint", "bigint", "bigint"),
        [(one.num, one.turn, one.start, one.stop) for one in changes.passages],
    )
    slot = _slot(tx, changes.fingerprint) if changes.fingerprint else 0
    stored = halved([data for _, _, data in changes.vectors])
    tx.insert(
        "vectors (slot, space, num, data)",
        ("smallint", "smallint", "bigint", "bytea"),
        [
            (slot, *place, data)
            for place, data in {
                (int(space), num): data for (space, num, _), data in zip(changes.vectors, stored, strict=True)
            }.items()
        ],
        "ON CONFLICT (ns, slot, space, num) DO UPDATE SET data = excluded.data",
    )
    tx.insert(
        "segments (space, slot, block, version, data)",
        ("smallint", "smallint", "bigint", "bigint", "bytea"),
        [(int(space), slot, block, _version(), data) for space, block, data in changes.segments],
        "ON CONFLICT (ns, space, slot, block) DO UPDATE SET version = excluded.version, data = excluded.data",
    )
    for change in changes.records:
        write_record(tx, change, slot)
    tx.insert(
        "signals (seq, data)",
        ("bigint", "bytea"),
        [(seq, pack_signals(signals)) for seq, signals in dict(changes.signals).items()],
        "ON CONFLICT (ns, seq) DO UPDATE SET data = excluded.data",
    )
    tx.insert(
        "counters (day, name, count)",
        ("text", "text", "bigint"),
        [(day, name, count) for (day, name), count in changes.counters.items()],
        "ON CONFLICT (ns, day, name) DO UPDATE SET count = counters.count + excluded.count",
    )
    write_receipts(tx, changes.receipts)


def _joined(rows: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Rows of one key as one, their bytes behind each other: a statement may touch a row only once."""
    found: dict[tuple[object, ...], bytes] = {}
    for *key, data in rows:
        assert isinstance(data, bytes)
        place = tuple(key)
        found[place] = found.get(place, b"") + data
    return [(*place, data) for place, data in found.items()]


def _version() -> int:
    return secrets.randbits(63)


def _slot(tx: Transaction, fingerprint: str) -> int:
    """The slot of a model's vectors. The seventeenth model of a namespace takes the place of its first."""
    rows = tx.rows("SELECT fingerprint, slot FROM models WHERE ns = %(ns)s ORDER BY slot")
    known: dict[str, int] = dict(rows)
    if fingerprint in known:
        return known[fingerprint]
    if len(known) < SLOTS:
        slot = len(known)
        tx.execute(
            "INSERT INTO models (ns, slot, fingerprint) VALUES (%(ns)s, %(slot)s, %(fingerprint)s)",
            {"slot": slot, "fingerprint": fingerprint},
        )
        return slot
    old = next(iter(known))
    for table in ("vectors", "segments"):
        tx.execute(f"DELETE FROM {table} WHERE ns = %(ns)s AND slot = 0")
    tx.execute(
        """DELETE FROM cursors WHERE ns = %(ns)s AND NOT starts_with(stage, 'compact:')
           AND right(stage, length(%(ending)s)) = %(ending)s""",
        {"ending": f":{old}"},
    )
    tx.execute(
        "UPDATE models SET fingerprint = %(fingerprint)s WHERE ns = %(ns)s AND slot = 0", {"fingerprint": fingerprint}
    )
    return 0


# --- What a compaction does to the views: summaries, guidance, and how far its session is compacted.


def apply_compaction(tx: Transaction, seq: int, action: Action) -> None:
    """The effect of the line at `seq`; the ids of its records stand in it, so that a rebuild gives the same."""
    made = read_compaction(action.payload)
    for told in made.told:
        sources = _numbers(tx, told.turn_ids)
        if len(sources) < len(told.turn_ids):  # a turn of it was erased: what was made of it is no more
            continue
        write_record(tx, NewRecord(told_record(told, action, tx.namespace), seq, sources, None), slot=0)
        write_receipts(tx, [(told.id, Decision(told.what, told.reason, action.at, {COMPACTION: action.subject}))])
    tx.execute(
        """INSERT INTO cursors (ns, stage, done) VALUES (%(ns)s, %(stage)s, %(upto)s)
           ON CONFLICT (ns, stage) DO UPDATE SET done = greatest(cursors.done, excluded.done)""",
        {"stage": made.stage, "upto": made.upto},
    )


def _numbers(tx: Transaction, turn_ids: tuple[str, ...]) -> tuple[int, ...]:
    """Places of those of the turns that are there, in the order they were named."""
    found = dict(
        tx.rows(
            "SELECT id, seq FROM log WHERE ns = %(ns)s AND id = ANY(%(ids)s::text[]) AND entry = 'turn'",
            {"ids": list(turn_ids)},
        )
    )
    return tuple(found[turn_id] for turn_id in turn_ids if turn_id in found)


# --- Acts in the log, and what they do to the views. Replaying them in order gives the same views again (INV-3).


def write_act(tx: Transaction, action: Action) -> int:
    """Put the act at the end of the log; its place there."""
    seq = hold_log(tx) + 1
    insert_act(tx, seq, action, action.at)
    move_end(tx, seq)
    return seq


def insert_act(tx: Transaction, seq: int, action: Action, recorded_at: datetime) -> None:
    payload = json.dumps(action.payload, ensure_ascii=False)
    tx.execute(
        """INSERT INTO log (ns, seq, id, entry, at, at_given, recorded_at, text)
           VALUES (%(ns)s, %(seq)s, %(id)s, %(entry)s, %(at)s, TRUE, %(recorded_at)s, %(text)s)""",
        {
            "seq": seq,
            "id": action.subject,
            "entry": action.entry.value,
            "at": to_micros(action.at),
            "recorded_at": to_micros(recorded_at),
            "text": payload,
        },
    )
    tx.wrote = Wrote(seq, action.subject, payload)


def holds_act(tx: Transaction, action: Action) -> bool:
    """Whether the log holds an act of this kind for the same subject."""
    sql = "SELECT 1 FROM log WHERE ns = %(ns)s AND id = %(id)s AND entry <> 'turn' AND entry = %(entry)s LIMIT 1"
    return tx.row(sql, {"id": action.subject, "entry": action.entry.value}) is not None


def cursor(tx: Transaction, stage: str) -> int:
    done = tx.one("SELECT done FROM cursors WHERE ns = %(ns)s AND stage = %(stage)s", {"stage": stage})
    return 0 if done is None else int(done)


def admitted(tx: Transaction) -> int:
    """How far admission ever came, the times before a rebuild included."""
    noted = tx.rows(
        "SELECT text FROM log WHERE ns = %(ns)s AND id = %(id)s AND entry <> 'turn' AND entry = %(entry)s",
        {"id": ADMIT_STAGE, "entry": Entry.REBUILD.value},
    )
    return max([cursor(tx, ADMIT_STAGE), *(int(json.loads(text)["upto"]) for (text,) in noted)])


def note_admitted(tx: Transaction) -> None:
    """Before the views are dropped: how far admission had come, unless the log says so already."""
    done = cursor(tx, ADMIT_STAGE)
    tx.execute("DELETE FROM cursors WHERE ns = %(ns)s AND stage = %(stage)s", {"stage": ADMIT_STAGE})
    if done > admitted(tx):
        write_act(tx, Action(Entry.REBUILD, ADMIT_STAGE, utc_now(), {"upto": done}))


def apply_act(tx: Transaction, seq: int, action: Action) -> None:
    """The effect of the act that stands at `seq` in the log; the views are held."""
    match action.entry:
        case Entry.REMEMBER:
            insert_record(tx, next_number(tx), remembered_record(action), seq)
        case Entry.FORGET:
            tx.execute(
                """INSERT INTO hidden (ns, subject, seq) VALUES (%(ns)s, %(subject)s, %(seq)s)
                   ON CONFLICT (ns, subject) DO UPDATE SET seq = excluded.seq""",
                {"subject": action.subject, "seq": seq},
            )
        case Entry.UNFORGET:
            tx.execute("DELETE FROM hidden WHERE ns = %(ns)s AND subject = %(subject)s", {"subject": action.subject})
        case Entry.CALIBRATE:
            pass  # it changes no view: who wants it reads the newest one in the log
        case Entry.PROPOSE | Entry.REBUILD:
            pass  # admission reads them when it comes to the turn
        case Entry.COMPACT:
            apply_compaction(tx, seq, action)
        case Entry.JANITOR:
            apply_tidying(tx, seq, action)
        case Entry.JANITOR_UNDO:
            undo_tidying(tx, action)
        case Entry.ERASE:
            apply_erases(tx, [(seq, action)])
        case Entry.TURN:
            raise AssertionError("a turn is no act")


def replay_acts(tx: Transaction) -> None:
    rows = tx.rows("SELECT seq, entry, id, at, text FROM log WHERE ns = %(ns)s AND entry <> 'turn' ORDER BY seq")
    acts = [(seq, Action(Entry(entry), noun, from_micros(at), json.loads(text))) for seq, entry, noun, at, text in rows]
    for entry, run in groupby(acts, lambda one: one[1].entry):
        if entry is Entry.ERASE:  # there may be as many as there were turns
            apply_erases(tx, list(run))
            continue
        for seq, action in run:
            apply_act(tx, seq, action)


# --- How often records were found. The log does not know it: a rebuild leaves these rows as they are (INV-3).


_RAISE = """ON CONFLICT (ns, subject) DO UPDATE
    SET count = retrievals.count + excluded.count, last = greatest(retrievals.last, excluded.last)"""
_RECORD = f"""INSERT INTO retrievals (ns, subject, count, last)
    SELECT records.ns, records.id, %(count)s, %(last)s FROM records
    WHERE records.ns = %(ns)s AND records.id = %(noun)s {_RAISE}"""
_OF_TURN = f"""INSERT INTO retrievals (ns, subject, count, last)
    SELECT records.ns, records.id, %(count)s, %(last)s FROM log
    JOIN sources ON sources.ns = log.ns AND sources.turn = log.seq
    JOIN records ON records.ns = sources.ns AND records.num = sources.record
    WHERE log.ns = %(ns)s AND log.id = %(noun)s AND log.entry = 'turn' AND records.superseded_by IS NULL
    AND records.compaction IS NULL {_RAISE}"""


def count_retrievals(tx: Transaction, found: Mapping[str, int], last: datetime) -> None:
    # In one order for everybody: two who count the same records must not wait for each other in a ring.
    values = [{"noun": noun, "count": found[noun], "last": to_micros(last)} for noun in sorted(found)]
    tx.many(_RECORD, values)
    tx.many(_OF_TURN, values)


# --- The views of a namespace, dropped: what the log's acts say of them comes back at once, the rest is derived
# anew.


# Views that are dropped and derived anew; vectors stay, as a model's output (INV-3).
_VIEWS = (
    "records", "sources", "hidden", "gone", "tended", "receipts", "signals", "counters", "documents", "postings",
    "segments", "tombstones", "refused",
)  # fmt: skip

_Texts = dict[str, tuple[int, str]]
"""Number and text of a namespace's records, by id."""


def clear_views(tx: Transaction) -> None:
    """The views are held."""
    note_admitted(tx)
    before = _record_texts(tx)
    for table in _VIEWS:
        tx.execute(f"DELETE FROM {table} WHERE ns = %(ns)s")
    tx.execute("DELETE FROM cursors WHERE ns = %(ns)s AND stage <> %(stage)s", {"stage": PASSAGES_STAGE})
    tx.execute(
        "INSERT INTO cursors (ns, stage, done) VALUES (%(ns)s, %(stage)s, %(epoch)s)",
        {"stage": EPOCH_STAGE, "epoch": randbits(62)},
    )
    replay_acts(tx)
    _carry_vectors(tx, before, _record_texts(tx))


def _record_texts(tx: Transaction) -> _Texts:
    return {noun: (num, text) for noun, num, text in tx.rows("SELECT id, num, text FROM records WHERE ns = %(ns)s")}


def _carry_vectors(tx: Transaction, before: _Texts, after: _Texts) -> None:
    """A record that came back with its text keeps its vectors, under the number it has now; all others go."""
    same = {before[name][0]: num for name, (num, text) in after.items() if before.get(name, (0, ""))[1] == text}
    kept = tx.rows(
        """DELETE FROM vectors WHERE ns = %(ns)s AND slot = ANY(%(slots)s::smallint[]) AND space = %(space)s
           RETURNING slot, num, data""",
        {"space": int(Space.RECORD), "slots": list(range(SLOTS))},
    )
    tx.insert(
        "vectors (slot, space, num, data)",
        ("smallint", "smallint", "bigint", "bytea"),
        [(slot, int(Space.RECORD), same[num], data) for slot, num, data in kept if num in same],
    )
