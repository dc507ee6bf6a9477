"""What is told in part, or under another's name, is not taken for told: an answer must not fall out of a context."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from holdfast.errors import InputError
from holdfast.memory import Memory
from tests.support.memories import QUICK, Message, OpenMemory, user

CALM = replace(QUICK, context=replace(QUICK.context, deadline_s=30.0, embedder_s=10.0))
ALARM = "We went to the boathouse in Sopot and its berth number was 7391."
ASKED = "What was the berth number of the boathouse in Sopot?"
AROUND = "The committee met in the old hall and talked about the drains of the lower town at length. "


@pytest.fixture
def calm(open_memory: OpenMemory) -> Memory:
    return open_memory(settings=CALM)


@pytest.mark.requirement("CTX-5", "COMP-2")
def test_rules_kept_from_a_long_turn_do_not_cover_the_rest_of_it(calm: Memory) -> None:
    rule = "And please, from now on always give me the alarm times in UTC."
    calm.ingest(f"{AROUND * 6}{ALARM} {AROUND * 6}{rule}", session="then")
    for number in range(12):
        calm.ingest(f"It rained again on day {number}, so we stayed in and read.", session="then")
    calm.flush()
    calm.compact("then", force=True)
    calm.flush()
    (guidance,) = calm.active("then").guidance
    assert guidance.text == rule
    made = calm.context([user(ASKED)], session="now", budget=5000)
    assert rule in made.text and "7391" in made.text


@pytest.mark.requirement("CTX-5", "CTX-2")
def test_a_last_turn_that_is_shown_by_its_ends_may_be_recalled_for_its_middle(calm: Memory) -> None:
    calm.ingest(f"{AROUND * 300}{ALARM} {AROUND * 300}", session="now")
    calm.ingest("Thanks, noted.", "assistant", session="now")
    calm.flush()
    assert "7391" in calm.context([user(ASKED)], session="now", budget=10_000).text


@pytest.mark.requirement("CTX-5", "INV-4")
def test_a_memory_for_everybody_under_the_same_key_is_not_taken_for_ones_own(open_memory: OpenMemory) -> None:
    everybody, ana = open_memory("global", settings=CALM), open_memory("ana", settings=CALM)
    everybody.remember("The wifi password of the office changes on Mondays", key="wifi")
    ana.remember("The wifi router of Ana stands in the cellar", key="wifi")
    everybody.flush()
    ana.flush()
    text = ana.context([user("Where is the wifi router, and when does the wifi password change?")]).text
    assert text.count("changes on Mondays") == text.count("stands in the cellar") == 1


@pytest.mark.requirement("CTX-5")
def test_messages_that_can_be_read_only_once_are_refused_and_not_lost(calm: Memory) -> None:
    def once() -> Iterator[Message]:
        yield user("hello")

    for wrong in (once(), None, 5, {user("hello")["content"]}):
        with pytest.raises(InputError, match="messages must be a list"):
            calm.context(wrong)  # type: ignore[arg-type]


@pytest.mark.requirement("CTX-5", "SAFE-4")
def test_a_budget_beyond_all_bounds_is_a_budget(calm: Memory) -> None:
    calm.ingest(ALARM)
    assert "7391" in calm.context([user(ASKED)], session="now", budget=10**400).text


@pytest.mark.requirement("CTX-3", "COMP-9")
def test_a_rule_stays_guidance_when_only_another_statement_of_its_turn_was_replaced(calm: Memory) -> None:
    calm.ingest("Always give lengths in metric units. The API of our shop runs on port 8080.", session="then")
    calm.ingest("The API of our shop runs on port 9090 now.", session="then")
    for number in range(6):
        calm.ingest(f"fine {number}", "assistant", session="then")
    calm.flush()
    calm.compact("then", force=True)
    calm.flush()
    made = calm.context([user("How long is the pier? Give lengths in units.")], session="now")
    (rule,) = (one for one in made.receipt.candidates if one.tier == "guidance" and "8080" in one.text)
    assert rule.included, rule.reason


@pytest.mark.requirement("CTX-2")
def test_the_last_turns_are_there_however_many_behind_them_were_forgotten(calm: Memory) -> None:
    turns = calm.ingest_many([user(f"Note {number} about rope.") for number in range(40)], session="now")
    for turn in turns[10:]:
        calm.forget(turn.id)
    made = calm.context([user("Hello there, my friend.")], session="now")
    recent = [one.text for one in made.receipt.candidates if one.tier == "recent" and one.included]
    assert sorted(recent) == [turn.text for turn in turns[4:10]]
