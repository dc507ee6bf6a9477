"""The second opinion: what reads like a rule without a word that makes it one, and remarks that patterns mistake."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

from holdfast.compact.deontic import Modality, is_rule, norms, reader_of
from holdfast.compact.deontic_learned import opinions
from holdfast.compact.deontic_manner import kinds

pytestmark = pytest.mark.requirement("COMP-9")

ROOT = Path(__file__).parents[2]
LESSONS = [json.loads(line) for line in (ROOT / "training/deontic.jsonl").read_text(encoding="utf-8").splitlines()]
OWN = [
    json.loads(line) for line in (ROOT / "tests/compact/data/deontic.jsonl").read_text(encoding="utf-8").splitlines()
]


def _table() -> str:
    return resources.files("holdfast.compact").joinpath("deontic.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "said",
    [
        "Trainees shadow a nurse for two weeks.",
        "Close the report with a list of open points.",
        "Visitors leave their bags at the desk.",
        "Suppliers deliver before seven.",
    ],
)
def test_a_plain_fact_or_order_that_reads_like_a_rule_is_one_and_says_how_likely(said: str) -> None:
    assert reader_of(said) == ""  # no pattern finds it
    found = is_rule(said)
    assert found is not None
    assert found.text == said
    assert found.cue.startswith("reads like a rule (p .")


@pytest.mark.parametrize(
    "said",
    [
        "The neighbours grow tomatoes.",
        "Trainees from three schools came to the party yesterday.",
        "I left my bag at the desk.",
        "Kinder essen um sechs.",
        "Die Schuhe bleiben im Flur.",
        "INFO server started on port 8080",
    ],
)
def test_stories_plain_facts_other_languages_and_code_are_none(said: str) -> None:
    assert is_rule(said) is None


def test_a_remark_that_a_pattern_takes_for_a_rule_is_dropped() -> None:
    for said in ("We never were.", "Well, I'd rather you told her yourself."):
        assert reader_of(said)
        assert norms(said) == []


def test_what_is_asked_or_reported_gets_no_second_opinion() -> None:
    assert reader_of("Do trainees shadow a nurse for two weeks?") is None
    assert is_rule("My boss says trainees shadow a nurse for two weeks.") is None


def test_a_rule_that_reads_like_one_has_its_kind_from_its_words() -> None:
    found = is_rule("Suppliers do not park in the yard.")
    assert found is not None
    assert found.modality is Modality.PROHIBITION


def test_an_opinion_does_not_depend_on_the_sentences_beside_it() -> None:
    asked = [(row["text"], reader) for row in LESSONS[:200] if (reader := reader_of(row["text"])) is not None]
    together = opinions(asked)
    assert together == [opinions([one])[0] for one in asked]


def test_a_sentence_is_read_by_the_kinds_of_its_words() -> None:
    assert kinds("Trainees shadow a nurse.") == ["plural", "verb", "a", "party"]
    assert kinds("Air the room.")[0] == "verb"
    assert kinds("…") == kinds("") == []


def test_the_table_is_small_and_belongs_to_the_sentences_it_was_learned_from() -> None:
    table = json.loads(_table())
    assert len(_table()) < 60_000
    learned = [*LESSONS, *(row for row in OWN if row["part"] in ("development", "rounds"))]
    assert table["rules"] == sum(row["norm"] is not None for row in learned), "run training/deontic.py"


def test_nothing_that_judges_was_learned_from() -> None:
    lessons = {row["text"].lower() for row in LESSONS}
    assert len(lessons) == len(LESSONS) >= 500
    assert lessons.isdisjoint(row["text"].lower() for row in OWN)
    assert sum(row["part"] == "verdict" for row in OWN) >= 200
