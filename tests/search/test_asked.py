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
    hits = memory.search("What did I say about the choir right after the wedding?", kind="turn")
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


# --- Questions about the talk as such, and about many things


@pytest.mark.requirement("RECALL-8")
def test_a_question_for_themes_is_answered_by_turns_of_each_theme(memory: Memory) -> None:
    memory.flush()
    hits = memory.search("Summarize the key themes of our conversations", limit=6)
    assert hits.receipt.reason.startswith("asked for themes")
    assert len({TALK.index(hit.text.partition(" Day")[0]) for hit in hits}) >= 4, "not the same theme again and again"


@pytest.mark.requirement("RECALL-8")
def test_themes_of_a_time_come_from_that_time(memory: Memory) -> None:
    memory.flush()
    hits = memory.search("What were the main topics of our conversations in April?", limit=5)
    assert hits and {hit.at.month for hit in hits} == {4}


@pytest.mark.requirement("RECALL-8")
def test_recent_themes_come_from_the_last_thirty_days(memory: Memory) -> None:
    memory.flush()
    late = NOW - timedelta(days=30)
    for question in (
        "Summarize the key themes across my recent conversations",
        "Which topics do I keep coming back to lately?",
    ):
        hits = memory.search(question, limit=10)
        assert "themes" in hits.receipt.reason and hits and all(hit.at >= late for hit in hits), question
    hits = memory.search("Summarize the key themes across my conversations", limit=10)
    assert "themes" in hits.receipt.reason and any(hit.at < late for hit in hits), "all of them, where no time is named"


@pytest.mark.requirement("RECALL-8")
def test_where_too_little_was_said_for_a_theme_the_newest_turns_answer(open_memory: OpenMemory) -> None:
    memory = open_memory(clock=FixedClock(NOW))
    memory.ingest("The gutters need cleaning before autumn.")
    memory.ingest("My bike chain keeps slipping.")
    hits = memory.search("Summarize the key themes across my recent conversations")
    assert [hit.text for hit in hits] == ["My bike chain keeps slipping.", "The gutters need cleaning before autumn."]


@pytest.mark.requirement("RECALL-8")
def test_a_context_for_a_question_about_the_talk_shows_it(memory: Memory) -> None:
    memory.flush()
    for question in ("Summarize the key themes across my recent conversations", "What did we talk about lately?"):
        made = memory.context([{"role": "user", "content": question}], session="new", budget=400)
        shown = [one.text for one in made.receipt.items]
        assert len(shown) >= 5, question
    assert "Day 99" in made.text, "the newest"


@pytest.mark.requirement("RECALL-8")
def test_a_question_about_many_things_gathers_over_the_sessions(
    open_memory: OpenMemory, static_embedder: StaticEmbedder
) -> None:
    memory = open_memory(embedder=static_embedder, clock=FixedClock(NOW))
    for week in range(6):
        for number, said in enumerate(["is noisy", "leaks", "was bled", "needs a valve", "cost me an hour"]):
            at = NOW - timedelta(days=60 - 7 * week, minutes=10 - number)
            memory.ingest(f"The old boiler {said}, as of visit {week}.", at=at, session=f"week {week}")
            memory.ingest(f"{TALK[(week + number) % len(TALK)]}", at=at, session=f"week {week}")
    memory.flush()
    hits = memory.search("Summarize everything that happened with the boiler over time", limit=6)
    assert all("boiler" in hit.text for hit in hits)
    assert len({hit.session for hit in hits}) == 6
    assert any(stage.name == "gather" for stage in hits.receipt.stages)


@pytest.mark.requirement("RECALL-8")
def test_a_gathered_reply_that_was_forgotten_stays_away(
    open_memory: OpenMemory, static_embedder: StaticEmbedder
) -> None:
    memory = open_memory(embedder=static_embedder, clock=FixedClock(NOW))
    for week in range(4):
        memory.ingest(f"The boiler leaks again, visit {week}.", session=f"week {week}")
        reply = memory.ingest(f"Call the plumber about the boiler, {week}.", role="assistant", session=f"week {week}")
    memory.flush()
    assert reply is not None
    memory.forget(reply.id)
    hits = memory.search("Summarize everything that happened with the boiler over time")
    assert len(hits) >= 4 and reply.id not in {hit.id for hit in hits}


# --- Names


def _two_friends(memory: Memory) -> None:
    for number, (name, said) in enumerate(
        [
            ("Melanie", "I painted a lake at sunrise last year."),
            ("Caroline", "I went to a support group yesterday."),
            ("Melanie", "The kids and I made clay pots."),
            ("Caroline", "I bought running shoes in purple."),
            ("Melanie", "I bought running shoes in green."),
            *[("Caroline", f"{TALK[at % len(TALK)]} {at}") for at in range(10)],
            *[("Melanie", f"{TALK[at % len(TALK)]} {at}") for at in range(10)],
        ]
    ):
        memory.ingest(said, session="chat", metadata={"speaker": name}, at=NOW - timedelta(hours=40 - number))
    memory.flush()


@pytest.mark.requirement("RECALL-9")
@pytest.mark.parametrize("name", ["Melanie", "Mel", "Melaine", "Melanies", "Melani", "Melxnie"])
def test_a_short_or_misspelt_name_means_the_speaker(
    open_memory: OpenMemory, static_embedder: StaticEmbedder, name: str
) -> None:
    memory = open_memory(embedder=static_embedder, clock=FixedClock(NOW))
    _two_friends(memory)
    assert "green" in memory.search(f"Which running shoes did {name} buy?")[0].text
    assert "purple" in memory.search("Which running shoes did Caroline buy?")[0].text


@pytest.mark.requirement("RECALL-9")
def test_of_two_people_that_a_question_names_neither_is_preferred(
    open_memory: OpenMemory, static_embedder: StaticEmbedder
) -> None:
    memory = open_memory(embedder=static_embedder, clock=FixedClock(NOW))
    _two_friends(memory)
    memory.ingest("Caroline, Melanie, Caroline: hello, hello!", session="chat", metadata={"speaker": "Melanie"})
    memory.flush()
    hits = memory.search("Which running shoes do Caroline and Melanie have?", limit=2)
    assert {"purple" in hit.text or "green" in hit.text for hit in hits} == {True}, "no turn for the names in it"
    assert len({hit.speaker for hit in hits}) == 2


@pytest.mark.requirement("RECALL-7")
@pytest.mark.parametrize("day", ["19.04.2026", "19.4.26", "19/04/2026", "2026-04-19", "19 April", "April 19th"])
def test_a_day_in_a_question_may_be_written_in_any_way(memory: Memory, day: str) -> None:
    memory.flush()
    hits = memory.search(f"What did I say on {day}?")
    assert hits and {hit.at.date().isoformat() for hit in hits} == {"2026-04-19"}
