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
    memory.ingest(f"{form}\n\n{NEWS} What should I cook?", session="june")
    memory.flush()
    assert {text: count for text, count in evidence(memory).items() if text != NEWS} == dict.fromkeys(FACTS, 1)
    made = [plain(record) for record in records(memory)]
    memory.rebuild()
    assert [plain(record) for record in records(memory)] == made


@pytest.mark.requirement("ADMIT-4", "MERGE-4")
def test_what_was_replaced_does_not_come_back_because_a_host_recalled_it(memory: Memory) -> None:
    say(memory, *FACTS, "The API of our shop runs on port 8080.", "The API of our shop runs on port 9090.")
    say(memory, f"{FORMS['bullets']}\n- The API of our shop runs on port 8080.\n\nWhich port was it?", session="june")
    live = evidence(memory)
    assert live == dict.fromkeys((*FACTS, "The API of our shop runs on port 9090."), 1)


def test_without_a_list_nothing_is_recited() -> None:
    assert not holds_list("I live in Porto.\nI never fly.\nI sing.", 3)
    assert not recited("I live in Porto. I never fly. I sing.", ["I never fly."], lambda _: ["I never fly."], 1)


@pytest.mark.requirement("SAFE-4")
@given(st.text(alphabet=st.sampled_from(list("ab -[]:().\n1")), max_size=200))
def test_any_text_may_be_asked(text: str) -> None:
    lines = [line for line in text.split("\n") if line]
    assert recited(text, lines, lambda number: [lines[number]], 3) <= set(range(len(lines)))


@pytest.mark.requirement("ADMIT-4", "MERGE-1")
def test_facts_that_a_user_says_again_count_as_evidence(memory: Memory) -> None:
    say(memory, *FACTS)
    for number in (0, 3):
        say(memory, FACTS[number], session=f"june-{number}")
    assert evidence(memory) == {FACTS[0]: 2, FACTS[1]: 1, FACTS[2]: 1, FACTS[3]: 2}
