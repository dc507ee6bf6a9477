"""What a store holds, read for a proof: what an erase is about to destroy, what stays, all values of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from holdfast.store.contents import content_of, plain_vector, vector_spans
from holdfast.store.ground import find_doomed
from holdfast.store.nouns import CLAIMS_A_TURN, Content, Scope, Space
from holdfast.store.postgres.erase import PostgresGround
from holdfast.store.postgres.schema import TABLES
from holdfast.store.postgres.transaction import Transaction

__all__ = ["read_content", "read_live_vectors", "read_tables", "read_truth"]

_PAGE = 1000
_FEW = 100  # rows that are asked for in one round trip; a cursor takes four, and is planned each time
_PIECE = 1_000_000  # bytes that are searched at once
_NAMES = (("sessions", "name"), ("models", "fingerprint"), ("copies", "path"))
_CURSORS = count()


def read_content(tx: Transaction, scope: Scope, noun: str) -> Content:
    ground = PostgresGround(tx)
    doomed = find_doomed(ground, scope, noun)
    numbers = tx.rows(
        "SELECT num FROM records WHERE ns = %(ns)s AND id = ANY(%(ids)s::text[])", {"ids": list(doomed.own)}
    )
    stored = ground.vectors(vector_spans(doomed, [num for (num,) in numbers]))
    return content_of(ground, doomed, scope, [plain_vector(space, data) for space, data in stored if data])


def read_truth(tx: Transaction) -> Iterator[str]:
    """What people and hosts handed over, of every namespace, what the operator named, and others' records by id."""
    for ns, name in tx.every_namespace():
        if name is not None:
            yield name
        one = tx.of(ns, name or "")
        for row in _paged(
            one, "SELECT text, id, key, metadata FROM log WHERE ns = %(ns)s AND entry IN ('turn', 'remember')"
        ):
            yield from (str(value) for value in row if value is not None)
        for table, column in _NAMES:
            for (value,) in one.rows(f"SELECT {column} FROM {table} WHERE ns = %(ns)s"):
                yield str(value)
        if ns != tx.ns:
            for (noun,) in _paged(one, "SELECT id FROM records WHERE ns = %(ns)s"):
                yield str(noun)


def read_live_vectors(tx: Transaction) -> Iterator[bytes]:
    for ns, name in tx.every_namespace():
        one = tx.of(ns, name or "")
        live = {seq for (seq,) in one.rows("SELECT seq FROM log WHERE ns = %(ns)s AND entry = 'turn'")}
        records = {num for (num,) in one.rows("SELECT num FROM records WHERE ns = %(ns)s")}
        for code, num, data in _paged(one, "SELECT space, num, data FROM vectors WHERE ns = %(ns)s"):
            space = Space(code)
            held = num // CLAIMS_A_TURN if space is Space.CLAIM else num
            if data and held in (records if space is Space.RECORD else live):
                yield plain_vector(space, data)


def read_tables(tx: Transaction) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Each table with the values of its rows, of every namespace. A client of a server cannot read its files: what
    lies in freed space of a table, in the server's WAL or in its backups is not seen by this.
    """
    everybody = tx.every_namespace()
    for table in TABLES:
        yield f"table {table}", _values(tx, table, [(ns, name or "") for ns, name in everybody])


def _values(tx: Transaction, table: str, everybody: list[tuple[Any, str]]) -> Iterator[bytes]:
    piece = bytearray()
    for ns, name in everybody:
        for row in _paged(tx.of(ns, name), f"SELECT * FROM {table} WHERE ns = %(ns)s"):
            for value in row[1:]:
                if value is not None:
                    piece += value if isinstance(value, bytes) else str(value).encode()
                    piece += b"\n"
            if len(piece) >= _PIECE:
                yield bytes(piece)
                piece.clear()
    yield bytes(piece)


def _paged(tx: Transaction, sql: str) -> Iterator[tuple[Any, ...]]:
    """Rows as they are needed: there may be more than fit into memory. Most namespaces have few, and need no cursor."""
    few = tx.rows(f"{sql} LIMIT %(most)s", {"most": _FEW + 1})
    if len(few) <= _FEW:
        yield from few
        return
    with tx.connection.cursor(f"holdfast_{next(_CURSORS)}", binary=True) as cursor:
        cursor.execute(sql.encode(), {"ns": tx.ns})
        while rows := cursor.fetchmany(_PAGE):
            yield from rows
