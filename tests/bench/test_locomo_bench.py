"""LoCoMo's format: dated sessions, speakers, photos, and evidence in several notations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.model import Hits
from holdfast_bench.ask import AskOptions
from holdfast_bench.contract import schema
from holdfast_bench.data import Haystack
from holdfast_bench.locomo import read, run
from tests.support.retrieval_sets import LOCOMO, write

pytestmark = pytest.mark.requirement("EVAL-3")


@pytest.fixture
def haystack(tmp_path: Path) -> Haystack:
    (found,) = read([write(tmp_path, "locomo.json", LOCOMO)])
    return found


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    return run([write(tmp_path_factory.mktemp("locomo"), "locomo.json", LOCOMO)], AskOptions())


def test_locomo_sessions_are_ordered_by_date(haystack: Haystack) -> None:
    assert [session.session for session in haystack.sessions] == ["session_1", "session_2"]
    assert haystack.sessions[0].at == datetime(2024, 5, 8, 13, 56, tzinfo=UTC)


def test_a_photo_is_its_text_and_caption(haystack: Haystack) -> None:
    photo = haystack.sessions[1].turns[1]
    assert photo.text == "Look at this! [shares a photo: a green bicycle]"
    assert (photo.role, photo.speaker) == ("user", "Teodor")


def test_evidence_is_split_normalised_audited_and_unknown_ids_are_dropped(haystack: Haystack) -> None:
    gold = [question.turns for question in haystack.questions]
    assert gold == [{"D1:2"}, {"D2:2", "D1:2"}, {"D2:1"}, frozenset(), {"D1:2"}]
    assert haystack.questions[1].sessions == {"session_1", "session_2"}


def test_questions_are_asked_at_the_end_of_the_conversation(haystack: Haystack) -> None:
    assert {question.at for question in haystack.questions} == {haystack.sessions[-1].at}


def test_only_answerable_questions_with_gold_count(figures: Mapping[str, Any]) -> None:
    assert figures["set"] == "locomo"
    assert figures["n"] == 3
    assert figures["left_out"] == {"unanswerable": 1, "without_gold": 1}
    assert {name: part["n"] for name, part in figures["by_category"].items()} == {
        "multi-hop": 1,
        "single-hop": 1,
        "temporal": 1,
    }
    assert figures["abstention"]["unanswerable"] == 1


def test_search_and_both_baselines_find_the_turns_that_share_the_words(figures: Mapping[str, Any]) -> None:
    for part in (figures, figures["baselines"]["bm25"], figures["baselines"]["vector"]):
        assert part["turn"]["any@5"] == 1.0
        assert part["session"]["all@5"] == 1.0
    assert figures["turn"]["mrr"] >= 0.5


def test_the_figures_are_what_the_contract_says(figures: Mapping[str, Any]) -> None:
    Draft202012Validator(schema("bench-locomo")).validate(json.loads(json.dumps(figures)))


def test_a_sample_says_that_it_is_one(tmp_path: Path) -> None:
    figures: Mapping[str, Any] = run([write(tmp_path, "locomo.json", LOCOMO)], AskOptions(limit=2))
    assert figures["sample"] == {"asked": 2, "of": 5}


def test_turns_keep_speakers_and_questions_are_asked_at_their_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The benchmark uses the production path, which can be observed at Memory's methods."""
    seen: list[tuple[datetime, dict[str, object], datetime]] = []
    search = Memory.search

    def watched(memory: Memory, query: str, limit: int = 10, *, rerank: bool = False) -> Hits:
        kept = memory.thread("session_1")[1]
        seen.append((memory._engine.clock(), dict(kept.metadata), kept.at))
        return search(memory, query, limit, rerank=rerank)

    monkeypatch.setattr(Memory, "search", watched)
    run([write(tmp_path, "locomo.json", LOCOMO)], AskOptions(limit=1))
    end, said = datetime(2024, 6, 2, 9, 5, tzinfo=UTC), datetime(2024, 5, 8, 13, 56, tzinfo=UTC)
    assert seen == [(end, {"speaker": "Teodor"}, said)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"sample_id": "x"}, "not a file of LoCoMo"),
        ([{"sample_id": "x", "conversation": {}, "qa": []}], "has no sessions"),
        (
            [{"sample_id": "x", "conversation": {"session_1": [], "session_1_date_time": "today"}, "qa": []}],
            "x, session_1 cannot be read",
        ),
    ],
)
def test_an_unreadable_locomo_file_is_refused_with_its_location(tmp_path: Path, content: object, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        read([write(tmp_path, "odd.json", content)])
    assert "odd.json" in str(refused.value)


def test_the_retrieval_benchmarks_need_an_embedder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--profile static"):
        run([write(tmp_path, "locomo.json", LOCOMO)], AskOptions(profile="none"))
