"""The server benchmark with a small load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from holdfast_bench import serve
from holdfast_bench.contract import schema


@pytest.mark.long
@pytest.mark.requirement("API-5", "SAFE-2")
def test_a_small_load_has_no_errors_and_loses_nothing(tmp_path: Path) -> None:
    figures: dict[str, Any] = json.loads(
        json.dumps(serve.run(seconds=2.0, clients=4, records=200, pace=0.2, folder=tmp_path))
    )
    Draft202012Validator(schema("bench-serve")).validate(figures)
    assert list(tmp_path.iterdir()) == []  # it cleans up behind itself
    for load in (figures["paced"], figures["flat_out"]):
        assert (load["errors"], load["lost"]) == (0, 0), load["first_error"]
        assert load["turns"] > 0 and 0 < load["search_ms"]["p50"] <= load["search_ms"]["p95"]
    assert set(figures["search_p50_ms"]) == {"in_process", "rpc", "http"}
