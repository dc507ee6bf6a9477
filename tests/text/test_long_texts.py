"""A text of megabytes is read in parts, so that other threads run meanwhile, and says the same."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from holdfast.models.tokens import TokenEstimator
from holdfast.text.words import parts, split_passages, term_counts, terms

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


@pytest.mark.parametrize(
    "line",
    [LINE, "Ærø’s fooBar_baz {} naïve; pier-{}.\n", "東京タワー{}と港", "x{}", "Straße, ΟΔΟΣ {} и маяк\u00a0", ""],
)
def test_terms_of_a_long_text_are_counted_in_parts_and_are_all_there(line: str) -> None:
    text, pauses = "".join(line.replace("{}", str(number)) for number in range(6000)), list[None]()
    assert term_counts(text, lambda: pauses.append(None)) == Counter(terms(text))
    assert len(pauses) >= (len(text) // 40_000 if "\n" in line else 0)
