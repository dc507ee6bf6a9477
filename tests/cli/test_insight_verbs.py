from __future__ import annotations

import json
from pathlib import Path

import pytest

from .command import Holdfast

SAID = (
    ("2026-03-02T10:00:00Z", "s", "The API of our shop runs on port 8080."),
    ("2026-03-02T10:01:00Z", "s", "thanks!"),
    ("2026-03-03T10:00:00Z", "s", "The API of our shop runs on port 9090."),
    ("2026-03-03T10:05:00Z", "another", "The API of our shop runs on port 9090."),
)


@pytest.fixture
def shop(holdfast: Holdfast) -> Holdfast:
    """Two days of talk about a port, judged by the gate."""
    lines = [json.dumps({"role": "user", "content": text, "at": at, "session": name}) for at, name, text in SAID]
    assert holdfast("ingest", "-", stdin="\n".join(lines) + "\n").code == 0
    return holdfast


def turn_ids(holdfast: Holdfast) -> list[str]:
    """In the order they were said."""
    turns = holdfast("recent", "--json").json["turns"]
    assert isinstance(turns, list)
    return [turn["id"] for turn in reversed(turns)]


def record_id(holdfast: Holdfast) -> str:
    records = holdfast("recent", "--kind", "record", "--json").json["records"]
    assert isinstance(records, list) and len(records) == 1
    return str(records[0]["id"])


@pytest.mark.requirement("MERGE-7", "API-1")
def test_stats_prints_one_row_per_day_and_the_sum(shop: Holdfast) -> None:
    lines = shop("stats").out.splitlines()
    assert " ".join(lines[0].split()) == "not nothing candi- replac-"
    assert lines[1].split()[:4] == ["day", "turns", "salient", "durable"]
    assert lines[2].split() == ["2026-03-02", "2", "1", "·", "1", "·", "·", "·", "·", "1"]
    assert lines[3].split() == ["2026-03-03", "2", "·", "·", "2", "·", "1", "·", "1", "·"]
    assert lines[4].split() == ["all", "4", "1", "·", "3", "·", "1", "·", "1", "1"]
    answer = shop("stats", "--since", "2026-03-03", "--json").json
    assert isinstance(answer["days"], list) and len(answer["days"]) == 1
    assert shop("stats", "-n", "nobody").out.startswith("No turn was judged")
    assert shop("stats", "--since", "nonsense").code == 2


@pytest.mark.requirement("MERGE-4", "API-1")
def test_history_prints_the_versions(shop: Holdfast) -> None:
    newest = record_id(shop)
    out = shop("history", newest).out
    assert out.index("port 8080.") < out.index("superseded: by " + newest) < out.index("– now  fact  " + newest)
    assert "Mon 2 Mar 2026 10:00 UTC – Tue 3 Mar 2026 10:00 UTC" in out
    assert "merged: with" in out
    versions = shop("history", newest, "--json").json["versions"]
    assert isinstance(versions, list) and [one["live"] for one in versions] == [False, True]
    first, thanks, *_ = turn_ids(shop)
    assert "port 8080." in shop("history", first).out
    assert shop("history", thanks).out.startswith(f"No record was made from {thanks}")
    said = shop("history", "r-0")
    assert said.code == 1 and said.err.startswith("holdfast: there is no turn or record 'r-0' in this namespace")


@pytest.mark.requirement("INV-6")
def test_why_prints_score_decisions_and_successor(shop: Holdfast) -> None:
    first, thanks, second, third = turn_ids(shop)
    newest = record_id(shop)
    assert f"replaced by {newest}" in shop("why", first).out
    assert "• not promoted: not salient" in shop("why", thanks).out
    out = shop("why", second).out
    assert out.index("• scored: G ") < out.index("• gated:") < out.index("• replaces: 'The API of our shop runs on")
    assert "• merged: 'The API of our shop runs on port 9090.', into " + newest in shop("why", third).out


@pytest.mark.requirement("GATE-13", "API-1")
def test_calibrate_prints_scores_and_with_labels_the_curve(shop: Holdfast, tmp_path: Path) -> None:
    out = shop("calibrate").out
    assert "4 turns" in out and "█" in out and "← gate.threshold 0.35" in out
    assert "P(useful)" not in out
    first, thanks, *_ = turn_ids(shop)
    path = tmp_path / "labels.jsonl"
    labels = [{"turn": first, "useful": True}, {"turn": thanks, "useful": False}, {"g": 0.9, "useful": True}]
    path.write_text("".join(json.dumps(label) + "\n" for label in labels))
    out = shop("calibrate", "--labels", str(path)).out
    assert "P(useful)" in out and "●" in out and "3 labels, 2 of them useful" in out
    assert "suggested: " in out and "in use:    0.35" in out
    assert "3 labels, 2 of them useful, stored" in shop("calibrate").out
    assert shop("calibrate", "--json").json["labels"] == 3
    path.write_text('{"g": 0.9, "useful": 1}\n')
    said = shop("calibrate", "--labels", str(path))
    assert (said.code, said.err) == (2, 'holdfast: labels.jsonl:1: "useful" must be true or false\n')
    assert shop("calibrate", "-n", "nobody").out.startswith("No turn has been judged yet")


@pytest.mark.requirement("MERGE-6", "API-1")
def test_tune_similarity_prints_pairs_and_reads_judgements(shop: Holdfast, tmp_path: Path) -> None:
    said = shop("tune", "similarity", "--threshold", "0.7", "--threshold", "0.9", "--json")
    answer = said.json
    assert isinstance(answer["sample"], list) and isinstance(answer["records"], list)
    (pair,) = [pair for pair in answer["sample"] if pair["of"] == "record"]
    assert not pair["merges"] and "'9090' and '8080'" in pair["reason"]
    for one in answer["sample"]:
        one["same"] = False
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps(answer))
    out = shop("tune", "similarity", "--judged", str(path)).out
    assert "3 candidates and records" in out and "4 turns and earlier turns" in out and "0.90 *" in out
    assert (
        "kept apart: they differ in a number" in shop("tune", "similarity", "--threshold", "0.7", "--sample", "2").out
    )
    assert "No pair is similar enough" in shop("tune", "similarity", "-n", "nobody").out
    assert shop("tune", "similarity", "--threshold", "0.1").code == 2


@pytest.mark.requirement("SAFE-4")
def test_insight_output_cannot_control_the_terminal(holdfast: Holdfast) -> None:
    text = "My sister Anna \x1b]0;owned\x07 lives in Rome and has {} dogs.\n"
    holdfast("ingest", "-", "--session", "s", "--lines", stdin=text.format("two") + text.format("three"))
    for args in (["history", *turn_ids(holdfast)[:1]], ["tune", "similarity", "--threshold", "0.6"], ["stats"]):
        said = holdfast(*args)
        assert said.code == 0 and not set(said.out) & set("\x1b\x07")
