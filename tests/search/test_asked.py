"""What a question asks for besides its words: the recent, a time, an event, two sides, a speaker, the assistant."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.memory import Memory
from holdfast.models.embedder import StaticEmbedder
from holdfast.settings import RecallSettings
from holdfast.testing import FixedClock
from tests.support.memories import QUICK, OpenMemory

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
TALK = [
    "The gutters need cleaning before autumn.",
    "I tried the new bakery on Quay Street.",
    "The neighbours have got a second dog.",
    "My bike chain keeps slipping on the hills.",
    "We watched an old film about a lighthouse keeper.",
    "The printer at work is out of toner again.",
    "I planted beans and two rows of leeks.",
    "The choir meets in the old school now.",
]


@pytest.fixture
def memory(open_memory: OpenMemory, static_embedder: StaticEmbedder) -> Memory:
    """A hundred days of small talk, one turn a day, and asked on the last."""
    opened = open_memory(embedder=static_embedder, clock=FixedClock(NOW))
    for day in range(100):
        opened.ingest(f"{TALK[day % len(TALK)]} Day {day}.", at=NOW - timedelta(days=100 - day), session=f"day {day}")
    return opened


@pytest.mark.requirement("RECALL-7")
def test_a_question_for_the_recent_as_such_is_answered_by_the_newest_turns(memory: Memory) -> None:
    memory.flush()
    hits = memory.search("What did we talk about lately?", limit=3)
    assert [hit.id for hit in hits] == [turn.id for turn in memory.recent(3)]
    assert "recent" in hits.receipt.reason


@pytest.mark.requirement("RECALL-7")
def test_with_a_topic_the_topic_decides_and_not_the_date(memory: Memory) -> None:
    memory.flush()
    assert all("bakery" in hit.text for hit in memory.search("What did I say lately about the bakery?", limit=3))


@pytest.mark.requirement("RECALL-7")
def test_of_turns_alike_those_said_in_the_time_asked_for_come_first(memory: Memory) -> None:
    memory.flush()
    hits = memory.search("What did I say about my bike chain in the last two weeks?", limit=2)
    assert all("bike" in hit.text for hit in hits)
    assert hits[0].at >= NOW - timedelta(days=15)
    hits = memory.search("What did I say about my bike chain in April?", limit=2)
    assert hits[0].at.month == 4 and "bike" in hits[0].text


@pytest.mark.requirement("RECALL-7")
def test_a_time_defined_by_an_event_is_looked_up(memory: Memory) -> None:
    memory.ingest("Today was our wedding, at the town hall.", at=NOW - timedelta(days=50), session="wedding")
    memory.flush()
    hits = memory.search("What did I say about the choir right after the wedding?")
    first = next(hit for hit in hits if "choir" in hit.text)
    assert NOW - timedelta(days=51) <= first.at


@pytest.mark.requirement("RECALL-7")
def test_both_sides_of_a_comparison_are_fetched(memory: Memory) -> None:
    memory.ingest("I sold the red kayak to Tom.", at=NOW - timedelta(days=70), session="kayak")
    memory.ingest("My piano exam went well, grade five.", at=NOW - timedelta(days=20), session="piano")
    memory.flush()
    hits = memory.search("Which came first, selling the kayak or the piano exam?", limit=2, kind="turn")
    assert {hit.session for hit in hits} == {"kayak", "piano"}


@pytest.mark.requirement("RECALL-2")
def test_the_users_words_come_first_unless_the_assistants_are_asked_for(memory: Memory) -> None:
    memory.ingest("For the ferry I recommend the morning crossing to Inis Mor.", role="assistant", session="ferry")
    memory.ingest("I want to take the ferry, the crossing to Inis Mor.", session="ferry")
    memory.flush()
    assert memory.search("the ferry crossing to Inis Mor", kind="turn")[0].role == "user"
    assert memory.search("Which ferry crossing to Inis Mor did you recommend?", kind="turn")[0].role == "assistant"


@pytest.mark.requirement("RECALL-1")
def test_the_speaker_whom_a_question_names_is_preferred(memory: Memory) -> None:
    for name in ("Ruth", "Omar"):
        memory.ingest("I keep bees behind the shed.", session="two", metadata={"speaker": name})
    memory.flush()
    hits = memory.search("What does Omar keep behind the shed?", limit=2, kind="turn")
    said = {turn.id: turn.metadata["speaker"] for turn in memory.thread("two")}
    assert said[hits[0].id] == "Omar"


@pytest.mark.requirement("RECALL-4")
def test_a_fact_half_a_year_old_beats_irrelevant_fresh_text(memory: Memory) -> None:
    memory.ingest("My blood type is AB negative.", at=NOW - timedelta(days=180), session="old")
    memory.flush()
    assert "AB negative" in memory.search("what is my blood type?")[0].text


@pytest.mark.requirement("RECALL-3", "RECALL-4")
def test_the_seeds_formula_can_be_chosen_and_its_scores_lie_between_0_and_1(
    open_memory: OpenMemory, static_embedder: StaticEmbedder
) -> None:
    settings = replace(QUICK, recall=RecallSettings(ranker="seed"))
    opened = open_memory(embedder=static_embedder, clock=FixedClock(NOW), settings=settings)
    assert opened.search("blood type") == []
    opened.ingest("My blood type is AB negative.", at=NOW - timedelta(days=180))
    for text in TALK:
        opened.ingest(text, at=NOW)
    opened.flush()
    hits = opened.search("what is my blood type?")
    assert "AB negative" in hits[0].text
    assert all(0.0 <= hit.score <= 1.0 for hit in hits)
    assert opened.search("") == []


@pytest.mark.requirement("RECALL-1", "INV-4")
def test_global_is_read_by_everyone_and_says_so(open_memory: OpenMemory, static_embedder: StaticEmbedder) -> None:
    everyone = open_memory("global", embedder=static_embedder)
    everyone.remember("The office closes at six on Fridays.")
    everyone.flush()
    ana, ben = open_memory("ana", embedder=static_embedder), open_memory("ben", embedder=static_embedder)
    ben.ingest("The office cat is called Biscuit.")
    for one in (ana, ben):
        one.flush()
        (hit,) = [hit for hit in one.search("when does the office close?") if "six" in hit.text]
        assert hit.namespace == "global"
    assert not any("Biscuit" in hit.text for hit in ana.search("what is the office cat called?"))
    assert not any("Biscuit" in hit.text for hit in everyone.search("what is the office cat called?"))


@pytest.mark.requirement("RECALL-10")
def test_what_holds_now_comes_before_what_it_replaced(memory: Memory) -> None:
    memory.ingest("The API of our shop runs on port 8080.", at=NOW - timedelta(days=30), session="a")
    memory.ingest("The API of our shop runs on port 9090.", at=NOW - timedelta(days=10), session="b")
    memory.flush()
    hits = memory.search("which port does the API of our shop run on?", limit=4)
    assert "9090" in hits[0].text
    old = [hit for hit in hits if "8080" in hit.text]
    assert all(hit.outdated_by is not None for hit in old)
    assert "8080" in memory.search("what ran on port 8080?")[0].text  # who names the old value asks for it


@pytest.mark.requirement("RECALL-10")
@pytest.mark.parametrize("question", ["kubernetes helm chart values", "quantum chromodynamics lecture", "zzyzx"])
def test_nothing_relevant_is_an_empty_answer(memory: Memory, question: str) -> None:
    memory.flush()
    hits = memory.search(question)
    assert hits == [] and "nothing" in hits.receipt.reason


def test_the_very_words_of_a_turn_find_it_first(memory: Memory) -> None:
    memory.flush()
    for turn in memory.recent(40):
        assert memory.search(turn.text, kind="turn")[0].text == turn.text
