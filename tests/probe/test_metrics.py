"""Percentiles, ratios and shares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.probe.metrics import median, percentile, percentiles, ratio, top_share

times = st.lists(st.floats(0.0, 1e6), min_size=1)


@given(times)
def test_a_percentile_is_a_measured_value(values: list[float]) -> None:
    assert percentile(values, 0.99) in values


@given(times)
def test_percentiles_are_monotone(values: list[float]) -> None:
    assert min(values) <= median(values) <= percentile(values, 0.99) <= percentile(values, 1.0) == max(values)


def test_percentiles_of_a_hundred_values() -> None:
    assert percentiles([float(number) for number in range(100, 0, -1)]) == {"p50": 50.0, "p99": 99.0}


def test_a_percentile_needs_values() -> None:
    with pytest.raises(ValueError, match="of no values"):
        percentile([], 0.5)


def test_a_share_above_one_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        percentile([1.0], 50)


def test_a_ratio_without_a_base_is_zero() -> None:
    assert ratio(3.0, 2.0) == 1.5
    assert ratio(3.0, 0.0) == 0.0


def test_top_share_counts_the_true_top_that_was_found() -> None:
    exact = np.array([0.9, 0.1, 0.8, 0.7], np.float32)
    assert top_share(exact, [0, 2], 2) == 1.0
    assert top_share(exact, [0, 1], 2) == 0.5
    assert top_share(exact, [], 2) == 0.0


def test_top_share_accepts_ties_once() -> None:
    exact = np.array([0.5, 0.5, 0.5, 0.1], np.float32)
    assert top_share(exact, [1, 2], 2) == 1.0
    assert top_share(exact, [1, 1], 2) == 0.5


def test_top_share_is_bounded_by_the_number_of_items() -> None:
    assert top_share(np.array([0.2], np.float32), [0], 10) == 1.0
    assert top_share(np.empty(0, np.float32), [], 10) == 1.0
