"""The lives benchmark on a small life of our own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from holdfast.errors import InputError
from holdfast_bench.contract import schema
from holdfast_bench.life import LOOSE, WHOLE, grade, holds, is_dangling, names_relative_day, read_life
from holdfast_bench.lives import run
from tests.cli.command import Holdfast

LIVES = Path(__file__).parents[2] / "bench" / "lives"
TURNS = [
    ("t1", "s1", "2026-01-05T09:00:00+01:00", "user", "My brother Magnus lives in Lerwick."),
    ("t2", "s1", "2026-01-05T09:01:00+01:00", "assistant", "Lerwick is lovely."),
    ("t3", "s2", "2026-02-05T09:00:00+01:00", "user", "My brother Magnus moved to Tromsø, he lives in Tromsø now."),
    ("t4", "s3", "2026-03-05T09:00:00+01:00", "user", "Always answer me in metric units, please."),
    ("t5", "s4", "2026-04-05T09:00:00+02:00", "user", "haha ok thanks"),
    ("t6", "s5", "2026-05-05T09:00:00+02:00", "user", "I play the viola in the town orchestra."),
    ("t7", "s6", "2026-06-05T09:00:00+02:00", "user", "I play the viola in the town orchestra."),
]
ASKED = "2026-09-01T09:00:00+02:00"


def fact(name: str, text: str, keys: list[list[str]], turns: list[str], **more: str) -> dict[str, object]:
    open_end: dict[str, object] = {"until": None, "replaced_by": None}
    return {"id": name, "text": text, "about": name, "keys": keys, "turns": turns} | open_end | more


def question(name: str, text: str, kind: str, keys: list[list[str]], turns: list[str], *old: str) -> dict[str, object]:
    return {"id": name, "text": text, "at": ASKED, "kind": kind, "keys": keys, "not": list(old), "turns": turns}


LIFE: dict[str, object] = {
    "name": "violist",
    "turns": [dict(zip(("id", "session", "at", "role", "text"), turn, strict=True)) for turn in TURNS],
    "facts": [
        fact(
            "old", "Magnus lives in Lerwick.", [["magnus"], ["lerwick"]], ["t1"], until="t3", replaced_by="new"
        ),
        fact("new", "Magnus lives in Tromsø.", [["magnus"], ["tromsø"]], ["t3"]),
        fact("viola", "The user plays the viola.", [["viola"]], ["t6", "t7"]),
    ],
    "rules": [fact("metric", "Answer in metric units.", [["metric"]], ["t4"])],
    "noise": [{"turn": "t5", "why": "chat"}],
    "same": [{"of": "viola", "turns": ["t6", "t7"]}],
    "questions": [
        question("q1", "Where does Magnus live?", "changed", [["tromsø"]], ["t3"], "Lerwick"),
        question("q2", "Which instrument do I play?", "fact", [["viola"]], ["t6", "t7"]),
        question("q3", "What is my shoe size?", "unknown", [], []),
    ],
    "tasks": [{"id": "w1", "text": "How far is Bergen?", "at": ASKED, "rules": ["metric"], "avoid": ["viola"]}],
}  # fmt: skip


@pytest.fixture
def life(tmp_path: Path) -> Path:
    path = tmp_path / "life.json"
    path.write_text(json.dumps(LIFE), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    path = tmp_path_factory.mktemp("lives") / "life.json"
    path.write_text(json.dumps(LIFE), encoding="utf-8")
    return run([path, path])


@pytest.mark.requirement("BEL-1")
def test_the_lives_figures_match_the_contract(figures: Mapping[str, Any]) -> None:
    document = json.loads(json.dumps(figures))
    Draft202012Validator(schema("bench-lives")).validate(document)
    first, second = document["lives"]
    assert first["records"] == second["records"]
    assert (first["turns"], first["sessions"], first["questions"]["n"], first["questions"]["n_unknown"]) == (7, 6, 2, 1)


@pytest.mark.requirement("BEL-1")
def test_records_are_compared_with_what_should_be_kept(figures: Mapping[str, Any]) -> None:
    records = figures["lives"][0]["records"]
    assert (records["facts"], records["ended"], records["rules"], records["noise"], records["same"]) == (2, 1, 1, 1, 1)
    assert records["coverage"] == records["clean_coverage"] == 1.0
    assert records["noise_recorded"] == 0.0
    assert records["same_kept_once"] == 1.0  # the same words twice are one record
    assert records["records"] == sum(records["verdicts"].values())


@pytest.mark.requirement("BEL-1")
def test_questions_rules_and_echoes_are_counted(figures: Mapping[str, Any]) -> None:
    one = figures["lives"][0]
    assert one["questions"]["first_10"] == one["bm25"]["first_10"] == 1.0
    assert one["questions"]["n_changed"] == 1
    assert one["tasks"]["wanted"] == one["tasks"]["private"] == 1
    assert one["echo"]["first_1"][0] == one["questions"]["first_1"]
    assert [row["id"] for row in one["asked"]] == ["q1", "q2", "q3"]
    assert figures["records_help"]["n"] == 4  # two lives with two answerable questions each


def test_the_mean_of_two_equal_lives_is_the_life(figures: Mapping[str, Any]) -> None:
    one, mean = figures["lives"][0], figures["mean"]
    assert mean["records"]["good"] == pytest.approx(one["records"]["good"], abs=1e-3)
    assert mean["records"]["lost"] == len(one["records"]["lost"])
    assert mean["echo"]["first_3"] == one["echo"]["first_3"]


def test_a_missed_bar_is_printed_and_ends_with_exit_code_1(holdfast: Holdfast, life: Path, tmp_path: Path) -> None:
    bars, out = tmp_path / "bars.json", tmp_path / "out.json"
    bars.write_text(json.dumps({"records.coverage": ">= 0.5", "echo.first_3.1": ">= 0", "records.lost": "<= 9"}))
    said = holdfast("bench", "lives", "--data", str(life), "--bars", str(bars), "--json", str(out))
    assert said.code == 0 and "MISSED" not in said.out and "violist" in said.out
    assert json.loads(out.read_text())["lives"][0]["life"] == "violist"
    bars.write_text(json.dumps({"records.coverage": "<= 0.5", "records.unheard_of": ">= 0"}))
    said = holdfast("bench", "lives", "--data", str(life), "--bars", str(bars))
    assert said.code == 1
    missed = [line for line in said.out.splitlines() if "MISSED" in line]
    assert len(missed) == 2 and "records.coverage <= 0.5" in missed[0] and "1.000" in missed[0]


@pytest.mark.parametrize("bar", ["> 0.5", ">= many", "0.5"])
def test_a_bar_that_cannot_be_read_is_refused(holdfast: Holdfast, life: Path, tmp_path: Path, bar: str) -> None:
    bars = tmp_path / "bars.json"
    bars.write_text(json.dumps({"records.good": bar}))
    said = holdfast("bench", "lives", "--data", str(life), "--bars", str(bars))
    assert said.code not in (0, 1) and "records.good" in said.err


def test_keys_begin_at_a_word_and_numbers_are_whole() -> None:
    assert holds((("allerg",), ("12",)), "She is Allergic, since 12 May")
    assert not holds((("lerg",),), "allergic")
    assert not holds((("12",),), "in 125 days")
    assert holds((("sister in law", "wife"),), "my sister-in-law’s car")
    assert not holds((), "anything")


def test_a_text_says_a_fact_wholly_loosely_or_not_at_all(life: Path) -> None:
    one = read_life(life)
    new = one.fact["new"]
    assert grade("Magnus lives in Tromsø", ["t1"], new) == WHOLE
    assert grade("He is in Tromsø", ["t3"], new) == LOOSE
    assert grade("He is in Tromsø", ["t1"], new) == 0
    assert one.said("Magnus left Lerwick for Tromsø", ["t3"]) == {"new": WHOLE}  # said when the old one ended
    assert one.answers(one.questions[0], "Tromsø", ["t3"]) and not one.answers(one.questions[0], "Tromsø", ["t1"])
    assert one.is_stale(one.questions[0], "in Lerwick") and not one.is_stale(one.questions[0], "Lerwick, then Tromsø")


def test_texts_that_cannot_be_read_alone_are_recognised() -> None:
    assert is_dangling("And it was his own") and not is_dangling("Its Tromsø office"[4:])
    assert names_relative_day("We sail on Friday") and not names_relative_day("We sail on 2026-05-08, this week")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"noise": [{"turn": "t99", "why": "chat"}]}, "t99"),
        ({"rules": [fact("metric", "Answer in metres.", [["metric"]], ["t4"])]}, "does not hold its keys"),
        ({"rules": [fact("metric", "Answer in metric units.", [["metric"]], ["t1"])]}, "does not hold the value"),
        ({"turns": []}, "turns"),
    ],
)
def test_a_life_that_is_not_sound_is_refused(life: Path, change: Mapping[str, object], fault: str) -> None:
    life.write_text(json.dumps({**LIFE, **change}))
    with pytest.raises(InputError, match=fault):
        run([life])


@pytest.mark.parametrize("path", sorted(LIVES.glob("*.json")), ids=lambda path: path.stem)
def test_the_lives_of_the_repository_are_sound(path: Path) -> None:
    one = read_life(path)
    assert 280 <= len(one.turns) <= 320
    assert len([question for question in one.questions if question.known]) >= 65
