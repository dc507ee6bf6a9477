"""The ground an erase works on, as rows of SQLite (store/erase.py decides what happens to them)."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import apsw

from holdfast.log.tombstones import Marker
from holdfast.model import Action
from holdfast.store.erase import Doomed, DoomedTurn, content_of, find_doomed, plain_vector, vector_spans
from holdfast.store.rows import SLOTS
from holdfast.store.sqlite.connection import NS_SHIFT, NUMBER_MASK, number_of, place, vector_place
from holdfast.store.sqlite.tail import last_seq, marker_of
from holdfast.store.sqlite.writes import clear_views, insert_act
from holdfast.store.types import CLAIMS_A_TURN, COMPACTION, Content, Scope, Space

_MANY = 500  # values of one IN list
_OF_TURN = (Space.TURN, Space.TOLD, Space.WINDOW)
_NOBODY = -1


class SqliteGround:
    def __init__(self, connection: apsw.Connection, namespace: str) -> None:
        self.namespace = namespace
        self._connection = connection
        row = connection.execute("SELECT ns FROM namespaces WHERE name = ?", (namespace,)).fetchone()
        self.ns = _NOBODY if row is None else _int(row[0])

    @property
    def marker(self) -> Marker:
        return marker_of(self._connection, self.namespace)

    # --- what is there

    def is_there(self) -> bool:
        return self.ns != _NOBODY

    def last_seq(self) -> int:
        return last_seq(self._connection, self.ns)

    def turns(self, scope: Scope, noun: str) -> list[DoomedTurn]:
        where, values = {
            Scope.NAMESPACE: ("log.ns = ?", (self.ns,)),
            Scope.SESSION: ("log.ns = ? AND sessions.name = ?", (self.ns, noun)),
            Scope.TURN: ("log.ns = ? AND log.id = ?", (self.ns, noun)),
        }[scope]
        rows = self._connection.execute(
            f"""SELECT log.pos, log.id, log.session, sessions.name, log.idx, log.role, log.text, log.at, log.at_given,
                       log.key, log.metadata
                FROM log JOIN sessions ON sessions.ns = log.ns AND sessions.session = log.session
                WHERE {where} AND log.entry = 'turn' ORDER BY log.pos""",
            values,
        ).fetchall()
        return [
            DoomedTurn(
                number_of(_int(pos)), str(noun_id), _int(session), str(name), _int(index), _int(role), str(text),
                _int(at), bool(at_given), None if key is None else str(key),
                None if metadata is None else str(metadata),
            )
            for pos, noun_id, session, name, index, role, text, at, at_given, key, metadata in rows
        ]  # fmt: skip

    def has_session(self, name: str) -> bool:
        return self._there("SELECT 1 FROM sessions WHERE ns = ? AND name = ?", name)

    def record_text(self, noun: str) -> str | None:
        row = self._connection.execute("SELECT text FROM records WHERE ns = ? AND id = ?", (self.ns, noun)).fetchone()
        return None if row is None else str(row[0])

    def records(self) -> dict[str, str]:
        rows = self._connection.execute("SELECT id, text FROM records WHERE ns = ?", (self.ns,)).fetchall()
        return {str(noun): str(text) for noun, text in rows}

    def records_of(self, seqs: Iterable[int]) -> list[tuple[str, str, int, bool]]:
        found = []
        for seq in seqs:
            rows = self._connection.execute(
                """SELECT records.id, records.text, records.born, records.metadata FROM sources
                    JOIN records ON records.pos = ?1 | sources.record
                    WHERE sources.ns = ?2 AND sources.turn = ?3""",
                (place(self.ns, 0), self.ns, seq),
            ).fetchall()
            found += [(str(noun), str(text), _int(born), COMPACTION in str(made)) for noun, text, born, made in rows]
        return found

    def sources(self, noun: str) -> tuple[str, ...]:
        rows = self._connection.execute(
            f"""SELECT log.id FROM records
                JOIN sources ON sources.ns = records.ns AND sources.record = records.pos & {NUMBER_MASK}
                JOIN log ON log.pos = ?1 | sources.turn
                WHERE records.ns = ?2 AND records.id = ?3 ORDER BY log.pos""",
            (place(self.ns, 0), self.ns, noun),
        ).fetchall()
        return tuple(str(turn_id) for (turn_id,) in rows)

    def is_hidden(self, noun: str) -> bool:
        return self._there("SELECT 1 FROM hidden WHERE ns = ? AND subject = ?", noun)

    def acts(self) -> list[tuple[int, str, str, str]]:
        rows = self._connection.execute(
            "SELECT pos, id, entry, text FROM log WHERE ns = ? AND entry NOT IN ('turn', 'erase')", (self.ns,)
        ).fetchall()
        return [(number_of(_int(pos)), str(noun), str(entry), str(text)) for pos, noun, entry, text in rows]

    def remembered_at(self, noun: str) -> int | None:
        row = self._connection.execute(
            "SELECT pos FROM log WHERE ns = ? AND id = ? AND entry <> 'turn' AND entry = 'remember'", (self.ns, noun)
        ).fetchone()
        return None if row is None else number_of(_int(row[0]))

    def session_numbers(self, name: str | None) -> dict[str, int]:
        rows = self._connection.execute(
            "SELECT name, session FROM sessions WHERE ns = ?1 AND (?2 IS NULL OR name = ?2)", (self.ns, name)
        ).fetchall()
        return {str(one): _int(number) for one, number in rows}

    def has_turns(self, session: int) -> bool:
        return self._there("SELECT 1 FROM log WHERE ns = ? AND session = ? AND entry = 'turn' LIMIT 1", session)

    def turns_after(self, session: int, index: int) -> set[int]:
        rows = self._connection.execute(
            "SELECT pos FROM log WHERE ns = ? AND session = ? AND idx > ? AND entry = 'turn'", (self.ns, session, index)
        ).fetchall()
        return {number_of(_int(pos)) for (pos,) in rows}

    def texts_of(self, session: int) -> dict[str, str]:
        rows = self._connection.execute(
            "SELECT id, text FROM log WHERE ns = ? AND session = ? AND entry = 'turn'", (self.ns, session)
        ).fetchall()
        return {str(noun): str(text) for noun, text in rows}

    def proposals_of(self, turn_ids: Sequence[str]) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        for start in range(0, len(turn_ids), _MANY):
            part = turn_ids[start : start + _MANY]
            rows = self._connection.execute(
                f"""SELECT pos, text FROM log WHERE ns = ? AND id IN ({",".join("?" * len(part))})
                    AND entry <> 'turn' AND entry = 'propose'""",
                (self.ns, *part),
            ).fetchall()
            found += [(number_of(_int(pos)), str(text)) for pos, text in rows]
        return found

    def receipts_of(self, noun: str) -> list[str]:
        rows = self._connection.execute(
            "SELECT details FROM receipts WHERE ns = ? AND subject = ? AND details IS NOT NULL", (self.ns, noun)
        ).fetchall()
        return [str(details) for (details,) in rows]

    # --- what changes

    def put(self, lines: Iterable[tuple[int, Action]]) -> None:
        for seq, action in lines:
            self.drop_line(seq)
            insert_act(self._connection, self.ns, seq, action, action.at)

    def drop_line(self, seq: int) -> None:
        self._connection.execute("DELETE FROM log WHERE pos = ?", (place(self.ns, seq),))

    def rewrite(self, seq: int, payload: str) -> None:
        self._connection.execute("UPDATE log SET text = ? WHERE pos = ?", (payload, place(self.ns, seq)))

    def drop_vectors(self, seqs: set[int], heirs: set[int]) -> None:
        first, last = place(self.ns, 0), place(self.ns + 1, 0) - 1
        cuts = self._connection.execute("SELECT pos, turn FROM passages WHERE pos BETWEEN ? AND ?", (first, last))
        passages = [_int(pos) for pos, turn in cuts.fetchall() if turn in seqs]
        self._connection.executemany("DELETE FROM passages WHERE pos = ?", [(pos,) for pos in passages])
        spans = [(space, seq, seq) for space in _OF_TURN for seq in seqs]
        spans += [(Space.PASSAGE, number_of(pos), number_of(pos)) for pos in passages]
        spans += [(Space.CLAIM, seq * CLAIMS_A_TURN, (seq + 1) * CLAIMS_A_TURN - 1) for seq in seqs | heirs]
        slots = [_int(slot) for (slot,) in self._connection.execute("SELECT slot FROM models WHERE ns = ?", (self.ns,))]
        self._connection.executemany(
            "DELETE FROM vectors WHERE pos BETWEEN ? AND ?",
            [
                (vector_place(self.ns, slot, space, low), vector_place(self.ns, slot, space, high))
                for slot in slots
                for space, low, high in spans
            ],
        )

    def drop_all_derived(self) -> None:
        for table in ("cursors", "models", "copies", "retrievals"):
            self._connection.execute(f"DELETE FROM {table} WHERE ns = ?", (self.ns,))
        for slot in range(SLOTS):
            for space in Space:
                first = vector_place(self.ns, slot, space, 0)
                self._connection.execute("DELETE FROM vectors WHERE pos BETWEEN ? AND ?", (first, first + NUMBER_MASK))

    def drop_session(self, session: int) -> None:
        self._connection.execute("DELETE FROM sessions WHERE ns = ? AND session = ?", (self.ns, session))

    def drop_counts(self, record_ids: Iterable[str]) -> None:
        self._connection.executemany(
            "DELETE FROM retrievals WHERE ns = ? AND subject = ?", [(self.ns, one) for one in record_ids]
        )

    def clear_views(self) -> None:
        clear_views(self._connection, self.ns)

    def drop_name(self) -> None:
        mark = self.marker.whole()
        self._connection.execute("DELETE FROM namespaces WHERE ns = ?", (self.ns,))
        self._connection.execute("DELETE FROM cursors WHERE ns = ?", (self.ns,))
        self._connection.execute("INSERT OR REPLACE INTO nameless VALUES (?, ?)", (self.ns, mark))

    def note_unswept(self) -> None:
        self._connection.execute("INSERT OR IGNORE INTO unswept VALUES (0)")

    def _there(self, sql: str, value: str | int) -> bool:
        return self._connection.execute(sql, (self.ns, value)).fetchone() is not None


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


# --- What a store holds, read for a proof: what an erase is about to destroy, what stays, and the bytes of its
# files.


FILES = ("", "-wal", "-shm", "-lock", "-work")
"""Endings of the files of a store."""
_PIECE = 4_000_000
_OVERLAP = 4096  # a string that is looked for is shorter


def read_content(connection: apsw.Connection, namespace: str, scope: Scope, noun: str) -> Content:
    ground = SqliteGround(connection, namespace)
    doomed = find_doomed(ground, scope, noun)
    return content_of(ground, doomed, scope, _vectors(connection, ground.ns, doomed))


def _vectors(connection: apsw.Connection, ns: int, doomed: Doomed) -> list[bytes]:
    rows = connection.execute("SELECT pos, id FROM records WHERE ns = ?", (ns,)).fetchall()
    spans = vector_spans(doomed, [number_of(int(str(pos))) for pos, noun in rows if noun in doomed.own])
    found: list[bytes] = []
    for slot in range(SLOTS):
        for space, low, high in spans:
            stored = connection.execute(
                "SELECT data FROM vectors WHERE pos BETWEEN ? AND ?",
                (vector_place(ns, slot, space, low), vector_place(ns, slot, space, high)),
            ).fetchall()
            found += [plain_vector(space, data) for (data,) in stored if isinstance(data, bytes) and data]
    return found


def read_truth(connection: apsw.Connection, namespace: str) -> Iterator[str]:
    """What people and hosts handed over, of every namespace, what the operator named, and others' records by id."""
    for text, noun, key, metadata in connection.execute(
        "SELECT text, id, key, metadata FROM log WHERE entry IN ('turn', 'remember')"
    ):
        yield from (str(one) for one in (text, noun, key, metadata) if one is not None)
    for table, column in (("namespaces", "name"), ("sessions", "name"), ("models", "fingerprint"), ("copies", "path")):
        for (name,) in connection.execute(f"SELECT {column} FROM {table}"):
            yield str(name)
    others = "SELECT id FROM records JOIN namespaces USING (ns) WHERE namespaces.name <> ?"
    for (noun,) in connection.execute(others, (namespace,)):
        yield str(noun)


def read_live_vectors(connection: apsw.Connection) -> Iterator[bytes]:
    live = {int(str(pos)) for (pos,) in connection.execute("SELECT pos FROM log WHERE entry = 'turn'")}
    records = {int(str(pos)) for (pos,) in connection.execute("SELECT pos FROM records")}
    codes = {vector_place(0, 0, space, 0): space for space in Space}
    for pos, data in connection.execute("SELECT pos, data FROM vectors"):
        assert isinstance(pos, int) and isinstance(data, bytes)
        ns, num = pos >> NS_SHIFT, number_of(pos)
        space = codes[(pos & ((1 << NS_SHIFT) - 1)) % vector_place(0, 1, Space.TURN, 0) & ~NUMBER_MASK]
        held = num // CLAIMS_A_TURN if space is Space.CLAIM else num
        if data and place(ns, held) in (records if space is Space.RECORD else live):
            yield plain_vector(space, data)


class RawFiles:
    """Reads the files of a store as bytes.

    Closing any handle on the database or its -shm would drop the locks that SQLite holds on them for this whole
    process (POSIX), so those handles are kept until the last store on the path is closed.
    """

    _gate = threading.Lock()
    _open: ClassVar[Counter[Path]] = Counter()
    _kept: ClassVar[dict[Path, dict[tuple[int, int], int]]] = {}

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self._closed = False
        with self._gate:
            self._open[self._path] += 1

    def read(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        for ending in FILES:
            file = self._path.with_name(self._path.name + ending)
            if file.exists():
                yield str(file), self._pieces(file)

    def _pieces(self, file: Path) -> Iterator[bytes]:
        handle = self._handle(file)
        at = 0
        while piece := os.pread(handle, _PIECE + _OVERLAP, at):
            yield piece
            at += _PIECE

    def _handle(self, file: Path) -> int:
        with self._gate:
            state = file.stat()
            kept = self._kept.setdefault(self._path, {})
            known = (state.st_dev, state.st_ino)
            if known not in kept:
                kept[known] = os.open(file, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
            return kept[known]

    def close(self) -> None:
        """After the connections: then there are no locks left to drop, unless another store has the file open."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._open[self._path] -= 1
            if self._open[self._path] <= 0:
                del self._open[self._path]
                for handle in self._kept.pop(self._path, {}).values():
                    os.close(handle)
