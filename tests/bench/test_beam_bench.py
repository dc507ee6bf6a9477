"""BEAM's format: batches with a date, markers behind the user's texts, sources in lists and objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from holdfast.errors import InputError
from holdfast_bench.ask import Ways
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
    return run([write(tmp_path_factory.mktemp("beam"), "beam.json", BEAM)], Ways())


def test_the_marker_behind_a_users_text_is_stripped_and_an_assistants_text_is_left_alone(haystack: Haystack) -> None:
    texts = [turn.text for sitting in haystack.sittings for turn in sitting.turns]
    assert texts[0] == "My greenhouse needs a new fan before the summer."
    assert texts[2] == "Always answer me in metric units."
    assert texts[5] == "Both like warmth ->-> 2,1"


def test_a_batch_is_a_session_with_the_date_of_its_first_message(haystack: Haystack) -> None:
    assert [(sitting.session, sitting.at) for sitting in haystack.sittings] == [
        ("batch 1", datetime(2024, 3, 15, tzinfo=UTC)),
        ("batch 2", datetime(2024, 4, 2, tzinfo=UTC)),
    ]
    assert {question.at for question in haystack.questions} == {haystack.sittings[-1].at}


def test_every_integer_in_the_sources_is_gold_if_there_is_such_a_message(haystack: Haystack) -> None:
    assert [question.turns for question in haystack.questions] == [{"4"}, {"0", "2"}, frozenset(), frozenset()]


def test_abilities_are_categories_and_abstention_is_apart(figures: Mapping[str, Any]) -> None:
    assert (figures["set"], figures["n"]) == ("beam", 2)
    assert set(figures["by_category"]) == {"information_extraction", "knowledge_update"}
    assert figures["left_out"] == {"unanswerable": 1, "without_gold": 1}
    assert figures["turn"]["all@5"] == 1.0
    assert figures["abstention"]["unanswerable"] == 1


def test_the_figures_are_what_the_contract_says(figures: Mapping[str, Any]) -> None:
    Draft202012Validator(schema("bench-beam")).validate(json.loads(json.dumps(figures)))


def test_a_batch_without_a_date_has_that_of_the_one_before(tmp_path: Path) -> None:
    content = json.loads(json.dumps(BEAM))
    del content[0]["chat"][1]["turns"][0][0]["time_anchor"]
    (found,) = read([write(tmp_path, "beam.json", content)])
    assert found.sittings[1].at == found.sittings[0].at


def test_a_file_without_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no question to ask"):
        run([write(tmp_path, "beam.json", [])], Ways())


@pytest.mark.parametrize(
    ("chat", "says"),
    [
        ([], "holds no batches"),
        ([{"batch_number": 1, "turns": []}], "has no time_anchor"),
        ([{"batch_number": 1, "turns": [], "time_anchor": "soon"}], "batch 1"),
        ([{"turns": []}], "no BEAM file: at 0.chat.0.batch_number"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_name_and_place(tmp_path: Path, chat: object, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        read([write(tmp_path, "odd.json", [{"id": 1, "chat": chat, "probing_questions": {}}])])
    assert "odd.json" in str(refused.value)
