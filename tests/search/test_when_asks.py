"""What a question asks besides a time: events to anchor on, sides, the recent, the order, its parts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.search.question import read_question
from holdfast.search.when import BEGINNING, Intent

SUNDAY = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "relation", "words"),
    [
        ("Where did I live before the move?", "before", "the move"),
        ("What car did I drive after I started at Acme?", "after", "I started at Acme"),
        ("How have I slept since my surgery?", "since", "my surgery"),
        ("Who looked after the flat until the sale?", "until", "the sale"),
        ("What did I eat when I was in Lisbon?", "during", "I was in Lisbon"),
        ("When I was in Lisbon, what did I eat?", "during", "I was in Lisbon"),
        ("After the move, where did I work?", "after", "the move"),
        ("What broke during the storm?", "during", "the storm"),
        ("Who fed the cat while we were away in Porto?", "during", "we were away in Porto"),
        ("What did I do right after the exam?", "after", "the exam"),
        ("What was my plan prior to the merger?", "before", "the merger"),
        ("What did I cook once my parents arrived?", "after", "my parents arrived"),
        ("How many talks did I give before the 'Deep Sea' conference?", "before", "the 'Deep Sea' conference"),
        ("How many days before my birthday did I order the cake?", "before", "my birthday"),
        ("Which town was Ada in before flying to Oslo?", "before", "flying to Oslo"),
    ],
)
def test_an_event_that_tells_the_time_is_found(question: str, relation: str, words: str) -> None:
    (anchor,) = read_question(question, SUNDAY).anchors
    assert (anchor.relation, anchor.words) == (relation, words)


@pytest.mark.parametrize(
    "question",
    ["Who looked after the cat?", "What came before that?", "When did I move?", "When Ana has moved?", "Since when?",
     "Who is Ben named after?", "What did I do after all?", "How should I stir when cooking rice?",
     "Was it before or after?", "What happened before May?", "After how many weeks did Ben call?"],
)  # fmt: skip
def test_what_tells_no_time_by_an_event_has_no_anchor(question: str) -> None:
    assert read_question(question, SUNDAY).anchors == ()


def test_an_anchor_becomes_a_window_once_its_event_is_found() -> None:
    move, day = datetime(2026, 3, 1, tzinfo=UTC), timedelta(days=1)

    def window(question: str) -> tuple[datetime, datetime]:
        (anchor,) = read_question(question, SUNDAY).anchors
        found = anchor.window(move, SUNDAY)
        return found.start, found.end

    assert window("Where did I live before the move?") == (BEGINNING, move + day)
    assert window("Where did I work after the move?") == (move, SUNDAY + day)
    assert window("Who stayed the week after the move?") == (move, move + 8 * day)
    assert window("Who stayed the day before the move?") == (move - day, move + day)
    start, end = window("Who stayed two weeks after the move?")
    assert start < move + 14 * day < end
    assert end - start <= 7 * day
    start, end = window("Who helped during the move?")
    assert start < move < end


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("Which came first, the move or the wedding?", ("the move", "the wedding")),
        ("What happened first, the flood or the fire?", ("the flood", "the fire")),
        ("Which did I buy first: the bike, or the car?", ("the bike", "the car")),
        ("Which pet did I get first in May, the cat or the dog?", ("the cat", "the dog")),
        ("Which book did I end last, 'War or Peace' or 'Emma'?", ("'War or Peace'", "'Emma'")),
        ("Who did I meet more recently, Ada or Ben?", ("Ada", "Ben")),
        ("Did I get the cat or the dog first?", ("I get the cat", "the dog")),
        ("The flat or the car: which was more recent?", ("The flat", "the car")),
        ("Who finished first among Ada, Ben and Cleo?", ("Ada", "Ben", "Cleo")),
        ("Which of the bike and the car did I buy first?", ("the bike", "the car")),
        ("Between the bike and the car, which did I sell?", ("the bike", "the car")),
        ("Did I buy the bike before or after the trip?", ("I buy the bike", "the trip")),
        ("Was the flood before or after the fire?", ("the flood", "the fire")),
        ("Did I meet Anna before the trip?", ("I meet Anna", "the trip")),
        ("How many days between the exam and the party?", ("the exam", "the party")),
        ("How many weeks passed between the day I left Rome and the day I came to Oslo?",
         ("I left Rome", "I came to Oslo")),
        ("How many days were there between bread and butter week and the fair?", ("bread and butter week", "the fair")),
        ("What was the time between when I fell and when I saw a doctor?", ("I fell", "I saw a doctor")),
        ("How long after the surgery did I start running?", ("the surgery", "I start running")),
        ("How many months before the wedding did Ada move?", ("the wedding", "Ada move")),
        ("How many days before the exam I was dreading did I call Ben?", ("the exam I was dreading", "I call Ben")),
        ("How long had I been learning Greek when I met Nikos?", ("learning Greek", "I met Nikos")),
        ("How many days had passed since I sowed the peas when they came up?", ("I sowed the peas", "they came up")),
        ("How many days did it take for the sofa to arrive after I paid?", ("the sofa to arrive", "I paid")),
        ("What is the order of these: 'I sold the car', 'I met Ana' and 'I moved'?",
         ("'I sold the car'", "'I met Ana'", "'I moved'")),
    ],
)  # fmt: skip
def test_both_events_of_a_comparison_are_read(question: str, sides: tuple[str, ...]) -> None:
    assert read_question(question, SUNDAY).sides == sides


def test_a_side_that_says_only_it_takes_along_what_it_is() -> None:
    asked = read_question("How many days did it take for my new desk to arrive after I ordered it?", SUNDAY)
    assert asked.sides == ("my new desk to arrive", "I ordered it (my new desk to arrive)")


def test_a_time_inside_a_side_is_the_sides_own() -> None:
    asked = read_question("Which came first, the trip in May or the fair?", SUNDAY)
    assert asked.windows == ()
    assert [window.phrase for window in read_question(asked.sides[0], SUNDAY).windows] == ["in May"]


@pytest.mark.parametrize(
    "question",
    ["What did I buy first?", "Is it red or blue?", "Which bus goes between Bern and Thun?", "Did I eat?", "Or what?",
     "Do I usually feel tired after lunch?", "How long is the bridge?"],
)  # fmt: skip
def test_what_compares_no_events_has_no_sides(question: str) -> None:
    assert read_question(question, SUNDAY).sides == ()


@pytest.mark.requirement("RECALL-7")
@pytest.mark.parametrize(
    "question",
    ["What did we talk about lately?", "What's new?", "Summarise our last conversations", "What did I say yesterday?",
     "What did we discuss last week?", "Where did we leave off?", "What have I been up to this year?", "Catch me up!",
     "What was the last thing I told you?", "What did we chat about recently?", "What did I do on 3 June?",
     "Give me a recap of our recent sessions"],
)  # fmt: skip
def test_a_question_for_recent_talk_is_recognised(question: str) -> None:
    assert read_question(question, SUNDAY).intent is Intent.RECENT


@pytest.mark.requirement("RECALL-8")
@pytest.mark.parametrize(
    "question",
    ["Summarize the key themes across my recent conversations", "summarize our conversations",
     "What do I talk to you about most?", "Which topics do I keep coming back to?"],
)  # fmt: skip
def test_a_question_for_themes_is_recognised(question: str) -> None:
    assert read_question(question, SUNDAY).intent is Intent.THEMES


@pytest.mark.requirement("RECALL-8")
@pytest.mark.parametrize(
    "question",
    ["Summarize how the kitchen renovation went", "In what order did I visit the cities?",
     "How many times did I go swimming in total?", "List all the restaurants that I liked",
     "What did we decide about the new boiler?"],
)  # fmt: skip
def test_a_question_about_many_things_is_recognised(question: str) -> None:
    assert read_question(question, SUNDAY).intent is Intent.GATHER


@pytest.mark.parametrize(
    "question",
    ["Who is my dentist?", "What did I buy last week?", "What am I doing next Friday?", "What is my last name?", "",
     "Which came first, the talk or the chat?", "In our last chat you named a plumber, who was it?",
     "What is my most recent blood pressure?", "What is the theme of the party?", "How many children do I have?",
     "Summarize this article for me", "我昨天说了什么", "summarize " * 100,
     "message", "said", "hello", "chat with Ben", "What has John been up to recently?"],
)  # fmt: skip
def test_other_questions_are_ordinary(question: str) -> None:
    assert read_question(question, SUNDAY).intent is Intent.ORDINARY


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What did Anna and Ben each cook?", ("What did Anna cook?", "What did Ben cook?")),
        ("Which town have both Anna and Ben seen?", ("Which town have Anna seen?", "Which town have Ben seen?")),
        ("Who is Anna and Ben's vet?", ("Who is Anna's vet?", "Who is Ben's vet?")),
        ("Where does my sister live and what does she do?", ("Where does my sister live?", "what does my sister do?")),
        (
            "Did I order both the red lamp and the blue chair?",
            ("Did I order the red lamp?", "Did I order the blue chair?"),
        ),
        ("Where do I work? And who is my boss?", ("Where do I work?", "who is my boss?")),
        ("Where do I bank and did I change it?", ("Where do I bank?", "did I change it?")),
        ("What did Anna and Ben cook together?", ()),
        ("What do I like and why?", ()),
        ("Where is the salt and pepper mill?", ()),
        ("What is my name?", ()),
    ],
)
def test_a_question_of_several_parts_is_split(question: str, parts: tuple[str, ...]) -> None:
    assert read_question(question, SUNDAY).parts == parts
