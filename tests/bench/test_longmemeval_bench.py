"""LongMemEval's format and its modes: pool, global and lite."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from holdfast.cli import main
from holdfast.errors import InputError
from holdfast_bench.ask import AskOptions
from holdfast_bench.contract import schema
from holdfast_bench.longmemeval import read, read_mode, run
from tests.support.retrieval_sets import LITE, ORACLE, write

pytestmark = pytest.mark.requirement("EVAL-3")


@pytest.fixture
def oracle(tmp_path: Path) -> Path:
    return write(tmp_path, "oracle.json", ORACLE)


def crowd(count: int) -> list[dict[str, object]]:
    """Write as many questions with one session each as a pool needs."""
    first = json.loads(json.dumps(ORACLE[1]))
    return [
        first | {"question_id": f"c{number}", "haystack_session_ids": [f"answer_{number:04x}_1"]}
        | {"answer_session_ids": [f"answer_{number:04x}_1"]}
        for number in range(count)
    ]  # fmt: skip


def test_a_pool_has_its_own_sessions_and_47_others(tmp_path: Path) -> None:
    path = write(tmp_path, "oracle.json", crowd(80))
    ids = sorted(f"answer_{number:04x}_1" for number in range(80))
    for number, haystack in enumerate(read([path], "pool", seed=3)):
        own = f"answer_{number:04x}_1"
        drawn = random.Random(f"3c{number}").sample(ids, 53)
        others = [session for session in drawn if session != own][:47]
        assert {session.session for session in haystack.sessions} == {own, *others}
        assert len(haystack.sessions) == 48


def test_a_pool_excludes_other_sessions_of_the_same_question(oracle: Path) -> None:
    pools = {haystack.name: {session.session for session in haystack.sessions} for haystack in read([oracle], "pool")}
    assert pools["q1"] == {"answer_aaaa_1", "answer_aaaa_2", "answer_bbbb", "answer_bbbb_abs_1", "answer_cccc_1"}
    assert pools["q2"] == {"answer_bbbb", "answer_aaaa_1", "answer_aaaa_2", "answer_cccc_1"}


def test_longmemeval_sessions_are_ordered_by_date(oracle: Path) -> None:
    for haystack in [*read([oracle], "pool"), *read([oracle], "global")]:
        dates = [session.at for session in haystack.sessions]
        assert dates == sorted(dates)


def test_gold_is_the_marked_turns_of_a_questions_own_sessions(oracle: Path) -> None:
    gold = {haystack.name: haystack.questions[0] for haystack in read([oracle], "pool")}
    assert gold["q1"].turns == {"answer_aaaa_2#0", "answer_aaaa_1#1"}
    assert gold["q1"].sessions == {"answer_aaaa_1", "answer_aaaa_2"}
    assert not gold["q3_abs"].answerable
    assert not gold["q4"].counts, "no turn is marked, so there is no gold"


@pytest.mark.parametrize("mode", ["pool", "global"])
def test_both_modes_of_full_sessions_measure_turns_and_sessions(oracle: Path, mode: str) -> None:
    figures: Mapping[str, Any] = run([oracle], AskOptions(), read_mode(mode))
    assert (figures["set"], figures["mode"], figures["seed"], figures["n"]) == ("longmemeval", mode, 0, 2)
    assert figures["left_out"] == {"unanswerable": 1, "without_gold": 1}
    assert figures["turn"]["all@5"] == figures["session"]["all@5"] == 1.0
    assert set(figures["by_category"]) == {"multi-session", "single-session-user"}
    Draft202012Validator(schema("bench-longmemeval")).validate(json.loads(json.dumps(figures)))


def test_lite_haystacks_measure_sessions_only(tmp_path: Path, oracle: Path) -> None:
    figures: Mapping[str, Any] = run([write(tmp_path, "lite.json", LITE), oracle], AskOptions(), "lite")
    assert (figures["n"], figures["turn"], figures["ci"]["turn"]) == (1, None, None)
    assert figures["session"]["mrr"] == 1.0
    assert figures["baselines"]["bm25"]["session"]["any@5"] == 1.0
    Draft202012Validator(schema("bench-longmemeval")).validate(json.loads(json.dumps(figures)))


def test_the_same_seed_gives_the_same_figures(oracle: Path) -> None:
    first, second = (run([oracle], AskOptions(), "pool", seed=5) for _ in range(2))
    for name in ("turn", "session", "by_category", "ci", "baselines", "abstention"):
        assert first[name] == second[name]


def test_mode_lite_needs_both_files(tmp_path: Path, oracle: Path) -> None:
    with pytest.raises(InputError, match="two files"):
        read([oracle], "lite")
    with pytest.raises(InputError, match="not a file of LongMemEval questions or lite haystacks"):
        read([write(tmp_path, "odd.json", {"sessions": 1}), oracle], "lite")
    missing: dict[str, object] = {**LITE, "sessions": {}}
    with pytest.raises(InputError, match="noise_1"):
        read([write(tmp_path, "lite.json", missing), oracle], "lite")


def test_an_unknown_mode_or_date_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pool, global, lite"):
        read_mode("all")
    odd = [{**ORACLE[1], "question_date": "yesterday"}]
    with pytest.raises(InputError, match="yesterday"):
        read([write(tmp_path, "oracle.json", odd)])


def test_the_longmemeval_command_prints_a_table_and_writes_the_file(
    tmp_path: Path, oracle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figures.json"
    args = ["bench", "longmemeval", "--data", str(oracle), "--mode", "global", "--no-records", "--json", str(out)]
    assert main(args) == 0
    shown = capsys.readouterr().out
    assert "holdfast" in shown and "bm25" in shown and "multi-session" in shown
    figures = json.loads(out.read_text(encoding="utf-8"))
    assert (figures["mode"], figures["records"], figures["n"]) == ("global", False, 2)


def test_the_longmemeval_command_refuses_an_unknown_mode(oracle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "longmemeval", "--data", str(oracle), "--mode", "all"]) == 2
    assert "pool, global, lite" in capsys.readouterr().err
