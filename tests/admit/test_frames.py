"""One frame, one differing value: when the later sentence replaces the earlier, and when both hold."""

from __future__ import annotations

import pytest

from holdfast.admit.frames import Holds, align, one_value
from holdfast.admit.values import read


def holds(old: str, new: str) -> Holds | None:
    frame = align(read(old), read(new))
    return one_value(frame) if frame else None


@pytest.mark.requirement("MERGE-4")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The capital of Ruritania is Strelsau.", "The capital of Ruritania is Zenda."),
        ("Rudolf was born in the city of Strelsau.", "Rudolf was born in the city of Zenda."),
        ("The mill was founded by Ada Brown.", "The mill was founded by Ada Green."),
        ("The API runs on port 8080.", "The API runs on port 9090."),
        ("The retry limit is 3.", "The retry limit is 5."),
        ("My rent is 800 euros.", "My rent is 900 euros."),
        ("I have three hens.", "I have five hens."),
        ("The party is on Friday.", "The party is on Saturday."),
        ("The spare key is under the pot.", "The spare key is with the neighbour."),
        ("My favourite colour is teal.", "My favourite colour is green."),
        ("Teal is my favourite colour.", "Green is my favourite colour."),
        ("Entries are dropped before the write.", "Entries are dropped after the write."),
        ("The club hires two cooks this year.", "The club hires no cooks this year."),
    ],
)
def test_a_frame_with_one_place_takes_the_new_value(old: str, new: str) -> None:
    assert holds(old, new) is Holds.ONE


@pytest.mark.requirement("MERGE-4")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I like jazz.", "I like klezmer."),
        ("I speak Dutch.", "I speak French."),
        ("I have a cat.", "I have a dog."),
        ("I visited Rome.", "I visited Paris."),
        ("I'm allergic to dust.", "I'm allergic to latex."),
        ("Room 3 has a projector.", "Room 4 has a projector."),
        ("The shop opens at 8.", "The shop closes at 8."),
        ("My sister is called Anna.", "My sister is called Eva."),
        ("My sister is tall.", "My sister is a nurse."),
        ("The wedding is on 14 June.", "The wedding is in Siena."),
        ("The office of Ada is located in the city of Rome.", "The office of Bob is located in the city of Rome."),
        ("My sister lives in Leeds.", "My brother lives in Leeds."),
        ("I ran 5 km on the beach.", "I ran 7 km on the beach."),
    ],
)
def test_a_frame_with_many_places_or_another_subject_keeps_both(old: str, new: str) -> None:
    assert holds(old, new) is not Holds.ONE


def test_the_moment_of_the_change_is_no_part_of_the_frame() -> None:
    assert holds("The rent is 700 euros.", "The rent is 750 euros since January.") is Holds.ONE
