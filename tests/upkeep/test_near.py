"""Near copies are found as if each text were compared with each, at a cost that grows as the number of texts does."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.admit.merge import Likeness, compare
from holdfast.index.vectors import embed_texts
from holdfast.settings import DoctorSettings
from holdfast.testing import HashEmbedder
from holdfast.text.words import FUNCTION_WORDS, terms
from holdfast.upkeep.audit import copies, near_copies
from tests.support.memories import QUICK, OpenMemory

WHO = ("Anna", "my sister", "one man", "a man", "the old neighbour", "our two young nurses", "your sister", "they")
DOES = ("lives", "really lives", "worked", "works", "does not work", "drinks the strong tea", "drinks the tea")
WHERE = ("in Porto", "in the quiet library", "in the library", "at half past nine", "at 9:30", "with 2 dogs", "slowly")
ALL = 1_000_000
SAME = 0.8


@st.composite
def sentence(draw: st.DrawFn) -> str:
    parts = [
        draw(st.sampled_from(WHO)),
        draw(st.sampled_from(DOES)),
        *draw(st.lists(st.sampled_from(WHERE), max_size=2)),
    ]
    if draw(st.booleans()):
        parts = [*parts[2:], *parts[:2]]
    return " ".join(parts).capitalize() + draw(st.sampled_from([".", "!"]))


def shared(first: str, second: str) -> float:
    ours, theirs = ({term for term in terms(text) if term not in FUNCTION_WORDS} for text in (first, second))
    return len(ours & theirs) / len(ours | theirs)


def each_with_each(texts: list[str], model: HashEmbedder | None) -> list[tuple[int, int]]:
    exact = {number for number, _ in copies(texts)}
    vectors = None if model is None else embed_texts(texts, model)
    found: list[tuple[int, int]] = []
    for later, earlier in product(range(len(texts)), repeat=2):
        if earlier >= later or {later, earlier} & exact or (found and found[-1][0] == later):
            continue
        likeness = compare(texts[later], texts[earlier]).likeness
        share = shared(texts[later], texts[earlier])
        near = vectors is not None and float(vectors[later] @ vectors[earlier]) >= SAME
        alike = share >= 0.6 if likeness is Likeness.SAME else vectors is None and share >= 0.8
        if likeness is not Likeness.DIFFERENT and (near or alike):
            found.append((later, earlier))
    return found


@pytest.mark.requirement("KEEP-3")
@settings(max_examples=40, deadline=None)
@given(st.lists(sentence(), min_size=2, max_size=30), st.booleans())
def test_no_pair_is_missed_and_none_is_added(texts: list[str], by_meaning: bool) -> None:
    model = HashEmbedder() if by_meaning else None
    vectors = None if model is None else embed_texts(texts, model)
    made = near_copies(texts, vectors, SAME, ALL)
    assert (made.pairs, list(made.cut)) == (each_with_each(texts, model), [])


@pytest.mark.requirement("KEEP-3")
def test_texts_that_differ_in_a_value_are_not_compared_however_many_there_are() -> None:
    texts = [f"On day {n // 90} boat {n} took {n % 37} crates of mackerel to pier {n % 11}" for n in range(2000)]
    assert near_copies(texts, None, SAME, ALL).compared == 0


@pytest.mark.requirement("KEEP-3")
def test_twice_as_many_texts_cost_twice_as_many_comparisons() -> None:
    def texts(count: int) -> list[str]:
        """Each number twice in other words, once with a word more, and once in the past."""
        forms = (
            "Boat {} is in the harbour",
            "In the harbour is boat {}",
            "Boat {} is in the old harbour",
            "Boat {} was in the harbour",
        )
        return [form.format(n) for n in range(count) for form in forms]

    small, large = (near_copies(texts(count), None, SAME, ALL) for count in (200, 400))
    assert small.compared and large.compared == 2 * small.compared
    assert len(small.pairs) >= 200 and len(large.pairs) == 2 * len(small.pairs)


@pytest.mark.requirement("KEEP-3")
def test_of_many_with_the_same_words_some_are_compared_and_the_rest_is_told() -> None:
    names = ("Anna", "Boris", "Carla", "Dmitri", "Edith")
    texts = [
        f"{a} taught {b}, {b} taught {c}, {c} taught {d} and {d} taught {e}" for a, b, c, d, e in permutations(names)
    ]
    made = near_copies(texts, None, SAME, 4)
    assert made.compared <= 4 * len(texts)
    assert made.cut and set(made.cut).isdisjoint(later for later, _ in made.pairs)


@pytest.mark.requirement("KEEP-3")
def test_the_doctor_tells_where_it_did_not_compare_all(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=replace(QUICK, doctor=DoctorSettings(alike=1)))
    for a, b, c in permutations(("Anna", "Boris", "Carla")):
        memory.remember(f"{a} taught {b} before {c}")
    found = {one.check: one for one in memory.doctor().findings}
    told = found["not compared with all"]
    assert told.count and not told.over and "doctor.alike" in told.advice
    assert found["near-duplicates"].count == 0
