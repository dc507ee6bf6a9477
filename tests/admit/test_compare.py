"""Two statements as one, or one in the place of the other."""

from __future__ import annotations

import math
import re

import pytest

from holdfast.admit.compare import REPLACED, differs, is_replaced, is_same, remainders
from holdfast.memory import Memory

RARE = math.log(52)  # a word that one of two records has
SAME = [
    ("I live in Lisbon.", "Lisbon is where I live."),
    ("Our API is written in Elixir.", "We wrote our API in Elixir."),
    ("The cottage belongs to my grandmother.", "My grandmother owns the cottage."),
]
NOT_SAME = [
    ("I live in Lisbon.", "I live in Porto."),
    ("My brother is a baker.", "My sister is a baker."),
    ("The rent is 900 euros.", "The rent is 950 euros."),
    ("I eat fish.", "I don't eat fish."),
    ("The meeting is on Monday.", "The meeting is on Friday."),
    ("I lent Tom the drill.", "I borrowed the drill from Tom."),
    ("I sold the bike.", "I bought the bike."),
]


@pytest.mark.requirement("BEL-6")
@pytest.mark.parametrize(("first", "second"), SAME)
def test_the_same_fact_in_other_words(first: str, second: str) -> None:
    assert is_same(first, second)


@pytest.mark.requirement("MERGE-3", "BEL-6")
@pytest.mark.parametrize(("first", "second"), NOT_SAME)
def test_another_name_number_negation_or_relation_is_another_fact(first: str, second: str) -> None:
    assert not is_same(first, second) and not is_same(second, first)


@pytest.mark.requirement("MERGE-3")
@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("The rent is 900 euros.", "The rent is 950 euros.", "numbers"),
        ("I eat fish.", "I never eat fish.", "differ|negated"),
        ("Anna met Tom.", "Tom met Anna.", "order"),
        ("I met Tom.", "I met Ann.", "only one names"),
    ],
)
def test_the_guard_says_what_differs(first: str, second: str, why: str) -> None:
    found = differs(first, second)
    assert found is not None and re.search(why, found)


@pytest.mark.requirement("BEL-4")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I work at the post office.", "I quit the post office, I work at a bakery now."),
        ("I live in Ghent.", "I moved from Ghent, I live in Porto now."),
        ("My dentist appointment is on 3 May.", "The dentist appointment was moved, it is on 12 May now."),
        ("My rent is 900 euros.", "I pay 950 euros in rent now."),
        ("I take 30 mg of the thyroid pills.", "The doctor doubled my thyroid pills to 60 mg."),
        ("The tax return is due on Friday.", "They extended the tax return to next Wednesday."),
        ("Send me the digest every Friday.", "Send me the digest on Mondays instead."),
        ("I hate swimming.", "I've grown to like swimming."),
        ("I love loud concerts.", "I find loud concerts exhausting these days."),
        ("I want to buy a piano.", "The piano was delivered today and it's lovely."),
        ("I'm preparing for my driving test in October.", "I passed my driving test."),
        ("We plan to open the second bakery in spring.", "The second bakery opened last Saturday."),
    ],
)
def test_a_changed_mind_replaces_what_was_said(old: str, new: str) -> None:
    assert is_replaced(old, new, "", REPLACED, rarest=RARE)


@pytest.mark.requirement("BEL-3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My landlord lives in Brno.", "My landlord plays the violin."),
        ("I have a dog called Rex.", "The train to Vienna was late."),
        ("I work at the post office.", "I like cherries."),
    ],
)
def test_another_fact_replaces_nothing(old: str, new: str) -> None:
    assert not is_replaced(old, new, "", REPLACED, rarest=RARE)


@pytest.mark.requirement("BEL-4", "RULE-4")
@pytest.mark.parametrize(
    ("rule", "lifted"),
    [
        ("Please keep your answers to two lines at most.", "You can drop the two lines limit now."),
        ("Please don't use tables.", "Tables are allowed again, I have a bigger screen."),
        ("Keep answers under five lines until the launch.", "The five lines are no longer needed."),
    ],
)
def test_words_that_lift_a_rule_end_it_and_are_no_rule(memory: Memory, rule: str, lifted: str) -> None:
    memory.ingest(rule, session="a", at="2026-03-02T10:00:00Z")
    memory.ingest(lifted, session="b", at="2026-05-02T10:00:00Z")
    memory.flush()
    assert [one.text for one in memory.records(kind="guidance")] == []


@pytest.mark.requirement("BEL-4")
def test_what_the_user_asked_to_remember_is_replaced_only_for_sure(memory: Memory) -> None:
    memory.ingest("My name is Brigid Solano.", session="a", at="2026-03-02T10:00:00Z")
    memory.ingest("Call me Bree. Only my bank and my mother say Brigid.", session="a", at="2026-03-02T10:05:00Z")
    memory.flush()
    assert "My name is Brigid Solano." in [one.text for one in memory.records()]


@pytest.mark.requirement("BEL-3")
@pytest.mark.parametrize(
    ("old", "said", "rest"),
    [
        ("I am Ann, I am forty-six, and I am a baker.", "I turned forty-seven today.", ["I am Ann", "I am a baker."]),
        ("I take statins and I have asthma.", "No more statins for me.", ["I have asthma."]),
        ("I have asthma, which began in 2003, and I take pills.", "No pills.", ["I have asthma, which began in 2003"]),
        ("Bridge is on Wednesdays.", "Bridge moved to Thursdays.", []),
        ("I like tea.", "The train was late.", []),
    ],
)
def test_what_a_change_does_not_speak_of_is_left(old: str, said: str, rest: list[str]) -> None:
    assert remainders(old, said) == rest


@pytest.mark.requirement("BEL-3", "MERGE-4", "INV-3")
def test_only_the_part_of_a_record_that_changed_is_retired(memory: Memory) -> None:
    def live() -> list[str]:
        return sorted(one.text for one in memory.records())

    first = memory.ingest(
        "I have atrial fibrillation, diagnosed in 2023, and I take apixaban 5 mg twice a day.",
        session="a", at="2026-03-02T10:00:00Z",
    )  # fmt: skip
    memory.ingest(
        "Dr Moe took me off the apixaban, I take rivaroxaban 20 mg now.", session="b", at="2026-05-02T10:00:00Z"
    )
    memory.flush()
    assert not any("apixaban 5 mg" in text for text in live())
    rest = next(one for one in memory.records() if one.text == "I have atrial fibrillation, diagnosed in 2023")
    assert rest.turn_ids == (first.id,) and rest.at == first.at
    assert rest.metadata["rest_of"] in [one.record.id for one in memory.history(first.id).versions]
    before = live()
    memory.rebuild()
    assert live() == before


@pytest.mark.requirement("BEL-4")
def test_a_count_of_people_is_no_age(memory: Memory) -> None:
    memory.ingest("My name is Ada Berg, I am sixty-nine, and I was a surveyor.", session="a", at="2026-03-02T10:00:00Z")
    memory.ingest("We are three now.", session="b", at="2026-05-02T10:00:00Z")
    memory.flush()
    assert any("Ada Berg" in one.text for one in memory.records())
