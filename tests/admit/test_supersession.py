"""Laws of replacement, whatever is said in whatever order: through `decide`, and through a memory that admits."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.admit.extract import AdmitWeights
from holdfast.memory import Memory
from holdfast.model import Provenance, Record
from holdfast.settings import MergeSettings, Settings, StoreSettings
from holdfast.text.jsonio import plain

ADMITTING = replace(Settings(), admit=AdmitWeights(enabled=True, worth=0.0, own=0.0), store=StoreSettings(False))
START = datetime(2026, 3, 1, 9, tzinfo=UTC)

SAID = [
    "I live in Porto.", "I moved to Leeds.", "I moved to Ghent last week.", "I no longer live in Leeds.",
    "I work at Siemens as an engineer.", "I joined Bosch in May.", "I left Bosch.",
    "My rent is 900 euros.", "My rent went up to 950 euros.", "My rent is 1,000 euros now.",
    "The review with Ines is on Tuesday.", "The review moved to Thursday.", "The review was cancelled.",
    "I hate swimming.", "I've grown to like swimming.", "I want to buy a piano.", "The piano was delivered today.",
    "My sister lives in Oslo.", "My sister moved to Bergen.", "I have two cats called Miso and Nori.",
]  # fmt: skip


def tell(memory: Memory, texts: Sequence[str], origins: Sequence[str] | None = None) -> None:
    for number, text in enumerate(texts):
        memory.ingest(
            text, at=START + timedelta(days=number), session=f"s{number}", origin=origins[number] if origins else None
        )
    memory.flush()


def all_records(memory: Memory, texts: Sequence[str]) -> dict[str, Record]:
    turns = [turn for number in range(len(texts)) for turn in memory.thread(f"s{number}")]
    return {record.id: record for turn in turns for record in memory.why(turn.id).records}


def live(memory: Memory) -> list[Record]:
    return [one for one in memory.recent(1000, kind="record") if isinstance(one, Record)]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(SAID), min_size=2, max_size=10))
@pytest.mark.requirement("MERGE-2", "MERGE-4", "INV-3")
def test_every_retired_record_has_a_live_successor_without_cycles(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "m.db", "ana", settings=ADMITTING) as memory:
        tell(memory, texts)
        made = all_records(memory, texts)
        alive = {record.id for record in live(memory)}
        for record in made.values():
            assert (record.superseded_by is None) == (record.valid_to is None) == (record.id in alive)
            chain = [record]
            while (heir := chain[-1].superseded_by) is not None:
                assert heir not in {one.id for one in chain}
                assert made[heir].at >= chain[-1].at and chain[-1].valid_to == made[heir].valid_from
                chain.append(made[heir])
            assert chain[-1].id in alive
            assert record.id not in record.metadata.get("revises", [])  # type: ignore[operator]
        before = sorted((plain(record) for record in made.values()), key=str)
        memory.rebuild()
        assert sorted((plain(record) for record in all_records(memory, texts).values()), key=str) == before


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.permutations(["I live in Porto.", "I moved to Leeds.", "I'm based in Ghent now.", "We relocated to Turin."]))
@pytest.mark.requirement("MERGE-4")
def test_of_one_attribute_only_the_last_value_is_live(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "m.db", "ana", settings=ADMITTING) as memory:
        tell(memory, texts)
        assert [record.text for record in live(memory)] == [texts[-1]]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "memory.db", "ana", settings=ADMITTING)


@pytest.mark.requirement("MERGE-4")
def test_a_statement_far_in_meaning_from_what_it_replaces_still_finds_it_among_many(memory: Memory) -> None:
    fillers = [f"My colleague number {n} collects stamps from country {n}." for n in range(30)]
    with memory:
        tell(memory, ["I live in Porto.", *fillers, "I moved to Ghent."])
        texts = [record.text for record in live(memory)]
        assert "I moved to Ghent." in texts and "I live in Porto." not in texts
        assert sum(text.startswith("My colleague") for text in texts) == len(fillers)


@pytest.mark.requirement("MERGE-4")
def test_a_history_handed_over_again_does_not_bring_back_what_it_replaced(memory: Memory) -> None:
    with memory:
        tell(memory, ["My rent is 900 euros.", "My rent went up to 950 euros."])
        memory.ingest("My rent is 900 euros.", at=START, session="again")
        memory.flush()
        assert [record.text for record in live(memory)] == ["My rent went up to 950 euros."]
        memory.ingest("My rent is 900 euros again, the landlord lowered it.", at=START + timedelta(days=9))
        memory.flush()
        assert [record.text for record in live(memory)] == ["My rent is 900 euros again, the landlord lowered it."]


@pytest.mark.requirement("MERGE-5")
def test_what_somebody_else_says_retires_nothing_of_the_users(memory: Memory) -> None:
    with memory:
        tell(memory, ["I live in Porto.", "I moved to Leeds."], ["user", "user_pasted"])
        assert [record.text for record in live(memory)] == ["I live in Porto."]


@pytest.mark.requirement("MERGE-5", "MERGE-4")
def test_an_explicit_memory_makes_way_for_what_the_user_says_later(memory: Memory) -> None:
    with memory:
        known = memory.remember("I live in Porto.", kind="fact")
        assert known.provenance is Provenance.USER_STATED
        memory.ingest("I moved to Leeds.")
        memory.flush()
        assert [record.text for record in live(memory)] == ["I moved to Leeds."]
        retired = next(one.record for one in memory.history(known.id).versions if one.record.id == known.id)
        assert retired.superseded_by == live(memory)[0].id


@pytest.mark.requirement("MERGE-4")
def test_switched_off_nothing_is_retired_and_the_newer_is_linked_to_the_older(tmp_path: Path) -> None:
    cautious = replace(ADMITTING, merge=MergeSettings(supersede=False))
    with Memory(tmp_path / "memory.db", "ana", settings=cautious) as memory:
        tell(memory, ["I live in Porto.", "I moved to Leeds."])
        newer, older = sorted(live(memory), key=lambda record: record.at, reverse=True)
        assert (older.text, newer.text) == ("I live in Porto.", "I moved to Leeds.")
        assert newer.metadata["revises"] == [older.id]
