from __future__ import annotations

import json
from pathlib import Path

import pytest

from .command import Holdfast

FIGURES = {"set": "speed", "search_ms": {"1000": {"p50": 1.25, "p99": 2.5}}, "ingest_per_s": 12345}


def test_bench_prints_a_table_and_writes_the_file(
    holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.evaluate.benchmarks.speed.run", lambda records, progress: FIGURES)
    out = tmp_path / "speed.json"
    said = holdfast("bench", "speed", "--records", "1000", "--json", str(out))
    assert said.code == 0
    assert "1000: p50: 1.25, p99: 2.5" in said.out and "12,345" in said.out
    assert json.loads(out.read_text()) == FIGURES
