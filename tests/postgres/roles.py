"""Settings of a role in one database, reset at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from urllib.parse import urlsplit

from psycopg import sql

from tests.support.postgres_server import ROLE, Server

__all__ = ["database_of", "set_for_role"]


def database_of(url: str) -> str:
    return urlsplit(url).path.lstrip("/")


@contextmanager
def set_for_role(server: Server, url: str, **settings: str) -> Iterator[None]:
    """Open connections of the plain role to this database with these settings, in the block."""
    role, database = sql.Identifier(ROLE), sql.Identifier(database_of(url))
    # Citus does not pass it on, and a function that writes runs on a node.
    servers = server.everywhere() if "default_transaction_read_only" in settings else [server]
    for one, (name, value) in product(servers, settings.items()):
        one.run(sql.SQL("ALTER ROLE {} IN DATABASE {} SET {} = {}").format(role, database, sql.SQL(name), value))
    try:
        yield
    finally:
        for one in servers:
            one.run(sql.SQL("ALTER ROLE {} IN DATABASE {} RESET ALL").format(role, database))
