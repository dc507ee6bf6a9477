"""The `holdfast bench` command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Holdfast

FIGURES = {"set": "speed", "search_ms": {"1000": {"p50": 1.25, "p99": 2.5}}, "ingest_per_s": 12345}


def test_bench_prints_a_table_and_writes_the_file(
    holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast_bench.speed.run", lambda records, progress: FIGURES)
    out = tmp_path / "speed.json"
    said = holdfast("bench", "speed", "--records", "1000", "--json", str(out))
    assert said.code == 0
    assert "1000: p50: 1.25, p99: 2.5" in said.out and "12,345" in said.out
    assert json.loads(out.read_text()) == FIGURES


@pytest.mark.requirement("EVAL-3")
def test_the_facts_table_has_search_bm25_and_vectors(holdfast: Holdfast, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    part = {
        "context": "0. The keeper of the light is Ada.\n1. The ferry sails to Whalsay.\n",
        "questions": ["Who is the keeper of the light?"],
        "answers": [["Ada"]],
        "metadata": {"source": "facts_sh_6k"},
    }
    path.write_text(json.dumps([part]))
    said = holdfast("bench", "facts", "--data", str(path))
    assert said.code == 0
    rows = [" ".join(line.split()) for line in said.out.splitlines()]
    for size in ("all", "6k"):
        for by in ("holdfast", "bm25", "vector"):
            assert f"{size} single_hop {by} 1 1.000 1.000 0.000" in rows
    assert not any("multi_hop" in row for row in rows)  # none was asked
