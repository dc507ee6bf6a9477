"""The gate benchmark on a few turns in the formats of its sets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from holdfast.errors import InputError
from holdfast_bench.contract import schema
from holdfast_bench.gate import area_under_curve, run

pytestmark = pytest.mark.requirement("EVAL-2", "EVAL-3")

FIRST = [
    ("Rosa", "Hey Tom! How are you?"),
    ("Tom", "My sister Anna moved to Rome last May and works as a nurse there."),
    ("Rosa", "Wow, that's great!"),
    ("Tom", "Thanks!"),
    ("Rosa", "I adopted two greyhounds from the shelter in March."),
]
SECOND = [
    ("Tom", "Good morning!"),
    ("Rosa", "I have been allergic to peanuts since I was six years old."),
    ("Tom", "Oh no."),
    ("Tom", "My brother Paul teaches physics at a school in Bergen."),
]
OBSERVED = {
    "session_1_observation": {"Tom": [["Tom's sister lives in Rome.", "D1:2"]], "Rosa": [["Two dogs.", ["D1:5"]]]},
    "session_2_observation": {"Rosa": [["Peanuts; Tom's brother.", "D2:2; D:2:4"]]},
}
SMALL_TALK = (
    "Can you help me ? __eou__ Sure . __eou__ I have flown for Iberia since 2011 . __eou__\t1\t2 1 1\t0 0 0\n"
    "I was born in Madrid on 4 May 1990 , by the way , where were you born ? __eou__ Me too . __eou__\t1\t2 1\t0 0\n"
)


def session(number: int, lines: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [
        {"speaker": speaker, "dia_id": f"D{number}:{place}", "text": text}
        for place, (speaker, text) in enumerate(lines, 1)
    ]


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    talk = {"speaker_a": "Rosa", "session_2": session(2, SECOND), "session_1": session(1, FIRST)}
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([{"sample_id": "c-1", "conversation": talk, "observation": OBSERVED, "qa": []}]))
    return path


@pytest.fixture
def dailydialog(tmp_path: Path) -> Path:
    path = tmp_path / "dialogues.txt"
    path.write_text(SMALL_TALK)
    return path


def test_the_gate_figures_match_the_contract(locomo: Path, dailydialog: Path) -> None:
    steps: list[str] = []
    figures: Mapping[str, Any] = run([locomo, dailydialog], lambda step, done, total: steps.append(step))
    Draft202012Validator(schema("bench-gate")).validate(json.loads(json.dumps(figures)))
    assert figures["n"] == 9 + 5
    assert figures["locomo"]["positive"] == 4
    assert figures["durability_auc"] == figures["locomo"]["conversations"]["c-1"] == 1.0
    assert set(steps) == {"small talk, rank", "small talk, filter"}


def test_small_talk_is_short_or_labelled_as_a_question(dailydialog: Path) -> None:
    figures: Mapping[str, Any] = run([dailydialog])
    assert figures["durability_auc"] is None and figures["locomo"] is None
    assert figures["dailydialog"]["short_or_question_n"] == 4
    assert figures["all_yield"] >= 0.2  # the pilot at least
    assert figures["short_or_question_yield"] in (0.0, 0.25)  # only the one born in Madrid says anything in them
    assert figures["filter"]["n"] == 5


def test_a_missing_set_has_no_figures(locomo: Path) -> None:
    figures = run([locomo])
    assert figures["all_yield"] is None and figures["filter"] is None and figures["dailydialog"] is None


def test_auc_counts_ties_as_half_and_needs_both_labels() -> None:
    assert area_under_curve([0.9, 0.1], [True, False]) == 1.0
    assert area_under_curve([0.1, 0.9], [True, False]) == 0.0
    assert area_under_curve([0.5, 0.5], [True, False]) == 0.5
    assert area_under_curve([0.3, 0.5, 0.5, 0.7], [False, True, False, True]) == 0.875
    assert area_under_curve([0.5], [True]) is None


@pytest.mark.parametrize("content", ["no set at all", '[{"conversation": 1}]'])
def test_an_unknown_file_is_refused_with_its_name(tmp_path: Path, content: str) -> None:
    (tmp_path / "other.json").write_text(content)
    with pytest.raises(InputError, match=r"other\.json"):
        run([tmp_path / "other.json"])
