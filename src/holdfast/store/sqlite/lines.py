"""Whole lines of the log: read as they stand, and taken over from another log."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import apsw

from holdfast.errors import InputError
from holdfast.log.align import digest
from holdfast.log.compaction import pack_compaction, read_compaction
from holdfast.log.lines import ActLine, Line, TurnLine
from holdfast.model import Action, Entry, NewTurn, Origin
from holdfast.moments import from_micros, to_micros
from holdfast.store.codes import ROLES, role_number
from holdfast.store.protocol import TakenOver
from holdfast.store.sqlite.acts import admitted, apply_act, holds_act, insert_act
from holdfast.store.sqlite.ends import last_index, last_seq, namespace_number, session_number
from holdfast.store.sqlite.keys import number_of, place
from holdfast.store.sqlite.rows import pack_metadata, unpack_metadata
from holdfast.store.sqlite.tombs import Tombs, last_erased_index

__all__ = ["COLUMNS", "FROM_LINES", "INSERT_TURN", "read_line", "take_over", "turn_row"]

INSERT_TURN = """INSERT INTO log (pos, ns, id, entry, session, idx, role, origin, at, at_given, recorded_at, stability,
                                  key, digest, text, metadata)
                 VALUES (?, ?, ?, 'turn', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
COLUMNS = """log.pos, log.entry, log.id, sessions.name, log.idx, log.role, log.origin, log.at, log.at_given,
    log.recorded_at, log.stability, log.key, log.text, log.metadata"""
FROM_LINES = "FROM log LEFT JOIN sessions ON sessions.ns = log.ns AND sessions.session = log.session"


def turn_row(line: TurnLine, ns: int, session: int) -> tuple[object, ...]:
    """The values of INSERT_TURN."""
    turn = line.turn
    return (
        place(ns, line.seq), ns, line.id, session, line.index, role_number(turn.role), turn.origin.value,
        to_micros(turn.at), turn.at_given, to_micros(line.recorded_at), turn.stability, turn.key,
        digest(turn.role, turn.text), turn.text, pack_metadata(turn.metadata),
    )  # fmt: skip


def read_line(row: tuple[object, ...]) -> Line:
    """A row of COLUMNS."""
    pos, entry, noun, session, index, role, origin, at, at_given, recorded_at, stability, key, text, metadata = row
    assert isinstance(pos, int) and isinstance(at, int) and isinstance(recorded_at, int)
    seq, said, recorded = number_of(pos), from_micros(at), from_micros(recorded_at)
    if entry != Entry.TURN:
        return ActLine(seq, recorded, Action(Entry(str(entry)), str(noun), said, unpack_metadata(text)))
    assert isinstance(index, int) and isinstance(role, int) and isinstance(stability, float | int)
    turn = NewTurn(
        role=ROLES[role],
        origin=Origin(str(origin)),
        text=str(text),
        at=said,
        at_given=bool(at_given),
        stability=float(stability),
        key=None if key is None else str(key),
        metadata=unpack_metadata(metadata),
    )
    return TurnLine(seq, str(noun), str(session), index, recorded, turn)


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
            raise InputError(_twice(line, str(error))) from error
    return TakenOver(taking.turns, taking.acts, taking.known, taking.left_out, taking.erased)


class _Taking:
    """A log that is empty gets every line at its own place. One that is not gets what is new, at its end."""

    def __init__(self, connection: apsw.Connection, namespace: str) -> None:
        self.turns = self.acts = self.known = self.left_out = self.erased = 0
        self._connection = connection
        self._ns = namespace_number(connection, namespace)
        self._namespace = namespace
        self._before = self._seq = last_seq(connection, self._ns)
        self._tombs = Tombs(connection, self._ns, namespace)
        self._admitted = admitted(connection, self._ns)
        self._sessions: dict[str, tuple[int, int]] = {}
        """Number and last index of each session that was met."""
        self._moved: set[str] = set()
        """Sessions whose turns have other indexes here than in the file."""
        self._other_runs: set[str] = set()
        """The janitor's runs that are others here than in the file."""

    def turn(self, line: TurnLine) -> None:
        if self._was_erased(line):
            self.erased += 1
            return
        number, last = self._sessions.get(line.session) or self._session(line.session)
        if self._before == 0:
            if line.index <= last:
                raise InputError(f"turn {line.id} has the index {line.index} in its session, which has come to {last}")
            seq, index = line.seq, line.index
        else:
            if self._knows_turn(line):
                self.known += 1
                return
            self._check_key(line, number)
            seq, index = self._seq + 1, max(line.index, last + 1)
        if index != line.index:
            self._moved.add(line.session)
        placed = TurnLine(seq, line.id, line.session, index, line.recorded_at, line.turn)
        self._connection.execute(INSERT_TURN, turn_row(placed, self._ns, number))
        self._sessions[line.session] = (number, index)
        self._seq = seq
        self.turns += 1

    def act(self, line: ActLine) -> None:
        action = line.action
        if self._tombs.noun(action.subject):
            self.erased += 1
            return
        if action.entry is Entry.COMPACT and self._before:
            action = self._without_erased(action)
        if self._before:
            if self._knows_act(action):
                self.known += 1
                return
            if self._speaks_of_another_log(action):
                self.left_out += 1
                return
        self._seq = line.seq if self._before == 0 else self._seq + 1
        insert_act(self._connection, self._ns, self._seq, action, line.recorded_at)
        try:
            apply_act(self._connection, self._ns, self._seq, action)
        except (KeyError, ValueError, TypeError) as error:
            raise InputError(f"the payload of this {action.entry.value} cannot be used: {error!r}") from error
        self.acts += 1

    def _session(self, name: str) -> tuple[int, int]:
        number = session_number(self._connection, self._ns, name)
        last = last_index(self._connection, self._ns, number)
        return number, max(last, last_erased_index(self._connection, self._ns, self._namespace, name))

    def _was_erased(self, line: TurnLine) -> bool:
        """By its id, its key, its time, or because it says the same at the place where an erased one stood."""
        return (
            self._tombs.noun(line.id)
            or self._tombs.turn(line.turn, line.session, line.recorded_at) is not None
            or self._tombs.stood_at(line.turn, line.session, line.index)
        )

    def _without_erased(self, action: Action) -> Action:
        """A compaction without the digests of turns that were erased here."""
        made = read_compaction(action.payload)
        told = tuple(one for one in made.told if not any(map(self._tombs.noun, (one.id, *one.turn_ids))))
        return action if told == made.told else replace(action, payload=pack_compaction(replace(made, told=told)))

    def _knows_turn(self, line: TurnLine) -> bool:
        row = self._connection.execute(
            f"SELECT {COLUMNS} {FROM_LINES} WHERE log.ns = ? AND log.id = ? AND log.entry = 'turn'", (self._ns, line.id)
        ).fetchone()
        if row is None:
            return False
        here = read_line(row)
        assert isinstance(here, TurnLine)
        if here.seq > self._before:
            raise InputError(_twice(line))
        if here.index != line.index:
            self._moved.add(line.session)
        if (here.session, here.turn) != (line.session, line.turn):
            raise InputError(
                f"turn {line.id} is another one here: its {_difference(here, line)} differs. "
                "Nothing was imported; import the file into a namespace of its own"
            )
        return True

    def _check_key(self, line: TurnLine, session: int) -> None:
        if line.turn.key is None:
            return
        row = self._connection.execute(
            "SELECT id, pos FROM log WHERE ns = ? AND session = ? AND key = ?", (self._ns, session, line.turn.key)
        ).fetchone()
        if row is not None and number_of(int(str(row[1]))) <= self._before:
            raise InputError(
                f"turn {line.id} has the key {line.turn.key!r} in session {line.session!r}, which is turn {row[0]} "
                "here. Nothing was imported; import the file into a namespace of its own"
            )

    def _knows_act(self, action: Action) -> bool:
        payload = json.dumps(action.payload, ensure_ascii=False)
        found = self._connection.execute(
            "SELECT 1 FROM log WHERE ns = ? AND id = ? AND entry <> 'turn' AND entry = ? AND at = ? AND text = ?",
            (self._ns, action.subject, action.entry.value, to_micros(action.at), payload),
        )
        return found.fetchone() is not None

    def _speaks_of_another_log(self, action: Action) -> bool:
        """Whether it says where things stand in the log it comes from, which is no help here."""
        match action.entry:
            case Entry.REBUILD:
                return True
            case Entry.PROPOSE:
                return self._comes_late(action)
            case Entry.COMPACT:
                made = read_compaction(action.payload)
                return made.session in self._moved or self._cursor(made.stage) != made.after
            case Entry.JANITOR | Entry.JANITOR_UNDO:
                return self._is_of_another_run(action)
            case _:
                return False

    def _is_of_another_run(self, action: Action) -> bool:
        """There is one run a week, and one undoing of it: another log's must not undo what was run here."""
        if holds_act(self._connection, self._ns, action):
            self._other_runs.add(action.subject)
        return action.subject in self._other_runs

    def _comes_late(self, proposal: Action) -> bool:
        """A turn that was judged without it, or by another: a rebuild could not tell which was used (Store.propose)."""
        row = self._connection.execute(
            "SELECT pos FROM log WHERE ns = ? AND id = ? AND entry = 'turn'", (self._ns, proposal.subject)
        ).fetchone()
        judged = row is not None and number_of(int(str(row[0]))) <= self._admitted
        return judged or holds_act(self._connection, self._ns, proposal)

    def _cursor(self, stage: str) -> int:
        row = self._connection.execute(
            "SELECT done FROM cursors WHERE ns = ? AND stage = ?", (self._ns, stage)
        ).fetchone()
        return 0 if row is None else int(str(row[0]))


def _difference(here: TurnLine, line: TurnLine) -> str:
    if here.session != line.session:
        return "session"
    return next(name for name in vars(here.turn) if getattr(here.turn, name) != getattr(line.turn, name))


def _twice(line: Line, rule: str = "log.id") -> str:
    """What stands twice, in the words of a file rather than of a table."""
    if isinstance(line, ActLine):
        return f"the record {line.action.subject} is made twice, or is here already as another one"
    if "log.key" in rule:
        return f"the key {line.turn.key!r} stands twice in session {line.session!r}, again at turn {line.id}"
    return f"the id {line.id} stands twice in the file"
