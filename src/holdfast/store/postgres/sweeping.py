"""The tables as a whole: their size, what the server says is wrong with them, and freeing what was erased."""

from __future__ import annotations

import psycopg

from holdfast.store.postgres.connection import Connections
from holdfast.store.postgres.schema import TABLES
from holdfast.store.postgres.transaction import Transaction

__all__ = ["broken_parts", "size_of", "sweep"]

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
