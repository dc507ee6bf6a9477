"""Terms of texts in any script, in linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.words import MAX_TERM, query_terms, term_counts, terms

LONG = {
    "one word": "x" * 100_000,
    "camel case": "aB" * 50_000,
    "underscores": "_" * 100_000,
    "snake case": "a_" * 50_000,
    "a path": "a/" * 50_000,
    "apostrophes": "a'" * 50_000,
    "digits and dots": "1." * 50_000,
    "capitals": "A" * 100_000 + "b",
    "Han": "波" * 100_000,
    "Thai": "เ" * 100_000,
    "marks on one letter": "e" + "\u0301\u0323" * 50_000,
    "Hebrew points": "\u05d0" + "\u05b0\u05c1" * 50_000,
    "joiners": "a\u200d" * 50_000,
}


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("name", LONG)
def test_terms_of_hostile_texts_take_linear_time(name: str) -> None:
    started = time.process_time()
    terms(LONG[name])
    assert time.process_time() - started < 2


@pytest.mark.requirement("SAFE-4")
@given(st.text(max_size=200))
def test_terms_are_short_and_not_empty(text: str) -> None:
    found = terms(text)
    assert all(0 < len(term) <= MAX_TERM for term in found)
    assert terms(text) == found
    assert term_counts(text).total() == len(found)


@pytest.mark.requirement("RECALL-9")
@given(st.text(max_size=100))
def test_query_terms_are_terms_of_the_text(text: str) -> None:
    assert set(query_terms(text, 64)) <= set(terms(text))
    if terms(text):
        assert query_terms(text, 64)


@pytest.mark.requirement("RECALL-9")
@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("see src/holdfast/memory.py for it", "src/holdfast/memory.py"),
        ("it raised E_CONN_RESET twice", "E_CONN_RESET"),
        ("call getUserName first", "getUserName"),
        ("call getUserName first", "user name"),
        ("the build is v1.24.3-rc1 now", "v1.24.3-rc1"),
        ("write to ana@harbour.example please", "ana@harbour.example"),
        ("commit 9f86d081884c7d65 broke it", "9f86d081884c7d65"),
        ("ticket #4031 is open", "4031"),
        ("die Straße am Hafen", "STRASSE"),
        ("naïve café", "naive cafe"),
        ("ＳＬＷ－４０３１ is full width", "SLW-4031"),
        ("the ships were running late", "ship run"),
        ("don’t go", "don't"),
    ],
)
def test_identifiers_and_folded_words_match_the_text(text: str, asked: str) -> None:
    assert set(query_terms(asked, 64)) & set(terms(text))
