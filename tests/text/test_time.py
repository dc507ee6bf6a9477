"""Times that a sentence names are resolved against the time of the sentence."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from holdfast.text.time import read_spans

SUNDAY = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "phrase", "start", "end"),
    [
        ("I moved to Lisbon in May", "in May", "2026-05-01", "2026-06-01"),
        ("I'll move to Lisbon in May", "in May", "2027-05-01", "2027-06-01"),
        ("Yesterday I ran ten kilometres", "Yesterday", "2026-11-14", "2026-11-15"),
        ("the review is on Tuesday", "on Tuesday", "2026-11-17", "2026-11-18"),
        ("I need it on Tuesday", "on Tuesday", "2026-11-17", "2026-11-18"),
        ("I need the slides by 20 December", "20 December", "2026-12-20", "2026-12-21"),
        ("we agreed on Tuesday", "on Tuesday", "2026-11-10", "2026-11-11"),
        ("we met on Tuesday", "on Tuesday", "2026-11-10", "2026-11-11"),
        ("next Thursday at ten", "next Thursday", "2026-11-19", "2026-11-20"),
        ("we met three weeks ago", "three weeks ago", "2026-10-19", "2026-10-26"),
        ("a couple of days ago she called", "a couple of days ago", "2026-11-13", "2026-11-14"),
        ("I've been vegetarian since 2019", "since 2019", "2019-01-01", "2020-01-01"),
        ("born on 12 May 1984", "12 May 1984", "1984-05-12", "1984-05-13"),
        ("Sept 5, 2025 was the day", "Sept 5, 2025", "2025-09-05", "2025-09-06"),
        ("last summer we sailed", "last summer", "2026-06-01", "2026-09-01"),
        ("this weekend", "this weekend", "2026-11-14", "2026-11-16"),
        ("due 2026-12-01", "2026-12-01", "2026-12-01", "2026-12-02"),
        ("we fly in two weeks", "in two weeks", "2026-11-23", "2026-11-30"),
    ],
)
def test_a_time_in_words_becomes_a_range_of_days(text: str, phrase: str, start: str, end: str) -> None:
    (span,) = read_spans(text, SUNDAY)
    assert (span.phrase, span.start.date().isoformat(), span.end.date().isoformat()) == (phrase, start, end)


@pytest.mark.parametrize(
    "text", ["we may 12 of them", "it may be so", "31 June", "Mondays are bad", "march on", "the second of three", ""]
)
def test_other_words_are_not_read_as_times(text: str) -> None:
    assert read_spans(text, SUNDAY) == []


def test_several_times_are_returned_in_order() -> None:
    spans = read_spans("We met last Friday and will meet again on 3 December", SUNDAY)
    assert [span.phrase for span in spans] == ["last Friday", "3 December"]


@pytest.mark.parametrize("text", ["in may " * 15_000, "1" * 100_000, "next " * 20_000, "a couple of " * 8_000])
def test_times_in_hostile_text_are_read_quickly(text: str) -> None:
    start = time.process_time()
    read_spans(text[:100_000], SUNDAY)
    assert time.process_time() - start < 2.0
