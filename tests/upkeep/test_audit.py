"""Text audits of the doctor: near-duplicates at linear cost, and expired plans."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.admit.merge import Likeness, compare
from holdfast.index.vectors import embed_texts
from holdfast.testing import HashEmbedder
from holdfast.text.words import FUNCTION_WORDS, terms
from holdfast.upkeep.audit import exact_duplicates, expired_plan, last_day, near_duplicates
from holdfast.upkeep.findings import DoctorSizes
from tests.support.memories import QUICK, OpenMemory

pytestmark = pytest.mark.requirement("KEEP-3")

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
    exact = {number for number, _ in exact_duplicates(texts)}
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


@settings(max_examples=40, deadline=None)
@given(st.lists(sentence(), min_size=2, max_size=30), st.booleans())
def test_near_duplicates_equal_those_of_comparing_every_pair(texts: list[str], by_meaning: bool) -> None:
    model = HashEmbedder() if by_meaning else None
    vectors = None if model is None else embed_texts(texts, model)
    made = near_duplicates(texts, vectors, SAME, ALL)
    assert (made.pairs, made.incomplete) == (each_with_each(texts, model), [])


def test_texts_that_differ_in_a_value_are_not_compared() -> None:
    texts = [f"On day {n // 90} boat {n} took {n % 37} crates of mackerel to pier {n % 11}" for n in range(2000)]
    assert near_duplicates(texts, None, SAME, ALL).compared == 0


def test_comparisons_grow_linearly_with_the_number_of_texts() -> None:
    def texts(count: int) -> list[str]:
        """Each number twice in other words, once with a word more, and once in the past."""
        forms = (
            "Boat {} is in the harbour",
            "In the harbour is boat {}",
            "Boat {} is in the old harbour",
            "Boat {} was in the harbour",
        )
        return [form.format(n) for n in range(count) for form in forms]

    small, large = (near_duplicates(texts(count), None, SAME, ALL) for count in (200, 400))
    assert small.compared and large.compared == 2 * small.compared
    assert len(small.pairs) >= 200 and len(large.pairs) == 2 * len(small.pairs)


def test_texts_not_compared_with_all_candidates_are_listed() -> None:
    names = ("Anna", "Boris", "Carla", "Dmitri", "Edith")
    texts = [
        f"{a} taught {b}, {b} taught {c}, {c} taught {d} and {d} taught {e}" for a, b, c, d, e in permutations(names)
    ]
    made = near_duplicates(texts, None, SAME, 4)
    assert made.compared <= 4 * len(texts)
    assert made.incomplete and set(made.incomplete).isdisjoint(later for later, _ in made.pairs)


def test_the_doctor_reports_incomplete_comparisons(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=replace(QUICK, doctor=DoctorSizes(alike=1)))
    for a, b, c in permutations(("Anna", "Boris", "Carla")):
        memory.remember(f"{a} taught {b} before {c}")
    found = {one.check: one for one in memory.doctor().findings}
    finding = found["not compared with all"]
    assert finding.count and not finding.over and "doctor.alike" in finding.advice
    assert found["near-duplicates"].count == 0


SAID = datetime(2026, 5, 5, 10, tzinfo=UTC)  # a Tuesday
A_YEAR_LATER = datetime(2027, 6, 1, tzinfo=UTC)

PLANS = [
    "The dentist appointment is on 12 May 2026.",
    "I fly to Oslo next Friday.",
    "We are launching the shop in June.",
    "I will hand in the thesis on 3 July.",
    "The exam is tomorrow.",
    "My sister gets married on 14 August 2026.",
    "I'm in Rome until Friday.",
    "The lease ends in September 2026.",
    "My visa is valid until 4 June 2026.",
    "We have to renew the certificate by 2026-08-01.",
    "I never liked Oslo, but I fly there on 12 June 2026.",
    "Any news about the grant will come in July.",
    "I moved here in 2019. The lease ends on 30 June.",
    "The plumber comes on Thursday (2026-05-07).",
    "In three weeks we start the trial.",
    "The concert is on Friday.",
    "I'm starting the new medication next week.",
    "I need the slides by 20 May.",
    "Ana's birthday party is on 16 May 2026.",
    "The audit runs from 1 June 2026 to 12 June 2026.",
    "The conference is next month.",
    "I am going to repaint the hull this weekend.",
    "The deadline for the grant is 1 October.",
    "The visa interview is on 9 June 2026 at ten.",
    "Our landlord will inspect the flat on Thursday.",
    "I have to pay the deposit by 15 May 2026.",
    "My parents are arriving next weekend.",
    "The beta ships in July 2026.",
    "Guarantee on the boiler runs out on 2026-10-01.",
    "I'm going to Lisbon in August.",
    "Kickoff with the new client is tomorrow.",
    "I'll send you the contract on Friday.",
    "Leo's surgery is in two weeks.",
    "We close on the house on 30 June 2026.",
    "The sublet runs until September 2026.",
    "Next month I take my driving test.",
    "The regatta is from 5 June to 7 June 2026.",
    "I have a job interview this Thursday.",
]
FACTS = [
    "My birthday is on 12 May.",
    "Our wedding anniversary is 3 June.",
    "Mum's name day is on 26 July.",
    "From 1 June 2026 the office is in Porto.",
    "Starting next Monday I work at Acme.",
    "As of 1 July the rent is 900 euros.",
    "The new price list applies from 1 July 2026 on.",
    "Effective 2026-07-01 the API key rotates weekly.",
    "The shop is closed on Sunday.",
    "I work from home on Friday.",
    "Rubbish is collected on Thursday.",
    "We use the API version 2026-07-28.",
    "The backup lies in dump-2026-06-01.tar.gz.",
    "The schema is schema_2026-08-01.sql in the repo.",
    "Deploys happen every Friday, the next one on 8 May 2026.",
    "The team meets on Mondays.",
    "I was born in May.",
    "I moved here in June 2019.",
    "The tax return is due in May each year.",
    "The annual fair is in September.",
    "Yearly review takes place in November.",
    "I live in Rome.",
    "The store opens at nine.",
    "This sun is too strong for me.",
    "We march 12 kilometres with the scouts.",
    "Daily standup is at nine, also this Friday.",
    "After 1 June 2026 I only eat plants.",
    "Since May 2024 I have been a nurse.",
    "Rust 2027 is the edition we use.",
    "My flight was on 2 May 2026.",
    "I retired on 30 April.",
    "Winter tyres are required in November.",
    "Asparagus is in season in May and June.",
    "On Saturday the baker sells rye bread.",
    "The clinic is open on Saturday.",
    "My driving licence number starts with 2026.",
    "Dad's birthday is June 2.",
    "From July on we bill in euros.",
    "Beginning 1 September 2026 all invoices carry VAT.",
    "Our protocol version is 2026-06-18.",
    "The log file is app.2026-06-30.log.",
    "I swim on Thursday and cycle on Friday.",
    "We got married in June 2015.",
    "The museum is free on the first Sunday of each month.",
    "Since 2027 is far away, I keep my old car.",
    "We always go to Brittany in August.",
    "My anniversary is 8 August.",
    "The branch is called release/2026-08.",
    "Tomatoes go out after 15 May.",
    "Ana joined the team in April 2026.",
    "I usually file taxes in July.",
]


@pytest.mark.parametrize("text", PLANS)
def test_an_expired_plan_is_stale(text: str) -> None:
    assert expired_plan(text, SAID, A_YEAR_LATER) is not None
    assert expired_plan(text, SAID, SAID) is None


@pytest.mark.parametrize("text", FACTS)
def test_recurring_ongoing_and_named_dates_are_not_stale(text: str) -> None:
    assert expired_plan(text, SAID, A_YEAR_LATER) is None


def test_the_latest_time_in_a_text_decides() -> None:
    text = "The tender closes on 12 June 2026. The winner is told on 3 August 2027."
    assert expired_plan(text, SAID, A_YEAR_LATER) is None
    last = expired_plan(text, SAID, datetime(2027, 9, 1, tzinfo=UTC))
    assert last is not None and (last.phrase.rstrip("."), last_day(last)) == ("3 August 2027", "2027-08-03")


def test_a_date_in_the_past_when_stated_is_not_a_plan() -> None:
    assert (
        expired_plan("The dentist appointment is on 12 May 2026.", datetime(2026, 5, 20, tzinfo=UTC), A_YEAR_LATER)
        is None
    )
