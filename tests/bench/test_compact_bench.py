"""The compaction benchmark on small sets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.testing import FixedClock
from holdfast_bench.compact import measure_speed, run
from holdfast_bench.data import Haystack, SetSession, SetTurn
from holdfast_bench.locomo import read
from holdfast_bench.rules import plant
from tests.support.chats import boatyard


def write_talk(path: Path, sessions: int = 3) -> Path:
    """Write a conversation in LoCoMo's format, with a question that its first line answers."""
    conversation: dict[str, object] = {"speaker_a": "Ada", "speaker_b": "Bo"}
    for session in range(1, sessions + 1):
        conversation[f"session_{session}_date_time"] = f"1:00 pm on {session} May, 2023"
        conversation[f"session_{session}"] = [
            {"speaker": "Ada" if number % 2 else "Bo", "dia_id": f"D{session}:{number}", "text": message["content"]}
            for number, message in enumerate(boatyard(40, seed=session), 1)
        ]
    first = conversation["session_1"][0]["text"]  # type: ignore[index]
    asked = {"question": first, "answer": "x", "category": 4, "evidence": ["D1:1"]}
    path.write_text(json.dumps([{"sample_id": "conv-1", "conversation": conversation, "qa": [asked]}]))
    return path


def test_each_rule_is_planted_once_and_not_in_the_tail() -> None:
    said = [SetTurn(f"s{number}", "user", str(message["content"])) for number, message in enumerate(boatyard(60))]
    stack = Haystack("one", [SetSession("s", FixedClock()(), said)], [])
    (grown,), planted = plant([stack], free=8)
    turns = grown.sessions[0].turns
    assert len(planted) == 200 and len(turns) == 260
    assert len({one.turn for one in planted}) == 200
    assert [turn for turn in turns if turn in said] == said
    assert list(turns[-8:]) == said[-8:]
    roles = {turn.id: turn.role for turn in turns}
    assert all((roles[one.turn] == "user") == (one.question is not None) for one in planted)
    with pytest.raises(InputError, match="no session of more than 100 turns"):
        plant([stack], free=100)


@pytest.mark.requirement("COMP-2", "COMP-7")
def test_the_figures_of_a_small_set(tmp_path: Path) -> None:
    labelled = tmp_path / "rules.jsonl"
    labelled.write_text('{"part": "development", "norm": "prohibition", "text": "Never deploy on Fridays."}\n')
    figures = run([write_talk(tmp_path / "talk.json", 1), labelled], turns=0)
    assert (figures["recall@10_before"], figures["recall@10_after"]) == (1.0, 1.0)
    assert 0 < float(str(figures["active_tokens_ratio"])) < 0.65  # a hundred rules in 260 turns stay
    assert int(str(figures["rules_kept"])) > 90  # the whole list is measured on real sets, docs/evidence/compaction.md
    assert figures["planted_rules_kept"] == 0
    assert figures["unfaithful"] == 0
    assert figures["detector"]["own"]["development"]["recall"] == 1.0  # type: ignore[index]


def test_speed_and_memory_are_measured_on_one_long_session(tmp_path: Path) -> None:
    figures = measure_speed(read([write_talk(tmp_path / "talk.json", 1)]), turns=50)
    assert (figures["turns"], figures["turns_removed"]) == (50, 46)
    assert float(str(figures["peak_mb"])) > 10 and float(str(figures["cpu_seconds"])) > 0


def test_an_unknown_file_is_refused_by_the_compact_bench(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('[{"a": 1}]')
    with pytest.raises(InputError, match="neither a LoCoMo nor a BEAM file"):
        run([path])
