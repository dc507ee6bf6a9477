"""The tables of the PostgreSQL engine: numbered files of SQL, applied once each, in order."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from importlib.resources import files
from secrets import token_hex

import psycopg
from psycopg import sql

from holdfast.errors import StoreError, StoreForeign, StoreNewer, StoreReadOnly
from holdfast.settings import StoreSettings
from holdfast.store.postgres.address import Address, read_address, translated

TABLES = (
    "namespaces", "views", "sessions", "log", "records", "sources", "hidden", "gone", "receipts", "cursors",
    "documents", "postings", "vectors", "segments", "models", "passages", "signals", "counters", "retrievals", "tended",
    "tombstones", "refused", "unswept", "copies",
)  # fmt: skip
"""Tables whose key begins with the namespace; the others, `secrets` and `schema_versions`, have a row or two."""

_SECRET_BYTES = 32


def lock_number(*names: str) -> int:
    """Return the number of an advisory lock by its name; other users of the database have such locks too."""
    digest = blake2b("\x00".join(names).encode(), digest_size=8, person=b"holdfast")
    return int.from_bytes(digest.digest(), "big", signed=True)


def migrations() -> list[str]:
    """Return the migration files in the order of their numbers. Never change one that has shipped: add the next."""
    folder = files("holdfast.store.postgres") / "migrations"
    names = sorted(one.name for one in folder.iterdir() if one.name.endswith(".sql"))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1)), "a number is missing or occurs twice"
    return [(folder / name).read_text("utf-8") for name in names]


SCHEMA = len(migrations())
_ROLE = "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
_CLOSED = "SELECT 1 FROM pg_namespace WHERE nspname = %s AND NOT has_schema_privilege(oid, 'USAGE')"


def check_place(connection: psycopg.Connection, address: Address, settings: StoreSettings) -> None:
    """Raise an error if a store cannot be opened there: because of the role, the encoding or the schema."""
    _check_role(connection, address.allow_superuser or settings.allow_superuser)
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"{address.shown} keeps text as {encoding}, which cannot hold every text. Use a database made with "
            "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )
    if connection.execute(_CLOSED, (address.schema,)).fetchone() is not None:
        raise StoreReadOnly(
            f"{address.shown}: the role may not use the schema {address.schema}. It must own the tables, or be granted "
            "access: GRANT USAGE ON SCHEMA … TO role; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA … "
            "TO role"
        )


def _check_role(connection: psycopg.Connection, allowed: bool) -> None:
    row = connection.execute(_ROLE).fetchone()
    if row is None or not (row[1] or row[2]) or allowed:
        return
    what = "a superuser" if row[1] else "a role with BYPASSRLS"
    raise StoreError(
        f"{row[0]!r} is {what}: row-level security, which keeps namespaces apart, does not apply to it. Use a plain "
        "role that owns the database (CREATE ROLE holdfast LOGIN; CREATE DATABASE … OWNER holdfast), or add "
        "?holdfast_allow_superuser=1 to the address"
    )


def read_secret(connection: psycopg.Connection) -> bytes:
    row = connection.execute("SELECT value FROM secrets WHERE id = 1", binary=True).fetchone()
    assert row is not None
    return bytes(row[0])


def migrate(connection: psycopg.Connection, schema: str, place: str) -> int:
    """Migrate the tables to this version in one transaction, and return the version that was found.

    Others that start meanwhile wait for the lock, and find it done.
    """
    name = sql.Identifier(schema)
    with connection.transaction():  # of its own: Citus cannot make functions in a schema that is not committed
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_number(schema),))
        there = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone()
        if there is None:
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_number(schema),))
        connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(name))
        found = _found(connection, schema, place)
        if found > SCHEMA:
            raise StoreNewer(
                f"{place} was made by a newer Holdfast (schema {found}, this one knows {SCHEMA}). "
                "Upgrade: pip install -U holdfast"
            )
        for number, statements in enumerate(migrations()[found:], found + 1):
            connection.execute(statements.encode(), prepare=False)
            connection.execute("INSERT INTO schema_versions (version) VALUES (%s)", (number,))
        if found == 0:
            secret = secrets.token_bytes(_SECRET_BYTES)
            connection.execute("INSERT INTO secrets (id, value, common) VALUES (1, %s, FALSE)", (secret,))
    return found


def _found(connection: psycopg.Connection, schema: str, place: str) -> int:
    tables = {
        str(row[0])
        for row in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
    }
    if "schema_versions" not in tables:
        if "log" in tables or "namespaces" in tables:
            raise StoreForeign(
                f"the schema {schema} of {place} holds tables of another program; "
                "choose another with ?holdfast_schema=NAME in the address"
            )
        connection.execute(
            "CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, at TIMESTAMPTZ NOT NULL DEFAULT now())"
        )
        return 0
    row = connection.execute("SELECT coalesce(max(version), 0) FROM schema_versions").fetchone()
    return int(row[0]) if row else 0


@contextmanager
def throwaway_schema(url: str) -> Iterator[str]:
    """Return an address with a new schema, for a measurement; the schema is dropped at the end."""
    schema = f"holdfast_bench_{token_hex(4)}"
    joint = "&" if "?" in url else "?"
    try:
        yield f"{url}{joint}holdfast_schema={schema}"
    finally:
        address = read_address(url)
        with translated(address.shown), psycopg.connect(address.conninfo, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))
