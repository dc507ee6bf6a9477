"""Whether a store may be opened where an address points: the role, the database's encoding, the schema."""

from __future__ import annotations

import psycopg

from holdfast.errors import StoreError, StoreReadOnly
from holdfast.settings import StoreSettings
from holdfast.store.postgres.address import Address

__all__ = ["check_place", "read_secret"]

_ROLE = "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
_CLOSED = "SELECT 1 FROM pg_namespace WHERE nspname = %s AND NOT has_schema_privilege(oid, 'USAGE')"


def check_place(connection: psycopg.Connection, address: Address, settings: StoreSettings) -> None:
    _check_role(connection, address.allow_superuser or settings.allow_superuser)
    _check_encoding(connection, address.shown)
    if connection.execute(_CLOSED, (address.schema,)).fetchone() is not None:
        raise StoreReadOnly(
            f"{address.shown}: the role may not use the schema {address.schema}. It must own the tables, or be let in: "
            "GRANT USAGE ON SCHEMA … TO role; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA … TO role"
        )


def _check_role(connection: psycopg.Connection, allowed: bool) -> None:
    row = connection.execute(_ROLE).fetchone()
    if row is None or not (row[1] or row[2]) or allowed:
        return
    what = "a superuser" if row[1] else "a role with BYPASSRLS"
    raise StoreError(
        f"{row[0]!r} is {what}: row-level security, which keeps namespaces apart, does not hold for it. Use a "
        "plain role that owns the database (CREATE ROLE holdfast LOGIN; CREATE DATABASE … OWNER holdfast), or say "
        "?holdfast_allow_superuser=1 in the address"
    )


def _check_encoding(connection: psycopg.Connection, place: str) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"{place} keeps text as {encoding}, which cannot hold every text or does not look at it. Use a database "
            "made with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )


def read_secret(connection: psycopg.Connection) -> bytes:
    row = connection.execute("SELECT value FROM secrets WHERE id = 1", binary=True).fetchone()
    assert row is not None
    return bytes(row[0])
