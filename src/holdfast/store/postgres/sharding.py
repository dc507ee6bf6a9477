"""The server a store runs on, and spreading the store over the nodes of a cluster with Citus."""

from __future__ import annotations

from importlib.resources import files

import psycopg

from holdfast.errors import StoreError
from holdfast.store.nouns import Server
from holdfast.store.postgres.connection import Connections

__all__ = ["distribution", "read_server", "shard"]

_WHO = "SELECT current_setting('server_version'), current_user"
_CITUS = "SELECT extversion FROM pg_extension WHERE extname = 'citus'"
_SPREAD = "SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = 'namespaces'::regclass"
_NODES = "SELECT count(*) FROM pg_dist_node WHERE noderole = 'primary' AND shouldhaveshards"


def distribution() -> str:
    """The statements that spread the tables: the only ones that speak of Citus."""
    return (files("holdfast.store.postgres") / "distribution.sql").read_text("utf-8")


def read_server(connections: Connections) -> Server:
    with connections.session() as connection:
        version, role = connection.execute("SELECT current_setting('server_version'), current_user").fetchone() or (
            "",
            "",
        )
        citus = _citus(connection)
        nodes = _one(connection, _NODES) if citus and _one(connection, _SPREAD) else None
        return Server(f"PostgreSQL {version}", str(role), connections.address.schema, citus, nodes)


def shard(connections: Connections) -> Server:
    """Spread every table over the cluster's nodes by namespace, in one transaction; again, it changes nothing."""
    with connections.session() as connection:
        if _citus(connection) is None:
            raise StoreError(
                f"{connections.place} has no Citus, so there is nothing to spread over; nothing was changed. Put citus "
                "into shared_preload_libraries, run CREATE EXTENSION citus and add nodes, or leave it: one server "
                "serves a store without it (docs/scaling.md)"
            )
        with connection.transaction():
            connection.execute(distribution().encode(), prepare=False)
    return read_server(connections)


def _citus(connection: psycopg.Connection) -> str | None:
    row = connection.execute(_CITUS).fetchone()
    return None if row is None else str(row[0])


def _one(connection: psycopg.Connection, sql: str) -> int:
    row = connection.execute(sql.encode()).fetchone()
    return 0 if row is None else int(row[0])
