"""README's chat loop over several sessions: rules are followed, changes are noticed, questions are no evidence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from holdfast import Memory
from holdfast.model import Record
from holdfast.testing import FixedClock
from tests.support.memories import OpenMemory


def say(memory: Memory, clock: FixedClock, session: str, *texts: str) -> None:
    clock.now += timedelta(days=7)
    for text in texts:
        memory.ingest(text, session=session)
    memory.flush()


def followed(memory: Memory, session: str, question: str) -> list[str]:
    made = memory.context([{"role": "user", "content": question}], session=session, budget=1000)
    return [one.text for one in made.receipt.items if one.follow]


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(datetime(2026, 1, 5, 9, tzinfo=UTC))


@pytest.mark.requirement("RULE-1", "RULE-2")
def test_a_rule_of_one_session_is_followed_in_the_next(open_memory: OpenMemory, clock: FixedClock) -> None:
    memory = open_memory(clock=clock)
    say(memory, clock, "one", "Please answer in metric units, always.", "We talked about the garden today.")
    assert any("metric units" in text for text in followed(memory, "two", "How tall is the tower?"))
    assert not any("garden" in text for text in followed(memory, "two", "How tall is the tower?"))


@pytest.mark.requirement("BEL-3", "BEL-4")
def test_after_a_change_only_the_new_job_is_current(open_memory: OpenMemory, clock: FixedClock) -> None:
    memory = open_memory(clock=clock)
    say(memory, clock, "one", "I work as a driver at the post office in Ghent.")
    say(memory, clock, "two", "My sister Anna plays the cello.")
    say(memory, clock, "three", "I quit the post office, I work at a bakery in Ghent now.")
    first = memory.search("Where do I work?")[0]
    assert "bakery" in first.text and first.outdated_by is None
    assert all(hit.outdated_by is not None for hit in memory.search("Where do I work?") if "driver" in hit.text)
    live = [one.text for one in memory.recent(kind="record") if isinstance(one, Record)]
    assert not any("driver" in text for text in live) and any("cello" in text for text in live)


@pytest.mark.requirement("BEL-5")
def test_a_question_asked_twice_gives_the_same_first_hit(open_memory: OpenMemory, clock: FixedClock) -> None:
    memory = open_memory(clock=clock)
    say(memory, clock, "one", "My dentist is Dr Okafor in Bridge Street.", "The garden needs water.")
    question = "Who is my dentist?"
    before = memory.search(question)[0].text
    say(memory, clock, "two", question)
    after = memory.search(question)
    assert after[0].text == before and all(hit.text != question for hit in after)
