"""Turns are summarised with their neighbours in time, all of them, each once."""

from __future__ import annotations

import math
import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compact.plan import clusters
from holdfast.model import Turn
from tests.support.talks import BEGIN, turn

MINUTES = st.lists(st.integers(0, 50), max_size=130)


def turns_at(minutes: list[int]) -> list[Turn]:
    return [turn(index, "said", at=BEGIN + timedelta(minutes=minute)) for index, minute in enumerate(minutes)]


@pytest.mark.requirement("COMP-1")
def test_no_turns_make_no_clusters() -> None:
    assert clusters([]) == []


@pytest.mark.requirement("COMP-1")
@pytest.mark.parametrize(("n", "sizes"), [(1, [1]), (20, [20]), (21, [11, 10]), (41, [14, 14, 13]), (60, [20, 20, 20])])
def test_clusters_are_of_about_one_size_and_never_larger_than_twenty(n: int, sizes: list[int]) -> None:
    assert [len(cluster) for cluster in clusters(turns_at(list(range(n))))] == sizes


@pytest.mark.requirement("COMP-1")
@given(MINUTES, st.integers(1, 25), st.randoms(use_true_random=False))
def test_whatever_the_order_every_turn_is_in_one_cluster_and_time_runs_on(
    minutes: list[int], size: int, chance: random.Random
) -> None:
    turns = turns_at(minutes)
    found = clusters(turns, size)
    shuffled = list(turns)
    chance.shuffle(shuffled)
    assert clusters(shuffled, size) == found
    flat = [one for cluster in found for one in cluster]
    assert flat == sorted(turns, key=lambda one: (one.at, one.id))
    n, c = len(turns), math.ceil(len(turns) / size)
    assert len(found) == c
    assert all(1 <= len(cluster) <= size for cluster in found)
    place = {one.id: number for number, cluster in enumerate(found) for one in cluster}
    assert all(place[one.id] == i * c // n for i, one in enumerate(flat))
