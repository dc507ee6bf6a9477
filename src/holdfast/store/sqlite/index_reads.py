"""Reading the indexes of a namespace: documents, postings, segments and vectors, as the bytes they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import apsw

from holdfast.store.halves import whole
from holdfast.store.nouns import BlockRef, Space
from holdfast.store.sqlite.ends import known_namespace
from holdfast.store.sqlite.keys import number_of, vector_place

__all__ = ["MANY", "NO_NAMESPACE", "IndexReads", "in_list"]

SQLiteValue = int | float | str | bytes | None

MANY = 500
"""Values of one IN list."""
NO_NAMESPACE = -1
"""A namespace nobody has written to: every query finds nothing."""
_LENGTHS = (1, 4, 16, 64, 128, MANY)


def in_list(values: Sequence[SQLiteValue]) -> tuple[str, list[SQLiteValue]]:
    """The marks of an IN list and its values, the last of them said again up to one of a few lengths.

    Lists of any length would be hundreds of different statements, and compiling one takes longer than running it.
    """
    length = next((most for most in _LENGTHS if most >= len(values)), len(values))
    return ",".join("?" * length), [*values, *[values[-1]] * (length - len(values))]


class IndexReads:
    def __init__(self, connection: apsw.Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace
        number = known_namespace(connection, namespace)
        self.ns: int = NO_NAMESPACE if number is None else number

    # --- what is as it is while the snapshot lasts, each read at once

    @cached_property
    def _cursors(self) -> dict[str, int]:
        """All but those of compaction, of which every session has one."""
        if self.ns == NO_NAMESPACE:
            return {}
        sql = """SELECT stage, done FROM cursors WHERE ns = ?1 AND stage < 'compact:'
                 UNION ALL SELECT stage, done FROM cursors WHERE ns = ?1 AND stage >= 'compact;'"""
        return dict(self._rows(sql, (self.ns,)))

    @cached_property
    def _documents(self) -> dict[int, list[BlockRef]]:
        """By space the blocks of its documents."""
        found: dict[int, list[BlockRef]] = {}
        if self.ns != NO_NAMESPACE:
            sql = "SELECT space, block, version FROM documents WHERE ns = ? ORDER BY space, block"
            for space, block, version in self._rows(sql, (self.ns,)):
                found.setdefault(space, []).append(BlockRef(block, version))
        return found

    @cached_property
    def _segments(self) -> dict[tuple[int, int], list[BlockRef]]:
        """By slot and space its segments."""
        found: dict[tuple[int, int], list[BlockRef]] = {}
        if self.ns != NO_NAMESPACE:
            sql = "SELECT slot, space, block, version FROM segments WHERE ns = ? ORDER BY space, slot, block"
            for slot, space, block, version in self._rows(sql, (self.ns,)):
                found.setdefault((slot, space), []).append(BlockRef(block, version))
        return found

    @cached_property
    def _slots(self) -> dict[str, int]:
        if self.ns == NO_NAMESPACE:
            return {}
        return dict(self._rows("SELECT fingerprint, slot FROM models WHERE ns = ?", (self.ns,)))

    @cached_property
    def _hides(self) -> tuple[bool, bool]:
        """Whether anything was forgotten, and whether a record is gone: mostly nothing was and none is."""
        if self.ns == NO_NAMESPACE:
            return False, False
        sql = "SELECT EXISTS (SELECT 1 FROM hidden WHERE ns = ?1), EXISTS (SELECT 1 FROM gone WHERE ns = ?1)"
        forgotten, gone = next(self._rows(sql, (self.ns,)))
        return bool(forgotten), bool(gone)

    # --- reading

    def _rows(self, sql: str, values: Sequence[SQLiteValue] = ()) -> Iterator[Any]:
        return self._connection.execute(sql, values)

    def _one(self, sql: str, values: Sequence[SQLiteValue] = ()) -> object:
        row = next(self._rows(sql, values), None)
        return row[0] if row else None

    def document_blocks(self, space: Space) -> list[BlockRef]:
        return list(self._documents.get(space, ()))

    def document_block(self, space: Space, block: int) -> bytes:
        return self._bytes(
            "SELECT data FROM documents WHERE ns = ? AND space = ? AND block = ?", (self.ns, space, block)
        )

    def postings(self, space: Space, terms: Sequence[str]) -> dict[str, list[tuple[int, bytes]]]:
        found: dict[str, list[tuple[int, bytes]]] = {term: [] for term in terms}
        asked = list(found) if self._documents.get(space) else []
        for start in range(0, len(asked), MANY):
            marks, part = in_list(asked[start : start + MANY])
            rows = self._rows(
                f"""SELECT term, block, data FROM postings
                    WHERE ns = ? AND space = ? AND term IN ({marks}) ORDER BY term, block""",
                (self.ns, space, *part),
            )
            for term, block, data in rows:
                found[term].append((block, data))
        return found

    def segment_blocks(self, space: Space, fingerprint: str) -> list[BlockRef]:
        slot = self._slot(fingerprint)
        return [] if slot is None else list(self._segments.get((slot, space), ()))

    def segment(self, space: Space, fingerprint: str, block: int) -> bytes:
        return self._bytes(
            "SELECT data FROM segments WHERE ns = ? AND space = ? AND slot = ? AND block = ?",
            (self.ns, space, self._slot(fingerprint), block),
        )

    def vectors(self, space: Space, fingerprint: str, nums: Sequence[int]) -> list[tuple[int, bytes]]:
        slot = self._slot(fingerprint)
        found: list[tuple[int, bytes]] = []
        for start in range(0, len(nums) if slot is not None else 0, MANY):
            marks, part = in_list([vector_place(self.ns, slot or 0, space, num) for num in nums[start : start + MANY]])
            sql = f"SELECT pos, {_vector(space)} FROM vectors WHERE pos IN ({marks})"
            found += _read_vectors(self._rows(sql, part))
        return found

    def vectors_between(self, space: Space, fingerprint: str, after: int, upto: int) -> list[tuple[int, bytes]]:
        slot = self._slot(fingerprint)
        if slot is None:
            return []
        rows = self._rows(
            f"SELECT pos, {_vector(space)} FROM vectors WHERE pos > ? AND pos <= ? ORDER BY pos",
            (vector_place(self.ns, slot, space, after), vector_place(self.ns, slot, space, upto)),
        )
        return _read_vectors(rows)

    def _slot(self, fingerprint: str) -> int | None:
        """Where this model's vectors lie; None if it has none here."""
        return self._slots.get(fingerprint)

    def _bytes(self, sql: str, values: Sequence[SQLiteValue]) -> bytes:
        data = self._one(sql, values)
        assert isinstance(data, bytes)
        return data


def _vector(space: Space) -> str:
    """What a turn tells may be the turn's own vector, and is then not written twice."""
    if space is not Space.TOLD:
        return "data"
    own = f"SELECT own.data FROM vectors AS own WHERE own.pos = vectors.pos - {vector_place(0, 0, space, 0)}"
    return f"CASE WHEN length(data) THEN data ELSE ({own}) END"


def _read_vectors(rows: Iterable[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    found = list(rows)
    vectors = whole([data for _, data in found])
    return [(number_of(pos), data) for (pos, _), data in zip(found, vectors, strict=True)]
