"""Reading the indexes of a namespace out of PostgreSQL: the same blocks and segments as in a file, so both rank alike.

Every statement names the namespace for every table it touches: row-level security is the second lock, and a server
that is sharded by namespace can send the statement to one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from holdfast.store.halves import whole
from holdfast.store.nouns import BlockRef, Space
from holdfast.store.postgres.heads import Heads, read_heads
from holdfast.store.postgres.transaction import Transaction

__all__ = ["IndexReads"]

_DOCUMENT_BLOCK = "SELECT data FROM documents WHERE ns = %(ns)s AND space = %(space)s AND block = %(block)s"
_POSTINGS = """SELECT space, term, block, data FROM postings
    WHERE ns = %(ns)s AND space = ANY(%(spaces)s::smallint[]) AND term = ANY(%(terms)s::text[])
    ORDER BY space, term, block"""
_SEGMENT = """SELECT data FROM segments
    WHERE ns = %(ns)s AND space = %(space)s AND slot = %(slot)s AND block = %(block)s"""
_VECTOR = "SELECT vectors.num, vectors.data FROM vectors"
# What a turn tells may be the turn's own vector, and is then not written twice (AS_TURN).
_TOLD = f"""SELECT vectors.num, CASE WHEN length(vectors.data) > 0 THEN vectors.data ELSE own.data END FROM vectors
    LEFT JOIN vectors AS own ON own.ns = %(ns)s AND own.slot = %(slot)s AND own.space = {int(Space.TURN)}
        AND own.num = vectors.num AND length(vectors.data) = 0"""
_OF_SPACE = "WHERE vectors.ns = %(ns)s AND vectors.slot = %(slot)s AND vectors.space = %(space)s"
_THESE = f"{_OF_SPACE} AND vectors.num = ANY(%(nums)s::bigint[])"
_BETWEEN = f"{_OF_SPACE} AND vectors.num > %(after)s AND vectors.num <= %(upto)s ORDER BY vectors.num"


class IndexReads:
    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._namespace = tx.namespace
        self._postings: dict[tuple[int, str], list[tuple[int, bytes]]] = {}
        """What was asked for, by space and term."""

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
        asked = dict.fromkeys(terms)
        if int(space) in self._heads.documents:
            self._read_postings(space, [term for term in asked if (int(space), term) not in self._postings])
        return {term: list(self._postings.get((int(space), term), ())) for term in asked}

    def _read_postings(self, space: Space, terms: Sequence[str]) -> None:
        """Those of turns bring the others along, for a search asks for the same terms in one space after the other."""
        spaces = [int(space)] if space is Space.RECORD else list(self._heads.documents)
        for one in spaces:
            self._postings.update({(one, term): [] for term in terms})
        for one, term, block, data in self._rows(_POSTINGS, spaces=spaces, terms=list(terms)) if terms else ():
            self._postings[one, term].append((block, data))

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
        asked = [int(num) for num in nums]
        return _read_vectors(self._rows(f"{_from(space)} {_THESE}", slot=slot, space=int(space), nums=asked))

    def vectors_between(self, space: Space, fingerprint: str, after: int, upto: int) -> list[tuple[int, bytes]]:
        slot = self._slot(fingerprint)
        if slot is None:
            return []
        sql = f"{_from(space)} {_BETWEEN}"
        return _read_vectors(self._rows(sql, slot=slot, space=int(space), after=after, upto=upto))

    def _slot(self, fingerprint: str) -> int | None:
        """Where this model's vectors lie; None if it has none here."""
        return self._heads.slots.get(fingerprint)

    def _bytes(self, sql: str, **values: object) -> bytes:
        data = self._one(sql, **values)
        assert isinstance(data, bytes)
        return data


def _from(space: Space) -> str:
    return _TOLD if space is Space.TOLD else _VECTOR


def _read_vectors(rows: Iterable[tuple[int, bytes | None]]) -> list[tuple[int, bytes]]:
    """Without those that are a turn's own where the turn has none."""
    found = [(num, data) for num, data in rows if data is not None]
    return [(num, data) for (num, _), data in zip(found, whole([data for _, data in found]), strict=True)]
