"""The value guard: what may differ between two wordings of one claim, and what may not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.admit.merge import Likeness, compare
from holdfast.admit.values import WordKind, read
from holdfast.text.vocabulary import lemma
from tests.support.pace import slowness

SAME = [
    ("I live in Porto.", "i live in porto"),
    ("I've got two dogs.", "I have 2 dogs."),
    ("I'm really very tired of this job.", "I am tired of this job."),
    ("Please always reply in German.", "Always reply in German."),
    ("My mum doesn't eat fish.", "My mother does not eat fish."),
    ("I like my new flat.", "I really like my new apartment."),
    ("The course was 1,200 pounds.", "The course was twelve hundred pounds."),
    ("We budgeted 15k.", "We budgeted fifteen thousand."),
    ("The call is at 9:30 pm.", "The call is at 21:30."),
    ("The call is at half past nine.", "The call is at 9:30."),
    ("I am 1.80 m tall.", "I'm 180 cm tall."),
    ("The trip is on 4 May.", "The trip is on the fourth of May."),
    ("In January I broke my wrist.", "I broke my wrist in January."),
    ("Imre is my best friend.", "My best friend is Imre."),
    ("A man is feeding a cat.", "A cat is being fed by a man."),
    ("I have a boy and a girl.", "I have a girl and a boy."),
    ("We keep a dog which is black.", "We keep a black dog."),
    ("My dog's name is Rex.", "The name of my dog is Rex."),
    ("She prefers the colour grey.", "She prefers the color gray."),
]

DIFFERENT = [
    ("number", "My rent is 800 euros.", "My rent is 900 euros."),
    ("unit", "The disk has 50 GB.", "The disk has 50 TB."),
    ("currency", "It costs 20 dollars.", "It costs 20 euros."),
    ("time", "The shop opens at 8.", "The shop opens at 9."),
    ("weekday", "The party is on Friday.", "The party is on Saturday."),
    ("month", "We fly in June.", "We fly in July."),
    ("name", "My boss is Henrik.", "My boss is Hendrik."),
    ("place", "I was born in London.", "I was born in Paris."),
    ("negation", "I eat meat.", "I don't eat meat."),
    ("no longer", "I live in Rome.", "I no longer live in Rome."),
    ("without", "I take tea with sugar.", "I take tea without sugar."),
    ("modality", "I will move to Oslo.", "I might move to Oslo."),
    ("wish", "I own a boat.", "I want to own a boat."),
    ("tense", "I live in Porto.", "I lived in Porto."),
    ("used to", "I live in Porto.", "I used to live in Porto."),
    ("condition", "I take the bus.", "I take the bus if it rains."),
    ("quantifier", "Some tests pass.", "All tests pass."),
    ("approximation", "We have 30 users.", "We have about 30 users."),
    ("antonym", "The window is open.", "The window is closed."),
    ("gender", "The man sings.", "The woman sings."),
    ("person", "I use Vim.", "You use Vim."),
    ("whose", "My car is red.", "Your car is red."),
    ("before and after", "Take it before meals.", "Take it after meals."),
    ("direction", "We drove from Rome to Pisa.", "We drove from Pisa to Rome."),
    ("roles", "The dog bit the man.", "The man bit the dog."),
    ("side", "My left knee hurts.", "My right knee hurts."),
    ("on and in", "The key is on the box.", "The key is in the box."),
    ("other head", "I own a bike.", "I own a bike shop."),
    ("other owner", "My dog is old.", "My mother's dog is old."),
    ("narrowed", "I hate cheese.", "I hate blue cheese."),
    ("version", "We are on Postgres 13.", "We are on Postgres 16."),
    ("language", "We write it in C.", "We write it in C++."),
    ("sign", "The limit is 5 degrees.", "The limit is -5 degrees."),
    ("identifier", "Staging is at a-1.internal:80.", "Staging is at a-2.internal:80."),
    ("emoji", "Lunch was 👍", "Lunch was 👎"),
    ("question", "You like jazz.", "You like jazz?"),
    ("script", "我住在北京", "我住在上海"),
    ("may is no month", "It may rain in May.", "It may rain in June."),
]


@pytest.mark.requirement("MERGE-3")
@pytest.mark.parametrize(("first", "second"), SAME)
def test_two_wordings_of_one_claim_are_the_same(first: str, second: str) -> None:
    assert compare(first, second).likeness is Likeness.SAME
    assert compare(second, first).likeness is Likeness.SAME


@pytest.mark.requirement("MERGE-3")
@pytest.mark.parametrize(("matter", "first", "second"), DIFFERENT)
def test_texts_that_differ_in_something_that_decides_never_merge(matter: str, first: str, second: str) -> None:
    for one, other in ((first, second), (second, first)):
        found = compare(one, other)
        assert found.likeness is Likeness.DIFFERENT, matter
        assert found.reason


@pytest.mark.requirement("MERGE-3")
def test_the_reason_names_the_words_that_differ() -> None:
    assert compare("My rent is 800 euros.", "My rent is 900 euros.").reason == (
        "they differ in a number: '800 euros' and '900 euros'"
    )


@pytest.mark.requirement("MERGE-3")
def test_the_more_specific_text_holds_the_other_when_it_only_describes() -> None:
    assert compare("A young child rides a horse.", "A child rides a horse.").likeness is Likeness.MORE
    assert compare("A child rides a horse.", "A young child rides a horse.").likeness is Likeness.LESS


@pytest.mark.requirement("MERGE-3")
@pytest.mark.parametrize(
    "longer",
    [
        "We have a garden in Ghent.",
        "We have two garden.",
        "We have a garden, I think.",
        "We have no garden.",
        "We have a garden if it is dry.",
        "We have a garden and a shed and a pond.",
    ],
)
def test_what_adds_a_value_a_doubt_or_a_condition_is_not_just_more_specific(longer: str) -> None:
    assert compare(longer, "We have a garden.").likeness is Likeness.DIFFERENT


WORDS = st.lists(
    st.sampled_from(
        ["I", "live", "in", "Porto", "not", "two", "9", "May", "my", "sister", "and", "by", "the", "was", ","]
    ),
    min_size=1,
    max_size=9,
).map(" ".join)


@given(WORDS, WORDS)
def test_the_guard_does_not_depend_on_which_text_came_first(first: str, second: str) -> None:
    mirrored = {Likeness.MORE: Likeness.LESS, Likeness.LESS: Likeness.MORE}
    found = compare(first, second).likeness
    assert compare(second, first).likeness is mirrored.get(found, found)


@given(st.text(max_size=60).filter(str.strip))
def test_every_text_is_the_same_as_itself(text: str) -> None:
    assert compare(text, text).likeness is Likeness.SAME


@given(WORDS, st.sampled_from(["17", "Ghent", "not", "Monday", "might", "unless", "every"]))
@pytest.mark.requirement("MERGE-3")
def test_a_deciding_word_more_is_always_a_difference(text: str, word: str) -> None:
    if read(word).keys[0] not in read(text).keys:
        assert compare(f"{text} {word}", text).likeness is Likeness.DIFFERENT


@pytest.mark.parametrize(
    ("form", "base"),
    [
        ("lives", "live"), ("living", "live"), ("running", "run"), ("riding", "ride"), ("handled", "handle"),
        ("eating", "eat"), ("studies", "study"), ("boxes", "box"), ("houses", "house"), ("children", "child"),
        ("went", "go"), ("relocated", "relocate"), ("travelling", "travel"), ("calling", "call"), ("visited", "visit"),
        ("glass", "glass"), ("bus", "bus"), ("experience", "experience"), ("experiment", "experiment"),
    ],
)  # fmt: skip
def test_forms_of_a_word_share_one_base(form: str, base: str) -> None:
    assert lemma(form) == base


def test_a_reading_tells_what_kind_each_word_is() -> None:
    kinds = {word.said: word.kind for word in read("I might not fly to Oslo on Monday at 9:30 with 2 friends").words}
    assert kinds["might"] is WordKind.MODAL
    assert kinds["not"] is WordKind.NEGATION
    assert kinds["Oslo"] is WordKind.NAME
    assert kinds["Monday"] is WordKind.DATE
    assert kinds["9:30"] is WordKind.TIME
    assert kinds["2"] is WordKind.NUMBER


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "one ",
        "-",
        "a-",
        "'",
        "n't ",
        "9",
        "9,",
        "twenty ",
        "and ",
        "lived ",
        "live lived ",
        "by is ",
        " ",
        "👍",
        "字",
    ],
)
def test_a_hundred_kilobytes_are_compared_in_linear_time(unit: str) -> None:
    text = (unit * 100_000)[:100_000]
    started = time.process_time()
    compare(text, text[::-1] + " live")  # too long to compare: at once
    compare(text[:9_900], text[:9_900][::-1] + " live")
    read(text)
    assert time.process_time() - started < 5 * slowness()  # at most .9 s here; a quadratic step would take minutes
