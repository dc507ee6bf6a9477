"""Import of the lines of another log: which are new, which are known already, and which cannot be used here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace

from holdfast.errors import InputError
from holdfast.log.acts import ActLine, Line, TurnLine, pack_compaction, read_compaction
from holdfast.model import Action, Entry
from holdfast.store.lines import (
    LINES,
    TombstoneIndex,
    admitted,
    cursor,
    holds_act,
    insert_acts,
    insert_turns,
    last_index,
    session_number,
    turn_places,
)
from holdfast.store.rows import read_line
from holdfast.store.types import ImportCounts, Transaction
from holdfast.text.time import to_micros

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
        """By its id, its key or its time, or because it says the same as an erased turn with its index."""
        return (
            self._tombstones.noun(line.id)
            or self._tombstones.turn(line.turn, line.session, line.recorded_at) is not None
            or self._tombstones.was_at(line.turn, line.session, line.index)
        )

    def _without_erased(self, action: Action) -> Action:
        """Leave out of a compaction what it made of turns that were erased here."""
        made = read_compaction(action.payload)
        told = tuple(one for one in made.told if not any(map(self._tombstones.noun, (one.id, *one.turn_ids))))
        return action if told == made.told else replace(action, payload=pack_compaction(replace(made, told=told)))

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
        """Tell whether the log contains this very act: same kind, subject, time and payload."""
        row = self._tx.row(
            """SELECT 1 FROM log WHERE log.ns = :ns AND log.id = :id AND log.entry <> 'turn' AND log.entry = :entry
               AND log.at = :at AND log.text = :text""",
            id=action.subject,
            entry=action.entry.value,
            at=to_micros(action.at),
            text=json.dumps(action.payload, ensure_ascii=False),
        )
        return row is not None

    def _is_about_other_log(self, action: Action) -> bool:
        """Tell whether it speaks of places in the log that it comes from, which mean nothing here."""
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
