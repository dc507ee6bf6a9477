"""Reading the indexes of a namespace: documents, postings, segments and vectors, as the bytes they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw

from holdfast.store.halves import whole
from holdfast.store.protocol import BlockRef, Space
from holdfast.store.sqlite.ends import known_namespace
from holdfast.store.sqlite.keys import number_of, vector_place

__all__ = ["MANY", "NO_NAMESPACE", "IndexReads"]

SQLiteValue = int | float | str | bytes | None

MANY = 500
"""Values of one IN list."""
NO_NAMESPACE = -1
"""A namespace nobody has written to: every query finds nothing."""


class IndexReads:
    def __init__(self, connection: apsw.Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace
        number = known_namespace(connection, namespace)
        self.ns: int = NO_NAMESPACE if number is None else number
        self._slots: dict[str, int | None] = {}

    def _rows(self, sql: str, values: Sequence[SQLiteValue] = ()) -> Iterator[Any]:
        return self._connection.execute(sql, values)

    def _one(self, sql: str, values: Sequence[SQLiteValue] = ()) -> object:
        row = next(self._rows(sql, values), None)
        return row[0] if row else None

    def document_blocks(self, space: Space) -> list[BlockRef]:
        rows = self._rows(
            "SELECT block, version FROM documents WHERE ns = ? AND space = ? ORDER BY block", (self.ns, space)
        )
        return [BlockRef(block, version) for block, version in rows]

    def document_block(self, space: Space, block: int) -> bytes:
        return self._bytes(
            "SELECT data FROM documents WHERE ns = ? AND space = ? AND block = ?", (self.ns, space, block)
        )

    def postings(self, space: Space, terms: Sequence[str]) -> dict[str, list[tuple[int, bytes]]]:
        found: dict[str, list[tuple[int, bytes]]] = {term: [] for term in terms}
        asked = list(found)
        for start in range(0, len(asked), MANY):
            part = asked[start : start + MANY]
            rows = self._rows(
                f"""SELECT term, block, data FROM postings
                    WHERE ns = ? AND space = ? AND term IN ({",".join("?" * len(part))}) ORDER BY term, block""",
                (self.ns, space, *part),
            )
            for term, block, data in rows:
                found[term].append((block, data))
        return found

    def segment_blocks(self, space: Space, fingerprint: str) -> list[BlockRef]:
        rows = self._rows(
            "SELECT block, version FROM segments WHERE ns = ? AND space = ? AND slot = ? ORDER BY block",
            (self.ns, space, self._slot(fingerprint)),
        )
        return [BlockRef(block, version) for block, version in rows]

    def segment(self, space: Space, fingerprint: str, block: int) -> bytes:
        return self._bytes(
            "SELECT data FROM segments WHERE ns = ? AND space = ? AND slot = ? AND block = ?",
            (self.ns, space, self._slot(fingerprint), block),
        )

    def vectors(self, space: Space, fingerprint: str, nums: Sequence[int]) -> list[tuple[int, bytes]]:
        slot = self._slot(fingerprint)
        found: list[tuple[int, bytes]] = []
        for start in range(0, len(nums) if slot is not None else 0, MANY):
            part = [vector_place(self.ns, slot or 0, space, num) for num in nums[start : start + MANY]]
            sql = f"SELECT pos, {_vector(space)} FROM vectors WHERE pos IN ({','.join('?' * len(part))})"
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
        if fingerprint not in self._slots:
            slot = self._one("SELECT slot FROM models WHERE ns = ? AND fingerprint = ?", (self.ns, fingerprint))
            self._slots[fingerprint] = slot if isinstance(slot, int) else None
        return self._slots[fingerprint]

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
