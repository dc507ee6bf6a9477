"""`bench engines`: both engines measured side by side, and nothing of it left on the server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from jsonschema import Draft202012Validator

from holdfast.errors import StoreError
from holdfast_bench import agreement, engines
from holdfast_bench.ask import Ways
from holdfast_bench.contract import schema
from holdfast_bench.engines import Writing, write_side_by_side
from tests.support.memories import QUICK
from tests.support.retrieval_sets import LOCOMO, write

if TYPE_CHECKING:
    from tests.support.postgres_engine import Engine

SMALL = engines.Plan(neighbours=2, neighbour_turns=10, questions=5, writers=2, turns_a_writer=5)


def left(postgres: Engine, url: str) -> list[tuple[object, ...]]:
    found = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'holdfast_bench_%'"
    return postgres.server.run(found, urlsplit(url).path.lstrip("/"))


def validate(name: str, figures: dict[str, object]) -> None:
    Draft202012Validator(schema(name)).validate(json.loads(json.dumps(figures)))


def test_both_engines_are_measured_and_agree(postgres: Engine, url: str) -> None:
    figures = engines.run(url, 100, admit=False, plan=SMALL)
    assert figures["top_10_agree"] == 1.0
    validate("bench-engines", figures)
    written = ("durable_per_s", "durable_per_s_one_namespace", "durable_per_s_deriving")
    for name in (*written, "ingest_per_s", "derived_per_s", "search_ms"):
        measured = figures[name]
        assert isinstance(measured, dict) and set(measured) == {"sqlite", "postgres"}
    assert left(postgres, url) == []


def test_a_writer_that_cannot_write_ends_the_measurement(tmp_path: Path) -> None:
    nowhere = Writing(str(tmp_path / "no such folder\0"), ("ana", "ben"), whole=False)
    with pytest.raises(StoreError, match="stopped early"):
        write_side_by_side([nowhere, nowhere], QUICK, ["hello"])


def test_what_both_find_in_a_set_is_compared(postgres: Engine, url: str, tmp_path: Path) -> None:
    figures = agreement.run(url, [write(tmp_path, "locomo.json", LOCOMO)], Ways(records=False))
    assert (figures["top_10_agree"], figures["farthest"]) == (1.0, 0.0)
    assert figures["sqlite"] == figures["postgres"]
    validate("bench-engines-locomo", figures)
    assert left(postgres, url) == []
