"""A list that says again what is remembered was recalled by a host: it is no evidence, and no news."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.admit.echo import holds_list, recited
from holdfast.memory import Memory
from holdfast.model import Record
from holdfast.settings import AdmitSettings
from holdfast.text.jsonio import plain
from tests.support.memories import QUICK

FACTS = (
    "I live in Porto with my sister Anna.",
    "I am allergic to peanuts and shellfish.",
    "I work nights as a nurse at the Santo António hospital.",
    "My dog Bo is a six-year-old beagle.",
)
NEWS = "My brother Tomé marries in Évora on 12 June."

FORMS = {
    "bullets": "\n".join(f"- {fact}" for fact in FACTS),
    "numbers": "\n".join(f"{number}. {fact}" for number, fact in enumerate(FACTS, 1)),
    "a line apart": "\n\n".join(f"* {fact}" for fact in FACTS),
    "times": "\n".join(f"- [2026-05-0{day} 10:01] {fact}" for day, fact in enumerate(FACTS, 1)),
    "ids": "\n".join(f"[mem_{number}] {fact}" for number, fact in enumerate(FACTS)),
    "days before": "\n".join(f"2026-05-0{day}: {fact}" for day, fact in enumerate(FACTS, 1)),
    "scores behind": "\n".join(f"- {fact} (score: 0.8{number})" for number, fact in enumerate(FACTS)),
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", "ana", settings=QUICK) as opened:
        yield opened


def records(memory: Memory) -> list[Record]:
    return [one for one in memory.recent(1000, kind="record") if isinstance(one, Record)]


def evidence(memory: Memory) -> dict[str, int]:
    return {record.text: record.evidence_count for record in records(memory)}


def say(memory: Memory, *texts: str, session: str = "may") -> None:
    for text in texts:
        memory.ingest(text, session=session)
    memory.flush()


@pytest.mark.requirement("ADMIT-4", "INV-3", "INV-6")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_recalled_list_before_the_users_words_adds_nothing_and_is_no_evidence(memory: Memory, form: str) -> None:
    say(memory, *FACTS)
    assert evidence(memory) == dict.fromkeys(FACTS, 1)
    turn = memory.ingest(f"{form}\n\n{NEWS} What should I cook?", session="june")
    memory.flush()
    assert evidence(memory) == dict.fromkeys((*FACTS, NEWS), 1)
    told = [one.reason for one in memory.why(turn.id).decisions if one.what == "refused: echo"]
    assert len(told) == memory.stats().total.refused["echo"] == len(FACTS) and "a host's" in told[0]
    made = [plain(record) for record in records(memory)]
    memory.rebuild()
    assert [plain(record) for record in records(memory)] == made


@pytest.mark.requirement("ADMIT-4", "MERGE-4")
def test_what_was_replaced_does_not_come_back_because_a_host_recalled_it(memory: Memory) -> None:
    say(memory, *FACTS, "The API of our shop runs on port 8080.", "The API of our shop runs on port 9090.")
    say(memory, f"{FORMS['bullets']}\n- The API of our shop runs on port 8080.\n\nWhich port was it?", session="june")
    live = evidence(memory)
    assert live == dict.fromkeys((*FACTS, "The API of our shop runs on port 9090."), 1)


@pytest.mark.requirement("ADMIT-4", "ADMIT-6")
def test_a_long_recalled_list_leaves_room_for_what_the_user_says_under_it(memory: Memory) -> None:
    more = (
        "I have two cats, Miso and Nori.", "I play the cello in a quartet in Gaia.", "My mother Rosa lives in Faro.",
        "I drive a blue van from 1998.", "My landlord is called Duarte Pinto.", "I study Danish on Mondays.",
    )  # fmt: skip
    for number, fact in enumerate((*FACTS, *more)):
        say(memory, fact, session=f"day {number}")
    known = evidence(memory)
    assert len(known) > AdmitSettings().records_per_turn
    say(memory, "\n".join(f"- {fact}" for fact in known) + f"\n\n{NEWS}", session="june")
    assert evidence(memory) == {**known, NEWS: 1}


@pytest.mark.requirement("ADMIT-4")
def test_a_list_of_the_users_own_is_kept_whatever_else_it_repeats(memory: Memory) -> None:
    say(memory, *FACTS)
    fresh = ["I have two cats, Miso and Nori.", "I play the cello in a quartet.", "My mother Rosa lives in Faro."]
    say(memory, "Some facts about me:\n" + "\n".join(f"- {fact}" for fact in fresh), session="june")
    assert evidence(memory) == dict.fromkeys((*FACTS, *fresh), 1)
    say(memory, "\n".join(f"- {fact}" for fact in (*FACTS, "I speak Danish with my grandmother.")), session="july")
    assert evidence(memory) == dict.fromkeys((*FACTS, *fresh, "I speak Danish with my grandmother."), 1)


@pytest.mark.requirement("ADMIT-4", "MERGE-1")
def test_two_facts_that_a_user_says_again_count_as_evidence(memory: Memory) -> None:
    say(memory, *FACTS)
    say(memory, f"- {FACTS[0]}\n- {FACTS[3]}", session="june")
    assert evidence(memory) == {FACTS[0]: 2, FACTS[1]: 1, FACTS[2]: 1, FACTS[3]: 2}


@pytest.mark.requirement("ADMIT-4", "MERGE-1")
def test_facts_said_again_in_a_paragraph_count_as_evidence(memory: Memory) -> None:
    say(memory, *FACTS)
    say(memory, " ".join(FACTS), session="june")
    assert evidence(memory) == dict.fromkeys(FACTS, 2)


@pytest.mark.requirement("ADMIT-4")
def test_a_new_value_in_a_list_is_news(memory: Memory) -> None:
    say(memory, *FACTS)
    changed = "I live in Braga with my sister Anna (until June)."
    say(memory, "\n".join(f"- {fact}" for fact in (changed, *FACTS[1:])), session="june")
    assert changed in evidence(memory)


def test_without_a_list_nothing_is_recited() -> None:
    assert not holds_list("I live in Porto.\nI never fly.\nI sing.", 3)
    assert not recited("I live in Porto. I never fly. I sing.", ["I never fly."], lambda _: ["I never fly."], 1)


@pytest.mark.requirement("SAFE-4")
@given(st.text(alphabet=st.sampled_from(list("ab -[]:().\n1")), max_size=200))
def test_any_text_may_be_asked(text: str) -> None:
    lines = [line for line in text.split("\n") if line]
    assert recited(text, lines, lambda number: [lines[number]], 3) <= set(range(len(lines)))
