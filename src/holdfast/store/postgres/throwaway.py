"""A schema of its own on a server, for a measurement: made for it and dropped after it, whatever else lies there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex

import psycopg
from psycopg import sql

from holdfast.store.postgres.address import read_address
from holdfast.store.postgres.faults import translated

__all__ = ["throwaway_schema"]


@contextmanager
def throwaway_schema(url: str) -> Iterator[str]:
    """The address with a schema that nobody uses; it is gone at the end, with all that is in it."""
    schema = f"holdfast_bench_{token_hex(4)}"
    joint = "&" if "?" in url else "?"
    try:
        yield f"{url}{joint}holdfast_schema={schema}"
    finally:
        address = read_address(url)
        with translated(address.shown), psycopg.connect(address.conninfo, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))
