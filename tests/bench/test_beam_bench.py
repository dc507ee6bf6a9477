"""BEAM's format: dated batches, markers after the user's texts, nested sources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from holdfast.errors import InputError
from holdfast_bench.ask import AskOptions
from holdfast_bench.beam import read, run
from holdfast_bench.contract import schema
from holdfast_bench.data import Haystack
from tests.support.retrieval_sets import BEAM, write

pytestmark = pytest.mark.requirement("EVAL-3")


@pytest.fixture
def haystack(tmp_path: Path) -> Haystack:
    (found,) = read([write(tmp_path, "beam.json", BEAM)])
    return found


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    return run([write(tmp_path_factory.mktemp("beam"), "beam.json", BEAM)], AskOptions())


def test_markers_are_stripped_from_user_texts_only(haystack: Haystack) -> None:
    texts = [turn.text for session in haystack.sessions for turn in session.turns]
    assert texts[0] == "My greenhouse needs a new fan before the summer."
    assert texts[2] == "Always answer me in metric units."
    assert texts[5] == "Both like warmth ->-> 2,1"


def test_a_batch_is_a_session_with_the_date_of_its_first_message(haystack: Haystack) -> None:
    assert [(session.session, session.at) for session in haystack.sessions] == [
        ("batch 1", datetime(2024, 3, 15, tzinfo=UTC)),
        ("batch 2", datetime(2024, 4, 2, tzinfo=UTC)),
    ]
    assert {question.at for question in haystack.questions} == {haystack.sessions[-1].at}


def test_every_integer_in_the_sources_that_is_a_message_is_gold(haystack: Haystack) -> None:
    assert [question.turns for question in haystack.questions] == [{"4"}, {"0", "2"}, frozenset(), frozenset()]


def test_abilities_are_categories_and_abstention_is_unanswerable(figures: Mapping[str, Any]) -> None:
    assert (figures["set"], figures["n"]) == ("beam", 2)
    assert set(figures["by_category"]) == {"information_extraction", "knowledge_update"}
    assert figures["left_out"] == {"unanswerable": 1, "without_gold": 1}
    assert figures["turn"]["all@5"] == 1.0
    assert figures["abstention"]["unanswerable"] == 1


def test_the_figures_are_what_the_contract_says(figures: Mapping[str, Any]) -> None:
    Draft202012Validator(schema("bench-beam")).validate(json.loads(json.dumps(figures)))


def test_a_batch_without_a_date_gets_the_previous_one(tmp_path: Path) -> None:
    content = json.loads(json.dumps(BEAM))
    del content[0]["chat"][1]["turns"][0][0]["time_anchor"]
    (found,) = read([write(tmp_path, "beam.json", content)])
    assert found.sessions[1].at == found.sessions[0].at


def test_a_file_without_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contain no questions"):
        run([write(tmp_path, "beam.json", [])], AskOptions())


@pytest.mark.parametrize(
    ("chat", "says"),
    [
        ([], "has no batches"),
        ([{"batch_number": 1, "turns": []}], "has no time_anchor"),
        ([{"batch_number": 1, "turns": [], "time_anchor": "soon"}], "batch 1"),
        ([{"turns": []}], "not a file of BEAM: 0.chat.0.batch_number"),
    ],
)
def test_an_unreadable_beam_file_is_refused_with_its_location(tmp_path: Path, chat: object, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        read([write(tmp_path, "odd.json", [{"id": 1, "chat": chat, "probing_questions": {}}])])
    assert "odd.json" in str(refused.value)
