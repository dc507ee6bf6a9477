"""Lines of the log: written, appended, imported from another log, and recognised when they were erased before."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from holdfast.errors import InputError
from holdfast.log.acts import (
    ActLine,
    Line,
    Tombstone,
    TurnLine,
    erased_turn,
    pack_compaction,
    read_compaction,
    read_tombstone,
)
from holdfast.log.messages import act_digest, digest
from holdfast.model import Action, Entry, NewTurn, Turn, to_micros
from holdfast.store.rows import pack_metadata, read_line, read_tombstone_row, read_turn, role_number, stored_turn
from holdfast.store.statements import LINES, SESSION_END, TOMBSTONES, TURNS
from holdfast.store.types import ADMIT_STAGE, ImportCounts, Transaction, WrittenLine

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
        (
            seq, act.subject, act.entry.value, to_micros(act.at), True, to_micros(recorded_at),
            act_digest(payload := _payload(act)), payload,
        )
        for seq, act, recorded_at in lines
    ]  # fmt: skip
    tx.insert("log", "seq, id, entry, at, at_given, recorded_at, digest, text", rows)
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
    if usual := tx.session_end or tx.row(SESSION_END, session=session):
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
            one = stored_turn(turn, turn_id, tx.namespace, session, index, seq, recorded_at)
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
    where = "WHERE log.ns = :ns AND log.session = :session AND log.key IN :keys"
    rows = tx.rows(f"{TURNS} {where}", session=session, keys=keys)
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
    """Return whether the log contains an act of this kind for the same subject."""
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
    """Return whether anything was erased after the log had reached this place: every erase writes a line at its end."""
    sql = "SELECT 1 FROM log WHERE log.ns = :ns AND log.seq > :seq AND log.entry = 'erase' LIMIT 1"
    return tx.row(sql, seq=seq) is not None


def turn_places(tx: Transaction, turn_ids: Iterable[str]) -> dict[str, int]:
    """Return the places of those of the turns that are in the log."""
    sql = "SELECT log.id, log.seq FROM log WHERE log.ns = :ns AND log.id IN :ids AND log.entry = 'turn'"
    return dict(tx.rows(sql, ids=list(turn_ids)))


# --- Tombstones: rows for what was erased, and recognising it when it comes again (log/acts.py).


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
    """Return whether anything was ever erased from the namespace."""
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
        """Return whether the turn or record of this id was erased."""
        sql = "SELECT 1 FROM tombstones WHERE ns = :ns AND noun = :noun"
        return self._any and self._tx.row(sql, noun=self._tx.marker.noun(noun_id)) is not None

    def was_at(self, turn: NewTurn, session: str, index: int) -> bool:
        """Return whether this very turn had this index in the session and was erased."""
        if not self._any:
            return False
        said = self._tx.marker.said(session, turn.role, turn.text)
        sql = "SELECT 1 FROM tombstones WHERE ns = :ns AND session = :session AND idx = :index AND said = :said"
        return self._tx.row(sql, session=self._tx.marker.session(session), index=index, said=said) is not None

    def _find(self, column: str, session: str, mark: bytes) -> tuple[int, Tombstone] | None:
        row = self._tx.row(f"{TOMBSTONES} AND {column} = :mark", session=self._tx.marker.session(session), mark=mark)
        return None if row is None else read_tombstone_row(row)


# --- Import of the lines of another log: which are new, which are known already, and which cannot be used here.

_MOST_WAITING = 1000  # turns that are inserted together …
_MOST_CHARS = 300_000  # … unless they are long: an import of any length needs little memory


def import_lines(tx: Transaction, lines: Iterable[Line], apply_act: Callable[[int, Action], None]) -> ImportCounts:
    """Write the lines of another log into this one; the caller's transaction makes it all or nothing."""
    importer = _LogImporter(tx, apply_act)
    for line in lines:
        try:
            if isinstance(line, TurnLine):
                importer.turn(line)
            else:
                importer.act(line)
        except tx.conflict as error:
            raise InputError(_repeated(line)) from error
    return importer.finish()


class _LogImporter:
    """Gives every line its own place in an empty log; appends what is new to one that has lines."""

    def __init__(self, tx: Transaction, apply_act: Callable[[int, Action], None]) -> None:
        self._tx = tx
        self._apply_act = apply_act
        tx.hold_views()
        self._before = self._seq = tx.hold_log()
        self._tombstones = TombstoneIndex(tx)
        self._admitted = admitted(tx)
        self._turns = self._acts = self._known = self._left_out = self._erased = 0
        self._sessions: dict[str, tuple[int, int]] = {}
        """By name, the number and the last index of each session seen so far."""
        self._moved: set[str] = set()
        """Sessions whose turns have other indexes here than in the file."""
        self._other_runs: set[str] = set()
        """Janitor runs that differ from the ones in the file."""
        self._waiting: list[tuple[TurnLine, int]] = []
        """Turns that are not inserted yet."""
        self._chars = 0
        self._ids: set[str] = set()
        self._keys: set[tuple[int, str]] = set()

    def finish(self) -> ImportCounts:
        self._insert_waiting()
        self._tx.move_end(self._seq)
        return ImportCounts(self._turns, self._acts, self._known, self._left_out, self._erased)

    def turn(self, line: TurnLine) -> None:
        if self._was_erased(line):
            self._erased += 1
            return
        number, last = self._sessions.get(line.session) or self._read_session(line.session)
        if self._before == 0:
            if line.index <= last:
                raise InputError(f"turn {line.id} has the index {line.index}, but its session is already at {last}")
            seq, index = line.seq, line.index
        else:
            if self._knows_turn(line):
                self._known += 1
                return
            self._check_key(line, number)
            seq, index = self._seq + 1, max(line.index, last + 1)
        if index != line.index:
            self._moved.add(line.session)
        self._insert_turn(replace(line, seq=seq, index=index), number)
        self._sessions[line.session] = (number, index)
        self._seq = seq
        self._turns += 1

    def act(self, line: ActLine) -> None:
        action = line.action
        if self._tombstones.noun(action.subject):
            self._erased += 1
            return
        self._insert_waiting()
        if self._before:
            if action.entry is Entry.COMPACT:
                action = self._without_erased(action)
            if self._holds_same(action):
                self._known += 1
                return
            if self._is_about_other_log(action):
                self._left_out += 1
                return
        self._seq = line.seq if self._before == 0 else self._seq + 1
        insert_acts(self._tx, [(self._seq, action, line.recorded_at)])
        try:
            self._apply_act(self._seq, action)
        except (KeyError, ValueError, TypeError) as error:
            raise InputError(f"the payload of this {action.entry.value} cannot be used: {error!r}") from error
        self._acts += 1

    def _read_session(self, name: str) -> tuple[int, int]:
        number = session_number(self._tx, name)
        return number, last_index(self._tx, number, name)

    def _insert_turn(self, line: TurnLine, session: int) -> None:
        if line.id in self._ids:
            raise InputError(_repeated(line))
        self._ids.add(line.id)
        if line.turn.key is not None:
            if (session, line.turn.key) in self._keys:
                raise InputError(
                    f"the key {line.turn.key!r} occurs twice in session {line.session!r}, again at turn {line.id}"
                )
            self._keys.add((session, line.turn.key))
        self._waiting.append((line, session))
        self._chars += len(line.turn.text) + (len(str(line.turn.metadata)) if line.turn.metadata else 0)
        if len(self._waiting) >= _MOST_WAITING or self._chars >= _MOST_CHARS:
            self._insert_waiting()

    def _insert_waiting(self) -> None:
        insert_turns(self._tx, self._waiting)
        self._waiting, self._chars = [], 0

    def _was_erased(self, line: TurnLine) -> bool:
        """Compare its id, its key, its time, and its text with that of an erased turn with the same index."""
        return (
            self._tombstones.noun(line.id)
            or self._tombstones.turn(line.turn, line.session, line.recorded_at) is not None
            or self._tombstones.was_at(line.turn, line.session, line.index)
        )

    def _without_erased(self, action: Action) -> Action:
        """Leave out of a compaction what it made of turns that were erased here."""
        made = read_compaction(action.payload)
        kept = tuple(one for one in made.records if not any(map(self._tombstones.noun, (one.id, *one.turn_ids))))
        return action if kept == made.records else replace(action, payload=pack_compaction(replace(made, records=kept)))

    def _knows_turn(self, line: TurnLine) -> bool:
        if line.id in self._ids:
            raise InputError(_repeated(line))
        row = self._tx.row(f"{LINES} WHERE log.ns = :ns AND log.id = :id AND log.entry = 'turn'", id=line.id)
        if row is None:
            return False
        here = read_line(row)
        assert isinstance(here, TurnLine)
        if here.index != line.index:
            self._moved.add(line.session)
        if (here.session, here.turn) != (line.session, line.turn):
            raise InputError(
                f"turn {line.id} exists here with another {_difference(here, line)}. Nothing was imported; import the "
                "file into a namespace of its own"
            )
        return True

    def _check_key(self, line: TurnLine, session: int) -> None:
        if line.turn.key is None:
            return
        sql = "SELECT log.id, log.seq FROM log WHERE log.ns = :ns AND log.session = :session AND log.key = :key"
        found = self._tx.row(sql, session=session, key=line.turn.key)
        if found is not None and found[1] <= self._before:
            raise InputError(
                f"turn {line.id} has the key {line.turn.key!r} in session {line.session!r}, which is turn {found[0]} "
                "here. Nothing was imported; import the file into a namespace of its own"
            )

    def _holds_same(self, action: Action) -> bool:
        """Return whether the log contains this very act: same kind, subject, time and payload."""
        row = self._tx.row(
            """SELECT 1 FROM log WHERE log.ns = :ns AND log.id = :id AND log.entry <> 'turn' AND log.entry = :entry
               AND log.at = :at AND log.text = :text""",
            id=action.subject,
            entry=action.entry.value,
            at=to_micros(action.at),
            text=_payload(action),
        )
        return row is not None

    def _is_about_other_log(self, action: Action) -> bool:
        """Return whether it speaks of places in the log that it comes from, which mean nothing here."""
        match action.entry:
            case Entry.REBUILD:
                return True
            case Entry.PROPOSE:  # a rebuild could not tell which proposal was used (Store.propose)
                place = turn_places(self._tx, [action.subject]).get(action.subject)
                return (place is not None and place <= self._admitted) or holds_act(self._tx, action)
            case Entry.COMPACT:
                made = read_compaction(action.payload)
                return made.session in self._moved or cursor(self._tx, made.stage) != made.after
            case Entry.JANITOR | Entry.JANITOR_UNDO:  # one run a week and one undo of it: another log's is not ours
                if holds_act(self._tx, action):
                    self._other_runs.add(action.subject)
                return action.subject in self._other_runs
            case _:
                return False


def _difference(here: TurnLine, line: TurnLine) -> str:
    if here.session != line.session:
        return "session"
    return next(name for name in vars(here.turn) if getattr(here.turn, name) != getattr(line.turn, name))


def _repeated(line: Line) -> str:
    if isinstance(line, ActLine):
        return f"the record {line.action.subject} is created twice, or exists here already as another one"
    return f"the id {line.id} occurs twice in the file"
