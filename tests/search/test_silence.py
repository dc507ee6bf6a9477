"""When search answers with nothing, and when it must not; and what the first hits say for others like them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from holdfast.memory import Memory
from holdfast.models.embedder import THRESHOLDS, StaticEmbedder
from holdfast.search.question import Ranking
from holdfast.search.search import evidence, floor_among
from holdfast.testing import FixedClock
from tests.support.memories import QUICK, OpenMemory

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
TALK = [
    "The shop on the corner repairs old radios, I left mine there on Monday.",
    "My daughter Mila has her recorder lesson on Tuesdays at four.",
    "We had to call the roofer, two tiles came down in the storm.",
    "I swim forty lengths before work, the pool opens at six.",
    "The allotment society raised its yearly fee to 85 euros.",
    "For the office party I bake the walnut cake of my aunt Renate.",
    "The ferry to the island leaves from pier nine.",
    "I lent the hedge trimmer to Mr Sandoval.",
    "Our cat Pixel refuses anything but tuna.",
    "The accountant wants all receipts by the end of March.",
    "I dropped my phone in the canal and had to buy a new one.",
    "My knee hurts since the hike on Sunday.",
]


@pytest.fixture
def memory(open_memory: OpenMemory, static_embedder: StaticEmbedder) -> Memory:
    opened = open_memory(embedder=static_embedder, clock=FixedClock(NOW))
    for day, text in enumerate(TALK):
        opened.ingest(text, at=NOW - timedelta(days=60 - 4 * day), session=f"day {day}")
    opened.flush()
    return opened


@pytest.mark.requirement("RECALL-10")
@pytest.mark.parametrize(
    "question",
    ["Which compiler flags does the kernel need?", "Who won the chess olympiad?", "What is the boiling point of neon?"],
)
def test_a_question_far_off_is_answered_with_nothing(memory: Memory, question: str) -> None:
    assert memory.search(question) == []


@pytest.mark.requirement("RECALL-10")
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When does my daughter have music class?", "recorder"),
        ("What does our pet eat?", "tuna"),
        ("Where does the boat depart?", "pier nine"),
        ("Who has the hedge trimmer?", "Sandoval"),
    ],
)
def test_a_question_in_other_words_is_not(memory: Memory, question: str, answer: str) -> None:
    assert answer in memory.search(question)[0].text


@pytest.mark.requirement("RECALL-10", "RECALL-7")
def test_what_was_said_in_the_time_asked_for_holds_the_words_that_name_it(memory: Memory) -> None:
    """Nobody says "in April" in April, and hardly a word of the question stands in the answer."""
    hits = memory.search("What happened in April 2026?")
    assert hits and hits[0].at.month == 4


@pytest.mark.requirement("RECALL-10")
def test_the_receipt_says_that_nothing_was_close_enough(memory: Memory) -> None:
    receipt = memory.search("Which compiler flags does the kernel need?").receipt
    assert "nothing is close enough" in receipt.reason
    assert next(stage.count for stage in receipt.stages if stage.name == "floor") == 0


@pytest.mark.requirement("RECALL-10")
def test_a_crowd_is_asked_for_more_and_words_and_meaning_add_up() -> None:
    settings = Ranking()
    assert floor_among(20, settings) < floor_among(2000, settings) < floor_among(200_000, settings) < 1.0
    shares, cosines = np.array([0.0, 0.2, 0.0], np.float32), np.array([0.2, 0.2, 0.35], np.float32)
    plain, worded, nearer = evidence(shares, cosines, THRESHOLDS, settings).tolist()
    assert plain == pytest.approx(0.0, abs=1e-6)
    assert worded == pytest.approx(0.2) and nearer == pytest.approx(settings.floor_meaning)


ALLERGY = [
    "My allergy got worse: pollen makes my eyes itch.",
    "The allergy test was positive for birch pollen.",
    "Against the allergy I take a nasal spray for the pollen.",
]
LIKE = "Birch and grass pollen make my eyes itch all spring."


@pytest.mark.requirement("RECALL-1")
def test_what_says_something_like_the_first_hits_is_raised(
    open_memory: OpenMemory, static_embedder: StaticEmbedder
) -> None:
    """Three turns hold the question's word; a fourth says the like in other words."""
    scores = []
    for echo in (0.0, 0.3):
        settings = replace(QUICK, recall=Ranking(echo=echo))
        opened = open_memory(f"echo {echo}", embedder=static_embedder, clock=FixedClock(NOW), settings=settings)
        for day, text in enumerate([*TALK, *ALLERGY, LIKE]):
            opened.ingest(text, at=NOW - timedelta(days=60 - day), session=f"day {day}")
        opened.flush()
        hits = opened.search("what about my allergy?", kind="turn", limit=50)
        assert {hit.text for hit in hits[:4]} == {*ALLERGY, LIKE}
        scores += [hit.score for hit in hits if hit.text == LIKE]
    without, with_echo = scores
    assert with_echo > without + 0.1
