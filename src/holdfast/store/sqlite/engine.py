"""The default engine: one SQLite file holds the log and every view of it, for any number of namespaces."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import apsw

from holdfast.log.align import digest
from holdfast.log.ids import new_id
from holdfast.model import Action, NewTurn, Turn
from holdfast.moments import to_micros
from holdfast.settings import StoreSettings
from holdfast.store.codes import role_number
from holdfast.store.protocol import PASSAGES_STAGE, Changes, Move, Space
from holdfast.store.sqlite.acts import admitted, apply_act, holds_act, note_admitted, replay_acts, write_act
from holdfast.store.sqlite.connection import Connections, FileLock
from holdfast.store.sqlite.ends import Ends, namespace_number, session_number
from holdfast.store.sqlite.keys import NUMBER_MASK, SLOTS, number_of, place, vector_place
from holdfast.store.sqlite.records import write_record
from holdfast.store.sqlite.rows import FROM_LOG, TURN_COLUMNS, pack_metadata, read_turn
from holdfast.store.sqlite.schema import SCHEMA
from holdfast.store.sqlite.snapshot import SqliteSnapshot

__all__ = ["SqliteStore"]

# Views that are dropped and derived anew; vectors stay, as a model's output (INV-3).
_VIEWS = (
    "records", "sources", "hidden", "gone", "receipts", "signals", "counters", "documents", "postings", "segments",
)  # fmt: skip

_INSERT_TURN = """INSERT INTO log (pos, ns, id, entry, session, idx, role, origin, at, at_given, recorded_at, stability,
                                   key, digest, text, metadata)
                  VALUES (?, ?, ?, 'turn', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""


class SqliteStore:
    engine = "sqlite"
    schema = SCHEMA

    def __init__(self, path: str | Path, settings: StoreSettings) -> None:
        self._path = Path(path).expanduser().absolute()
        self._connections = Connections(self._path, settings)
        self._ends = Ends()
        self._work = FileLock(self._path.with_name(self._path.name + "-work"))

    @property
    def location(self) -> str:
        return str(self._path)

    # --- writing the log

    def bootstrap(self, namespace: str, session: str | None) -> None:
        with self._connections.writing() as connection:
            ns = namespace_number(connection, namespace)
            if session is not None:
                session_number(connection, ns, session)

    def append(
        self, namespace: str, session: str, turns: Sequence[NewTurn], recorded_at: datetime, expect: int | None = None
    ) -> list[Turn] | None:
        with self._connections.alone():  # the ends are kept before the next writer can move them
            with self._connections.writing() as connection:
                ns, number, index, seq = self._ends.read(connection, namespace, session)
                if expect is not None and index != expect:
                    return None
                kept: list[Turn] = []
                for turn in turns:
                    known = None if turn.key is None else _turn_of_key(connection, namespace, ns, number, turn.key)
                    if known is None:
                        seq, index = seq + 1, index + 1
                        known = _kept(turn, namespace, session, index, seq, recorded_at)
                        connection.execute(_INSERT_TURN, _turn_row(known, turn, ns, number))
                    kept.append(known)
            self._ends.keep(namespace, session, ns, number, index, seq)
            return kept

    def act(self, namespace: str, action: Action) -> None:
        with self._connections.alone():
            with self._connections.writing() as connection:
                ns = namespace_number(connection, namespace)
                apply_act(connection, ns, write_act(connection, ns, action), action)
            self._ends.forget()

    def propose(self, namespace: str, action: Action, seq: int) -> bool:
        with self._connections.alone():
            with self._connections.writing() as connection:
                ns = namespace_number(connection, namespace)
                if admitted(connection, ns) >= seq or holds_act(connection, ns, action):
                    return False
                write_act(connection, ns, action)
            self._ends.forget()
            return True

    # --- reading

    @contextmanager
    def snapshot(self, namespace: str) -> Iterator[SqliteSnapshot]:
        with self._connections.reading() as connection:
            yield SqliteSnapshot(connection, namespace)

    # --- derived work

    @contextmanager
    def claim(self, namespace: str) -> Iterator[bool]:
        """One worker at a time for the whole file: so are its writers, and the lock dies with its holder."""
        mine = self._work.acquire(0.0)
        try:
            yield mine
        finally:
            if mine:
                self._work.release()

    def advance(self, namespace: str, moves: Sequence[Move], changes: Changes) -> bool:
        with self._connections.writing() as connection:
            ns = namespace_number(connection, namespace)
            for move in moves:
                row = connection.execute(
                    "SELECT done FROM cursors WHERE ns = ? AND stage = ?", (ns, move.stage)
                ).fetchone()
                if (row[0] if row else 0) != move.after:
                    return False
            connection.executemany(
                "INSERT INTO cursors VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET done = excluded.done",
                [(ns, move.stage, move.upto) for move in moves],
            )
            _write_changes(connection, ns, changes)
            return True

    def clear_views(self, namespace: str) -> None:
        with self._connections.alone():
            self._clear_views(namespace)
            self._ends.forget()

    def _clear_views(self, namespace: str) -> None:
        with self._connections.writing() as connection:
            ns = namespace_number(connection, namespace)
            note_admitted(connection, ns)
            before = _record_texts(connection, ns)
            for table in _VIEWS:
                connection.execute(f"DELETE FROM {table} WHERE ns = ?", (ns,))
            connection.execute("DELETE FROM cursors WHERE ns = ? AND stage <> ?", (ns, PASSAGES_STAGE))
            replay_acts(connection, ns)
            _carry_vectors(connection, ns, before, _record_texts(connection, ns))

    # --- the file itself

    def check(self) -> list[str]:
        with self._connections.reading() as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
        return [line for line in found if line != "ok"]

    def size(self) -> int:
        return sum(
            part.stat().st_size
            for part in (self._path, self._path.with_name(self._path.name + "-wal"))
            if part.exists()
        )

    def close(self) -> None:
        self._connections.close()
        self._work.close()


def _write_changes(connection: apsw.Connection, ns: int, changes: Changes) -> None:
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
        [(vector_place(ns, slot, space, num), data) for space, num, data in changes.vectors],
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
        [(place(ns, seq), ns, json.dumps(signals)) for seq, signals in changes.signals],
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
    connection.execute("DELETE FROM cursors WHERE ns = ? AND substr(stage, -length(?2) - 1) = ':' || ?2", (ns, old))
    connection.execute("UPDATE models SET fingerprint = ? WHERE ns = ? AND slot = 0", (fingerprint, ns))
    return 0


def _turn_of_key(connection: apsw.Connection, namespace: str, ns: int, session: int, key: str) -> Turn | None:
    row = connection.execute(
        f"""SELECT {TURN_COLUMNS} {FROM_LOG}
            WHERE log.ns = ? AND log.session = ? AND log.key = ?""",
        (ns, session, key),
    ).fetchone()
    return read_turn(namespace, row) if row else None


def _kept(turn: NewTurn, namespace: str, session: str, index: int, seq: int, recorded_at: datetime) -> Turn:
    return Turn(
        id=new_id("t", recorded_at),
        namespace=namespace,
        session=session,
        index=index,
        role=turn.role,
        origin=turn.origin,
        text=turn.text,
        at=turn.at,
        recorded_at=recorded_at,
        stability=turn.stability,
        seq=seq,
        key=turn.key,
        metadata=turn.metadata,
    )


def _turn_row(kept: Turn, turn: NewTurn, ns: int, session: int) -> tuple[object, ...]:
    return (
        place(ns, kept.seq), ns, kept.id, session, kept.index, role_number(kept.role), kept.origin.value,
        to_micros(kept.at), turn.at_given, to_micros(kept.recorded_at), kept.stability, kept.key,
        digest(kept.role, kept.text), kept.text, pack_metadata(kept.metadata),
    )  # fmt: skip
