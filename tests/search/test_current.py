"""What is current comes before what it replaced."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from holdfast.model import Origin, Provenance, Role, Turn
from holdfast.search.search import current_first


def _turn(number: int, text: str) -> Turn:
    at = datetime(2026, 9, number, 8, 0, tzinfo=UTC)
    return Turn(f"t-{number}", "ana", "s", number, Role.USER, Origin.USER, text, at, at, 0.5, number)


@pytest.mark.requirement("RECALL-10")
def test_a_statement_replaced_twice_ranks_after_the_last_one() -> None:
    first, last = 2, 10
    nouns = {
        first: _turn(first, "Quarterly review on Tuesday the 8th at 10:00."),
        last: _turn(last, "It has moved again: Monday the 14th at 09:30, by video."),
    }
    cosines = {first: 0.5, last: 0.3}
    provenances = dict.fromkeys(nouns, Provenance.USER_STATED)
    links = [(first, 7), (7, last)]  # the turn of the 7th said that it moves, and is not among the hits
    order, outdated = current_first(
        [first, last], nouns, links, provenances, np.ones(12, np.float32), cosines, frozenset()
    )
    assert (order, outdated) == ([last, first], {first: last})


@pytest.mark.requirement("RECALL-10")
def test_links_that_run_in_a_circle_end() -> None:
    nouns = {2: _turn(2, "Blue."), 5: _turn(5, "Green.")}
    provenances = dict.fromkeys(nouns, Provenance.USER_STATED)
    order, outdated = current_first(
        [2, 5],
        nouns,
        [(2, 3), (3, 4), (4, 3), (3, 5)],
        provenances,
        np.ones(6, np.float32),
        {2: 0.4, 5: 0.4},
        frozenset(),
    )
    assert (order, outdated) == ([5, 2], {2: 5})
