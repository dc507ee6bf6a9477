"""Dependencies point down only, and SQL stays in the store."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "holdfast"
SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|DELETE\s+FROM|CREATE\s+(UNIQUE\s+)?(TABLE|INDEX)|PRAGMA)\b"
)


@pytest.mark.requirement("INV-4")
def test_sql_is_written_in_the_store_alone_and_in_what_measures_it() -> None:
    outside = [path for path in SOURCE.rglob("*.py") if "store" not in path.relative_to(SOURCE).parts]
    assert [str(path) for path in outside if SQL.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.requirement("INV-4")
def test_every_table_of_rows_begins_its_key_with_the_namespace() -> None:
    from holdfast.store.sqlite.schema import MIGRATIONS

    for name, body in re.findall(r"CREATE TABLE (\w+) \((.*?)\n\)", "\n".join(MIGRATIONS), re.DOTALL):
        first = body.strip().splitlines()[0].split()[0]
        assert first in ("ns", "pos"), f"{name} begins with {first}"
