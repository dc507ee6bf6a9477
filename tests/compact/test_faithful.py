"""A summary that says a number, a name or a date that its turns do not hold is found out."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.compact.abstract import unfaithful
from tests.support.talks import FERRY, turn

SAID = [
    turn(1, "I have three dogs and a boat called Alke. She moved to Lisbon yesterday.", speaker="Ana Prado"),
    turn(2, "The rent is 9,400 kroner, due on the 5th. We meet next Friday at 5 pm with Dr Quill.", "assistant"),
]


@pytest.mark.requirement("COMP-5")
@pytest.mark.parametrize(
    "summary",
    [
        "2026-03-02\nAna Prado: I have three dogs and a boat called Alke.",
        "Ana has 3 dogs.",
        "The rent is 9400 kroner.",
        "On 1 March she moved to Lisbon.",
        "She moved on 2026-03-01.",
        "They meet on Friday at 17:00, that is on 6 March 2026.",
        "It was said in March 2026, on a Monday.",
        "The user's boat is called ALKE; the assistant knows.",
        "Planning: three dogs, one boat.",
        "",
    ],
)
def test_what_the_turns_hold_in_any_notation_is_faithful(summary: str) -> None:
    assert unfaithful(summary, SAID) == []


@pytest.mark.requirement("COMP-5")
@pytest.mark.parametrize(
    ("summary", "invented"),
    [
        ("Ana has 4 dogs.", ["4"]),
        ("Ana has four dogs.", ["four"]),
        ("The rent is 9,500 kroner.", ["9,500"]),
        ("They moved to Porto.", ["Porto"]),
        ("Marta moved to Lisbon.", ["Marta"]),
        ("Marta's boat is called Alke.", ["Marta"]),
        ("She moved on 4 March.", ["4 March"]),
        ("She moved on 2025-03-01.", ["2025-03-01"]),
        ("They meet on Tuesday.", ["Tuesday"]),
        ("They meet tomorrow.", ["tomorrow"]),
        ("The flat is B12 on line v2.1.", ["B12", "v2.1"]),
        ("Ana Prado, Bea Prado and Dr Quill have 3 dogs and 12 boats.", ["12", "Bea"]),
    ],
)
def test_what_the_turns_do_not_hold_is_named(summary: str, invented: list[str]) -> None:
    assert unfaithful(summary, SAID) == invented


@pytest.mark.requirement("COMP-5")
def test_every_turn_is_faithful_to_itself() -> None:
    for one in FERRY:
        assert unfaithful(one.text, [one]) == []


@pytest.mark.requirement("COMP-5")
def test_a_day_that_a_turn_speaks_of_belongs_to_the_turn_that_speaks_of_it() -> None:
    later = turn(3, "I will be back tomorrow.", at=datetime(2026, 12, 31, 9, tzinfo=UTC))
    assert unfaithful("Back on 1 January 2027.", [later]) == []
    assert unfaithful("Back on 1 January 2026.", [later]) == ["1 January 2026"]
