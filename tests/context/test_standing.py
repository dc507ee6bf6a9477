"""The light section, without a question: what stands, as far as it still holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.context.render import ContextFrame, parse
from holdfast.memory import Memory
from holdfast.results import Tier
from tests.support.memories import QUICK, OpenMemory

CALM = replace(QUICK, context=replace(QUICK.context, deadline_s=30.0, embedder_s=10.0))
RULE = "You must always give distances in metric units."


@pytest.fixture
def memory(open_memory: OpenMemory) -> Memory:
    """A session whose first turn, a rule, a compaction has protected."""
    memory = open_memory(settings=CALM)
    memory.ingest(RULE, session="old", at="2026-04-01")
    for number in range(10):
        memory.ingest(f"It rained again on day {number}, so we stayed in and read.", session="old", at="2026-04-02")
    memory.flush()
    memory.compact("old", force=True)
    memory.flush()
    return memory


def guidance(memory: Memory) -> list[str]:
    frame = ContextFrame.of(memory._store.secret(), "", memory.namespace)
    section = memory.standing(400)
    return [item.text for item in parse(frame, section.text).tiers.get(Tier.ELEVATED, [])] if section.text else []


@pytest.mark.requirement("API-3", "CTX-3", "RULE-1")
def test_rules_stand_first_once_whether_or_not_a_compaction_protected_them(memory: Memory) -> None:
    assert guidance(memory) == [RULE]
    memory.remember("Never book anything without asking me.", kind="guidance")
    section = memory.standing(400)
    assert set(guidance(memory)) == {RULE, "Never book anything without asking me."}
    first, second, *_ = section.receipt.items
    assert (first.ref, first.follow, second.ref, second.follow) == ("m1", True, "m2", True)


@pytest.mark.requirement("API-3", "CTX-3")
def test_guidance_whose_turn_was_forgotten_stands_nowhere(memory: Memory) -> None:
    memory.forget(memory.thread("old")[0].id)
    assert guidance(memory) == []
    assert "metric" not in memory.standing(400).text


@pytest.mark.requirement("API-3", "CTX-3")
def test_guidance_that_a_later_statement_replaced_stands_nowhere(memory: Memory) -> None:
    memory.ingest("From now on you must always give distances in imperial units.", session="new", at="2026-05-01")
    memory.flush()
    assert guidance(memory) == ["From now on you must always give distances in imperial units."]
    assert "metric" not in memory.standing(400).text
