"""The plots of the overview: every count is in a bar, and the words say the same."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from holdfast.results import Bin, DayStats
from holdfast.serve.inspector.format import HEIGHT, WIDTH, by_time, histogram, plural, shorten, size, split_ids

READINGS = (("Turns judged", lambda day: day.turns), ("Merged", lambda day: day.merged))


def days(count: int) -> list[DayStats]:
    return [
        DayStats(day=(date(2026, 1, 1) + timedelta(days=number)).isoformat(), turns=number % 5 + 1)
        for number in range(count)
    ]


@pytest.mark.requirement("API-5", "MERGE-7")
@pytest.mark.parametrize(("count", "bars"), [(1, 1), (60, 60), (61, 9), (420, 60), (421, 15), (3650, 10)])
def test_many_days_are_grouped_without_loss(count: int, bars: int) -> None:
    judged, merged = by_time(days(count), READINGS, 60)
    assert len(judged.bars) == bars
    assert sum(bar.count for bar in judged.bars) == judged.total == sum(day.turns for day in days(count))
    assert merged.total == 0 and all(bar.height == 0 for bar in merged.bars)
    for bar in judged.bars:
        assert 0 <= bar.x <= bar.x + bar.width <= WIDTH + 0.1
        assert bar.y >= 0 and abs(bar.y + bar.height - HEIGHT) < 0.1
    assert f"{judged.total:,} from 01 January 2026" in judged.about


@pytest.mark.requirement("API-5")
def test_days_without_turns_are_gaps() -> None:
    judged, _ = by_time([DayStats(day="2026-01-01", turns=2), DayStats(day="2026-01-10", turns=1)], READINGS, 60)
    assert [bar.count for bar in judged.bars] == [2, 0, 0, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.requirement("API-5", "GATE-13")
def test_the_score_plot_has_the_threshold_and_a_description() -> None:
    bins = [Bin(number / 20, 10 if number == 4 else 30 if number == 10 else 0) for number in range(20)]
    plot = histogram(bins, 0.35, 40)
    assert plot.mark == round(0.35 * WIDTH, 2)
    assert "about 75% of them at or above the threshold of 0.35" in plot.about
    assert histogram([], 0.35, 0).about == "No turn has been scored yet."
    assert by_time([], READINGS, 60)[0].bars == ()


def test_numbers_ids_and_long_texts_are_formatted() -> None:
    assert (plural(1, "turn"), plural(2000, "turn"), plural(2, "memory", "memories")) == (
        "1 turn", "2,000 turns", "2 memories",
    )  # fmt: skip
    assert (size(0), size(1023), size(1536), size(5 * 2**30)) == ("0 bytes", "1,023 bytes", "1.5 KB", "5.0 GB")
    assert (shorten("abc", 3).rest, shorten("abcd", 3).text, shorten("abcd", 3).rest) == (0, "abc", 1)
    told = "by r-b25d6253335b3dd8a37f, said on 4 May"
    assert [noun for _, noun in split_ids(told) if noun] == ["r-b25d6253335b3dd8a37f"]
    assert "".join(text for text, _ in split_ids(told)) == told
