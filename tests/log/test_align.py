"""Properties of aligning a history with a session."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.log.messages import TurnPlace, align, digest
from holdfast.model import NewTurn, Origin, Role

START = datetime(2026, 1, 1, tzinfo=UTC)
Said = tuple[Role, str]

roles = st.sampled_from([Role.USER, Role.ASSISTANT, Role.SYSTEM, Role.TOOL])
speech = st.tuples(roles, st.sampled_from(["ok", "yes", "a", "b", "c"]))
histories = st.lists(speech, max_size=30)
distinct = st.lists(st.tuples(roles, st.text(max_size=3)), max_size=30, unique=True)

AT_ANY_PACE = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
"""Generating histories may be slow on a busy machine."""


def turn(said: Said, at: datetime | None = None, key: str | None = None) -> NewTurn:
    role, text = said
    return NewTurn(role, Origin.IMPORTED, text, at or START, at is not None, 0.2, key, {})


def hear(session: list[TurnPlace], turns: Sequence[NewTurn]) -> None:
    """Append the new turns, as ingest_many does."""
    for new, known in zip(turns, align(session, turns), strict=True):
        if known is None:
            at = new.at if new.at_given else None
            session.append(TurnPlace(len(session), digest(new.role, new.text), at, new.role, new.key is not None))


def marks(session: Sequence[TurnPlace]) -> list[bytes]:
    return [place.digest for place in session]


@st.composite
def rolling(draw: st.DrawFn, said: st.SearchStrategy[list[Said]]) -> tuple[list[Said], list[tuple[int, int]]]:
    """Draw a history and windows of it: each begins in the known part or at its end, and never ends earlier."""
    history = draw(said)
    windows, heard = [], 0
    while heard < len(history):
        start = draw(st.integers(0, max(0, heard - 1)))
        end = draw(st.integers(max(heard, start + 1), len(history)))
        windows.append((start, end))
        heard = end
    return history, windows


@pytest.mark.requirement("LOG-7")
@given(histories)
def test_a_history_aligned_with_itself_adds_nothing(history: list[Said]) -> None:
    session: list[TurnPlace] = []
    turns = [turn(said) for said in history]
    hear(session, turns)
    assert align(session, turns) == list(range(len(turns)))


@pytest.mark.requirement("LOG-7")
@given(histories, st.data())
def test_a_history_that_grew_adds_exactly_its_end(history: list[Said], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(history)))
    session: list[TurnPlace] = []
    turns = [turn(said) for said in history]
    hear(session, turns[:cut])
    assert align(session, turns) == [*range(cut), *[None] * (len(turns) - cut)]


@pytest.mark.requirement("LOG-7")
@AT_ANY_PACE
@given(rolling(distinct))
def test_overlapping_windows_rebuild_a_history_without_repeats(case: tuple[list[Said], list[tuple[int, int]]]) -> None:
    """With distinct messages the overlap can be in one place only."""
    history, windows = case
    session: list[TurnPlace] = []
    for start, end in windows:
        hear(session, [turn(said) for said in history[start:end]])
    assert marks(session) == [digest(*said) for said in history]


@pytest.mark.requirement("LOG-7")
@AT_ANY_PACE
@given(rolling(histories))
def test_windows_with_times_rebuild_any_history(case: tuple[list[Said], list[tuple[int, int]]]) -> None:
    """With given times, the same words at another time are another turn."""
    history, windows = case
    turns = [turn(said, START + timedelta(seconds=number)) for number, said in enumerate(history)]
    session: list[TurnPlace] = []
    for start, end in windows:
        hear(session, turns[start:end])
    assert [place.at for place in session] == [one.at for one in turns]


@pytest.mark.requirement("LOG-7")
@given(histories, st.data())
def test_any_part_of_a_history_with_times_sent_again_adds_nothing(history: list[Said], data: st.DataObject) -> None:
    """The same role, text and time is the same turn, however short the part and wherever it is."""
    turns = [turn(said, START + timedelta(seconds=number)) for number, said in enumerate(history)]
    session: list[TurnPlace] = []
    hear(session, turns)
    start = data.draw(st.integers(0, len(turns)))
    end = data.draw(st.integers(start, len(turns)))
    assert align(session, turns[start:end]) == list(range(start, end))


@pytest.mark.requirement("LOG-7")
@given(histories)
def test_keyed_turns_are_left_to_their_keys(history: list[Said]) -> None:
    turns = [turn(said, key=f"k{number}") for number, said in enumerate(history)]
    assert align([], turns) == [None] * len(turns)


@pytest.mark.requirement("LOG-7")
@given(histories, histories)
def test_matches_have_the_same_role_and_text_and_no_turn_matches_twice(before: list[Said], after: list[Said]) -> None:
    session: list[TurnPlace] = []
    hear(session, [turn(said) for said in before])
    known = align(session, [turn(said) for said in after])
    places = [index for index in known if index is not None]
    for index, said in zip(known, after, strict=True):
        assert index is None or session[index].digest == digest(*said)
    # A system prompt may be sent in front and again; every other turn was said once.
    spoken = [index for index, said in zip(known, after, strict=True) if index is not None and said[0] != Role.SYSTEM]
    assert len(spoken) == len(set(spoken))
    assert all(0 <= index < len(session) for index in places)


LONG_TALKS = {
    "one word over and over": ["ok"] * 3000,
    "no word twice": [f"m{number}" for number in range(3000)],
}


@pytest.mark.requirement("SAFE-4", "LOG-7")
@pytest.mark.parametrize("name", LONG_TALKS)
@pytest.mark.parametrize("edit", ["another head", "nothing in common"])
def test_a_long_session_is_aligned_in_time(name: str, edit: str) -> None:
    """An agent that polls says "ok" for hours: aligning must not take longer with each history."""
    session: list[TurnPlace] = []
    talk = [turn((Role.TOOL, text)) for text in LONG_TALKS[name]]
    hear(session, talk)
    edited = [turn((Role.USER, "go on")), *talk, turn((Role.USER, "stop"))]
    other = [turn((Role.USER, f"other {number}")) for number in range(3000)]
    started = time.process_time()
    align(session, edited if edit == "another head" else other)
    assert time.process_time() - started < 2
