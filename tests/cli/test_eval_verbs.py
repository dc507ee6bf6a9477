from __future__ import annotations

import json
from pathlib import Path

import pytest

from .command import Holdfast

SAID = (
    "Our boat shed opens at seven on weekdays.",
    "The ferry timetable hangs beside the harbour office.",
    "My neighbour Ilse keeps bees behind the chapel.",
    "The attic window rattles whenever the wind turns west.",
    "We stack the winter firewood along the north wall.",
    "The blue kayak belongs to my cousin Tomas.",
    "Our dentist moved to the old bakery in Mill Lane.",
    "I water the fig tree on the balcony every evening.",
)


@pytest.fixture
def shed(holdfast: Holdfast) -> Holdfast:
    lines = [
        json.dumps({"role": "user", "content": text, "session": "s", "at": "2026-05-03T10:00:00Z"}) for text in SAID
    ]
    assert holdfast("ingest", "-", stdin="\n".join(lines) + "\n").code == 0
    return holdfast


@pytest.fixture
def probes(shed: Holdfast, tmp_path: Path) -> Path:
    """Each sentence asked for by its last words."""
    turns = shed("recent", "--json").json["turns"]
    assert isinstance(turns, list)
    path = tmp_path / "probes.jsonl"
    asked = [{"question": " ".join(turn["text"].rstrip(".").split()[-4:]), "expect": turn["id"]} for turn in turns]
    path.write_text("".join(json.dumps(one) + "\n" for one in asked))
    return path


@pytest.mark.requirement("EVAL-1", "API-1")
def test_drafts_are_written_and_asked_when_completed(shed: Holdfast, tmp_path: Path) -> None:
    path = tmp_path / "drafts.jsonl"
    said = shed("eval", "init", str(path), "--count", "3")
    assert said.code == 0 and "3 drafts in" in said.out
    drafts = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(draft["draft"] and draft["question"] and draft["expect"] and draft["note"] for draft in drafts)
    assert shed("eval", "run", str(path)).err.startswith("holdfast: every probe is a draft")
    path.write_text("".join(json.dumps({**draft, "draft": number > 0}) + "\n" for number, draft in enumerate(drafts)))
    out = shed("eval", "run", str(path)).out
    assert out.startswith("1 of 3 probes asked, 2 drafts skipped; set ")
    assert "3 of 3 probes asked" in shed("eval", "run", str(path), "--drafts").out
    said = shed("eval", "init", str(path))
    assert said.code == 2 and "already exists" in said.err


@pytest.mark.requirement("EVAL-1", "API-1")
def test_a_run_prints_its_figures_and_missed_probes(shed: Holdfast, probes: Path) -> None:
    with probes.open("a") as file:
        file.write('{"question": "the \\u001b[31mgate code", "expect": "r-0"}\n')
    out = shed("eval", "run", str(probes)).out
    assert "8 of 9 probes asked, 1 drifted" in out and "p@1" in out and "mrr" in out and "ms p95" in out
    assert "r-0 is not in this namespace" in out and "\x1b" not in out
    assert shed("eval", "run", str(probes), "--json").json["asked"] == 8
    assert shed("eval", "run", "nowhere.jsonl").code == 2


@pytest.mark.requirement("EVAL-1")
def test_the_gate_exits_with_1_when_recall_decreased(shed: Holdfast, probes: Path, tmp_path: Path) -> None:
    baseline, newer = str(tmp_path / "baseline.json"), tmp_path / "newer.json"
    assert shed("eval", "run", str(probes), "--save-baseline", baseline).code == 0
    said = shed("eval", "gate", str(probes), "--baseline", baseline)
    assert said.code == 0 and "passed" in said.out and "8 probes compared" in said.out
    for line in probes.read_text().splitlines():
        shed("remember", json.loads(line)["question"])  # the very words of the questions push the answers down
    said = shed("eval", "gate", str(probes), "--baseline", baseline, "--save-baseline", str(newer))
    assert said.code == 1 and "failed" in said.out and "decreased" in said.out
    assert not newer.exists()
    assert shed("eval", "gate", str(probes), "--baseline", baseline, "--json").json["passed"] is False
    said = shed("eval", "gate", str(probes), "--baseline", baseline, "--tolerance", "2")
    assert said.code == 2 and "tolerance" in said.err


@pytest.mark.requirement("EVAL-1", "API-1")
def test_a_sweep_shows_the_front_and_the_current_settings(shed: Holdfast, probes: Path) -> None:
    out = shed("eval", "sweep", str(probes), "--try", "words=.2,.5", "--try", "statement=.3").out
    assert out.startswith("4 configurations, chosen on 4 probes, verified on 4") and "current" in out
    assert shed("eval", "sweep", str(probes), "--try", "nothing=1").code == 2


@pytest.mark.requirement("EVAL-2", "API-1")
def test_two_extractors_are_compared_on_labelled_turns(holdfast: Holdfast, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    talk = [
        {"role": "user", "content": "My cousin Tomas lives in Bergen.", "facts": ["Tomas lives in Bergen"]},
        {"role": "user", "content": "thanks!", "facts": []},
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in talk))
    out = holdfast("eval", "extractors", str(path), "--first", "rules", "--second", "rules").out
    assert out.startswith("2 turns, 1 facts") and "may be chance" in out
    assert holdfast("eval", "extractors", str(path), "--second", "nonsense").code == 2


@pytest.mark.requirement("EVAL-4", "API-1")
def test_noise_prints_figures_with_and_without_probes(shed: Holdfast, probes: Path) -> None:
    assert "not measured" in shed("eval", "noise").out
    out = shed("eval", "noise", str(probes), "--since", "2026-01-01").out
    assert "per week" in out and "8 searches" in out and "below the floor" in out


@pytest.mark.requirement("RECALL-8", "API-1")
def test_themes_prints_words_spans_and_examples(holdfast: Holdfast) -> None:
    said = [
        "The pizza oven reaches four hundred degrees with dry oak.",
        "Pizza dough rises for two days before it meets the oven.",
        "Dough with more water gives the pizza \x1b[31ma softer crust.",
        "Oak burns hotter than birch in the pizza oven.",
    ]
    lines = [
        json.dumps({"role": "user", "content": text, "session": "s", "at": "2026-05-03T10:00:00Z"}) for text in said
    ]
    holdfast("ingest", "-", stdin="\n".join(lines) + "\n")
    out = holdfast("themes", "--since", "always").out
    assert "pizza" in out.splitlines()[0] and "4 turns in 1 session · Sun 3 May 2026 10:00" in out
    assert "• user: " in out and "\x1b" not in out and "grouped by meaning" in out
    assert holdfast("themes", "--since", "2026-06-01").out.startswith("No theme")
    themes = holdfast("themes", "--since", "2026-05-01", "--until", "2026-06-01", "--limit", "1", "--json").json[
        "themes"
    ]
    assert isinstance(themes, list) and len(themes) == 1
    assert holdfast("themes", "--digest").err.startswith("holdfast: a digest needs a chat model")
