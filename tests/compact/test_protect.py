"""Rules that the user gave survive word for word; nobody else's do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.memory import Memory
from holdfast.settings import CompactSettings
from tests.support.chats import RULES, boatyard, ingest
from tests.support.memories import QUICK, OpenMemory, user

LONG = (
    "The yard was quiet today and Ottilie came by with two buckets of paint. Never leave the shed unlocked. "
    + "She told me about her winter in Bergen, where she repaired three dinghies and a ferry. " * 9
    + "Always coil the ropes before you leave. Then we had soup."
)


def elevated(memory: Memory) -> list[str]:
    return [record.text for record in memory.active("yard").guidance]


@pytest.mark.requirement("COMP-2")
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_kept_word_for_word_and_enters_no_summary(memory: Memory, rule: str) -> None:
    turns = ingest(memory, [*boatyard(6), user(rule), *boatyard(40, seed=1)])
    memory.compact("yard", force=True)
    view = memory.active("yard")
    (kept,) = view.guidance
    assert (kept.text, kept.kind, kept.provenance, kept.turn_ids) == (rule, "guidance", "user_stated", (turns[6].id,))
    assert kept.metadata["collection"] == "elevated:user:ana" and kept.metadata["session"] == "yard"
    assert all(turns[6].id not in record.turn_ids and rule not in record.text for record in view.summaries)
    ingest(memory, boatyard(40, seed=2))
    memory.compact("yard", force=True)
    assert elevated(memory) == [rule]
    assert all(turns[6].id not in record.turn_ids for record in memory.active("yard").summaries)


@pytest.mark.requirement("COMP-2")
@pytest.mark.parametrize(
    "channel",
    [
        {"role": "assistant"},
        {"role": "tool"},
        {"role": "system"},
        {"role": "user", "origin": "user_pasted"},
        {"role": "user", "origin": "imported"},
        {"role": "user", "stability": 0.34},
    ],
    ids=lambda channel: "-".join(map(str, channel.values())),
)
def test_what_is_not_the_users_own_and_steady_word_is_no_guidance(memory: Memory, channel: dict[str, object]) -> None:
    ingest(memory, [*({"content": rule, **channel} for rule in RULES), *boatyard(30)])
    made = memory.compact("yard", force=True)
    assert (made.protected, elevated(memory)) == (0, [])


@pytest.mark.requirement("COMP-2")
def test_of_a_long_turn_its_rules_are_kept_and_the_rest_is_summarised(memory: Memory) -> None:
    turns = ingest(memory, [user(LONG), *boatyard(30)])
    memory.compact("yard", force=True)
    view = memory.active("yard")
    assert elevated(memory) == ["Never leave the shed unlocked.\nAlways coil the ropes before you leave."]
    assert turns[0].id in view.summaries[0].turn_ids
    assert not any("unlocked" in record.text or "coil" in record.text for record in view.summaries)


@pytest.mark.requirement("COMP-2", "COMP-6")
def test_the_rest_of_a_long_turn_stays_active_when_its_cluster_is_declined(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=replace(QUICK, compact=CompactSettings(share=0.0)))  # no digest is short enough
    turns = ingest(memory, [user(LONG), *boatyard(30)])
    made = memory.compact("yard", force=True)
    view = memory.active("yard")
    assert (made.protected, made.turns_removed, view.summaries) == (1, 0, ())
    assert view.turns == tuple(turns)


@pytest.mark.requirement("COMP-2", "ADMIT-7")
def test_a_secret_in_a_rule_is_masked(memory: Memory) -> None:
    secret = "sk-ant-" + "a1B2c3D4" * 6
    ingest(memory, [user(f"Always use the key {secret} for the crane."), *boatyard(30)])
    memory.compact("yard", force=True)
    (kept,) = elevated(memory)
    assert kept.startswith("Always use the key ") and secret not in kept


@pytest.mark.requirement("COMP-3")
def test_what_only_reads_like_guidance_is_kept_by_the_booster(open_memory: OpenMemory) -> None:
    wish = "I hate it when your answers begin with an apology."
    talk = [user("The wind at the pier is usually from the west."), user(wish), *boatyard(30)]
    memory = open_memory(embedder="static")
    ingest(memory, talk)
    memory.compact("yard", force=True)
    assert elevated(memory) == [wish]


@pytest.mark.requirement("COMP-2")
def test_a_rule_is_found_by_search_as_one_hit_with_its_turn(memory: Memory) -> None:
    turns = ingest(memory, [user(RULES[0]), *boatyard(40)])
    before = memory.search("epoxy from Vigo")
    memory.compact("yard", force=True)
    memory.flush()
    hits = [hit for hit in memory.search("epoxy from Vigo") if turns[0].id in hit.turn_ids]
    assert len(hits) == 1 and hits[0].text == before[0].text == RULES[0]
    (elevated_hit,) = memory.search("epoxy from Vigo", kind="guidance")
    assert elevated_hit.turn_ids == (turns[0].id,)
