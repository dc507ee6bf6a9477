"""Parameter sweeps: half of the probes choose, the other half confirms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.probe.probes import Probe
from holdfast.probe.sweep import WEIGHTS, default_steps, read_steps, sweep
from holdfast.settings import RankWeights, RecallSettings, Settings
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK, assistant, user

THINGS = ("kettle", "ladder", "bicycle", "lantern", "anvil", "compass", "saddle", "teapot", "violin", "hammock")

Opening = Callable[[Settings], AbstractContextManager[Memory]]


@pytest.fixture
def opening(tmp_path: Path) -> Opening:
    """Fill a store in which the user states each fact and the assistant repeats the question."""
    path = tmp_path / "memory.db"

    @contextmanager
    def open_with(settings: Settings) -> Iterator[Memory]:
        with Memory(path, "ana", embedder=HashEmbedder(), settings=settings) as memory:
            yield memory

    with open_with(QUICK) as memory:
        for thing in THINGS:
            memory.ingest_many(
                [
                    user(f"My {thing} hangs in the shed."),
                    assistant(f"You ask where the {thing} hangs: where the {thing} hangs."),
                ],
                session=thing,
            )
        memory.flush()
    return open_with


def probes(opening: Opening) -> list[Probe]:
    with opening(QUICK) as memory:
        said = {turn.session: turn.id for turn in memory.recent(100) if turn.role == "user"}
    return [Probe(f"where does the {thing} hang?", (said[thing],)) for thing in THINGS]


@pytest.mark.requirement("EVAL-1")
def test_a_sweep_finds_a_helpful_weight_that_is_confirmed(opening: Opening) -> None:
    spoilt = replace(QUICK, recall=RecallSettings(weights=RankWeights(user_preference=0.0)))
    found = sweep(opening, probes(opening), spoilt, {"user_preference": (3.0,), "number_preference": (0.1,)})
    assert (found.tuned_on, found.checked_on, found.tried) == (5, 5, 3)
    assert found.base.settings == {} and found.base.tuned["p@1"] < 1
    assert found.best is not None and found.best.settings == {"user_preference": 3.0}
    assert found.best.checked["p@1"] == 1 and found.best.checked["mrr"] > found.base.checked["mrr"]
    assert found.change is not None and found.change[0] > 0
    assert found.best in found.front


@pytest.mark.requirement("EVAL-1")
def test_a_sweep_never_proposes_a_lower_p_at_1(opening: Opening) -> None:
    found = sweep(opening, probes(opening), QUICK, {"user_preference": (-3.0,), "words": (0.3,)})
    assert found.best is None and found.change is None
    assert [one.settings for one in found.front] == [{}]
    assert all(one.tuned["p@1"] >= found.base.tuned["p@1"] for one in found.front)


@pytest.mark.requirement("EVAL-1")
def test_a_sweep_is_deterministic(opening: Opening) -> None:
    asked = probes(opening)
    steps = {"statement": (0.1, 0.5)}
    assert sweep(opening, asked, QUICK, steps) == sweep(opening, list(reversed(asked)), QUICK, steps)


@pytest.mark.requirement("EVAL-1")
def test_sweep_steps_are_read_or_refused_by_name() -> None:
    assert read_steps(["words=.2,.4", "recall.weights.b=0.5"]) == {"words": [0.2, 0.4], "b": [0.5]}
    usual = default_steps(RankWeights())
    assert sum(map(len, usual.values())) == 24 and set(usual) == set(WEIGHTS)
    with pytest.raises(InputError, match=r"no number 'ranker'"):
        read_steps(["ranker=1"])
    with pytest.raises(InputError, match="write NAME=VALUE"):
        read_steps(["words=much"])


@pytest.mark.requirement("EVAL-1")
def test_a_sweep_needs_enough_probes(opening: Opening) -> None:
    with pytest.raises(InputError, match="needs 8 probes"):
        sweep(opening, probes(opening)[:5], QUICK)
