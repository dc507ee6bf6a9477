"""The active view of a session: every turn is in it exactly once, in one form."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.compact.prepare import CompactSizes
from holdfast.memory import Memory
from holdfast.testing import FixedClock, temporary_memory
from tests.support.chats import RULES, SMALL_TALK, boatyard, ingest, records
from tests.support.memories import QUICK, OpenMemory, user

PLAIN = replace(QUICK, admit=replace(QUICK.admit, enabled=False))
PAGE = "We sanded the keel for three hours and it rained. " * 20
SAID = st.sampled_from(
    [
        *((text, "user") for text in (*RULES, *SMALL_TALK)),
        ("Today we varnished the ketch Albatross with Ottilie, and the wood cost 88 euros.", "user"),
        ("Iñaki weighed the dinghy Pim on 14 May and it has 212 kilos.", "user"),
        (PAGE, "user"),
        (PAGE + "Never leave the shed unlocked. " + PAGE, "user"),
        ("Noted. Berth 9 is free until the 12th.", "assistant"),
        (RULES[0], "assistant"),
        ('{"tool": "tide", "height_cm": 212}', "tool"),
        ("", "assistant"),
    ]
)


def check_partition(memory: Memory, session: str, forgotten: frozenset[str] = frozenset()) -> None:
    """Assert that every turn is active, or in one summary, or replaced by guidance, unless it was forgotten."""
    view = memory.active(session)
    active = [turn.id for turn in view.turns]
    summarised = Counter(turn_id for record in view.summaries for turn_id in record.turn_ids)
    whole = {turn_id for record in view.guidance if "partial" not in record.metadata for turn_id in record.turn_ids}
    partly = {turn_id for record in view.guidance if "partial" in record.metadata for turn_id in record.turn_ids}
    assert len(active) == len(set(active)) and max(summarised.values(), default=1) == 1
    for turn in memory.thread(session):
        places = [turn.id in active, turn.id in summarised, turn.id in whole]
        assert sum(places) == 1, (turn.index, places)
    assert not forgotten & (set(active) | set(summarised) | whole | partly)
    assert active == [turn.id for turn in memory.thread(session) if turn.id in set(active)]


@pytest.mark.requirement("COMP-1", "COMP-2", "COMP-7")
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.lists(SAID, min_size=1, max_size=45), min_size=1, max_size=3),
    st.lists(st.integers(0, 100), max_size=4),
    st.integers(4, 40),
)
def test_every_turn_is_active_or_in_one_summary_or_guidance(
    parts: list[list[tuple[str, str]]], forget: list[int], step: int
) -> None:
    chosen = CompactSizes(step=step, size=8)
    with temporary_memory("ana", settings=replace(PLAIN, compact=chosen)) as memory:
        for part in parts:
            memory.ingest_many([{"content": text, "role": role} for text, role in part], session="yard")
            memory.flush()
            memory.compact("yard", force=True)
        check_partition(memory, "yard")
        ids = [turn.id for turn in memory.thread("yard")]
        gone = frozenset(ids[number % len(ids)] for number in forget)
        for turn_id in gone:
            memory.forget(turn_id)
        check_partition(memory, "yard", gone)
        before = memory.active("yard")
        memory.rebuild()
        assert memory.active("yard") == before
        for turn_id in gone:
            memory.forget(turn_id, undo=True)
        check_partition(memory, "yard")


@pytest.mark.requirement("COMP-7")
def test_forgetting_a_turn_hides_its_summary_and_restores_the_others(memory: Memory) -> None:
    turns = ingest(memory, boatyard(44))
    memory.compact("yard", force=True)
    memory.flush()
    first, second = memory.active("yard").summaries
    assert turns[3].id in first.turn_ids
    memory.forget(turns[3].id)
    view = memory.active("yard")
    assert [record.id for record in view.summaries] == [second.id]
    back = [turn_id for turn_id in first.turn_ids if turn_id != turns[3].id]
    assert [turn.id for turn in view.turns] == [*back, *(turn.id for turn in turns[-4:])]
    assert first.id not in {hit.id for hit in memory.search("boat", limit=50, kind="summary")}
    assert first.id not in {record.id for record in records(memory, "summary")}
    assert not memory.history(first.id).versions[0].live
    assert "active view again" in memory.why(turns[4].id).decisions[-1].reason
    memory.forget(turns[3].id, undo=True)
    assert [record.id for record in memory.active("yard").summaries] == [first.id, second.id]


@pytest.mark.requirement("COMP-7")
def test_forgetting_a_summary_restores_its_turns(memory: Memory) -> None:
    turns = ingest(memory, boatyard(44))
    memory.compact("yard", force=True)
    for record in memory.active("yard").summaries:
        memory.forget(record.id)
    assert memory.active("yard").turns == tuple(turns)


@pytest.mark.requirement("COMP-7")
def test_a_turn_forgotten_earlier_is_in_no_summary_and_can_return(memory: Memory) -> None:
    turns = ingest(memory, boatyard(44))
    memory.forget(turns[2].id)
    memory.compact("yard", force=True)
    view = memory.active("yard")
    assert all(turns[2].id not in record.turn_ids for record in view.summaries)
    memory.forget(turns[2].id, undo=True)
    assert memory.active("yard").turns == (turns[2], *turns[-4:])


@pytest.mark.requirement("COMP-7", "RECALL-10")
def test_summaries_do_not_change_search_results(memory: Memory) -> None:
    ingest(memory, boatyard(64))
    questions = ("who varnished the ketch Albatross?", "berth", "what did the wood cost")
    before = [list(memory.search(question, limit=20)) for question in questions]
    memory.compact("yard", force=True)
    memory.flush()
    assert [list(memory.search(question, limit=20)) for question in questions] == before
    found = memory.search(questions[0], kind="summary")
    assert found and {hit.kind for hit in found} == {"summary"}


@pytest.mark.requirement("MERGE-1", "INV-3")
def test_compaction_records_do_not_affect_admission(open_memory: OpenMemory) -> None:
    talk = [user("My boat Albatross lies at berth 14."), user(RULES[0]), *boatyard(40)]
    later = [user("My boat Albatross lies at berth 14."), user(RULES[0]), user("I now live in Bergen.")]
    facts = []
    for compacted in (False, True):
        memory = open_memory(file=f"{compacted}.db")
        ingest(memory, talk)
        if compacted:
            memory.compact("yard", force=True)
        ingest(memory, later, "next")
        made = [one for one in records(memory) if "compaction" not in one.metadata]
        facts.append([(one.kind, one.text, one.evidence_count) for one in made])
    assert facts[0] == facts[1] != []


@pytest.mark.requirement("COMP-5", "RECALL-3")
def test_the_seed_ranker_lowers_a_summary_by_half_its_decay(open_memory: OpenMemory) -> None:
    clock = FixedClock()
    settings = replace(QUICK, recall=replace(QUICK.recall, ranker="seed"))
    memory = open_memory(settings=settings, clock=clock)
    ingest(memory, boatyard(64))
    memory.compact("yard", force=True)
    for record in memory.active("yard").summaries:
        copy = memory.remember(record.text, kind="summary")  # a remembered record does not decay
        memory.flush()
        scores = {hit.id: hit.score for hit in memory.search(record.text, kind="summary")}
        quality = 1 - 0.5 * float(str(record.metadata["decay_rate"]))
        assert scores[record.id] == pytest.approx(scores[copy.id] * quality, abs=0.005)
        assert 0 < scores[record.id] < scores[copy.id] <= 1
