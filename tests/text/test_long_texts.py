"""A text of megabytes is read in parts, so that other threads run meanwhile, and says the same."""

from __future__ import annotations

from itertools import pairwise

import pytest

from holdfast.models.tokens import TokenEstimator
from holdfast.text.words import parts, split_passages

pytestmark = pytest.mark.requirement("TRUST-5")

LINE = "The harbour log says that the light of pier {} is green, and was so at 10:30.\n"


@pytest.mark.parametrize("text", ["", "short", "a" * 250_000, "".join(map(LINE.format, range(9000)))])
def test_the_parts_are_the_text_and_cut_no_word(text: str) -> None:
    found = list(parts(text))
    assert "".join(found) == text
    assert all(len(part) <= 200_000 for part in found)
    assert all(part[0].isspace() for part in found[1:] if " " in text)


def test_passages_of_megabytes_cover_every_word_in_order() -> None:
    text = "".join(map(LINE.format, range(9000)))
    cuts = split_passages(text, 100, 150)
    assert [word for start, stop in cuts for word in text[start:stop].split()] == text.split()
    assert all(start < stop <= after for (start, stop), (after, _) in pairwise(cuts))


def test_tokens_of_a_long_text_are_those_of_its_lines() -> None:
    counter = TokenEstimator()
    short = "".join(map(LINE.format, range(1000)))
    assert abs(counter.count(short * 6) - 6 * counter.count(short)) <= 6
