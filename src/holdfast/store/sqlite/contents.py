"""What a store holds, read for a proof: what an erase is about to destroy, what stays, and the bytes of its files."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import apsw

from holdfast.store.contents import content_of, plain_vector, vector_spans
from holdfast.store.ground import Doomed, find_doomed
from holdfast.store.nouns import CLAIMS_A_TURN, Content, Scope, Space
from holdfast.store.sqlite.erase import SqliteGround
from holdfast.store.sqlite.keys import NS_SHIFT, NUMBER_MASK, SLOTS, number_of, place, vector_place

__all__ = ["FILES", "RawFiles", "read_content", "read_live_vectors", "read_truth"]

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
