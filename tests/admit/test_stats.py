"""What the gates did, counted day by day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.results import Admitted
from holdfast.settings import AdmitSettings, GateSettings
from tests.support.memories import QUICK, ingest_month

MONDAY, TUESDAY = "2026-03-02T10:00:00Z", "2026-03-03T10:00:00Z"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", "ana", settings=QUICK) as opened:
        yield opened


def balanced(one: Admitted) -> bool:
    """Every candidate became something, and no turn is counted without one of its ends."""
    placed = one.added + one.superseded + one.merged + one.dropped + sum(one.refused.values())
    ended = one.others_words + one.not_salient + one.below_threshold + one.nothing_durable
    return placed == one.candidates and ended <= one.turns <= ended + one.candidates


@pytest.mark.requirement("MERGE-7", "EVAL-4")
def test_every_turn_and_candidate_is_counted_on_the_day_it_was_said(memory: Memory) -> None:
    memory.ingest("thanks!", at=MONDAY)
    memory.ingest("My sister Anna lives in Rome and has two dogs.", at=MONDAY)
    memory.ingest("Noted.", role="assistant", at=MONDAY)
    memory.ingest("The API of our shop runs on port 8080.", at=MONDAY)
    memory.ingest("My sister Anna lives in Rome and has two dogs.", at=TUESDAY, session="second")
    memory.ingest("The API of our shop runs on port 9090.", at=TUESDAY, session="third")
    memory.ingest("My brother Tom lives in Oslo.", at=TUESDAY, origin="user_pasted")
    memory.flush()
    stats = memory.stats()
    monday, tuesday = stats.days
    assert (monday.day, monday.turns, monday.not_salient, monday.candidates, monday.added) == ("2026-03-02", 3, 1, 2, 2)
    assert (tuesday.day, tuesday.turns, tuesday.others_words, tuesday.candidates) == ("2026-03-03", 3, 1, 2)
    assert (tuesday.merged, tuesday.superseded, tuesday.added) == (1, 1, 0)
    assert tuesday.triggers >= 1
    assert (stats.total.turns, stats.total.added, stats.total.superseded, stats.total.merged) == (6, 2, 1, 1)
    assert all(balanced(one) for one in (monday, tuesday, stats.total))
    assert (stats.records_per_turn, stats.repeated) == (0.5, 0.25)


@pytest.mark.requirement("MERGE-7")
def test_since_leaves_earlier_days_out(memory: Memory) -> None:
    memory.ingest("thanks!", at=MONDAY)
    memory.ingest("hello", at=TUESDAY)
    memory.flush()
    assert [day.day for day in memory.stats(since="2026-03-03").days] == ["2026-03-03"]
    assert memory.stats(since="2026-03-03").total.turns == 1
    assert memory.stats(since="2027-01-01").days == ()
    with pytest.raises(InputError):
        memory.stats(since="some day")


@pytest.mark.requirement("MERGE-7", "INV-3")
def test_a_month_balances_and_a_rebuild_counts_the_same(memory: Memory) -> None:
    ingest_month(memory)
    memory.flush()
    stats = memory.stats()
    assert len(stats.days) > 20 and stats.total.turns == 234
    assert all(balanced(one) for one in (*stats.days, stats.total))
    assert sum(stats.total.refused.values()) > 0
    memory.rebuild()
    assert memory.stats() == stats


@pytest.mark.requirement("MERGE-7", "GATE-14")
def test_in_mode_filter_turns_below_the_threshold_are_counted(tmp_path: Path) -> None:
    strict = replace(QUICK, gate=GateSettings(conversation="filter", threshold=1.0))
    with Memory(tmp_path / "strict.db", "ana", settings=strict) as memory:
        memory.ingest("My sister Anna lives in Rome and has two dogs.")
        memory.flush()
        assert (memory.stats().total.below_threshold, memory.stats().total.candidates) == (1, 0)


@pytest.mark.requirement("INV-6")
def test_every_turn_of_a_month_can_say_what_became_of_it(memory: Memory) -> None:
    ingest_month(memory)
    memory.flush()
    ends = {"not gated", "not promoted", "no record", "added", "merged", "replaces", "dropped"}
    for turn in memory.recent(1000):
        told = [decision.what for decision in memory.why(turn.id).decisions]
        assert any(what in ends or what.startswith("refused: ") for what in told), turn.text
        assert ("scored" in told) == (turn.role == "user")
    for record in memory.recent(1000, kind="record"):
        why = memory.why(str(getattr(record, "id", "")))
        assert why.decisions[0].what == "recorded" and why.turns


@pytest.mark.requirement("INV-6")
def test_why_says_when_nothing_judges_turns_here(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", "ana", settings=replace(QUICK, admit=AdmitSettings(enabled=False))) as memory:
        turn = memory.ingest("My sister Anna lives in Rome and has two dogs.")
        memory.flush()
        (told,) = [decision for decision in memory.why(turn.id).decisions if decision.what == "not gated"]
        assert "admit.enabled is off" in told.reason
        assert memory.stats().days == ()


@pytest.mark.requirement("GATE-11")
def test_every_way_to_read_a_turn_gives_its_twelve_signals(memory: Memory) -> None:
    said = memory.ingest("My sister Anna lives in Rome and has two dogs.", session="s")
    memory.ingest("Noted.", role="assistant", session="s")
    assert set(said.signals.values()) == {0.0} and len(said.signals) == 12
    memory.flush()
    (turn, answer) = memory.thread("s")
    assert turn.signals["h"] == 1.0 and turn.signals["d"] > 0
    assert turn.signals["g"] == turn.signals["gconv"] >= 0.35
    assert set(turn.signals) == set(said.signals) == set(answer.signals)
    assert set(answer.signals.values()) == {0.0}
    assert memory.recent(2)[1].signals == turn.signals
    assert memory.recent(1, kind="exchange")[0].question.signals == turn.signals
    (record,) = memory.recent(kind="record")
    assert memory.why(str(getattr(record, "id", ""))).turns[0].signals == turn.signals
