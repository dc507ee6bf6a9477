"""The speed benchmark on a small store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from holdfast_bench import speed
from holdfast_bench.contract import schema
from holdfast_bench.speed import sizes


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("speed")
    result = speed.run(records=500, folder=folder)
    assert list(folder.iterdir()) == []  # it cleans up behind itself
    return json.loads(json.dumps(result))  # type: ignore[no-any-return]


def test_the_speed_figures_match_the_contract(figures: dict[str, Any]) -> None:
    Draft202012Validator(schema("bench-speed")).validate(figures)


def test_the_speed_figures_name_what_was_measured(figures: dict[str, Any]) -> None:
    assert figures["set"] == "speed"
    assert figures["n"] == 500
    assert figures["embedder"] == "static"
    assert figures["machine"]["cores"] >= 1
    assert figures["version"]
    assert figures["seconds"] > 0


@pytest.mark.parametrize("name", ["ack_ms", "ack_burst_ms", "bare_commit_ms"])
def test_writes_are_timed(figures: dict[str, Any], name: str) -> None:
    assert 0 < figures[name]["p50"] <= figures[name]["p99"]


@pytest.mark.parametrize(
    "name",
    [
        "search_ms",
        "search_with_embedding_ms",
        "context_ms",
        "context_with_rules_ms",
        "vector_ms",
        "read_floor_ms",
        "lexical_ms",
        "meaning_ms",
        "recent_ms",
        "thread_ms",
    ],
)
def test_reads_are_timed_at_every_size(figures: dict[str, Any], name: str) -> None:
    assert list(figures[name]) == ["500"]
    assert 0 < figures[name]["500"]["p50"] <= figures[name]["500"]["p99"]


def test_each_stage_of_a_search_is_timed(figures: dict[str, Any]) -> None:
    stages = figures["stages_ms"]["500"]
    assert len(stages) >= 3
    assert sum(stage["p50"] for stage in stages.values()) < 2 * figures["search_with_embedding_ms"]["500"]["p50"]


def test_ratios_and_rates_are_positive(figures: dict[str, Any]) -> None:
    assert figures["ack_ratio"] > 0
    assert figures["vector_over_floor"]["500"] > 0
    assert figures["ingest_per_s"] >= figures["derived_per_s"] > 0
    assert figures["rss_mb"] > 0
    assert figures["import_memory_ms"] > figures["import_ms"]


def test_the_index_finds_the_exact_nearest(figures: dict[str, Any]) -> None:
    assert figures["recall_vs_exact"] >= 0.99


def test_smaller_sizes_are_measured_too() -> None:
    assert sizes(500) == [500]
    assert sizes(100_000) == [1_000, 10_000, 100_000]
    assert sizes(20_000) == [1_000, 10_000, 20_000]


def test_too_few_records_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 100"):
        speed.run(records=10, folder=tmp_path)
