"""Opening a store by its location: a path is a SQLite file, an address a PostgreSQL server."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from holdfast.errors import MissingExtra, StoreError
from holdfast.settings import StoreSettings
from holdfast.store.store import Store
from holdfast.store.types import StoreCounts


def open_store(location: str | os.PathLike[str], settings: StoreSettings) -> Store:
    """Open a store; a SQLite file is created if it does not exist."""
    name = os.fspath(location)
    if not name or "\x00" in name:
        raise StoreError("a store needs a path, for example memory.db")
    if name.startswith(("postgresql://", "postgres://")):
        return _open_on_server(name, settings)
    if "://" in name:
        raise StoreError(
            f"no engine for {name.split('://', 1)[0]}://; give the path of a SQLite file, or postgresql://…"
        )
    from holdfast.store.sqlite.database import SqliteDatabase

    return Store(SqliteDatabase(name, settings), settings)


def _open_on_server(url: str, settings: StoreSettings) -> Store:
    try:
        import psycopg  # noqa: F401
        import psycopg_pool  # noqa: F401
    except ImportError as error:
        raise MissingExtra("a store on PostgreSQL", "postgres") from error
    from holdfast.store.postgres.database import PostgresDatabase

    return Store(PostgresDatabase(url, settings), settings)


def default_location() -> str:
    """Return HOLDFAST_STORE, or memory.db in the user's data folder."""
    from platformdirs import user_data_path

    return os.environ.get("HOLDFAST_STORE") or str(user_data_path("holdfast", appauthor=False) / "memory.db")


def copy_store_file(
    source: Path, target: Path, settings: StoreSettings, progress: Callable[[int, int], None] | None = None
) -> StoreCounts:
    """Copy a store that need not be open, and check the copy."""
    from holdfast.store.sqlite.files import copy_store

    return copy_store(source, target, settings, progress)


def is_store_file(path: Path) -> bool:
    """Return whether a file is a Holdfast store."""
    from holdfast.store.sqlite.schema import is_store

    return is_store(path)


def read_foreign_table(path: Path, table: str, columns: Sequence[str], most: int) -> list[dict[str, object]]:
    """Read rows of a table in a SQLite file of another program; columns that it does not have are left out."""
    from holdfast.store.sqlite.schema import read_table

    return read_table(path, table, columns, most)


def set_store_aside(path: Path, label: str) -> Path | None:
    """Rename the store at a path, so that it can be replaced; StoreBusy while it is in use."""
    from holdfast.store.sqlite.files import set_aside

    return set_aside(path, label)
