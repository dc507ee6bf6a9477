"""Derived work: rows of the views, written together with the step of the cursor that says how far they have come."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from secrets import randbits

import apsw

from holdfast.errors import InputError
from holdfast.log.acts import Line, Told, TurnLine, read_compaction, read_tidying
from holdfast.log.align import digest
from holdfast.model import Action, Decision, Entry, Record
from holdfast.store.import_lines import Taking, twice
from holdfast.store.rows import (
    SLOTS,
    halved,
    kind_number,
    pack_metadata,
    pack_signals,
    read_line,
    remembered_record,
    role_number,
    told_record,
)
from holdfast.store.sqlite.connection import NS_SHIFT, NUMBER_MASK, number_of, place, vector_place
from holdfast.store.sqlite.tail import (
    Tombs,
    apply_erase,
    last_erased_index,
    last_index,
    last_seq,
    namespace_number,
    session_number,
)
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
    TakenOver,
)
from holdfast.text.time import from_micros, to_micros, utc_now

# --- What the janitor lowers and raises again. Each run is a line of the log; a rebuild replays it (INV-3).
#
# Records that are derived from turns come after the replay, so what was lowered is kept by the record's id, and a
# record finds it there when it is made. Who said it stays in the row as it was: admission compares by that.


def apply_tidying(connection: apsw.Connection, ns: int, seq: int, action: Action) -> None:
    """The effect of the run at `seq`."""
    made = read_tidying(action.payload)
    run = action.subject
    lowered = [(record, one.told) for one in made.lowered for record in one.records]
    connection.executemany(
        "INSERT OR IGNORE INTO tended (ns, subject, run, seq, at, factor) VALUES (?, ?, ?, ?, ?, ?)",
        [(ns, record, run, seq, to_micros(action.at), made.factor) for record, _ in lowered],
    )
    connection.executemany(
        """UPDATE records SET notches = notches + 1, trust = trust * ?1 WHERE ns = ?2 AND id = ?3
           AND EXISTS (SELECT 1 FROM tended WHERE ns = ?2 AND subject = ?3 AND run = ?4 AND seq = ?5)""",
        [(made.factor, ns, record, run, seq) for record, _ in lowered],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO hidden VALUES (?, ?, ?)", [(ns, record, seq) for record in made.culled]
    )
    _explain(connection, ns, "demoted", lowered, action)
    _explain(connection, ns, "culled", [(record, made.told) for record in made.culled], action)


def undo_tidying(connection: apsw.Connection, ns: int, action: Action) -> None:
    """Everything of that run is as it was; its age is counted from this moment."""
    run, at = action.subject, to_micros(action.at)
    lowered = connection.execute(
        "UPDATE tended SET undone = 1, at = ? WHERE ns = ? AND run = ? RETURNING subject", (at, ns, run)
    ).fetchall()
    culled = connection.execute(
        """DELETE FROM hidden WHERE ns = ?1 AND seq IN
               (SELECT pos & ?3 FROM log WHERE ns = ?1 AND id = ?2 AND entry <> 'turn' AND entry = 'janitor')
           RETURNING subject""",
        (ns, run, NUMBER_MASK),
    ).fetchall()
    connection.executemany(
        "INSERT OR REPLACE INTO tended (ns, subject, run, seq, at, factor, undone) VALUES (?, ?, ?, 0, ?, 1.0, 1)",
        [(ns, subject, run, at) for (subject,) in culled],
    )
    touched = [str(subject) for (subject,) in [*lowered, *culled]]
    connection.executemany(
        "UPDATE records SET notches = ?, trust = ? WHERE ns = ? AND id = ?",
        [(*standing(connection, ns, record), ns, record) for record in touched],
    )
    told = f"the janitor's run {run} was undone; it is as it was"
    _explain(connection, ns, "restored", [(record, told) for record in touched], action)


def lift(connection: apsw.Connection, ns: int, record_id: str, seq: int) -> bool:
    """A turn at this line said it again: it counts in full. Whether it did not before."""
    rows = connection.execute(
        "DELETE FROM tended WHERE ns = ? AND subject = ? AND seq < ? RETURNING undone", (ns, record_id, seq)
    ).fetchall()
    return any(not undone for (undone,) in rows)


def standing(connection: apsw.Connection, ns: int, record_id: str) -> tuple[int, float]:
    """How many notches down a record is, and the product of the factors."""
    notches, trust = 0, 1.0
    for (factor,) in connection.execute(
        "SELECT factor FROM tended WHERE ns = ? AND subject = ? AND NOT undone ORDER BY seq", (ns, record_id)
    ):
        assert isinstance(factor, float)
        notches, trust = notches + 1, trust * factor
    return notches, trust


def _explain(connection: apsw.Connection, ns: int, what: str, told: Iterable[tuple[str, str]], action: Action) -> None:
    at, details = to_micros(action.at), pack_metadata({"run": action.subject})
    connection.executemany(
        """INSERT INTO receipts SELECT ?1, ?2, coalesce(max(number), 0) + 1, ?3, ?4, ?5, ?6
           FROM receipts WHERE ns = ?1 AND subject = ?2""",
        [(ns, record, what, reason, at, details) for record, reason in told],
    )


# --- Writing records: new ones, merged ones, retired ones, each a few rows of the same transaction.


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


def advance(connection: apsw.Connection, ns: int, moves: Sequence[Move], changes: Changes) -> bool:
    """False, and nothing done, if a cursor does not stand where its move begins."""
    for move in moves:
        row = connection.execute("SELECT done FROM cursors WHERE ns = ? AND stage = ?", (ns, move.stage)).fetchone()
        if (row[0] if row else 0) != move.after:
            return False
    connection.executemany(
        "INSERT INTO cursors VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET done = excluded.done",
        [(ns, move.stage, move.upto) for move in moves],
    )
    _write(connection, ns, changes)
    return True


def _write(connection: apsw.Connection, ns: int, changes: Changes) -> None:
    # SQLite's || makes text of two blobs, hence the casts. Versions are drawn, not counted: a rebuild starts
    # anew, and a block must never look like one that somebody has in a cache.
    connection.executemany(
        """INSERT INTO postings VALUES (?, ?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET data = CAST(data || excluded.data AS BLOB)""",
        [(ns, *row) for row in changes.postings],
    )
    connection.executemany(
        """INSERT INTO documents VALUES (?, ?, ?, random(), ?)
           ON CONFLICT DO UPDATE SET version = excluded.version, data = CAST(data || excluded.data AS BLOB)""",
        [(ns, *row) for row in changes.documents],
    )
    connection.executemany(
        "INSERT INTO passages VALUES (?, ?, ?, ?)",
        [(place(ns, one.num), one.turn, one.start, one.stop) for one in changes.passages],
    )
    slot = _slot(connection, ns, changes.fingerprint) if changes.fingerprint else 0
    connection.executemany(
        "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
        [
            (vector_place(ns, slot, space, num), data)
            for (space, num, _), data in zip(
                changes.vectors, halved([data for _, _, data in changes.vectors]), strict=True
            )
        ],
    )
    connection.executemany(
        """INSERT INTO segments VALUES (?, ?, ?, ?, random(), ?)
           ON CONFLICT DO UPDATE SET version = excluded.version, data = excluded.data""",
        [(ns, space, slot, block, data) for space, block, data in changes.segments],
    )
    for change in changes.records:
        write_record(connection, ns, change, slot)
    connection.executemany(
        "INSERT OR REPLACE INTO signals VALUES (?, ?, ?)",
        [(place(ns, seq), ns, pack_signals(signals)) for seq, signals in changes.signals],
    )
    connection.executemany(
        "INSERT INTO counters VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
        [(ns, day, name, count) for (day, name), count in changes.counters.items()],
    )
    connection.executemany(
        """INSERT INTO receipts SELECT ?1, ?2, coalesce(max(number), 0) + 1, ?3, ?4, ?5, ?6
           FROM receipts WHERE ns = ?1 AND subject = ?2""",
        [
            (
                ns,
                subject,
                decision.what,
                decision.reason,
                None if decision.at is None else to_micros(decision.at),
                pack_metadata(decision.details),
            )
            for subject, decision in changes.receipts
        ],
    )


def _slot(connection: apsw.Connection, ns: int, fingerprint: str) -> int:
    """The slot of a model's vectors. The seventeenth model of a namespace takes the place of its first."""
    rows = connection.execute("SELECT fingerprint, slot FROM models WHERE ns = ? ORDER BY slot", (ns,)).fetchall()
    known = {str(name): slot for name, slot in rows}
    if fingerprint in known:
        slot = known[fingerprint]
        assert isinstance(slot, int)
        return slot
    if len(known) < SLOTS:
        connection.execute("INSERT INTO models VALUES (?, ?, ?)", (ns, len(known), fingerprint))
        return len(known)
    old = next(iter(known))
    first = vector_place(ns, 0, Space.TURN, 0)
    last = vector_place(ns, 1, Space.TURN, 0) - 1
    connection.execute("DELETE FROM vectors WHERE pos BETWEEN ? AND ?", (first, last))
    connection.execute("DELETE FROM segments WHERE ns = ? AND slot = 0", (ns,))
    connection.execute(
        """DELETE FROM cursors WHERE ns = ?1 AND stage NOT GLOB 'compact:*'
           AND substr(stage, -length(?2) - 1) = ':' || ?2""",
        (ns, old),
    )
    connection.execute("UPDATE models SET fingerprint = ? WHERE ns = ? AND slot = 0", (fingerprint, ns))
    return 0


# --- What a compaction does to the views: summaries, guidance, and how far its session is compacted.


def apply_compaction(connection: apsw.Connection, ns: int, seq: int, action: Action) -> None:
    """The effect of the line at `seq`; the ids of its records stand in it, so that a rebuild gives the same."""
    made = read_compaction(action.payload)
    namespace = connection.execute("SELECT name FROM namespaces WHERE ns = ?", (ns,)).get
    for told in made.told:
        sources = _numbers(connection, ns, told.turn_ids)
        if len(sources) < len(told.turn_ids):  # a turn of it was erased: what was made of it is no more
            continue
        write_record(connection, ns, NewRecord(told_record(told, action, str(namespace)), seq, sources, None), slot=0)
        _compactions_explain(connection, ns, told, action)
    connection.execute(
        "INSERT INTO cursors VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET done = max(done, excluded.done)",
        (ns, made.stage, made.upto),
    )


def _numbers(connection: apsw.Connection, ns: int, turn_ids: tuple[str, ...]) -> tuple[int, ...]:
    found = []
    for turn_id in turn_ids:
        row = connection.execute(
            "SELECT pos FROM log WHERE ns = ? AND id = ? AND entry = 'turn'", (ns, turn_id)
        ).fetchone()
        if row is not None and isinstance(row[0], int):
            found.append(number_of(row[0]))
    return tuple(found)


def _compactions_explain(connection: apsw.Connection, ns: int, told: Told, action: Action) -> None:
    decision = Decision(told.what, told.reason, action.at, {COMPACTION: action.subject})
    connection.execute(
        """INSERT INTO receipts SELECT ?1, ?2, coalesce(max(number), 0) + 1, ?3, ?4, ?5, ?6
           FROM receipts WHERE ns = ?1 AND subject = ?2""",
        (ns, told.id, decision.what, decision.reason, to_micros(action.at), pack_metadata(decision.details)),
    )


# --- Acts in the log, and what they do to the views. Replaying them in order gives the same views again (INV-3).


def write_act(connection: apsw.Connection, ns: int, action: Action) -> int:
    """Put the act at the end of the log; its place there."""
    seq = last_seq(connection, ns) + 1
    insert_act(connection, ns, seq, action, action.at)
    return seq


def insert_act(connection: apsw.Connection, ns: int, seq: int, action: Action, recorded_at: datetime) -> None:
    connection.execute(
        """INSERT INTO log (pos, ns, id, entry, at, at_given, recorded_at, text)
           VALUES (?, ?, ?, ?, ?, 1, ?, ?)""",
        (
            place(ns, seq), ns, action.subject, action.entry.value, to_micros(action.at), to_micros(recorded_at),
            json.dumps(action.payload, ensure_ascii=False),
        ),
    )  # fmt: skip


def holds_act(connection: apsw.Connection, ns: int, action: Action) -> bool:
    """Whether the log holds an act of this kind for the same subject."""
    return bool(
        connection.execute(
            "SELECT 1 FROM log WHERE ns = ? AND id = ? AND entry <> 'turn' AND entry = ?",
            (ns, action.subject, action.entry.value),
        ).fetchone()
    )


def admitted(connection: apsw.Connection, ns: int) -> int:
    """How far admission ever came, the times before a rebuild included."""
    cursor = connection.execute("SELECT done FROM cursors WHERE ns = ? AND stage = ?", (ns, ADMIT_STAGE)).fetchone()
    noted = connection.execute(
        "SELECT text FROM log WHERE ns = ? AND id = ? AND entry <> 'turn' AND entry = ?",
        (ns, ADMIT_STAGE, Entry.REBUILD.value),
    ).fetchall()
    return max(
        [int(row[0]) for row in [cursor] if row] + [int(json.loads(str(text))["upto"]) for (text,) in noted] + [0]
    )


def note_admitted(connection: apsw.Connection, ns: int) -> None:
    """Before the views are dropped: how far admission had come, unless the log says so already."""
    cursor = connection.execute("SELECT done FROM cursors WHERE ns = ? AND stage = ?", (ns, ADMIT_STAGE)).fetchone()
    connection.execute("DELETE FROM cursors WHERE ns = ? AND stage = ?", (ns, ADMIT_STAGE))
    if cursor and int(cursor[0]) > admitted(connection, ns):
        write_act(connection, ns, Action(Entry.REBUILD, ADMIT_STAGE, utc_now(), {"upto": int(cursor[0])}))


def apply_act(connection: apsw.Connection, ns: int, seq: int, action: Action) -> None:
    """The effect of the act that stands at `seq` in the log."""
    match action.entry:
        case Entry.REMEMBER:
            insert_record(connection, ns, next_number(connection, ns), remembered_record(action), seq)
        case Entry.FORGET:
            connection.execute("INSERT OR REPLACE INTO hidden VALUES (?, ?, ?)", (ns, action.subject, seq))
        case Entry.UNFORGET:
            connection.execute("DELETE FROM hidden WHERE ns = ? AND subject = ?", (ns, action.subject))
        case Entry.CALIBRATE:
            pass  # it changes no view: who wants it reads the newest one in the log
        case Entry.PROPOSE | Entry.REBUILD:
            pass  # admission reads them when it comes to the turn
        case Entry.COMPACT:
            apply_compaction(connection, ns, seq, action)
        case Entry.JANITOR:
            apply_tidying(connection, ns, seq, action)
        case Entry.JANITOR_UNDO:
            undo_tidying(connection, ns, action)
        case Entry.ERASE:
            apply_erase(connection, ns, seq, action)
        case Entry.TURN:
            raise AssertionError("a turn is no act")


def replay_acts(connection: apsw.Connection, ns: int) -> None:
    rows = connection.execute(
        "SELECT pos, entry, id, at, text FROM log WHERE pos BETWEEN ? AND ? AND entry <> 'turn' ORDER BY pos",
        (place(ns, 0), place(ns + 1, 0) - 1),
    ).fetchall()
    for pos, entry, subject, at, payload in rows:
        assert isinstance(pos, int) and isinstance(subject, str) and isinstance(at, int) and isinstance(payload, str)
        act = Action(Entry(str(entry)), subject, from_micros(at), json.loads(payload))
        apply_act(connection, ns, number_of(pos), act)


# --- Whole lines of the log: read as they stand, and taken over from another log.


INSERT_TURN = """INSERT INTO log (pos, ns, id, entry, session, idx, role, origin, at, at_given, recorded_at, stability,
                                  key, digest, text, metadata)
                 VALUES (?, ?, ?, 'turn', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
COLUMNS = f"""log.pos & {NUMBER_MASK}, log.entry, log.id, sessions.name, log.idx, log.role, log.origin, log.at,
    log.at_given, log.recorded_at, log.stability, log.key, log.text, log.metadata"""
FROM_LINES = "FROM log LEFT JOIN sessions ON sessions.ns = log.ns AND sessions.session = log.session"


def turn_row(line: TurnLine, ns: int, session: int) -> tuple[object, ...]:
    """The values of INSERT_TURN."""
    turn = line.turn
    return (
        place(ns, line.seq), ns, line.id, session, line.index, role_number(turn.role), turn.origin.value,
        to_micros(turn.at), turn.at_given, to_micros(line.recorded_at), turn.stability, turn.key,
        digest(turn.role, turn.text), turn.text, pack_metadata(turn.metadata),
    )  # fmt: skip


def take_over(connection: apsw.Connection, namespace: str, lines: Iterable[Line]) -> TakenOver:
    """Put the lines of another log into this one; the caller's transaction makes it all or nothing."""
    taking = _Taking(connection, namespace)
    for line in lines:
        try:
            if isinstance(line, TurnLine):
                taking.turn(line)
            else:
                taking.act(line)
        except apsw.ConstraintError as error:
            raise InputError(twice(line, "log.key" in str(error))) from error
    return taking.result()


class _Taking(Taking):
    def __init__(self, connection: apsw.Connection, namespace: str) -> None:
        self._connection = connection
        self._ns = ns = namespace_number(connection, namespace)
        self._namespace = namespace
        super().__init__(last_seq(connection, ns), admitted(connection, ns), Tombs(connection, ns, namespace))

    def _session(self, name: str) -> tuple[int, int]:
        number = session_number(self._connection, self._ns, name)
        last = last_index(self._connection, self._ns, number)
        return number, max(last, last_erased_index(self._connection, self._ns, self._namespace, name))

    def _insert_turn(self, line: TurnLine, session: int) -> None:
        self._connection.execute(INSERT_TURN, turn_row(line, self._ns, session))

    def _insert_act(self, seq: int, action: Action, recorded_at: datetime) -> None:
        insert_act(self._connection, self._ns, seq, action, recorded_at)

    def _apply_act(self, seq: int, action: Action) -> None:
        apply_act(self._connection, self._ns, seq, action)

    def _turn_of_id(self, turn_id: str) -> TurnLine | None:
        row = self._connection.execute(
            f"SELECT {COLUMNS} {FROM_LINES} WHERE log.ns = ? AND log.id = ? AND log.entry = 'turn'", (self._ns, turn_id)
        ).fetchone()
        if row is None:
            return None
        here = read_line(row)
        assert isinstance(here, TurnLine)
        return here

    def _turn_of_key(self, session: int, key: str) -> tuple[str, int] | None:
        row = self._connection.execute(
            "SELECT id, pos FROM log WHERE ns = ? AND session = ? AND key = ?", (self._ns, session, key)
        ).fetchone()
        return None if row is None else (str(row[0]), number_of(int(str(row[1]))))

    def _place_of(self, turn_id: str) -> int | None:
        row = self._connection.execute(
            "SELECT pos FROM log WHERE ns = ? AND id = ? AND entry = 'turn'", (self._ns, turn_id)
        ).fetchone()
        return None if row is None else number_of(int(str(row[0])))

    def _holds_same(self, action: Action) -> bool:
        payload = json.dumps(action.payload, ensure_ascii=False)
        found = self._connection.execute(
            "SELECT 1 FROM log WHERE ns = ? AND id = ? AND entry <> 'turn' AND entry = ? AND at = ? AND text = ?",
            (self._ns, action.subject, action.entry.value, to_micros(action.at), payload),
        )
        return found.fetchone() is not None

    def _holds_act(self, action: Action) -> bool:
        return holds_act(self._connection, self._ns, action)

    def _cursor(self, stage: str) -> int:
        row = self._connection.execute(
            "SELECT done FROM cursors WHERE ns = ? AND stage = ?", (self._ns, stage)
        ).fetchone()
        return 0 if row is None else int(str(row[0]))


# --- How often records were found. The log does not know it: a rebuild leaves these rows as they are (INV-3).


_RAISE = "ON CONFLICT DO UPDATE SET count = count + excluded.count, last = max(last, excluded.last)"
_RECORD = f"INSERT INTO retrievals SELECT ?1, id, ?3, ?4 FROM records WHERE ns = ?1 AND id = ?2 {_RAISE}"
_OF_TURN = f"""INSERT INTO retrievals SELECT ?1, records.id, ?3, ?4 FROM log
               JOIN sources ON sources.ns = log.ns AND sources.turn = log.pos & {NUMBER_MASK}
               JOIN records ON records.pos = (sources.ns << {NS_SHIFT}) | sources.record
               WHERE log.ns = ?1 AND log.id = ?2 AND log.entry = 'turn' AND records.superseded_by IS NULL
               AND records.metadata ->> '$.{COMPACTION}' IS NULL {_RAISE}"""


def count_retrievals(connection: apsw.Connection, ns: int, found: Mapping[str, int], last: datetime) -> None:
    values = [(ns, noun, count, to_micros(last)) for noun, count in found.items()]
    connection.executemany(_RECORD, values)
    connection.executemany(_OF_TURN, values)


# --- The views of a namespace, dropped: what the log's acts say of them comes back at once, the rest is derived
# anew.


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


# --- The columns of the tables that make a noun, in the order that store/rows.py reads them in.


TURN_COLUMNS = f"""log.pos & {NUMBER_MASK}, log.id, sessions.name, log.idx, log.role, log.origin, log.text, log.at,
    log.recorded_at, log.stability, log.key, log.metadata, signals.data"""
FROM_LOG = """FROM log JOIN sessions ON sessions.ns = log.ns AND sessions.session = log.session
    LEFT JOIN signals ON signals.pos = log.pos"""
RECORD_COLUMNS = f"""records.pos & {NUMBER_MASK}, records.id, records.kind, records.text, records.provenance,
    records.confidence, records.evidence_count, records.at, records.valid_from, records.valid_to, records.superseded_by,
    (SELECT count FROM retrievals WHERE retrievals.ns = records.ns AND retrievals.subject = records.id),
    (SELECT last FROM retrievals WHERE retrievals.ns = records.ns AND retrievals.subject = records.id),
    records.metadata, records.notches, records.trust"""
