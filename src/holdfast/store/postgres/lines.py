"""Lines of another log, taken over as rows (store/taking.py decides which)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime

from psycopg import errors

from holdfast.errors import InputError
from holdfast.log.lines import Line, TurnLine
from holdfast.model import Action
from holdfast.moments import to_micros
from holdfast.store.nouns import TakenOver
from holdfast.store.postgres.acts import admitted, apply_act, cursor, holds_act, insert_act
from holdfast.store.postgres.append import insert_turns
from holdfast.store.postgres.ends import hold_log, hold_views, last_index, move_end, session_number
from holdfast.store.postgres.tombs import Tombs
from holdfast.store.postgres.transaction import Transaction
from holdfast.store.postgres.turn_reads import LINE_COLUMNS
from holdfast.store.rows import read_line
from holdfast.store.taking import Taking, twice

__all__ = ["take_over"]

_MANY = 1000  # turns of one statement …
_MOST_CHARS = 300_000  # … unless they are long: an import of any length needs little memory
_HERE = f"""SELECT {LINE_COLUMNS} FROM log
    LEFT JOIN sessions ON sessions.ns = log.ns AND sessions.session = log.session
    WHERE log.ns = %(ns)s AND log.id = %(id)s AND log.entry = 'turn'"""


def take_over(tx: Transaction, lines: Iterable[Line]) -> TakenOver:
    """Put the lines of another log into this one; the caller's transaction makes it all or nothing."""
    hold_views(tx)
    taking = _Taking(tx, hold_log(tx))
    for line in lines:
        try:
            if isinstance(line, TurnLine):
                taking.turn(line)
            else:
                taking.act(line)
        except errors.UniqueViolation as error:
            raise InputError(twice(line, error.diag.constraint_name == "log_by_key")) from error
    taking.finish()
    return taking.result()


class _Taking(Taking):
    """Turns wait and go in together: what reads the log lets them in first."""

    def __init__(self, tx: Transaction, end: int) -> None:
        self._tx = tx
        self._waiting: list[tuple[TurnLine, int]] = []
        self._chars = 0
        self._ids: set[str] = set()
        self._keys: set[tuple[int, str]] = set()
        super().__init__(end, admitted(tx), Tombs(tx))

    def finish(self) -> None:
        self._let_in()
        move_end(self._tx, self._seq)

    def _let_in(self) -> None:
        insert_turns(self._tx, self._waiting)
        self._waiting, self._chars = [], 0

    def _session(self, name: str) -> tuple[int, int]:
        number = session_number(self._tx, name)
        return number, last_index(self._tx, number, name)

    def _insert_turn(self, line: TurnLine, session: int) -> None:
        if line.id in self._ids:
            raise InputError(twice(line))
        self._ids.add(line.id)
        if line.turn.key is not None:
            if (session, line.turn.key) in self._keys:
                raise InputError(twice(line, of_key=True))
            self._keys.add((session, line.turn.key))
        self._waiting.append((line, session))
        self._chars += len(line.turn.text) + (len(str(line.turn.metadata)) if line.turn.metadata else 0)
        if len(self._waiting) >= _MANY or self._chars >= _MOST_CHARS:
            self._let_in()

    def _insert_act(self, seq: int, action: Action, recorded_at: datetime) -> None:
        self._let_in()
        insert_act(self._tx, seq, action, recorded_at)

    def _apply_act(self, seq: int, action: Action) -> None:
        apply_act(self._tx, seq, action)

    def _turn_of_id(self, turn_id: str) -> TurnLine | None:
        if turn_id in self._ids:
            self._let_in()
        row = self._tx.row(_HERE, {"id": turn_id})
        if row is None:
            return None
        here = read_line(row)
        assert isinstance(here, TurnLine)
        return here

    def _turn_of_key(self, session: int, key: str) -> tuple[str, int] | None:
        row = self._tx.row(
            "SELECT id, seq FROM log WHERE ns = %(ns)s AND session = %(session)s AND key = %(key)s",
            {"session": session, "key": key},
        )
        return None if row is None else (str(row[0]), int(row[1]))

    def _place_of(self, turn_id: str) -> int | None:
        self._let_in()
        place = self._tx.one(
            "SELECT seq FROM log WHERE ns = %(ns)s AND id = %(id)s AND entry = 'turn'", {"id": turn_id}
        )
        return None if place is None else int(place)

    def _holds_same(self, action: Action) -> bool:
        row = self._tx.row(
            """SELECT 1 FROM log WHERE ns = %(ns)s AND id = %(id)s AND entry <> 'turn' AND entry = %(entry)s
               AND at = %(at)s AND text = %(text)s""",
            {
                "id": action.subject,
                "entry": action.entry.value,
                "at": to_micros(action.at),
                "text": json.dumps(action.payload, ensure_ascii=False),
            },
        )
        return row is not None

    def _holds_act(self, action: Action) -> bool:
        return holds_act(self._tx, action)

    def _cursor(self, stage: str) -> int:
        return cursor(self._tx, stage)
