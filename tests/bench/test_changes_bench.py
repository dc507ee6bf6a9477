"""The changes benchmark on a few histories of our own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from holdfast.errors import InputError
from holdfast_bench.changes import run
from holdfast_bench.contract import schema

PORT: Mapping[str, object] = {
    "id": "c1", "what": "change", "old": ["The API of our shop runs on port 8080."], "between": ["how do I boil rice"],
    "new": "The API of our shop runs on port 9090.", "ended": "The API of our shop runs on port 8080", "still": [],
    "question": "Which port does the API of our shop use?", "answer": "9090", "stale": "8080",
}  # fmt: skip
HISTORIES: list[Mapping[str, object]] = [
    PORT,
    {**PORT, "id": "c2", "new": "I had a sandwich.", "answer": None},
    {"id": "d1", "what": "different", "first": "My landlord lives in Brno.", "second": "I keep two goats in Graz."},
    {"id": "p1", "what": "same", "first": "I play the viola in Lerwick.", "second": "I play the viola in Lerwick."},
    {
        "id": "n1", "what": "not_same", "differs": "number", "first": "My parents have three horses in Tromsø.",
        "second": "My parents have seven horses in Tromsø.",
    },
]  # fmt: skip


def write(folder: Path, *lines: Mapping[str, object]) -> Path:
    path = folder / "changes.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    return run([write(tmp_path_factory.mktemp("changes"), *HISTORIES)])


@pytest.mark.requirement("EVAL-2")
def test_the_changes_figures_match_the_contract(figures: Mapping[str, Any]) -> None:
    Draft202012Validator(schema("bench-changes")).validate(json.loads(json.dumps(figures)))
    assert figures["n"] == 5
    assert [figures[what]["n"] for what in ("change", "different", "same", "not_same")] == [2, 1, 1, 1]


@pytest.mark.requirement("MERGE-1")
def test_a_new_value_is_noticed_and_an_unrelated_turn_changes_nothing(figures: Mapping[str, Any]) -> None:
    assert figures["outcomes"]["changes.jsonl c1"] == "noticed"
    assert figures["outcomes"]["changes.jsonl c2"] == "missed"
    assert figures["change"]["noticed"] == 0.5 and figures["change"]["recorded"] == 1.0
    assert figures["change"]["new_first"] == 1.0  # nothing took the place of the other


@pytest.mark.requirement("MERGE-1")
def test_equal_statements_merge_and_different_ones_stay(figures: Mapping[str, Any]) -> None:
    assert figures["same"]["merged"] == figures["same"]["near"] == 1
    assert figures["not_same"]["merged"] == 0 and figures["not_same_merged_by"] == {}
    assert figures["different"]["outdated"] == 0
    assert figures["different"]["outdated_ci"][1] > 0.5  # one pair says little


@pytest.mark.parametrize(
    "line", [{"id": "x", "what": "else"}, {"id": "x", "what": "same", "first": "a"}, {**PORT, "ended": ""}]
)
def test_a_history_without_its_texts_is_refused(tmp_path: Path, line: Mapping[str, object]) -> None:
    with pytest.raises(InputError, match=r"changes\.jsonl"):
        run([write(tmp_path, line)])
