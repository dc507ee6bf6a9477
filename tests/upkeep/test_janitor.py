"""The janitor lowers records that are never retrieved; it has a dry run and an undo."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.errors import InputError, NotFound
from holdfast.memory import Memory
from holdfast.model import Provenance, Record
from holdfast.settings import JanitorSettings
from holdfast.testing import FixedClock
from holdfast.text.jsonio import plain
from tests.support.memories import EAGER, QUICK, OpenMemory, answers, assistant, ingest_month, user

NOW = datetime(2026, 5, 4, 8, 30, tzinfo=UTC)
COUNTING = replace(QUICK, janitor=JanitorSettings())
EAGERLY = replace(EAGER, janitor=JanitorSettings())
OLD = NOW - timedelta(days=400)
SHOP = "The API of our shop runs on port 8080."


def record_of(memory: Memory, text: str) -> Record:
    found = memory.recent(1000, kind="record")
    (one,) = (record for record in found if isinstance(record, Record) and record.text == text)
    return one


def old_shop(open_memory: OpenMemory) -> tuple[Memory, FixedClock]:
    """Return a memory with an old and a new record, neither ever retrieved."""
    clock = FixedClock(NOW)
    memory = open_memory(settings=COUNTING, clock=clock)
    memory.ingest(SHOP, at=OLD)
    memory.ingest("My sister Anna lives in Rome.", at=NOW - timedelta(days=30))
    memory.flush()
    return memory, clock


@pytest.mark.requirement("KEEP-2")
def test_an_old_record_that_was_never_retrieved_is_demoted(
    open_memory: OpenMemory,
) -> None:
    memory, _ = old_shop(open_memory)
    before = record_of(memory, SHOP)
    made = memory.janitor()
    after = record_of(memory, SHOP)
    assert (made.did, made.run, made.demoted, made.culled) == ("tidied", "2026-W19", 1, 0)
    assert (before.provenance, after.provenance) == (Provenance.USER_STATED, Provenance.EPISODE_SUMMARY)
    assert after.confidence == pytest.approx(before.confidence * 0.8)
    assert record_of(memory, "My sister Anna lives in Rome.").provenance is Provenance.USER_STATED
    (told,) = (one for one in memory.why(after.id).decisions if one.what == "demoted")
    assert "never found, and 400 days since it was last said; for user_stated the limit is 12 months" in told.reason


@pytest.mark.requirement("KEEP-2")
def test_a_dry_run_lists_changes_with_reasons_and_changes_nothing(open_memory: OpenMemory) -> None:
    memory, _ = old_shop(open_memory)
    before = plain(memory.recent(10, kind="record"))
    made = memory.janitor(dry_run=True)
    assert made.did == "dry run" and [one.text for one in made.records] == [SHOP]
    assert made.records[0].new_provenance is Provenance.EPISODE_SUMMARY and "never found" in made.records[0].why
    assert made.spared == {"not old enough": 1}
    assert plain(memory.recent(10, kind="record")) == before
    assert memory.janitor().demoted == 1, "a dry run does not count as a run"


@pytest.mark.requirement("KEEP-2")
def test_a_retrieved_record_is_left_alone(open_memory: OpenMemory) -> None:
    memory, _ = old_shop(open_memory)
    assert memory.search("which port does the shop's API use?")
    assert memory.janitor().did == "nothing to do"


@pytest.mark.requirement("KEEP-2")
def test_a_second_run_in_the_same_week_changes_nothing(open_memory: OpenMemory) -> None:
    memory, clock = old_shop(open_memory)
    memory.janitor()
    after = plain(memory.recent(10, kind="record"))
    memory.ingest("My brother Tom works as a nurse in Ghent.", at=OLD)
    memory.flush()
    again = memory.janitor()
    assert (again.did, again.demoted, again.records) == ("done before", 0, ())
    clock.advance(timedelta(days=7))
    later = memory.janitor()
    assert [one.text for one in later.records] == ["My brother Tom works as a nurse in Ghent."]
    assert plain(record_of(memory, SHOP)) in after  # type: ignore[operator]


@pytest.mark.requirement("KEEP-2")
def test_a_record_is_demoted_step_by_step_with_age(open_memory: OpenMemory) -> None:
    memory, clock = old_shop(open_memory)
    seen = []
    for _ in range(60):
        memory.janitor()
        seen.append(record_of(memory, SHOP).provenance.value)
        clock.advance(timedelta(days=7))
    lengths = [(name, seen.count(name)) for name in dict.fromkeys(seen)]
    assert [name for name, _ in lengths] == ["episode_summary", "assistant_derived", "tool_derived"]
    assert [count for _, count in lengths[:2]] == [27, 14], "half a year, then a quarter, in weeks"


@pytest.mark.requirement("KEEP-2", "INV-3")
def test_undo_restores_every_record_and_answer(open_memory: OpenMemory) -> None:
    clock = FixedClock(datetime(2026, 9, 28, tzinfo=UTC))
    memory = open_memory(settings=replace(EAGERLY, janitor=JanitorSettings(count=False)), clock=clock)
    ingest_month(memory)
    memory.flush()
    clock.advance(timedelta(days=500))
    before = answers(memory)
    memory.close()
    tidying = open_memory(settings=EAGERLY, clock=clock)
    made = tidying.janitor()
    assert made.demoted > 20
    tidying.close()
    memory = open_memory(settings=replace(EAGERLY, janitor=JanitorSettings(count=False)), clock=clock)
    lowered = answers(memory)
    assert lowered != before
    memory.rebuild()
    assert without_why(answers(memory)) == without_why(lowered), "a rebuild replays the run"
    undone = memory.janitor(undo=made.run)
    assert undone.did == "undone" and memory.janitor(undo=made.run).did == "undone before"
    assert without_why(answers(memory)) == without_why(before)
    memory.rebuild()
    assert without_why(answers(memory)) == without_why(before)


def without_why(said: object) -> object:
    assert isinstance(said, dict)
    return {name: value for name, value in said.items() if name != "why"}


@pytest.mark.requirement("KEEP-2")
def test_an_undone_record_is_not_demoted_again_next_week(open_memory: OpenMemory) -> None:
    memory, clock = old_shop(open_memory)
    memory.janitor(undo=memory.janitor().run)
    clock.advance(timedelta(days=7))
    assert memory.janitor().did == "nothing to do"
    clock.advance(timedelta(days=370))
    assert SHOP in [one.text for one in memory.janitor().records], "its age is counted from the undo"


@pytest.mark.requirement("KEEP-2")
def test_remembered_records_are_never_demoted(open_memory: OpenMemory) -> None:
    clock = FixedClock(OLD)
    memory = open_memory(settings=COUNTING, clock=clock)
    memory.remember("Deploys happen on Fridays")
    memory.remember("Answer in metric units", kind="guidance")
    clock.now = NOW + timedelta(days=3000)
    made = memory.janitor(cull=True)
    assert made.did == "nothing to do" and made.spared == {"remembered at the operator's word": 2}


@pytest.mark.requirement("KEEP-2", "COMP-2")
def test_guidance_is_never_demoted_but_summaries_are(open_memory: OpenMemory) -> None:
    clock = FixedClock(OLD)
    memory = open_memory(settings=COUNTING, clock=clock)
    said = [user("Never deploy on Fridays, the on-call team is too small then.", at=OLD)]
    for number in range(14):
        said.append(assistant(f"Step {number} of the harbour plan is written down.", at=OLD))
        said.append(user(f"The crane number {number} stands at the north quay of the harbour.", at=OLD))
    memory.ingest_many(said, session="s1")
    memory.flush()
    assert memory.compact("s1", force=True).did_compact
    memory.flush()
    clock.now = NOW
    made = memory.janitor()
    assert made.spared.get("guidance"), made.spared
    kinds = {one.kind.value: one.new_provenance for one in made.records}
    assert kinds["summary"] is Provenance.ASSISTANT_DERIVED and "guidance" not in kinds


@pytest.mark.requirement("KEEP-2")
def test_cull_hides_demoted_records_and_destroys_nothing(open_memory: OpenMemory) -> None:
    memory, clock = old_shop(open_memory)
    first = memory.janitor(cull=True)
    assert (first.demoted, first.culled) == (1, 0), "what the user stated is demoted first"
    record = record_of(memory, SHOP)
    clock.advance(timedelta(days=200))
    second = memory.janitor(cull=True)
    assert second.culled == 1 and second.records[0].new_provenance is None
    assert SHOP not in [one.text for one in memory.recent(10, kind="record") if isinstance(one, Record)]
    assert [one.what for one in memory.why(record.id).decisions][-1] == "culled"
    assert memory.search("which port does the shop's API use?", kind="turn"), "the turn is as it was"
    memory.rebuild()
    assert SHOP not in [one.text for one in memory.recent(10, kind="record") if isinstance(one, Record)]
    memory.janitor(undo=second.run)
    assert record_of(memory, SHOP) == record
    memory.rebuild()
    assert record_of(memory, SHOP) == record


@pytest.mark.requirement("KEEP-2", "MERGE-2")
def test_restating_a_demoted_record_restores_it(open_memory: OpenMemory) -> None:
    memory, clock = old_shop(open_memory)
    memory.janitor()
    clock.advance(timedelta(days=1))
    memory.ingest("The API of our shop runs on port 8080.", at=NOW, session="later")
    memory.flush()
    raised = record_of(memory, SHOP)
    assert raised.provenance is Provenance.USER_STATED and raised.evidence_count == 2
    assert memory.search("which port does the shop's API use?", kind="fact")
    memory.rebuild()
    assert record_of(memory, SHOP) == raised


@pytest.mark.requirement("KEEP-2", "MERGE-5")
def test_a_demoted_statement_keeps_the_users_trust_in_supersession(open_memory: OpenMemory) -> None:
    memory, _ = old_shop(open_memory)
    memory.janitor()
    memory.ingest("The API of our shop runs on port 9090.", at=NOW)
    memory.flush()
    assert next(one.text for one in memory.recent(10, kind="record") if isinstance(one, Record)).endswith("9090.")
    before = plain(memory.recent(10, kind="record"))
    memory.rebuild()
    assert plain(memory.recent(10, kind="record")) == before


@pytest.mark.requirement("KEEP-2")
def test_grace_days_spare_records_that_are_new_in_the_store(open_memory: OpenMemory) -> None:
    clock = FixedClock(NOW)
    memory = open_memory(settings=replace(QUICK, janitor=JanitorSettings(grace_days=30)), clock=clock)
    memory.ingest(SHOP, at=OLD)
    memory.flush()
    assert memory.janitor().spared == {"new in the store": 1}
    clock.advance(timedelta(days=31))
    assert memory.janitor().demoted == 1


@pytest.mark.requirement("KEEP-2")
def test_a_demoted_record_can_be_erased_without_the_rest_of_the_run(open_memory: OpenMemory) -> None:
    memory, _ = old_shop(open_memory)
    memory.ingest("My brother Tom works as a nurse in Ghent.", at=OLD, session="other")
    memory.flush()
    made = memory.janitor()
    assert made.demoted == 2
    memory.erase(session="other")
    assert record_of(memory, SHOP).provenance is Provenance.EPISODE_SUMMARY
    assert all(one.count == 0 for one in memory.doctor().findings)
    memory.janitor(undo=made.run)
    assert record_of(memory, SHOP).provenance is Provenance.USER_STATED


@pytest.mark.requirement("KEEP-2", "KEEP-5")
def test_a_janitor_run_is_exported_with_the_log(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, clock = old_shop(open_memory)
    made = memory.janitor()
    memory.export(tmp_path / "ana.jsonl")
    other = open_memory(file="other.db", settings=COUNTING, clock=clock)
    other.import_file(tmp_path / "ana.jsonl")
    other.flush()
    assert plain(record_of(other, SHOP)) == plain(record_of(memory, SHOP))
    assert other.janitor().did == "done before"
    other.janitor(undo=made.run)
    assert record_of(other, SHOP).provenance is Provenance.USER_STATED


@pytest.mark.requirement("KEEP-2")
def test_another_namespace_is_not_touched(open_memory: OpenMemory) -> None:
    memory, clock = old_shop(open_memory)
    other = open_memory("ben", settings=COUNTING, clock=clock)
    other.ingest(SHOP, at=OLD)
    other.flush()
    before = plain(other.recent(10, kind="record"))
    memory.janitor()
    assert plain(other.recent(10, kind="record")) == before
    assert other.janitor().demoted == 1, "each namespace has its own runs"


def test_an_unknown_run_or_disabled_counting_is_an_error(open_memory: OpenMemory) -> None:
    memory, _ = old_shop(open_memory)
    with pytest.raises(NotFound, match="no run '2020-W01' in this namespace; it has not run yet"):
        memory.janitor(undo="2020-W01")
    with pytest.raises(InputError, match=r"janitor\.count is off"):
        open_memory(settings=QUICK).janitor()
