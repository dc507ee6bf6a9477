"""Lists of phrases as one pattern: it fits what its alternatives fit, and is fast however many they are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.vocabulary import alternatives, either

_WORDS = st.text(alphabet="abé '-", min_size=1, max_size=5)


@given(st.lists(_WORDS, min_size=1, max_size=12), _WORDS)
def test_a_grouped_list_fits_exactly_what_its_phrases_fit(phrases: list[str], text: str) -> None:
    one_by_one = re.compile("|".join(map(re.escape, phrases)), re.IGNORECASE)
    grouped = re.compile(either("|".join(phrases)), re.IGNORECASE)
    for said in (text, text.upper(), *phrases):
        assert bool(grouped.fullmatch(said)) == bool(one_by_one.fullmatch(said))


@pytest.mark.parametrize(
    ("said", "fits"),
    [("any more", True), ("anymore", True), ("any", False), ("Up to", True), ("ups", True), ("[x|y]", False)],
)
def test_phrases_may_hold_patterns_of_their_own(said: str, fits: bool) -> None:
    pattern = re.compile(either(r"any ?more|up(?: to|s)|moved?|[(|]x\|y"), re.IGNORECASE)
    assert bool(pattern.fullmatch(said)) == fits


def test_a_bar_inside_a_group_a_set_or_behind_a_backslash_parts_nothing() -> None:
    assert alternatives(r"a(?:b|c)|[|(]d|\|e|f") == [r"a(?:b|c)", "[|(]d", r"\|e", "f"]
