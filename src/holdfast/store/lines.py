"""Lines of the log: written, appended, imported from another log, and recognised when they were erased before."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from holdfast.log.acts import TurnLine
from holdfast.log.align import digest
from holdfast.log.tombstones import Tombstone, erased_turn, read_tombstone
from holdfast.model import Action, Entry, NewTurn, Turn
from holdfast.store.rows import kept_turn, pack_metadata, read_tombstone_row, read_turn, role_number
from holdfast.store.types import ADMIT_STAGE, Transaction, WrittenLine
from holdfast.text.time import to_micros

TURN_COLUMNS = """log.seq, log.id, sessions.name, log.idx, log.role, log.origin, log.text, log.at, log.recorded_at,
    log.stability, log.key, log.metadata, signals.data"""
TURN_JOINS = """JOIN sessions ON sessions.ns = :ns AND sessions.session = log.session
    LEFT JOIN signals ON signals.ns = :ns AND signals.seq = log.seq"""
LINES = """SELECT log.seq, log.entry, log.id, sessions.name, log.idx, log.role, log.origin, log.at, log.at_given,
    log.recorded_at, log.stability, log.key, log.text, log.metadata
    FROM log LEFT JOIN sessions ON sessions.ns = :ns AND sessions.session = log.session"""
TOMBSTONES = """SELECT seq, noun, session, idx, role, said, timed, key FROM tombstones
    WHERE ns = :ns AND session = :session"""
# A session that exists in a namespace from which nothing was erased: its number, and where the log and it end.
_USUAL_END = """SELECT sessions.session,
    coalesce((SELECT max(log.seq) FROM log WHERE log.ns = :ns AND log.seq >= 0), 0),
    coalesce((SELECT max(log.idx) FROM log
              WHERE log.ns = :ns AND log.session = sessions.session AND log.entry = 'turn'), -1)
    FROM sessions WHERE sessions.ns = :ns AND sessions.name = :session
    AND NOT EXISTS (SELECT 1 FROM tombstones WHERE tombstones.ns = :ns)"""

# --- Writing lines.


def insert_turns(tx: Transaction, lines: Sequence[tuple[TurnLine, int]]) -> None:
    """Insert (line, number of its session)."""
    tx.insert(
        "log",
        "seq, id, entry, session, idx, role, origin, at, at_given, recorded_at, stability, key, digest, text, metadata",
        [turn_row(line, session) for line, session in lines],
    )
    if lines:
        last = lines[-1][0]
        tx.wrote = WrittenLine(last.seq, last.id, last.turn.text)


def turn_row(line: TurnLine, session: int) -> tuple[object, ...]:
    turn = line.turn
    return (
        line.seq, line.id, "turn", session, line.index, role_number(turn.role), turn.origin.value, to_micros(turn.at),
        turn.at_given, to_micros(line.recorded_at), turn.stability, turn.key, digest(turn.role, turn.text), turn.text,
        pack_metadata(turn.metadata),
    )  # fmt: skip


def insert_acts(tx: Transaction, lines: Iterable[tuple[int, Action, datetime]]) -> None:
    """Insert (place, act, when it was recorded)."""
    rows = [
        (seq, act.subject, act.entry.value, to_micros(act.at), True, to_micros(recorded_at), _payload(act))
        for seq, act, recorded_at in lines
    ]
    tx.insert("log", "seq, id, entry, at, at_given, recorded_at, text", rows)
    if rows:
        tx.wrote = WrittenLine(rows[-1][0], rows[-1][1], rows[-1][-1])


def write_act(tx: Transaction, action: Action) -> int:
    """Append an act to the log and return its place."""
    seq = tx.hold_log() + 1
    insert_acts(tx, [(seq, action, action.at)])
    tx.move_end(seq)
    return seq


def _payload(action: Action) -> str:
    return json.dumps(action.payload, ensure_ascii=False)


def append(
    tx: Transaction,
    session: str,
    turns: Sequence[NewTurn],
    ids: Sequence[str],
    recorded_at: datetime,
    expect: int | None,
) -> list[Turn] | None:
    """Append turns to a session, as `Store.append` describes it."""
    erased: list[Turn | None] = [None] * len(turns)
    tombstones = None
    if usual := tx.session_end or tx.row(_USUAL_END, session=session):
        number, seq, index = usual
    else:
        tombstones = TombstoneIndex(tx)
        # Turns without a key that were aligned with their session (`expect`) were compared with tombstones already.
        by_time = expect is None
        erased = [
            tombstones.turn(turn, session, recorded_at) if by_time or turn.key is not None else None for turn in turns
        ]
        if turns and all(erased):
            return [turn for turn in erased if turn is not None]  # not even the session is created again
        seq = tx.hold_log()
        number = session_number(tx, session)
        index = last_index(tx, number, session)
    if expect is not None and index != expect:
        return None
    keys = [turn.key for turn in turns if turn.key is not None]
    by_key = _turns_by_key(tx, number, keys) if keys else {}
    kept: list[Turn] = []
    lines: list[tuple[TurnLine, int]] = []
    for turn, turn_id, known in zip(turns, ids, erased, strict=True):
        one = (by_key.get(turn.key) if turn.key is not None else None) or known
        if one is None:
            seq, index = seq + 1, index + 1
            one = kept_turn(turn, turn_id, tx.namespace, session, index, seq, recorded_at)
            lines.append((TurnLine(seq, turn_id, session, index, recorded_at, turn), number))
            if turn.key is not None:
                by_key[turn.key] = one
        kept.append(one)
    insert_turns(tx, lines)
    if lines:
        tx.move_end(seq)
    if not tombstones:
        tx.session_end = (number, seq, index)
    return kept


def _turns_by_key(tx: Transaction, session: int, keys: list[str]) -> dict[str, Turn]:
    rows = tx.rows(
        f"""SELECT {TURN_COLUMNS} FROM log {TURN_JOINS}
            WHERE log.ns = :ns AND log.session = :session AND log.key IN :keys""",
        session=session,
        keys=keys,
    )
    found = [read_turn(tx.namespace, row) for row in rows]
    return {turn.key: turn for turn in found if turn.key is not None}


# --- Finding lines.


def session_number(tx: Transaction, name: str) -> int:
    """Return the number of a session, and create it if necessary. The log must be held."""
    number = tx.one("SELECT session FROM sessions WHERE ns = :ns AND name = :name", name=name)
    if number is None:
        number = 1 + tx.one("SELECT coalesce(max(session), 0) FROM sessions WHERE ns = :ns")
        tx.insert("sessions", "session, name", [(number, name)])
    return int(number)


def last_index(tx: Transaction, session: int | None, name: str) -> int:
    """Return the highest index that the session ever gave to a turn, erased or not; -1 before its first turn."""
    last = tx.one(
        "SELECT max(log.idx) FROM log WHERE log.ns = :ns AND log.session = :session AND log.entry = 'turn'",
        session=session,
    )
    erased = None
    if has_tombstones(tx):
        sql = "SELECT max(idx) FROM tombstones WHERE ns = :ns AND session = :session"
        erased = tx.one(sql, session=tx.marker.session(name))
    return max(-1 if one is None else int(one) for one in (last, erased))


def holds_act(tx: Transaction, action: Action) -> bool:
    """Tell whether the log contains an act of this kind for the same subject."""
    sql = "SELECT 1 FROM log WHERE log.ns = :ns AND log.id = :id AND log.entry <> 'turn' AND log.entry = :entry"
    return tx.row(sql, id=action.subject, entry=action.entry.value) is not None


def cursor(tx: Transaction, stage: str) -> int:
    return int(tx.one("SELECT done FROM cursors WHERE ns = :ns AND stage = :stage", stage=stage) or 0)


def admitted(tx: Transaction) -> int:
    """Return how far admission ever came, also before a rebuild."""
    noted = tx.rows(
        "SELECT log.text FROM log WHERE log.ns = :ns AND log.id = :id AND log.entry <> 'turn' AND log.entry = :entry",
        id=ADMIT_STAGE,
        entry=Entry.REBUILD.value,
    )
    return max([cursor(tx, ADMIT_STAGE), *(int(json.loads(text)["upto"]) for (text,) in noted)])


def erased_since(tx: Transaction, seq: int) -> bool:
    """Tell whether anything was erased after the log had reached this place: every erase writes a line at its end."""
    sql = "SELECT 1 FROM log WHERE log.ns = :ns AND log.seq > :seq AND log.entry = 'erase' LIMIT 1"
    return tx.row(sql, seq=seq) is not None


def turn_places(tx: Transaction, turn_ids: Iterable[str]) -> dict[str, int]:
    """Return the places of those of the turns that are in the log."""
    sql = "SELECT log.id, log.seq FROM log WHERE log.ns = :ns AND log.id IN :ids AND log.entry = 'turn'"
    return dict(tx.rows(sql, ids=list(turn_ids)))


# --- Tombstones: rows for what was erased, and recognising it when it comes again (log/tombstones.py).


def apply_erases(tx: Transaction, lines: Iterable[tuple[int, Action]]) -> None:
    """Insert the tombstones of erase lines; the line that reports what an erase did has none."""
    found = [(seq, action, one) for seq, action in lines if (one := read_tombstone(action.payload)) is not None]
    tx.insert(
        "tombstones",
        "seq, noun, session, idx, role, said, timed, key, at",
        [
            (
                seq, one.noun, one.session, None if one.session is None else one.index,
                None if one.role is None else role_number(one.role), one.said or None, one.timed, one.key,
                to_micros(action.at),
            )
            for seq, action, one in found
        ],
        """ON CONFLICT (ns, seq) DO UPDATE SET noun = excluded.noun, session = excluded.session, idx = excluded.idx,
           role = excluded.role, said = excluded.said, timed = excluded.timed, key = excluded.key, at = excluded.at""",
    )  # fmt: skip
    marks = dict.fromkeys(mark for _, _, one in found for mark in one.statements)
    tx.insert("refused", "statement", [(mark,) for mark in marks], "ON CONFLICT DO NOTHING")


def has_tombstones(tx: Transaction) -> bool:
    """Tell whether anything was ever erased from the namespace."""
    return tx.row("SELECT 1 FROM tombstones WHERE ns = :ns LIMIT 1") is not None


class TombstoneIndex:
    """Recognises turns and records that were erased from a namespace."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._any = has_tombstones(tx)

    def __bool__(self) -> bool:
        return self._any

    def turn(self, turn: NewTurn, session: str, now: datetime) -> Turn | None:
        """Return the erased turn that this one is: by its key or, if its time was given, by role, text and time."""
        if not self._any or (turn.key is None and not turn.at_given):
            return None
        marker = self._tx.marker
        if turn.key is not None:
            found = self._find("key", session, marker.key(session, turn.key))
        else:
            found = self._find("timed", session, marker.timed(session, turn.role, turn.text, turn.at))
        return None if found is None else erased_turn(found[1], turn, self._tx.namespace, session, found[0], now)

    def noun(self, noun_id: str) -> bool:
        """Tell whether the turn or record of this id was erased."""
        sql = "SELECT 1 FROM tombstones WHERE ns = :ns AND noun = :noun"
        return self._any and self._tx.row(sql, noun=self._tx.marker.noun(noun_id)) is not None

    def was_at(self, turn: NewTurn, session: str, index: int) -> bool:
        """Tell whether this very turn had this index in the session and was erased."""
        if not self._any:
            return False
        said = self._tx.marker.said(session, turn.role, turn.text)
        sql = "SELECT 1 FROM tombstones WHERE ns = :ns AND session = :session AND idx = :index AND said = :said"
        return self._tx.row(sql, session=self._tx.marker.session(session), index=index, said=said) is not None

    def _find(self, column: str, session: str, mark: bytes) -> tuple[int, Tombstone] | None:
        row = self._tx.row(f"{TOMBSTONES} AND {column} = :mark", session=self._tx.marker.session(session), mark=mark)
        return None if row is None else read_tombstone_row(row)
