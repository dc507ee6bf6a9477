"""From a location to an engine: a path is a SQLite file."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.errors import StoreError
from holdfast.settings import StoreSettings
from holdfast.store.protocol import Store

__all__ = ["default_location", "open_store"]


def open_store(location: str | os.PathLike[str], settings: StoreSettings) -> Store:
    name = os.fspath(location)
    if not name or "\x00" in name:
        raise StoreError("a store needs a path, for example memory.db")
    if "://" in name:
        raise StoreError(f"no engine for {name.split('://', 1)[0]}:// in this version; give the path of a SQLite file")
    from holdfast.store.sqlite.engine import SqliteStore

    return SqliteStore(Path(name), settings)


def default_location() -> str:
    """HOLDFAST_STORE, or memory.db in the user's data folder."""
    from platformdirs import user_data_path

    return os.environ.get("HOLDFAST_STORE") or str(user_data_path("holdfast", appauthor=False) / "memory.db")
