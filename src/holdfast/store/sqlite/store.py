"""The default engine: one SQLite file holds the log and every view of it, for any number of namespaces."""

from __future__ import annotations

import glob
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import apsw

from holdfast.errors import StoreBusy, StoreError
from holdfast.log.acts import Line, TurnLine
from holdfast.log.messages import new_id
from holdfast.model import Action, NewTurn, Turn
from holdfast.settings import StoreSettings
from holdfast.store.erase import erase
from holdfast.store.rows import kept_turn, read_turn
from holdfast.store.sqlite.connection import Connections, FileLock
from holdfast.store.sqlite.erase import RawFiles, SqliteGround, read_content, read_live_vectors, read_truth
from holdfast.store.sqlite.files import copy_store, drop_lost, drop_vectors
from holdfast.store.sqlite.schema import SCHEMA
from holdfast.store.sqlite.snapshot import SqliteSnapshot
from holdfast.store.sqlite.tail import (
    Ends,
    Tombs,
    erased_since,
    known_namespace,
    misses_turns,
    namespace_number,
    session_number,
)
from holdfast.store.sqlite.writes import (
    FROM_LOG,
    INSERT_TURN,
    TURN_COLUMNS,
    admitted,
    advance,
    apply_act,
    clear_views,
    count_retrievals,
    holds_act,
    take_over,
    turn_row,
    write_act,
)
from holdfast.store.types import Changes, Content, Held, Move, Scope, Server, Swept, TakenOver
from holdfast.text.time import to_micros


class SqliteStore:
    engine = "sqlite"
    schema = SCHEMA

    def __init__(self, path: str | Path, settings: StoreSettings) -> None:
        self._path = Path(path).expanduser().absolute()
        self._settings = settings
        self._connections = Connections(self._path, settings)
        self._ends = Ends()
        self._work = FileLock(self._path.with_name(self._path.name + "-work"))
        self._work_gate = threading.Lock()
        """The flock is the process's; among its threads this one decides."""
        self._raw = RawFiles(self._path)

    @property
    def location(self) -> str:
        return str(self._path)

    def is_in_place(self) -> bool:
        return self._connections.is_in_place()

    def namespaces(self) -> list[str]:
        with self._connections.reading() as connection:
            rows = connection.execute("SELECT name FROM namespaces").fetchall()
        return sorted(str(name) for (name,) in rows)

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
                turned_away = self._turned_away(connection, namespace, session, turns, recorded_at, expect is None)
                if turned_away and all(turned_away):
                    return [turn for turn in turned_away if turn is not None]  # not even its session comes back
                ns, number, index, seq = self._ends.read(connection, namespace, session)
                if expect is not None and index != expect:
                    return None
                kept: list[Turn] = []
                for at, turn in enumerate(turns):
                    known = None if turn.key is None else _turn_of_key(connection, namespace, ns, number, turn.key)
                    known = known or (turned_away[at] if turned_away else None)
                    if known is None:
                        seq, index = seq + 1, index + 1
                        known = kept_turn(turn, new_id("t", recorded_at), namespace, session, index, seq, recorded_at)
                        connection.execute(INSERT_TURN, turn_row(_line(known, turn), ns, number))
                    kept.append(known)
            self._ends.keep(namespace, session, ns, number, index, seq)
            return kept

    def _turned_away(
        self,
        connection: apsw.Connection,
        namespace: str,
        session: str,
        turns: Sequence[NewTurn],
        now: datetime,
        by_time: bool,
    ) -> list[Turn | None]:
        """For each turn the erased one that it is, if it is one; nothing where nothing was ever erased.

        `by_time`: also without a key. Turns that were aligned with their session were compared already.
        """
        if not self._ends.has_tombstones(connection):
            return []
        ns = known_namespace(connection, namespace)
        tombs = None if ns is None else Tombs(connection, ns, namespace)
        if tombs is None:
            return []
        return [tombs.turn(turn, session, now) if turn.key is not None or by_time else None for turn in turns]

    def act(self, namespace: str, action: Action) -> None:
        with self._connections.alone():
            with self._connections.writing() as connection:
                ns = namespace_number(connection, namespace)
                apply_act(connection, ns, write_act(connection, ns, action), action)
            self._ends.forget()

    def propose(self, namespace: str, action: Action, seq: int, seen: int | None = None) -> bool:
        with self._connections.alone():
            with self._connections.writing() as connection:
                ns = namespace_number(connection, namespace)
                if admitted(connection, ns) >= seq or holds_act(connection, ns, action):
                    return False
                if seen is not None and erased_since(connection, ns, seen):
                    return False
                write_act(connection, ns, action)
            self._ends.forget()
            return True

    def act_once(self, namespace: str, action: Action) -> bool:
        with self._connections.alone():
            with self._connections.writing() as connection:
                ns = namespace_number(connection, namespace)
                if holds_act(connection, ns, action):
                    return False
                apply_act(connection, ns, write_act(connection, ns, action), action)
            self._ends.forget()
            return True

    def count_retrievals(self, namespace: str, found: Mapping[str, int], last: datetime) -> None:
        with self._connections.writing() as connection:
            ns = known_namespace(connection, namespace)
            if ns is not None:
                count_retrievals(connection, ns, found, last)

    def compact(self, namespace: str, action: Action, move: Move) -> bool:
        with self._connections.alone():
            with self._connections.writing() as connection:
                ns = namespace_number(connection, namespace)
                row = connection.execute(
                    "SELECT done FROM cursors WHERE ns = ? AND stage = ?", (ns, move.stage)
                ).fetchone()
                if (row[0] if row else 0) != move.after or misses_turns(connection, ns, action):
                    return False
                apply_act(connection, ns, write_act(connection, ns, action), action)
            self._ends.forget()
            return True

    def take_over(self, namespace: str, lines: Iterable[Line]) -> TakenOver:
        with self._connections.alone():
            try:
                with self._connections.writing() as connection:
                    return take_over(connection, namespace, lines)
            finally:
                self._ends.forget()

    # --- reading

    @contextmanager
    def snapshot(self, namespace: str) -> Iterator[SqliteSnapshot]:
        with self._connections.reading() as connection:
            yield SqliteSnapshot(connection, namespace)

    def secret(self) -> bytes:
        with self._connections.reading() as connection:
            value = connection.execute("SELECT value FROM secrets WHERE ns = 0").get
        assert isinstance(value, bytes)
        return value

    # --- derived work

    @contextmanager
    def claim(self, namespace: str) -> Iterator[bool]:
        """One worker at a time for the whole file: so are its writers, and the lock dies with its holder."""
        with self._claimed(0.0) as mine:
            yield mine

    @contextmanager
    def _claimed(self, timeout_s: float) -> Iterator[bool]:
        if not self._work_gate.acquire(timeout=timeout_s):
            yield False
            return
        try:
            mine = self._work.acquire(timeout_s)
            try:
                yield mine
            finally:
                if mine:
                    self._work.release()
        finally:
            self._work_gate.release()

    def advance(self, namespace: str, moves: Sequence[Move], changes: Changes) -> bool:
        with self._connections.writing() as connection:
            if any(move.after for move in moves) and known_namespace(connection, namespace) is None:
                return False  # it was erased, and must not have a name again because a worker was late
            return advance(connection, namespace_number(connection, namespace), moves, changes)

    def clear_views(self, namespace: str) -> None:
        with self._connections.alone():
            with self._connections.writing() as connection:
                clear_views(connection, namespace_number(connection, namespace))
            self._ends.forget()

    # --- erasing

    def erase(self, namespace: str, scope: Scope, noun: str, at: datetime) -> Swept:
        # A worker that has read the turn already would write of it afterwards: none may be at work.
        with self._claimed(self._settings.erase_wait_s) as mine:
            if not mine:
                raise StoreBusy(
                    f"derived work on {self._path} has not paused for {self._settings.erase_wait_s:.0f} s. Try again"
                )
            with self._connections.alone():
                try:
                    with self._connections.writing() as connection:
                        return erase(SqliteGround(connection, namespace), scope, noun, at)
                finally:
                    self._ends.forget()

    def sweep(self) -> str | None:
        return self._connections.sweep()

    def content(self, namespace: str, scope: Scope, noun: str) -> Content:
        with self._connections.reading() as connection:
            return read_content(connection, namespace, scope, noun)

    def truth(self, namespace: str) -> Iterator[str]:
        with self._connections.reading() as connection:
            yield from read_truth(connection, namespace)

    def live_vectors(self) -> Iterator[bytes]:
        with self._connections.reading() as connection:
            yield from read_live_vectors(connection)

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        return self._raw.read()

    def note_copy(self, namespace: str | None, path: str, at: datetime) -> None:
        with self._connections.writing() as connection:
            ns = 0 if namespace is None else known_namespace(connection, namespace)
            if ns is not None:
                connection.execute("INSERT OR REPLACE INTO copies VALUES (?, ?, ?)", (ns, path, to_micros(at)))

    def copies(self, namespace: str) -> list[str]:
        with self._connections.reading() as connection:
            rows = connection.execute(
                "SELECT path FROM copies WHERE ns = 0 OR ns = (SELECT ns FROM namespaces WHERE name = ?) ORDER BY path",
                (namespace,),
            ).fetchall()
        aside = sorted(str(path) for path in self._path.parent.glob(f"{glob.escape(self._path.name)}.before-restore-*"))
        return [str(path) for (path,) in rows] + aside

    # --- the file itself

    def drop_lost(self, namespace: str) -> None:
        with self._connections.writing() as connection:
            drop_lost(connection, namespace_number(connection, namespace))

    def drop_vectors(self, namespace: str, fingerprint: str) -> None:
        with self._connections.writing() as connection:
            drop_vectors(connection, namespace_number(connection, namespace), fingerprint)

    def check(self) -> list[str]:
        with self._connections.reading() as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
        return [line for line in found if line != "ok"]

    def copy(self, path: Path, progress: Callable[[int, int], None] | None = None) -> Held:
        return copy_store(self._path, path, self._settings, progress)

    def size(self) -> int:
        return sum(
            part.stat().st_size
            for part in (self._path, self._path.with_name(self._path.name + "-wal"))
            if part.exists()
        )

    def server(self) -> None:
        return None

    def shard(self) -> Server:
        raise StoreError(f"{self._path} is a file, which cannot be spread over servers. Copy it first: holdfast copy")

    def close(self) -> None:
        self._connections.close()
        self._work.close()
        self._raw.close()


def _turn_of_key(connection: apsw.Connection, namespace: str, ns: int, session: int, key: str) -> Turn | None:
    row = connection.execute(
        f"""SELECT {TURN_COLUMNS} {FROM_LOG}
            WHERE log.ns = ? AND log.session = ? AND log.key = ?""",
        (ns, session, key),
    ).fetchone()
    return read_turn(namespace, row) if row else None


def _line(kept: Turn, turn: NewTurn) -> TurnLine:
    return TurnLine(kept.seq, kept.id, kept.session, kept.index, kept.recorded_at, turn)
