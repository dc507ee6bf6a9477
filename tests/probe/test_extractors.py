"""Comparison of extractors on labelled transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from pathlib import Path

import pytest

from holdfast.admit.extract import Candidate
from holdfast.errors import InputError, ModelUnavailable
from holdfast.model import Kind, Provenance, Turn
from holdfast.probe.extractors import LabelledTurn, compare, open_extractor, read_labelled, read_labelled_file
from holdfast.settings import Settings
from holdfast.testing import ScriptedChat

TALK: list[dict[str, object]] = [
    {"session": "a", "role": "assistant", "content": "Hello! What is new?"},
    {
        "session": "a",
        "role": "user",
        "content": "My sister Anna moved to Ghent in May. Thanks!",
        "facts": ["Anna moved to Ghent"],
    },
    {"session": "a", "role": "user", "content": "Can you open the file?", "facts": []},
    {
        "session": "b",
        "role": "user",
        "content": "The clinic is at 14 Quay Street.",
        "facts": ["The clinic is at 14 Quay Street"],
    },
    {"session": "b", "role": "user", "content": "hm, let me see"},
]


class Repeating:
    """Proposes every turn unchanged, or the entry of a table for its text."""

    def __init__(self, table: dict[str, str] | None = None) -> None:
        self._table = table

    def extract(self, turn: Turn, before: Sequence[Turn]) -> list[Candidate]:
        text = turn.text if self._table is None else self._table.get(turn.text, "")
        return [Candidate(text, Kind.FACT, 0.9, Provenance.USER_STATED, (turn.id,))] if text else []


class Failing:
    def extract(self, turn: Turn, before: Sequence[Turn]) -> list[Candidate]:
        raise ModelUnavailable("down")


@pytest.fixture
def talk() -> list[LabelledTurn]:
    return read_labelled(TALK)


def test_a_transcript_gives_labelled_turns_with_context(talk: list[LabelledTurn]) -> None:
    assert [one.facts for one in talk] == [("Anna moved to Ghent",), (), ("The clinic is at 14 Quay Street",)]
    assert [turn.text for turn in talk[0].before] == ["Hello! What is new?"]
    assert talk[2].before == ()


@pytest.mark.requirement("EVAL-2")
def test_facts_and_empty_results_are_compared_per_turn(talk: list[LabelledTurn]) -> None:
    careful = Repeating({"My sister Anna moved to Ghent in May. Thanks!": "My sister Anna moved to Ghent in May."})
    found = compare(("all", Repeating()), ("careful", careful), talk)
    assert (found.turns, found.facts) == (3, 2)
    assert (found.first.found, found.first.recall, found.first.precision, found.first.silent) == (2, 1.0, 0.6667, 0)
    assert (found.second.found, found.second.recall, found.second.precision, found.second.silent) == (1, 0.5, 1.0, 1)
    assert (found.facts_found.only_first, found.facts_found.only_second, found.facts_found.p) == (1, 0, 1.0)
    assert (found.kept_silent.only_first, found.kept_silent.only_second) == (0, 1)
    assert found.f1_change[0] <= round(found.second.f1 - found.first.f1, 4) <= found.f1_change[1]


@pytest.mark.requirement("EVAL-2")
def test_another_number_is_another_fact(talk: list[LabelledTurn]) -> None:
    other = Repeating({"The clinic is at 14 Quay Street.": "The clinic is at 41 Quay Street."})
    assert compare(("other", other), ("all", Repeating()), talk).first.found == 0


@pytest.mark.requirement("EVAL-2")
def test_a_clear_difference_is_significant() -> None:
    talk = read_labelled(
        [
            {"role": "user", "content": f"My lantern {number} is green.", "facts": [f"lantern {number} green"]}
            for number in range(12)
        ]
    )
    found = compare(("none", Repeating({})), ("all", Repeating()), talk)
    assert (found.facts_found.only_second, found.facts_found.p) == (12, 0.0005)
    assert found.f1_change == (1.0, 1.0)
    same = compare(("all", Repeating()), ("all again", Repeating()), talk)
    assert (same.facts_found.p, same.f1_change) == (1.0, (0.0, 0.0))


@pytest.mark.requirement("EVAL-2", "INV-5")
def test_failures_of_a_model_are_counted(talk: list[LabelledTurn]) -> None:
    found = compare(("down", Failing()), ("all", Repeating()), talk)
    assert (found.first.failed, found.first.found, found.second.failed) == (3, 0, 0)


@pytest.mark.requirement("EVAL-2")
def test_extractors_are_opened_by_spec(talk: list[LabelledTurn]) -> None:
    with ScriptedChat(repeat('{"candidates": []}')) as server:
        settings = Settings()
        spec = f"{server.url}#small"
        first, second = open_extractor(spec, settings), open_extractor(f"{spec}@exclusions-0", settings)
        found = compare(first, second, talk)
        prompts = [str(request.body["messages"]) for request in server.requests]
    assert (found.first.name, found.second.name) == (spec, f"{spec}@exclusions-0")
    assert len(prompts) == 6 and prompts[0] != prompts[1]
    assert compare(open_extractor("rules", settings), second, talk[2:3]).first.found == 1
    for wrong in ("none", "rules@nothing", "nonsense"):
        with pytest.raises(InputError):
            open_extractor(wrong, settings)


@pytest.mark.requirement("EVAL-2")
def test_a_transcript_without_labels_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text('{"role": "user", "content": "hello"}\n')
    with pytest.raises(InputError, match='no user turn has "facts"'):
        read_labelled_file(path)
    path.write_text('{"role": "user", "content": "hello", "facts": "x"}\nno\n')
    with pytest.raises(InputError, match=r'talk.jsonl:1: "facts" must be a list of texts; talk.jsonl:2: not a JSON'):
        read_labelled_file(path)
