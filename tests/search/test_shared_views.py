"""What is kept between searches never outlives what it was made of: another process writes, forgets and erases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.index.blocks import IndexSizes
from holdfast.index.candidates import Pool, PreviousInSession, _counted, _empty, _in_line
from holdfast.memory import Memory
from holdfast.store.types import Space
from tests.support.memories import QUICK, OpenMemory

WAITING = replace(QUICK, _tuning=(IndexSizes(tail=8, vector_tail=16),))
"""Some vectors lie in a segment, and some wait behind it."""
QUESTIONS = ("the harbour at night", "boats of number seven", "who repaired the crane")


def answers(memory: Memory) -> list[list[tuple[str, float, float]]]:
    return [[(hit.id, hit.score, hit.semantic) for hit in memory.search(question)] for question in QUESTIONS]


def say_more(memory: Memory) -> None:
    memory.ingest("Rosa repaired the crane at night", session="s")


def forget_one(memory: Memory) -> None:
    memory.forget(memory.thread("s")[-1].id)


def erase_what_waits(memory: Memory) -> None:
    memory.erase(turn=memory.thread("s")[-1].id)


def erase_what_is_folded(memory: Memory) -> None:
    memory.erase(turn=memory.thread("s")[2].id)


@pytest.mark.requirement("INV-1", "RECALL-1")
@pytest.mark.parametrize("change", [say_more, forget_one, erase_what_waits, erase_what_is_folded])
def test_a_search_sees_what_another_process_did_at_once(
    open_memory: OpenMemory, change: Callable[[Memory], None]
) -> None:
    asking, other = open_memory(settings=WAITING), open_memory(settings=WAITING)
    other.ingest_many(
        [
            {"role": "user", "content": f"The harbour had {number} boats, number {number % 9} at night"}
            for number in range(21)
        ],
        session="s",
    )
    other.flush()
    before = answers(asking)
    assert answers(asking) == before
    change(other)
    other.flush()
    assert answers(asking) == answers(open_memory(settings=WAITING)) != before


def pool_of(sessions: list[int]) -> Pool:
    """Documents in the order of the log, each of a session; 0 is a line that is no turn."""
    pool = _empty(Space.TURN, len(sessions))
    pool.session[:] = sessions
    pool.exists[:] = pool.session > 0
    return _counted(_in_line(pool))


@given(st.lists(st.integers(0, 3), max_size=40))
def test_the_score_of_the_turn_before_is_taken_inside_its_session_alone(sessions: list[int]) -> None:
    scores = np.arange(1, len(sessions) + 1, dtype=np.float32)
    taken = [earlier.take(scores) for earlier in pool_of(sessions).line]
    for at, session in enumerate(sessions):
        own = [one for one in range(at) if sessions[one] == session != 0]
        expected = [scores[own[-back]] if len(own) >= back else 0 for back in (1, 2)]
        assert [line[at] for line in taken] == expected


def test_nothing_is_taken_from_an_empty_pool() -> None:
    nobody = np.empty(0, np.int64)
    assert len(PreviousInSession(2, nobody, nobody).take(np.zeros(0, np.float32))) == 0
    assert PreviousInSession(2, np.array([0]), np.array([1])).take(np.ones(1, np.float32)).tolist() == [0.0]
