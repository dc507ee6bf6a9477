"""The power fails at any moment: every acknowledged turn is there, byte for byte."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.index.blocks import IndexSizes
from holdfast.memory import Memory
from holdfast.settings import Settings, StoreSettings
from holdfast.testing import HashEmbedder
from tests.torture.powercut import Acknowledged, Sync, Tape, Write, noting_disk

DURABLE = Settings(_tuning=(IndexSizes(tail=4, vector_tail=4, batch=16),))
CARELESS = replace(DURABLE, store=StoreSettings(durable=False))


def record(path: Path, turns: int, settings: Settings) -> Tape:
    """Turns of many sizes, with derived work between them: enough for the log to be checkpointed on the way."""
    rng = random.Random(turns)
    with noting_disk() as tape:
        memory = Memory(path, "ana", embedder=HashEmbedder(), settings=settings)
        for number in range(turns):
            text = f"turn {number} " + "x" * rng.choice((0, 10, 500, 5000, 40_000))
            turn = memory.ingest(text, session=f"s{number % 3}", key=f"k{number}")
            tape.events.append(Acknowledged(turn.id, text))
        cut_short = Tape(list(tape.events))  # what closing adds is no part of it: the power fails before
        memory.close()
    return cut_short


def lost_in_cuts(tape: Tape, folder: Path, cuts: int, seed: int) -> int:
    """How many acknowledged turns are missing over so many cuts; everything else that is wrong fails at once."""
    rng = random.Random(seed)
    lost = 0
    for number in range(cuts):
        here = folder / f"cut {number}"
        here.mkdir()
        safe = tape.cut(rng.randrange(len(tape.events) + 1), here, rng)
        with Memory(here / "memory.db", "ana", embedder=HashEmbedder(), settings=CARELESS) as memory:
            kept = {turn.id: turn.text for name in ("s0", "s1", "s2") for turn in memory.thread(name)}
            lost += sum(kept.get(one.turn_id) != one.text for one in safe)
            assert len(kept) <= len(safe) + 1
            assert memory.check() == []
            memory.flush(30)
            assert (memory.status().turns, memory.status().behind) == (len(kept), 0)
            again = memory.ingest("the power is back")
            assert memory.search("power")[0].id == again.id
    return lost


@pytest.mark.requirement("INV-1")
def test_forty_power_cuts_lose_no_acknowledged_turn(tmp_path: Path) -> None:
    tape = record(tmp_path / "memory.db", 120, DURABLE)
    assert lost_in_cuts(tape, tmp_path, 40, seed=1) == 0


@pytest.mark.requirement("INV-1")
def test_power_cuts_while_the_store_is_created_leave_one_that_opens(tmp_path: Path) -> None:
    """Its first page is torn and a journal lies beside it: SQLite's to roll back, not ours to call damaged."""
    tape = record(tmp_path / "memory.db", 1, DURABLE)
    first = next(place for place, event in enumerate(tape.events) if isinstance(event, Acknowledged))
    journalled = {event.name for event in tape.events[:first] if isinstance(event, Write)}
    assert "memory.db-journal" in journalled
    page = next(
        place for place, event in enumerate(tape.events) if isinstance(event, Write) and event.name == "memory.db"
    )
    for seed in range(40):
        here = tmp_path / f"cut {seed}"
        here.mkdir()
        assert tape.cut(page + 1, here, random.Random(seed)) == []
        with Memory(here / "memory.db", "ana", embedder="none", settings=CARELESS) as memory:
            assert memory.ingest("the power is back").index == 0


@pytest.mark.long
@pytest.mark.requirement("INV-1")
def test_a_thousand_power_cuts_lose_no_acknowledged_turn(tmp_path: Path) -> None:
    tape = record(tmp_path / "memory.db", 600, DURABLE)
    assert lost_in_cuts(tape, tmp_path, 1000, seed=2) == 0


def test_a_turn_acknowledged_before_its_sync_would_be_found_lost(tmp_path: Path) -> None:
    """That the cuts above cut at all: the same tape, with the last sync before the last acknowledgement taken out."""
    events = list(record(tmp_path / "memory.db", 20, DURABLE).events)
    last = max(place for place, event in enumerate(events) if isinstance(event, Acknowledged))
    final = max(place for place, event in enumerate(events[:last]) if isinstance(event, Sync))
    assert any(isinstance(event, Sync) and event.name.endswith("-wal") for event in events)
    early = Tape([*events[:final], *events[final + 1 : last + 1]])
    lost = 0
    for seed in range(20):
        folder = tmp_path / f"cut {seed}"
        folder.mkdir()
        safe = early.cut(len(early.events), folder, random.Random(seed))
        with Memory(folder / "memory.db", "ana", embedder="none", settings=CARELESS) as memory:
            kept = {turn.id for name in ("s0", "s1", "s2") for turn in memory.thread(name)}
        lost += safe[-1].turn_id not in kept
    assert lost > 0
