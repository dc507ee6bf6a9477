"""The ground an erase works on, as rows of PostgreSQL (store/erase.py decides what happens to them)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import psycopg

from holdfast.log.tombstones import Marker
from holdfast.model import Action
from holdfast.store.erase import DoomedTurn, content_of, find_doomed, plain_vector, vector_spans
from holdfast.store.postgres.connection import Connections
from holdfast.store.postgres.schema import TABLES
from holdfast.store.postgres.tail import move_end
from holdfast.store.postgres.transaction import Transaction, Wrote
from holdfast.store.postgres.writes import clear_views
from holdfast.store.rows import SLOTS
from holdfast.store.types import CLAIMS_A_TURN, Content, Scope, Space
from holdfast.text.time import to_micros

_OF_TURN = (Space.TURN, Space.TOLD, Space.WINDOW)
_SLOTS = list(range(SLOTS))
_WHERE = {
    Scope.NAMESPACE: "TRUE",
    Scope.SESSION: "sessions.name = %(noun)s",
    Scope.TURN: "log.id = %(noun)s",
}
_IN_SPANS = (
    """FROM unnest(%(spaces)s::smallint[], %(lows)s::bigint[], %(highs)s::bigint[]) AS span (space, low, high)"""
)


class PostgresGround:
    """For an erase the views and the log are held."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self.namespace = tx.namespace

    @property
    def marker(self) -> Marker:
        return self._tx.marker

    # --- what is there

    def is_there(self) -> bool:
        return self._tx.one("SELECT name FROM namespaces WHERE ns = %(ns)s") is not None

    def last_seq(self) -> int:
        return int(self._tx.one("SELECT seq FROM namespaces WHERE ns = %(ns)s"))

    def turns(self, scope: Scope, noun: str) -> list[DoomedTurn]:
        rows = self._tx.rows(
            f"""SELECT log.seq, log.id, log.session, sessions.name, log.idx, log.role, log.text, log.at, log.at_given,
                       log.key, log.metadata
                FROM log JOIN sessions ON sessions.ns = log.ns AND sessions.session = log.session
                WHERE log.ns = %(ns)s AND {_WHERE[scope]} AND log.entry = 'turn' ORDER BY log.seq""",
            {"noun": noun},
        )
        return [DoomedTurn(*row) for row in rows]

    def has_session(self, name: str) -> bool:
        return self._there("SELECT 1 FROM sessions WHERE ns = %(ns)s AND name = %(it)s", name)

    def record_text(self, noun: str) -> str | None:
        text = self._tx.one("SELECT text FROM records WHERE ns = %(ns)s AND id = %(id)s", {"id": noun})
        return None if text is None else str(text)

    def records(self) -> dict[str, str]:
        return dict(self._tx.rows("SELECT id, text FROM records WHERE ns = %(ns)s"))

    def records_of(self, seqs: Iterable[int]) -> list[tuple[str, str, int, bool]]:
        rows = self._tx.rows(
            """SELECT DISTINCT records.id, records.text, records.born, records.compaction IS NOT NULL FROM sources
               JOIN records ON records.ns = sources.ns AND records.num = sources.record
               WHERE sources.ns = %(ns)s AND sources.turn = ANY(%(seqs)s::bigint[])""",
            {"seqs": list(seqs)},
        )
        return [(noun, text, born, compacted) for noun, text, born, compacted in rows]

    def sources(self, noun: str) -> tuple[str, ...]:
        rows = self._tx.rows(
            """SELECT log.id FROM records
               JOIN sources ON sources.ns = records.ns AND sources.record = records.num
               JOIN log ON log.ns = sources.ns AND log.seq = sources.turn
               WHERE records.ns = %(ns)s AND records.id = %(id)s ORDER BY log.seq""",
            {"id": noun},
        )
        return tuple(turn_id for (turn_id,) in rows)

    def is_hidden(self, noun: str) -> bool:
        return self._there("SELECT 1 FROM hidden WHERE ns = %(ns)s AND subject = %(it)s", noun)

    def acts(self) -> list[tuple[int, str, str, str]]:
        rows = self._tx.rows(
            """SELECT seq, id, entry, text FROM log WHERE ns = %(ns)s AND entry <> 'turn' AND entry <> 'erase'
               ORDER BY seq"""
        )
        return [(seq, noun, entry, text) for seq, noun, entry, text in rows]

    def remembered_at(self, noun: str) -> int | None:
        seq = self._tx.one(
            "SELECT seq FROM log WHERE ns = %(ns)s AND id = %(id)s AND entry <> 'turn' AND entry = 'remember'",
            {"id": noun},
        )
        return None if seq is None else int(seq)

    def session_numbers(self, name: str | None) -> dict[str, int]:
        return dict(
            self._tx.rows(
                """SELECT name, session FROM sessions
                   WHERE ns = %(ns)s AND (%(name)s::text IS NULL OR name = %(name)s::text)""",
                {"name": name},
            )
        )

    def has_turns(self, session: int) -> bool:
        return self._there(
            "SELECT 1 FROM log WHERE ns = %(ns)s AND session = %(it)s AND entry = 'turn' LIMIT 1", session
        )

    def turns_after(self, session: int, index: int) -> set[int]:
        rows = self._tx.rows(
            "SELECT seq FROM log WHERE ns = %(ns)s AND session = %(session)s AND idx > %(index)s AND entry = 'turn'",
            {"session": session, "index": index},
        )
        return {seq for (seq,) in rows}

    def texts_of(self, session: int) -> dict[str, str]:
        return dict(
            self._tx.rows(
                "SELECT id, text FROM log WHERE ns = %(ns)s AND session = %(session)s AND entry = 'turn'",
                {"session": session},
            )
        )

    def proposals_of(self, turn_ids: Sequence[str]) -> list[tuple[int, str]]:
        rows = self._tx.rows(
            """SELECT seq, text FROM log WHERE ns = %(ns)s AND id = ANY(%(ids)s::text[])
               AND entry <> 'turn' AND entry = 'propose'""",
            {"ids": list(turn_ids)},
        )
        return [(seq, text) for seq, text in rows]

    def receipts_of(self, noun: str) -> list[str]:
        rows = self._tx.rows(
            "SELECT details FROM receipts WHERE ns = %(ns)s AND subject = %(it)s AND details IS NOT NULL", {"it": noun}
        )
        return [details for (details,) in rows]

    def vectors(self, spans: Sequence[tuple[Space, int, int]]) -> list[tuple[Space, bytes]]:
        """What is stored between these numbers, of every model."""
        rows = self._tx.rows(
            f"""SELECT vectors.space, vectors.data {_IN_SPANS}
                JOIN vectors ON vectors.ns = %(ns)s AND vectors.slot = ANY(%(slots)s::smallint[])
                AND vectors.space = span.space AND vectors.num BETWEEN span.low AND span.high""",
            _spans(spans),
        )
        return [(Space(space), data) for space, data in rows]

    # --- what changes

    def put(self, lines: Iterable[tuple[int, Action]]) -> None:
        rows = [
            (
                seq,
                one.subject,
                one.entry.value,
                at := to_micros(one.at),
                at,
                json.dumps(one.payload, ensure_ascii=False),
            )
            for seq, one in lines
        ]
        if not rows:
            return
        self._tx.execute(
            "DELETE FROM log WHERE ns = %(ns)s AND seq = ANY(%(seqs)s::bigint[])", {"seqs": [row[0] for row in rows]}
        )
        self._tx.insert(
            "log (seq, id, entry, at, recorded_at, text, at_given)",
            ("bigint", "text", "text", "bigint", "bigint", "text", "boolean"),
            [(*row, True) for row in rows],
        )
        last = max(row[0] for row in rows)
        if last > self.last_seq():
            move_end(self._tx, last)
        seq, noun, *_, text = rows[-1]
        self._tx.wrote = Wrote(seq, noun, text)

    def drop_line(self, seq: int) -> None:
        self._tx.execute("DELETE FROM log WHERE ns = %(ns)s AND seq = %(seq)s", {"seq": seq})

    def rewrite(self, seq: int, payload: str) -> None:
        self._tx.execute(
            "UPDATE log SET text = %(text)s WHERE ns = %(ns)s AND seq = %(seq)s", {"text": payload, "seq": seq}
        )

    def drop_vectors(self, seqs: set[int], heirs: set[int]) -> None:
        passages = self._tx.rows(
            "DELETE FROM passages WHERE ns = %(ns)s AND turn = ANY(%(seqs)s::bigint[]) RETURNING num",
            {"seqs": list(seqs)},
        )
        spans = [(space, seq, seq) for space in _OF_TURN for seq in seqs]
        spans += [(Space.PASSAGE, num, num) for (num,) in passages]
        spans += [(Space.CLAIM, seq * CLAIMS_A_TURN, (seq + 1) * CLAIMS_A_TURN - 1) for seq in seqs | heirs]
        self._tx.execute(
            f"""DELETE FROM vectors USING (SELECT * {_IN_SPANS}) AS span
                WHERE vectors.ns = %(ns)s AND vectors.slot = ANY(%(slots)s::smallint[])
                AND vectors.space = span.space AND vectors.num BETWEEN span.low AND span.high""",
            _spans(spans),
        )

    def drop_all_derived(self) -> None:
        for table in ("cursors", "models", "copies", "retrievals", "vectors"):
            self._tx.execute(f"DELETE FROM {table} WHERE ns = %(ns)s")

    def drop_session(self, session: int) -> None:
        self._tx.execute("DELETE FROM sessions WHERE ns = %(ns)s AND session = %(session)s", {"session": session})

    def drop_counts(self, record_ids: Iterable[str]) -> None:
        self._tx.execute(
            "DELETE FROM retrievals WHERE ns = %(ns)s AND subject = ANY(%(ids)s::text[])", {"ids": list(record_ids)}
        )

    def clear_views(self) -> None:
        clear_views(self._tx)

    def drop_name(self) -> None:
        """Rows never held it: what they are known by is a mark of it."""
        self._tx.execute("UPDATE namespaces SET name = NULL WHERE ns = %(ns)s")
        self._tx.execute("DELETE FROM cursors WHERE ns = %(ns)s")

    def note_unswept(self) -> None:
        self._tx.execute("INSERT INTO unswept (ns) VALUES (%(ns)s) ON CONFLICT DO NOTHING")

    def _there(self, sql: str, value: str | int) -> bool:
        return self._tx.row(sql, {"it": value}) is not None


def _spans(spans: Sequence[tuple[Space, int, int]]) -> dict[str, object]:
    return {
        "spaces": [int(space) for space, _, _ in spans],
        "lows": [low for _, low, _ in spans],
        "highs": [high for _, _, high in spans],
        "slots": _SLOTS,
    }


# --- What a store holds, read for a proof: what an erase is about to destroy, what stays, all values of its
# tables.


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


# --- The tables as a whole: their size, what the server says is wrong with them, and freeing what was erased.


_HERE = "relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())"  # a cast would fold its case
_SIZE = f"""SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_class
    WHERE {_HERE} AND relkind = 'r'"""
_INVALID = f"""SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = pg_index.indexrelid
    WHERE {_HERE} AND NOT (indisvalid AND indisready)"""
_CHECKSUMS = "SELECT coalesce(checksum_failures, 0) FROM pg_stat_database WHERE datname = current_database()"
_MISSING = """SELECT name FROM unnest(%s::text[]) AS name
    WHERE to_regclass(quote_ident(current_schema()) || '.' || quote_ident(name)) IS NULL"""


def size_of(connections: Connections) -> int:
    with connections.reading("") as tx:  # who asks inside of a snapshot needs no second connection
        return int(tx.one(_SIZE) or 0)


def broken_parts(connections: Connections) -> list[str]:
    """What the server knows to be wrong: it checks its own pages (data_checksums) as it reads them."""
    with connections.session() as connection:
        found = [f"the table {name} is missing" for (name,) in connection.execute(_MISSING, (list(TABLES),))]
        found += [f"the index {name} is not valid: REINDEX INDEX {name}" for (name,) in connection.execute(_INVALID)]
        row = connection.execute(_CHECKSUMS).fetchone()
    if row and row[0]:
        found.append(f"the server has met {row[0]} pages whose checksum is wrong; look at its log")
    return found


def sweep(connections: Connections) -> str | None:
    """None when done; else what keeps it from it."""
    with connections.reading("") as tx:
        erased = tx.every_unswept()
    if not erased:
        return None
    left_out = _vacuum(connections)
    if left_out:
        return (
            f"{connections.place} did not free what was erased ({left_out[0]}): the role must own the tables for that. "
            "The next erase by their owner does it"
        )

    def work(tx: Transaction) -> None:
        tx.execute("DELETE FROM unswept WHERE ns = %(ns)s")

    for ns in erased:
        connections.write_as(ns, "", work)
    return None


def _vacuum(connections: Connections) -> list[str]:
    """What the server warned of: tables of others it passes over."""
    warned: list[str] = []

    def note(told: psycopg.errors.Diagnostic) -> None:
        if told.severity_nonlocalized == "WARNING":
            warned.append(told.message_primary or "")

    with connections.session() as connection:
        connection.add_notice_handler(note)
        connection.execute("SET statement_timeout = 0")
        try:
            for table in TABLES:
                connection.execute(f"VACUUM {table}".encode(), prepare=False)
        finally:
            connection.remove_notice_handler(note)
            connection.execute(f"SET statement_timeout = {connections.statement_ms}".encode())
    return warned
