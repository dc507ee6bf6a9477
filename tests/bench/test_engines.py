"""`bench engines` measures both engines and leaves nothing on the server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from jsonschema import Draft202012Validator

from holdfast.errors import StoreError
from holdfast_bench import engines
from holdfast_bench.ask import AskOptions
from holdfast_bench.contract import schema
from holdfast_bench.engines import WriteTask, write_in_processes
from tests.support.memories import QUICK
from tests.support.retrieval_sets import LOCOMO, write

if TYPE_CHECKING:
    from tests.support.postgres_engine import Engine

SMALL = engines.Plan(neighbours=2, neighbour_turns=10, questions=5, writers=2, turns_per_writer=5)


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


def test_a_failing_writer_ends_the_measurement(tmp_path: Path) -> None:
    nowhere = WriteTask(str(tmp_path / "no such folder\0"), ("ana", "ben"), whole=False)
    with pytest.raises(StoreError, match="stopped early"):
        write_in_processes([nowhere, nowhere], QUICK, ["hello"])


def test_the_hits_of_both_engines_are_compared(postgres: Engine, url: str, tmp_path: Path) -> None:
    figures = engines.compare_hits(url, [write(tmp_path, "locomo.json", LOCOMO)], AskOptions(records=False))
    assert (figures["top_10_agree"], figures["farthest"]) == (1.0, 0.0)
    assert figures["sqlite"] == figures["postgres"]
    validate("bench-engines-locomo", figures)
    assert left(postgres, url) == []
