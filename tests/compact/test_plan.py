"""Planning a compaction: clusters of neighbouring turns, and rules of the user that are kept verbatim."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compact.plan import clusters
from holdfast.compact.prepare import CompactSizes
from holdfast.memory import Memory
from holdfast.model import Turn
from tests.support.chats import RULES, boatyard, ingest
from tests.support.memories import QUICK, OpenMemory, user
from tests.support.talks import BEGIN, turn

MINUTES = st.lists(st.integers(0, 50), max_size=130)


def turns_at(minutes: list[int]) -> list[Turn]:
    return [turn(index, "said", at=BEGIN + timedelta(minutes=minute)) for index, minute in enumerate(minutes)]


@pytest.mark.requirement("COMP-1")
def test_no_turns_make_no_clusters() -> None:
    assert clusters([]) == []


@pytest.mark.requirement("COMP-1")
@pytest.mark.parametrize(("n", "sizes"), [(1, [1]), (20, [20]), (21, [11, 10]), (41, [14, 14, 13]), (60, [20, 20, 20])])
def test_clusters_have_about_equal_size_up_to_twenty(n: int, sizes: list[int]) -> None:
    assert [len(cluster) for cluster in clusters(turns_at(list(range(n))))] == sizes


@pytest.mark.requirement("COMP-1")
@given(MINUTES, st.integers(1, 25), st.randoms(use_true_random=False))
def test_clusters_are_complete_disjoint_and_chronological(minutes: list[int], size: int, chance: random.Random) -> None:
    turns = turns_at(minutes)
    found = clusters(turns, size)
    shuffled = list(turns)
    chance.shuffle(shuffled)
    assert clusters(shuffled, size) == found
    flat = [one for cluster in found for one in cluster]
    assert flat == sorted(turns, key=lambda one: (one.at, one.id))
    n, c = len(turns), math.ceil(len(turns) / size)
    assert len(found) == c
    assert all(1 <= len(cluster) <= size for cluster in found)
    place = {one.id: number for number, cluster in enumerate(found) for one in cluster}
    assert all(place[one.id] == i * c // n for i, one in enumerate(flat))


LONG = (
    "The yard was quiet today and Ottilie came by with two buckets of paint. "
    "And please, from now on write all lengths in centimetres. "
    + "She told me about her winter in Bergen, where she repaired three dinghies and a ferry. " * 9
    + "And when I ask for prices, give them in euros. Then we had soup."
)


def elevated(memory: Memory) -> list[str]:
    return [record.text for record in memory.active("yard").guidance]


@pytest.mark.requirement("COMP-2")
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_kept_verbatim_and_is_in_no_summary(memory: Memory, rule: str) -> None:
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
def test_text_of_other_origin_or_low_stability_is_not_guidance(memory: Memory, channel: dict[str, object]) -> None:
    ingest(memory, [*({"content": rule, **channel} for rule in RULES), *boatyard(30)])
    made = memory.compact("yard", force=True)
    assert (made.protected, elevated(memory)) == (0, [])


@pytest.mark.requirement("COMP-2")
def test_rules_of_a_long_turn_are_kept_and_the_rest_is_summarised(memory: Memory) -> None:
    turns = ingest(memory, [user(LONG), *boatyard(30)])
    memory.compact("yard", force=True)
    view = memory.active("yard")
    assert elevated(memory) == [
        "And please, from now on write all lengths in centimetres.\nAnd when I ask for prices, give them in euros."
    ]
    assert turns[0].id in view.summaries[0].turn_ids
    assert not any("centimetres" in record.text or "euros" in record.text for record in view.summaries)


@pytest.mark.requirement("COMP-2", "COMP-6")
def test_the_rest_of_a_long_turn_stays_active_when_its_cluster_is_declined(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=replace(QUICK, compact=CompactSizes(share=0.0)))  # no digest is short enough
    turns = ingest(memory, [user(LONG), *boatyard(30)])
    made = memory.compact("yard", force=True)
    view = memory.active("yard")
    assert (made.protected, made.turns_removed, view.summaries) == (1, 0, ())
    assert view.turns == tuple(turns)


@pytest.mark.requirement("COMP-2", "ADMIT-7")
def test_a_secret_in_a_rule_is_masked(memory: Memory) -> None:
    secret = "sk-ant-" + "a1B2c3D4" * 6
    ingest(memory, [user(f"From now on, whenever you talk to the crane, use {secret} as the key."), *boatyard(30)])
    memory.compact("yard", force=True)
    (kept,) = elevated(memory)
    assert kept.startswith("From now on, whenever you talk") and secret not in kept


@pytest.mark.requirement("COMP-3")
def test_the_booster_protects_sentences_that_sound_like_guidance(open_memory: OpenMemory) -> None:
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
