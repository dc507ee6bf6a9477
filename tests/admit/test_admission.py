"""From turns to records: few, clean, current, each with a source and a receipt."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from holdfast.memory import Memory
from holdfast.model import Provenance, Record
from holdfast.settings import AdmitSettings, GateSettings
from holdfast.text.jsonio import plain
from tests.support.memories import QUICK


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", "ana", settings=QUICK) as opened:
        yield opened


def records(memory: Memory) -> list[Record]:
    found = memory.recent(1000, kind="record")
    return [one for one in found if isinstance(one, Record)]


def say(memory: Memory, *texts: str) -> None:
    for text in texts:
        memory.ingest(text)
    memory.flush()


def ingest_month(memory: Memory, suffix: str = "") -> None:
    sessions: dict[str, list[dict[str, object]]] = defaultdict(list)
    month = resources.files("holdfast.demo").joinpath("month.jsonl").read_text(encoding="utf-8")
    for line in month.splitlines():
        message = json.loads(line)
        sessions[message.pop("session") + suffix].append(message)
    for session, messages in sessions.items():
        memory.ingest_many(messages, session=session)
    memory.flush()


@pytest.mark.requirement("ADMIT-1", "ADMIT-5")
@pytest.mark.slow
def test_a_month_gives_few_records_each_in_the_users_words_with_a_source(memory: Memory) -> None:
    ingest_month(memory)
    made = records(memory)
    spoken = memory.stats().total.turns
    assert 0.3 * spoken < len({turn_id for record in made for turn_id in record.turn_ids}) <= 0.65 * spoken
    for record in made:
        (turn_id,) = record.turn_ids
        (source,) = memory.why(record.id).turns
        assert source.id == turn_id and source.role == "user"
        assert record.text in source.text or "[secret" in record.text
        assert record.provenance is Provenance.USER_STATED and 0.5 <= record.confidence <= 0.9
    assert not any("sk-test" in record.text for record in made)


@pytest.mark.requirement("MERGE-1", "INV-3")
@pytest.mark.slow
def test_the_same_month_twice_adds_no_record_and_a_rebuild_makes_the_same_ones(memory: Memory) -> None:
    ingest_month(memory)
    first = {record.id: record.text for record in records(memory)}
    ingest_month(memory, suffix="-again")
    again = records(memory)
    assert {record.id: record.text for record in again} == first
    assert all(record.evidence_count == 2 or "rest_of" in record.metadata for record in again)
    memory.rebuild()
    key = lambda record: record.id  # noqa: E731
    assert [plain(r) for r in sorted(records(memory), key=key)] == [plain(r) for r in sorted(again, key=key)]


@pytest.mark.requirement("MERGE-4")
def test_a_replaced_value_is_retired_and_the_turn_that_said_it_ranks_below(memory: Memory) -> None:
    say(
        memory,
        "The API of our shop runs on port 8080.",
        "I have two cats called Miso and Nori.",
        "The API of our shop runs on port 9090.",
    )
    live = [record.text for record in records(memory)]
    assert "The API of our shop runs on port 9090." in live
    assert "The API of our shop runs on port 8080." not in live
    assert "I have two cats called Miso and Nori." in live
    hits = memory.search("which port does the API of our shop run on?")
    assert "9090" in hits[0].text
    assert not any(hit.kind != "turn" and "8080" in hit.text for hit in hits)


@pytest.mark.requirement("SAL-1", "ADMIT-5")
def test_only_the_users_own_words_become_records(memory: Memory) -> None:
    memory.ingest("You told me that your sister Anna lives in Rome.", role="assistant")
    memory.ingest("My sister Anna lives in Rome and has two dogs.", origin="user_pasted")
    memory.ingest("The user's sister Anna lives in Rome.", role="tool")
    memory.flush()
    assert records(memory) == []
    say(memory, "My sister Anna lives in Rome and has two dogs.")
    assert [record.text for record in records(memory)] == ["My sister Anna lives in Rome and has two dogs."]


@pytest.mark.requirement("INV-6")
def test_every_user_turn_can_say_what_became_of_it(memory: Memory) -> None:
    say(memory, "hi", "My sister Anna lives in Rome and has two dogs.", "Could you make that shorter, please?")
    told = [[decision.what for decision in memory.why(turn.id).decisions] for turn in memory.thread("default")]
    assert "not promoted" in told[0]
    assert "gated" in told[1] and "added" in told[1]
    assert "no record" in told[2] or any(what.startswith("refused") for what in told[2])


@pytest.mark.requirement("GATE-14")
def test_as_a_filter_the_gate_lets_only_turns_above_its_threshold_become_records(tmp_path: Path) -> None:
    strict = replace(QUICK, gate=GateSettings(conversation="filter", threshold=1.0))
    with Memory(tmp_path / "strict.db", "ana", settings=strict) as memory:
        say(memory, "My sister Anna lives in Rome and has two dogs.")
        assert records(memory) == []
        assert memory.search("where does Anna live?")[0].kind == "turn"


@pytest.mark.requirement("INV-3")
def test_forgotten_records_return_after_a_rebuild_only_if_said_again(memory: Memory) -> None:
    say(memory, "My sister Anna lives in Rome and has two dogs.")
    (record,) = records(memory)
    memory.forget(record.id)
    memory.rebuild()
    assert records(memory) == []
    say(memory, "My sister Anna lives in Rome and has two dogs.")
    assert [one.text for one in records(memory)] == [record.text]


@pytest.mark.requirement("ADMIT-6")
def test_a_turn_makes_so_many_records_at_most_and_says_what_it_left_out(tmp_path: Path) -> None:
    told = "I live in Rome now. My dog is called Bo. I work at the harbour. I play the cello. My wife Edith is a vet."
    few = replace(QUICK, admit=AdmitSettings(records_per_turn=3))
    with Memory(tmp_path / "few.db", "ana", settings=few) as memory:
        turn = memory.ingest(told)
        memory.flush()
        assert len(records(memory)) == 3
        left = [one.reason for one in memory.why(turn.id).decisions if one.what == "refused: cap"]
        assert len(left) == memory.stats().total.refused["cap"] == 2 and "Edith" in left[-1]
        assert memory.search("Edith")[0].turn_ids == (turn.id,)
