from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.cli.demo import show_next_steps
from holdfast.demo import month, questions

from .command import Holdfast


def test_every_question_names_turns_of_the_month() -> None:
    keys = {json.loads(line)["key"] for line in month().read_text(encoding="utf-8").splitlines()}
    asked = questions()
    assert len(asked) >= 30
    assert all(question.keys and set(question.keys) <= keys for question in asked)


def test_the_demo_finds_every_answer_in_two_hits(holdfast: Holdfast) -> None:
    answer = holdfast("demo", "--json").json
    assert isinstance(asked := answer["asked"], list)
    assert len(asked) >= 8
    assert [one["question"] for one in asked if one["found_at"] is None] == []


def test_the_demo_reports_records_changes_and_gate_counts(holdfast: Holdfast) -> None:
    answer = holdfast("demo", "--json").json
    kept, changed, stats = answer["kept"], answer["changed"], answer["stats"]
    assert isinstance(kept, list) and isinstance(changed, dict) and isinstance(stats, dict)
    assert {"My name is Brigid Solano."} < {record["text"] for record in kept}
    assert len(changed["versions"]) > 1
    assert [version["live"] for version in changed["versions"]][-2:] == [False, True]
    assert stats["total"]["turns"] == 234 > stats["total"]["added"] > 0


def test_the_demo_prints_counts_answers_reasons_and_what_to_try(holdfast: Holdfast, store: Path) -> None:
    said = holdfast("demo")
    assert (said.code, said.err) == (0, "")
    for part in (
        "468 turns added",
        "My name is Brigid Solano.",
        "• superseded: by",
        "234",
        "✓ hit 1",
        "What did we talk about last?",
        "• kept:",
        "are ones search gets right",
        "Try next",
    ):
        assert part in said.out
    assert holdfast("status", "--json").json["turns"] == 0  # HOLDFAST_STORE is left alone


def test_the_demo_says_how_to_put_holdfast_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / ".venv" / "bin"
    home.mkdir(parents=True)
    (home / "activate").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.executable", str(home / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    show_next_steps(None, "bree")
    assert ". .venv/bin/activate" in capsys.readouterr().out
    (tmp_path / "holdfast").touch(mode=0o755)
    show_next_steps(None, "bree")
    assert "activate" not in capsys.readouterr().out


def test_the_sample_can_be_kept(holdfast: Holdfast, tmp_path: Path) -> None:
    kept = str(tmp_path / "demo.db")
    assert holdfast("demo", "--store", kept).code == 0
    assert holdfast("status", "--store", kept, "-n", "bree", "--json").json["turns"] == 468
