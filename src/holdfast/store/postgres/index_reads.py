"""Reading the indexes of a namespace out of PostgreSQL: the same blocks and segments as in a file, so both rank alike.

Every statement names the namespace for every table it touches: row-level security is the second lock, and a server
that is sharded by namespace can send the statement to one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from holdfast.store.halves import whole
from holdfast.store.postgres.heads import Heads, read_heads
from holdfast.store.postgres.transaction import Transaction
from holdfast.store.protocol import BlockRef, Space

__all__ = ["IndexReads"]

_DOCUMENT_BLOCK = "SELECT data FROM documents WHERE ns = %(ns)s AND space = %(space)s AND block = %(block)s"
_POSTINGS = """SELECT term, block, data FROM postings
    WHERE ns = %(ns)s AND space = %(space)s AND term = ANY(%(terms)s::text[]) ORDER BY term, block"""
_SEGMENT = """SELECT data FROM segments
    WHERE ns = %(ns)s AND space = %(space)s AND slot = %(slot)s AND block = %(block)s"""
_VECTORS = """SELECT num, data FROM vectors
    WHERE ns = %(ns)s AND slot = %(slot)s AND space = %(space)s AND num = ANY(%(nums)s::bigint[])"""
_VECTORS_BETWEEN = """SELECT num, data FROM vectors
    WHERE ns = %(ns)s AND slot = %(slot)s AND space = %(space)s AND num > %(after)s AND num <= %(upto)s ORDER BY num"""


class IndexReads:
    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._namespace = tx.namespace

    @cached_property
    def _heads(self) -> Heads:
        return read_heads(self._tx)

    def _has_no(self, kind: str) -> bool:
        """Whether it is known already that there is none of it; who asks for nothing else finds it out by asking."""
        return "_heads" in self.__dict__ and kind not in self._heads.some

    def _rows(self, sql: str, **values: object) -> list[Any]:
        """Rows of a statement; the transaction gives it the namespace."""
        return self._tx.rows(sql, values)

    def _one(self, sql: str, **values: object) -> object:
        return self._tx.one(sql, values)

    def document_blocks(self, space: Space) -> list[BlockRef]:
        return list(self._heads.documents.get(int(space), ()))

    def document_block(self, space: Space, block: int) -> bytes:
        return self._bytes(_DOCUMENT_BLOCK, space=int(space), block=block)

    def postings(self, space: Space, terms: Sequence[str]) -> dict[str, list[tuple[int, bytes]]]:
        found: dict[str, list[tuple[int, bytes]]] = {term: [] for term in terms}
        if found and self._heads.documents.get(int(space)):
            for term, block, data in self._rows(_POSTINGS, space=int(space), terms=list(found)):
                found[term].append((block, data))
        return found

    def segment_blocks(self, space: Space, fingerprint: str) -> list[BlockRef]:
        slot = self._slot(fingerprint)
        if slot is None:
            return []
        return list(self._heads.segments.get((int(space), slot), ()))

    def segment(self, space: Space, fingerprint: str, block: int) -> bytes:
        return self._bytes(_SEGMENT, space=int(space), slot=self._slot(fingerprint), block=block)

    def vectors(self, space: Space, fingerprint: str, nums: Sequence[int]) -> list[tuple[int, bytes]]:
        slot = self._slot(fingerprint)
        if slot is None or not nums:
            return []
        rows = self._rows(_VECTORS, slot=slot, space=int(space), nums=[int(num) for num in nums])
        return self._vectors_of(space, slot, rows)

    def vectors_between(self, space: Space, fingerprint: str, after: int, upto: int) -> list[tuple[int, bytes]]:
        slot = self._slot(fingerprint)
        if slot is None:
            return []
        rows = self._rows(_VECTORS_BETWEEN, slot=slot, space=int(space), after=after, upto=upto)
        return self._vectors_of(space, slot, rows)

    def _vectors_of(self, space: Space, slot: int, rows: Iterable[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        found = list(rows)
        own = self._own_vectors(slot, [num for num, data in found if not data]) if space is Space.TOLD else {}
        vectors = whole([own.get(num, data) for num, data in found])
        return [(num, data) for (num, _), data in zip(found, vectors, strict=True)]

    def _own_vectors(self, slot: int, nums: Sequence[int]) -> Mapping[int, bytes]:
        """What a turn tells may be the turn's own vector, and is then not written twice (AS_TURN)."""
        if not nums:
            return {}
        return dict(self._rows(_VECTORS, slot=slot, space=int(Space.TURN), nums=list(nums)))

    def _slot(self, fingerprint: str) -> int | None:
        """Where this model's vectors lie; None if it has none here."""
        return self._heads.slots.get(fingerprint)

    def _bytes(self, sql: str, **values: object) -> bytes:
        data = self._one(sql, **values)
        assert isinstance(data, bytes)
        return data
