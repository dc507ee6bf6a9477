"""Whole lines of the log: read as they stand, and taken over from another log."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime

import apsw

from holdfast.errors import InputError
from holdfast.log.align import digest
from holdfast.log.lines import Line, TurnLine
from holdfast.model import Action
from holdfast.moments import to_micros
from holdfast.store.codes import role_number
from holdfast.store.nouns import TakenOver
from holdfast.store.rows import pack_metadata, read_line
from holdfast.store.sqlite.acts import admitted, apply_act, holds_act, insert_act
from holdfast.store.sqlite.ends import last_index, last_seq, namespace_number, session_number
from holdfast.store.sqlite.keys import NUMBER_MASK, number_of, place
from holdfast.store.sqlite.tombs import Tombs, last_erased_index
from holdfast.store.taking import Taking, twice

__all__ = ["COLUMNS", "FROM_LINES", "INSERT_TURN", "take_over", "turn_row"]

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
