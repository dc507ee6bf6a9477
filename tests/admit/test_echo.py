"""What was just recalled is no news; a new value is."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.admit.echo import is_echo

RECALLED = [
    "The user prefers dark roast coffee and drinks it black.",
    "You live in Porto with your sister Anna.",
    "Never deploy to production on Fridays, and on other days never after 16:00.",
    "Standup is at 9:30 on weekdays.",
    "Invoices go to accounts@inishlink.example on the last working day of the month.",
]
RULES = """# House rules

- Write British spelling.
- Ask before you delete a file.
- Money is kept in integer cents, never in floats.
"""


@pytest.mark.requirement("ADMIT-4")
@pytest.mark.parametrize(
    "text",
    [
        "I live in Porto with my sister Anna.",
        "you live in Porto with your sister Anna",
        "Never deploy to production on Fridays.",
        "so never deploy to production on Fridays, and on other days never after 16:00",
        "Standup is at 9:30 on weekdays",
        "Invoices go to accounts@inishlink.example on the last working day of the month",
        "Money is kept in integer cents, never in floats.",
        "ask before you delete a file",
    ],
)
def test_what_was_recalled_or_stands_in_a_rule_file_is_an_echo(text: str) -> None:
    assert is_echo(text, [*RECALLED, RULES])


@pytest.mark.requirement("ADMIT-4")
@pytest.mark.parametrize(
    "text",
    [
        "I live in Braga with my sister Anna.",
        "I live in Porto with my sister Anna and her dog.",
        "I don't live in Porto with my sister Anna.",
        "Standup is at 10:00 on weekdays.",
        "Standup is not at 9:30 on weekdays.",
        "Deploy to production on Fridays, and on other days after 16:00.",
        "Never deploy to production on Thursdays.",
        "Invoices go to billing@inishlink.example on the last working day of the month.",
        "Money is kept in integer cents, sometimes in floats.",
        "Money is kept in floats.",
        "Money is never kept in integer cents.",
        "I ask before I delete a folder.",
        "My sister Anna moved to Porto.",
        "Porto",
        "yes",
        "",
    ],
)
def test_a_restatement_with_a_new_value_is_none(text: str) -> None:
    assert not is_echo(text, [*RECALLED, RULES])


def test_without_anything_recalled_nothing_is_an_echo() -> None:
    assert not is_echo("I live in Porto.", [])
    assert not is_echo("I live in Porto.", ["", "\n"])


@given(st.text(min_size=1))
def test_a_text_that_holds_words_echoes_itself(text: str) -> None:
    assert is_echo(text, [text]) or not any(char.isalnum() for char in text)


@pytest.mark.requirement("SAFE-4")
def test_long_texts_are_compared_in_linear_time() -> None:
    begun = time.process_time()
    is_echo("a b " * 25_000, ["a b " * 50_000, "x" * 200_000])
    assert time.process_time() - begun < 2.0
