"""Statements for both engines, translated for the keys of SQLite: no row of another namespace, lists of any length."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast.memory import Memory
from holdfast.store import statements
from holdfast.store.sqlite.transaction import NUMBER_MASK, position, translate
from holdfast.store.types import Space
from tests.support.memories import QUICK, OpenMemory, user

OUT_OF_RANGE = (-1, NUMBER_MASK + 1, 1 << 62)


def statements_of(module: object) -> dict[str, str]:
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, str) and value.startswith(("SELECT", "WITH")) and not name.startswith("POSTGRES_")
    }


@pytest.mark.parametrize("name", statements_of(statements))
def test_no_key_column_is_left_after_translation(name: str) -> None:
    translated = translate(statements_of(statements)[name])
    assert not re.search(
        r"\b(log|signals)\.seq\b|\b(records|passages|vectors)\.num\b|\bvectors\.(ns|slot)\b", translated
    )


def test_keys_become_positions() -> None:
    assert translate("SELECT log.id FROM log WHERE log.ns = :ns AND log.seq = sources.turn") == (
        "SELECT log.id FROM log WHERE log.pos = (:ns << 41 | sources.turn)"
    )
    assert "max(records.pos) & " in translate("SELECT max(records.num) FROM records WHERE records.ns = :ns")
    assert translate("SELECT log.at FROM log WHERE log.ns = :ns ORDER BY log.at DESC, log.seq DESC").endswith(
        "ORDER BY log.at DESC, log.pos DESC"
    )
    assert position(3, 5) == (3 << 41) | 5


@pytest.fixture
def neighbours(open_memory: OpenMemory) -> Memory:
    """Three namespaces that are next to each other in the file; the one in the middle."""
    memories = [open_memory(name) for name in ("ana", "bo", "cy")]
    for memory in memories:
        memory.ingest_many([user(f"{memory.namespace} says {number}") for number in range(5)], session="s")
        memory.remember(f"{memory.namespace} likes tea")
        memory.flush()
    return memories[1]


@pytest.mark.requirement("INV-4")
@pytest.mark.parametrize("number", OUT_OF_RANGE)
def test_a_number_out_of_range_reads_nothing_of_another_namespace(neighbours: Memory, number: int) -> None:
    with neighbours.view as view:
        for space in (Space.TURN, Space.RECORD, Space.PASSAGE):
            assert all("bo " in one.text for one in view.documents(space, number, 100))
        fingerprint = next(iter(view.models()))
        own = {num for num, _ in view.vectors_between(Space.TURN, fingerprint, 0, NUMBER_MASK)}
        assert {num for num, _ in view.vectors_between(Space.TURN, fingerprint, number, 1 << 62)} <= own
        for read in (view.turns, view.records, lambda nums: view.vectors(Space.TURN, fingerprint, nums)):
            with pytest.raises(AssertionError):
                read([1, number])


def test_lists_longer_than_a_statement_takes_are_split(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", "ana", embedder="none", settings=QUICK) as memory:
        turns = memory.ingest_many([user(f"line {number}") for number in range(1300)], session="s")
        with memory.view as view:
            assert len(view.turns([turn.seq for turn in turns])) == 1300
            assert len(view.turns_by_id([turn.id for turn in turns])) == 1300
            assert not view.turns([]) and not view.turns_by_id([])
