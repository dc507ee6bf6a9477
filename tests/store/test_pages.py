"""Pages of sessions, turns and records are complete and without repeats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pytest

from holdfast.memory import Memory
from holdfast.model import Kind, Provenance, Record, Turn
from holdfast.store.types import SessionSpan
from tests.support.memories import OpenMemory, assistant, user

_Noun = TypeVar("_Noun", Turn, Record, SessionSpan)
MAY = datetime(2026, 5, 1, tzinfo=UTC)


def read_pages(read: Callable[[str | None], Sequence[_Noun]]) -> list[_Noun]:
    """Read all pages."""
    found: list[_Noun] = []
    before: str | None = None
    while page := read(before):
        found += page
        last = page[-1]
        before = last.name if isinstance(last, SessionSpan) else last.id
    return found


@pytest.mark.requirement("API-5")
def test_sessions_are_sorted_by_their_last_turn_and_empty_ones_come_last(memory: Memory) -> None:
    for number in range(7):
        memory.ingest(f"question {number}", session=f"s{number}", at=MAY + timedelta(days=number))
        memory.ingest("an answer", role="assistant", session=f"s{number}", at=MAY + timedelta(days=number, hours=1))
    memory.ingest("one more", session="s2", at=MAY + timedelta(days=30))
    memory.bootstrap("nothing said")
    with memory.view as view:
        listed = read_pages(lambda before: view.sessions(3, before))
    assert [one.name for one in listed] == ["s2", "s6", "s5", "s4", "s3", "s1", "s0", "nothing said"]
    assert listed[0] == SessionSpan("s2", 3, MAY + timedelta(days=2), MAY + timedelta(days=30))
    assert listed[-1] == SessionSpan("nothing said", 0, None, None)


@pytest.mark.requirement("API-5", "RECALL-5")
def test_turns_of_one_moment_are_paged_without_gap_or_repeat(memory: Memory) -> None:
    memory.ingest_many([user(f"line {number}", at=MAY) for number in range(23)])
    memory.ingest_many([assistant(f"later {number}", at=MAY + timedelta(days=1)) for number in range(4)], session="b")
    with memory.view as view:
        listed = read_pages(lambda before: list(view.recent_turns(5, before=before)))
        early = read_pages(lambda before: list(view.recent_turns(5, until=MAY + timedelta(hours=1), before=before)))
    assert [turn.text for turn in listed[:4]] == ["later 3", "later 2", "later 1", "later 0"]
    assert [turn.text for turn in listed[4:]] == [f"line {number}" for number in reversed(range(23))]
    assert early == listed[4:]


@pytest.mark.requirement("API-5")
def test_records_are_paged_by_kind_provenance_and_liveness(memory: Memory) -> None:
    facts = [memory.remember(f"fact number {number}") for number in range(12)]
    likes = [memory.remember(f"likes colour {number}", kind="preference") for number in range(3)]
    gone = {memory.forget(one.id) and one.id for one in facts[::3]}
    with memory.view as view:
        every = read_pages(lambda before: view.recent_records(4, before=before, live=None))
        live = read_pages(lambda before: view.recent_records(4, before=before))
        past = read_pages(lambda before: view.recent_records(4, before=before, live=False))
        liked = read_pages(lambda before: view.recent_records(2, Kind.PREFERENCE, before=before, live=None))
        stated = Provenance.USER_STATED
        said = read_pages(lambda before: view.recent_records(4, before=before, provenance=stated, live=None))
        derived = view.recent_records(4, provenance=Provenance.TOOL_DERIVED, live=None)
        merged = view.recent_records(4, merged=True)
    assert [one.id for one in every] == [one.id for one in reversed([*facts, *likes])]
    assert {one.id for one in past} == gone
    assert [one.id for one in live] == [one.id for one in every if one.id not in gone]
    assert [one.id for one in liked] == [one.id for one in reversed(likes)]
    assert said == every
    assert derived == merged == []


@pytest.mark.requirement("API-5", "INV-4")
def test_pages_of_one_namespace_contain_nothing_of_another(open_memory: OpenMemory) -> None:
    ana, bo = open_memory("ana"), open_memory("bo")
    ana.ingest("the key is under the pot", session="home")
    ana.remember("the pot is blue")
    for memory, held in ((ana, 1), (bo, 0)):
        with memory.view as view:
            assert len(view.sessions(9)) == len(list(view.recent_turns(9))) == len(view.recent_records(9)) == held
