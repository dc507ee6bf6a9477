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


@pytest.mark.requirement("API-3", "CTX-3")
def test_protected_guidance_comes_first(memory: Memory) -> None:
    assert guidance(memory) == [RULE]


@pytest.mark.requirement("API-3", "CTX-3")
def test_guidance_whose_turn_was_forgotten_is_left_out(memory: Memory) -> None:
    memory.forget(memory.thread("old")[0].id)
    assert guidance(memory) == []
    assert "metric" not in memory.standing(400).text


@pytest.mark.requirement("API-3", "CTX-3")
def test_guidance_that_a_later_statement_replaced_is_left_out(memory: Memory) -> None:
    memory.ingest("From now on you must always give distances in imperial units.", session="new", at="2026-05-01")
    memory.flush()
    assert guidance(memory) == []
    assert "metric" not in memory.standing(400).text and "imperial" in memory.standing(400).text
