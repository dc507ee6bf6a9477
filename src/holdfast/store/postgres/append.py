"""Turns at the end of the log: one transaction, durable before the caller has its answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

import psycopg
from psycopg import errors

from holdfast.errors import InputError
from holdfast.log.acts import Line, TurnLine
from holdfast.log.align import digest
from holdfast.model import Action, NewTurn, Turn
from holdfast.store.import_lines import Taking, twice
from holdfast.store.postgres.address import collided, lost
from holdfast.store.postgres.connection import Connections
from holdfast.store.postgres.snapshot import FROM_LOG, LINE_COLUMNS, TURN_COLUMNS
from holdfast.store.postgres.tail import Tombs, hold_log, hold_views, last_index, move_end, session_number
from holdfast.store.postgres.transaction import Transaction, Wrote
from holdfast.store.postgres.writes import admitted, apply_act, cursor, holds_act, insert_act
from holdfast.store.rows import kept_turn, pack_metadata, read_line, read_turn, role_number
from holdfast.store.types import TakenOver
from holdfast.text.time import to_micros

_COLUMNS = """log (seq, id, session, idx, role, origin, at, at_given, recorded_at, stability, key, digest, text,
    metadata, entry)"""
_MANY = 500  # turns of one statement
_TYPES = (
    "bigint", "text", "bigint", "bigint", "smallint", "text", "bigint", "boolean", "bigint", "double precision", "text",
    "bytea", "text", "text", "text",
)  # fmt: skip

_HOLD = "SELECT 1 FROM namespaces WHERE ns = %(ns)s FOR UPDATE"
_ONE = """SELECT new_seq, new_idx FROM append_turn(%(ns)s, %(session)s, %(expect)s, %(c1)s, %(c4)s, %(c5)s, %(c6)s,
    %(c7)s, %(c8)s, %(c9)s, %(c10)s, %(c11)s, %(c12)s, %(c13)s) WHERE new_seq IS NOT NULL"""
# The usual append of several turns as one statement, while the row of the log is held. Like append_turn, which does it
# for one turn (migrations/0002_append.sql), it does nothing where something is unusual.
_SEVERAL = f"""WITH found AS (
        SELECT namespaces.seq, sessions.session, coalesce((SELECT max(log.idx) FROM log
            WHERE log.ns = %(ns)s AND log.session = sessions.session AND log.entry = 'turn'), -1) AS idx
        FROM namespaces JOIN sessions ON sessions.ns = namespaces.ns
        WHERE namespaces.ns = %(ns)s AND namespaces.name IS NOT NULL AND sessions.ns = %(ns)s
        AND sessions.name = %(session)s
        AND NOT EXISTS (SELECT 1 FROM tombstones WHERE tombstones.ns = %(ns)s)
        AND NOT EXISTS (SELECT 1 FROM log WHERE log.ns = %(ns)s AND log.session = sessions.session
                        AND log.key = ANY(%(keys)s::text[]))
    ), moved AS (
        UPDATE namespaces SET seq = namespaces.seq + %(many)s FROM found
        WHERE namespaces.ns = %(ns)s AND (%(expect)s::bigint IS NULL OR found.idx = %(expect)s::bigint)
        RETURNING found.seq, found.session, found.idx
    )
    INSERT INTO {_COLUMNS.replace("(", "(ns, ", 1)}
    SELECT %(ns)s, moved.seq + new.c0, new.c1, moved.session, moved.idx + new.c0,
        {", ".join(f"new.c{at}" for at in range(4, len(_TYPES)))}
    FROM moved CROSS JOIN unnest({", ".join(f"%(c{at})s::{kind}[]" for at, kind in enumerate(_TYPES))})
        AS new ({", ".join(f"c{at}" for at in range(len(_TYPES)))})
    RETURNING seq, idx"""
_THERE = "SELECT id, seq, idx FROM log WHERE ns = %(ns)s AND id = ANY(%(ids)s::text[]) AND entry = 'turn'"


def append_at_once(
    connections: Connections, namespace: str, session: str, turns: Sequence[NewTurn], ids: Sequence[str],
    recorded_at: datetime, expect: int | None,
) -> list[Turn] | None:  # fmt: skip
    """The usual append in one round trip; None where it takes a closer look, or the server went away."""
    keys = [turn.key for turn in turns if turn.key is not None]
    if not turns or len(turns) > _MANY or len(set(keys)) < len(keys):
        return None
    ns = connections.ns_of(namespace)
    numbered = enumerate(zip(turns, ids, strict=True), 1)
    rows = [_row(TurnLine(at, turn_id, session, at, recorded_at, turn), 0) for at, (turn, turn_id) in numbered]
    told: dict[str, object] = {"ns": ns, "session": session, "expect": expect}
    try:
        if len(rows) == 1:
            placed = connections.call(_ONE, told | {f"c{at}": value for at, value in enumerate(rows[0])})
        else:
            columns = {f"c{at}": [row[at] for row in rows] for at in range(len(_TYPES))}
            several = told | columns | {"keys": keys, "many": len(rows)}
            _, placed = connections.at_once(ns, [(_HOLD, {"ns": ns}), (_SEVERAL, several)])
    except psycopg.Error as error:
        if lost(error) or collided(error) or isinstance(error, errors.UniqueViolation):
            return None
        raise
    if len(placed) < len(turns):
        return None
    return [
        kept_turn(turn, turn_id, namespace, session, index, seq, recorded_at)
        for turn, turn_id, (seq, index) in zip(turns, ids, sorted(placed), strict=True)
    ]


def append(
    tx: Transaction, session: str, turns: Sequence[NewTurn], ids: Sequence[str], recorded_at: datetime,
    expect: int | None,
) -> list[Turn] | None:  # fmt: skip
    """A key that the session knows stores nothing and gives the first turn back; None if the session has moved on.

    An attempt before this one may have been kept, or may yet be: it has the same ids, and no id is taken twice.
    """
    seq = hold_log(tx)
    there = {turn_id: (place, index) for turn_id, place, index in tx.rows(_THERE, {"ids": list(ids)})}
    if there and len(there) == len(ids):
        return [
            kept_turn(turn, turn_id, tx.namespace, session, there[turn_id][1], there[turn_id][0], recorded_at)
            for turn, turn_id in zip(turns, ids, strict=True)
        ]
    tombs = Tombs(tx)
    # Without a key, turns that were aligned with their session (`expect`) were compared with its tombstones already.
    away = [tombs.turn(one, session, recorded_at) if one.key is not None or expect is None else None for one in turns]
    if turns and all(away):
        return [turn for turn in away if turn is not None]  # not even its session comes back
    number = session_number(tx, session)
    index = last_index(tx, number, session)
    if expect is not None and index != expect:
        return None
    by_key = _of_keys(tx, number, [turn.key for turn in turns if turn.key is not None])
    kept: list[Turn] = []
    lines: list[TurnLine] = []
    for turn, turn_id, erased in zip(turns, ids, away, strict=True):
        known = (by_key.get(turn.key) if turn.key is not None else None) or erased
        if known is None:
            seq, index = seq + 1, index + 1
            known = kept_turn(turn, turn_id, tx.namespace, session, index, seq, recorded_at)
            lines.append(TurnLine(seq, turn_id, session, index, recorded_at, turn))
            if turn.key is not None:
                by_key[turn.key] = known
        kept.append(known)
    insert_turns(tx, [(line, number) for line in lines])
    if lines:
        move_end(tx, seq)
    return kept


def insert_turns(tx: Transaction, lines: Sequence[tuple[TurnLine, int]]) -> None:
    """(line, number of its session); the log is held."""
    tx.insert(_COLUMNS, _TYPES, [_row(line, session) for line, session in lines])
    if lines:
        last = lines[-1][0]
        tx.wrote = Wrote(last.seq, last.id, last.turn.text)


def _row(line: TurnLine, session: int) -> tuple[object, ...]:
    turn = line.turn
    return (
        line.seq, line.id, session, line.index, role_number(turn.role), turn.origin.value, to_micros(turn.at),
        turn.at_given, to_micros(line.recorded_at), turn.stability, turn.key, digest(turn.role, turn.text), turn.text,
        pack_metadata(turn.metadata), "turn",
    )  # fmt: skip


def _of_keys(tx: Transaction, session: int, keys: Sequence[str]) -> dict[str, Turn]:
    if not keys:
        return {}
    rows = tx.rows(
        f"""SELECT {TURN_COLUMNS} {FROM_LOG}
            WHERE log.ns = %(ns)s AND log.session = %(session)s AND log.key = ANY(%(keys)s::text[])""",
        {"session": session, "keys": list(keys)},
    )
    found = [read_turn(tx.namespace, row) for row in rows]
    return {turn.key: turn for turn in found if turn.key is not None}


# --- Lines of another log, taken over as rows (store/import_lines.py decides which).


_LINES_MANY = 1000  # turns of one statement …
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
        if len(self._waiting) >= _LINES_MANY or self._chars >= _MOST_CHARS:
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
