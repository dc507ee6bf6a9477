"""The admission benchmark on labelled chats of a few lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from holdfast.errors import InputError
from holdfast_bench.admission import read_chats, run
from holdfast_bench.contract import schema
from tests.cli.command import Holdfast

DATA = Path(__file__).parents[2] / "bench" / "data"
CHATS = """\
## lighthouse
U 11i My sister Ottilie lives in Bergen and works as a nurse.
+ 00n Lovely weather.
A It is.
U 00n thanks
## friends
U 00n morning
B 11p I really prefer tea to coffee in the morning.
C b0e we went to the market

+ 00n lol
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "chats.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_chats_are_read_with_speakers_and_labels(tmp_path: Path) -> None:
    lighthouse, friends = read_chats(write(tmp_path, CHATS))
    assert [turn.role for turn in lighthouse.turns] == ["user", "assistant", "user"]
    assert lighthouse.turns[0].message("\n")["content"].endswith("nurse. Lovely weather.")  # type: ignore[attr-defined]
    assert [turn.speaker for turn in friends.turns] == [None, "B", "C"]
    assert friends.turns[2].message("\n")["content"] == "we went to the market\nlol"
    assert friends.turns[2].message(" ")["content"] == "we went to the market lol"
    assert [one.worth for one in friends.turns[2].sentences] == [0.5, 0.0]


@pytest.mark.requirement("EVAL-2")
def test_kept_sentences_give_precision_and_recall(tmp_path: Path) -> None:
    figures = run([write(tmp_path, CHATS)])
    Draft202012Validator(schema("bench-admission")).validate(json.loads(json.dumps(figures)))
    assert (figures["n"], figures["worth"]) == (7, 2.5)
    kept = {one["id"] for one in figures["sentences"] if one["kept"]}
    assert "lighthouse/0/0" in kept and "lighthouse/2/0" not in kept
    assert figures["kept"] == len(kept) and figures["records"] >= 1
    found = sum(one["worth"] for one in figures["sentences"] if one["kept"])
    assert figures["precision"] == pytest.approx(found / len(kept), abs=1e-3)
    assert figures["recall"] == pytest.approx(found / 2.5, abs=1e-3)
    assert sum(one["n"] for one in figures["calibration"]) == figures["records"]


@pytest.mark.requirement("EVAL-2")
def test_a_run_is_compared_with_an_earlier_one(holdfast: Holdfast, tmp_path: Path) -> None:
    path, before, out = write(tmp_path, CHATS), tmp_path / "before.json", tmp_path / "out.json"
    assert holdfast("bench", "admission", "--data", str(path), "--json", str(before)).code == 0
    figures = json.loads(before.read_text())
    for one in figures["sentences"]:
        one["kept"] = False
    before.write_text(json.dumps(figures))
    said = holdfast("bench", "admission", "--data", str(path), "--baseline", str(before), "--json", str(out))
    assert said.code == 0
    gain = json.loads(out.read_text())["gain"]
    assert gain["recall"] == figures["recall"] and gain["recall_ci"][0] <= gain["recall"] <= gain["recall_ci"][1]
    figures["sentences"].pop()
    before.write_text(json.dumps(figures))
    assert "other sentences" in holdfast("bench", "admission", "--data", str(path), "--baseline", str(before)).err


@pytest.mark.parametrize(
    "text", ["", "U 11i before any chat\n", "## x\nU 21i what\n", "## x\nU 11z what\n", "## x\nA hi\n+ 00n what\n"]
)
def test_a_chat_file_with_an_unknown_line_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"chats\.txt"):
        run([write(tmp_path, text)])


def test_the_chats_of_the_repository_can_be_read() -> None:
    chats = [chat for name in ("chats5.txt", "chats6.txt") for chat in read_chats(DATA / name)]
    assert len(chats) == 91
    assert sum(len(turn.sentences) for chat in chats for turn in chat.turns) == 1432
