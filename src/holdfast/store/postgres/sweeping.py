"""The tables as a whole: their size, what the server says is wrong with them, and freeing what was erased."""

from __future__ import annotations

from holdfast.store.postgres.connection import Connections
from holdfast.store.postgres.schema import TABLES
from holdfast.store.postgres.transaction import Transaction

__all__ = ["broken_parts", "size_of", "sweep"]

_SIZE = """SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"""
_INVALID = """SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = pg_index.indexrelid
    WHERE relnamespace = current_schema()::regnamespace AND NOT (indisvalid AND indisready)"""
_CHECKSUMS = "SELECT coalesce(checksum_failures, 0) FROM pg_stat_database WHERE datname = current_database()"
_MISSING = """SELECT name FROM unnest(%s::text[]) AS name
    WHERE to_regclass(quote_ident(current_schema()) || '.' || quote_ident(name)) IS NULL"""


def size_of(connections: Connections) -> int:
    with connections.session() as connection:
        row = connection.execute(_SIZE).fetchone()
    return int(row[0]) if row else 0


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
    with connections.session() as connection:
        connection.execute("SET statement_timeout = 0")
        try:
            for table in TABLES:
                connection.execute(f"VACUUM {table}".encode(), prepare=False)
        finally:
            connection.execute(f"SET statement_timeout = {connections.statement_ms}".encode())

    def work(tx: Transaction) -> None:
        tx.execute("DELETE FROM unswept WHERE ns = %(ns)s")

    for ns in erased:
        connections.write_as(ns, "", work)
    return None
