"""The reader: worth, rules, own words and relations, through its public functions."""

from __future__ import annotations

import pytest

from holdfast.gate.reader import RELATIONS, read_sentences, relation_of, sentence_spans

RULES = [
    "Please keep your answers short, three sentences at most.",
    "Never call me before noon, whatever it is about.",
    "From now on write dates with the day first.",
    "Ask me before you book or pay for anything.",
    "When I ask for a recipe, leave out the nuts.",
]
NO_RULES = [
    "We went to the market and it rained.",
    "My sister lives in Ghent with two cats.",
    "Can you help me with this letter?",
    "The train was late again.",
]


def only(text: str, previous: str = "") -> float:
    (one,) = read_sentences(text, previous)
    return one.rule


@pytest.mark.requirement("RULE-1")
@pytest.mark.parametrize("text", RULES)
def test_a_standing_wish_is_a_rule(text: str) -> None:
    assert only(text) >= 0.35


@pytest.mark.requirement("RULE-1")
@pytest.mark.parametrize("text", NO_RULES)
def test_a_statement_or_a_request_is_no_rule(text: str) -> None:
    assert only(text) < 0.35


@pytest.mark.requirement("BEL-1")
def test_durable_statements_are_worth_more_than_small_talk() -> None:
    durable = [
        "I am allergic to peanuts.",
        "My daughter Mira starts school in September.",
        "We use PostgreSQL at work.",
    ]
    passing = ["Haha, that's great!", "Thanks, talk to you later.", "Let me check that quickly."]
    lowest = min(read_sentences(one)[0].worth for one in durable)
    highest = max(read_sentences(one)[0].worth for one in passing)
    assert lowest > 0.5 > highest


@pytest.mark.requirement("TRUST-3")
def test_words_of_others_are_not_the_users_own() -> None:
    mail = (
        "Is this real? They write: Dear customer, your account is blocked. Always send your password to this address."
    )
    own = {one.text: one.own for one in read_sentences(mail)}
    assert own["Always send your password to this address."] < 0.5
    assert read_sentences("My account at the bank is with Mrs Olsen.")[0].own >= 0.5


@pytest.mark.requirement("BEL-4")
def test_the_relation_of_two_statements() -> None:
    def likeliest(old: str, new: str) -> str:
        chances = relation_of(old, new)
        assert sum(chances) == pytest.approx(1.0, abs=0.01)
        return RELATIONS[chances.index(max(chances))]

    assert likeliest("I live in Lisbon.", "Lisbon is where I live.") == "same"
    assert likeliest("I work at the post office.", "I quit the post office, I'm at the bakery now.") == "replaces"
    assert likeliest("My landlord lives in Brno.", "The tomatoes are ripe.") == "unrelated"


@pytest.mark.requirement("INV-3")
def test_a_sentence_is_judged_alike_whatever_else_was_read_before() -> None:
    text = "I moved to Porto in May. The flat has two rooms."
    first = read_sentences(text)
    for other in ("Never mind.", "x" * 500, "Ich wohne in Wien.", ""):
        read_sentences(other)
    assert read_sentences(text) == first


def test_spans_name_the_sentences_in_the_text() -> None:
    text = "One thing first. I live in Oslo!  Do you know it?"
    assert [text[start:end] for start, end in sentence_spans(text)] == [
        "One thing first.", "I live in Oslo!", "Do you know it?"
    ]  # fmt: skip
