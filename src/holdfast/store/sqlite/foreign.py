"""Reading a table of another program's SQLite file, for the doctor. Nothing is written, nothing of it is trusted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw

from holdfast.errors import InputError
from holdfast.store.sqlite.schema import APPLICATION_ID

__all__ = ["is_store", "read_table"]

_HEADER = b"SQLite format 3\x00"
_APPLICATION_AT = 68  # of the header, four bytes


def is_store(path: Path) -> bool:
    """Whether it is a file of ours."""
    with path.open("rb") as file:
        header = file.read(100)
    return header.startswith(_HEADER) and header[_APPLICATION_AT : _APPLICATION_AT + 4] == APPLICATION_ID.to_bytes(4)


def read_table(path: Path, table: str, columns: Sequence[str], most: int) -> list[dict[str, object]]:
    """Those of the columns that the table has, in the order of its rows; none if there is no such table."""
    try:
        connection = apsw.Connection(f"{path.absolute().as_uri()}?mode=ro", flags=_READ)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            kind = connection.execute("SELECT type FROM sqlite_master WHERE name = ?", (table,)).fetchone()
            if kind != ("table",):  # a view may run whatever its maker liked
                return []
            there = {str(row[1]) for row in connection.execute(f'PRAGMA table_info("{table}")')}
            names = [name for name in columns if name in there]
            if not names:
                return []
            chosen = ", ".join(f'"{name}"' for name in names)
            rows = connection.execute(f'SELECT {chosen} FROM "{table}" ORDER BY rowid LIMIT ?', (most + 1,)).fetchall()
        finally:
            connection.close()
    except apsw.Error as error:
        raise InputError(f"cannot read {path} as an SQLite file: {error}. Is it whole, and not in use?") from error
    if len(rows) > most:
        raise InputError(f"{path} has more than {most:,} rows in {table} (doctor.max_memories)")
    return [dict(zip(names, row, strict=True)) for row in rows]


_READ = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
