"""The circuit breaker opens, waits longer each time, probes with one call and recovers."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.errors import ModelMisbehaved, ModelUnavailable
from holdfast.models.embedder import Breaker, GuardedEmbedder, Profile
from holdfast.testing import FailingEmbedder, HashEmbedder

pytestmark = pytest.mark.requirement("SAFE-1")


class Seconds:
    """A monotonic clock that moves only when advanced."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def guarded(failures: int = 2, longest_wait_s: float = 60.0) -> tuple[GuardedEmbedder, FailingEmbedder, Seconds]:
    seconds, model = Seconds(), FailingEmbedder(down=True)
    breaker = Breaker("embedder hash", failures=failures, longest_wait_s=longest_wait_s, clock=seconds)
    return GuardedEmbedder(model, breaker), model, seconds


def fail(embedder: GuardedEmbedder, times: int = 1) -> str:
    for _ in range(times):
        with pytest.raises(ModelUnavailable) as caught:
            embedder.embed(["a"])
    return str(caught.value)


def test_a_healthy_model_is_not_degraded() -> None:
    embedder, model, _ = guarded()
    model.down = False
    assert np.array_equal(embedder.embed(["a b"]), HashEmbedder().embed(["a b"]))
    assert embedder.profile == HashEmbedder().profile
    assert embedder.degraded is None


def test_the_breaker_opens_after_repeated_failures() -> None:
    embedder, model, _ = guarded(failures=3)
    fail(embedder, 2)
    assert embedder.degraded is None
    fail(embedder, 1)
    assert model.calls == 3
    fail(embedder, 5)
    assert model.calls == 3


def test_a_success_resets_the_failure_count() -> None:
    embedder, model, _ = guarded(failures=2)
    for _ in range(4):
        model.down = True
        fail(embedder)
        model.down = False
        embedder.embed(["a"])
    assert model.calls == 8


def test_an_open_breaker_says_why_and_when_it_retries() -> None:
    embedder, _, seconds = guarded()
    fail(embedder, 2)
    seconds.now += 0.25
    said = fail(embedder)
    assert "embedder hash is down after 2 failures" in said
    assert "in 0.8 s" in said
    assert "taken down by a test" in said
    assert embedder.degraded == said


def test_the_breaker_closes_once_the_model_is_back() -> None:
    embedder, model, seconds = guarded()
    fail(embedder, 2)
    model.down = False
    seconds.now += 1.0
    assert embedder.degraded is not None
    assert "with the next call" in embedder.degraded
    embedder.embed(["a"])
    assert embedder.degraded is None


def test_each_failed_probe_doubles_the_wait_up_to_the_longest() -> None:
    embedder, model, seconds = guarded(longest_wait_s=5.0)
    fail(embedder, 2)
    for wait in (1.0, 2.0, 4.0, 5.0, 5.0):
        seconds.now += wait - 0.01
        before = model.calls
        fail(embedder)
        assert model.calls == before
        seconds.now += 0.01
        fail(embedder)
        assert model.calls == before + 1


def test_a_closed_breaker_starts_with_the_short_wait_again() -> None:
    embedder, model, seconds = guarded()
    fail(embedder, 2)
    seconds.now += 1.0
    fail(embedder)
    model.down = False
    seconds.now += 2.0
    embedder.embed(["a"])
    model.down = True
    assert "in 1.0 s" in (fail(embedder, 2) and fail(embedder))


def test_only_one_call_probes_while_the_others_are_refused() -> None:
    seconds = Seconds()
    breaker = Breaker("m", failures=1, clock=seconds)
    with pytest.raises(ModelUnavailable):
        breaker.call(lambda: FailingEmbedder(down=True).embed(["a"]))
    seconds.now += 1.0
    inside, go_on = threading.Event(), threading.Event()

    def probe() -> str:
        inside.set()
        assert go_on.wait(5)
        return "healed"

    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(breaker.call(probe)))
    thread.start()
    assert inside.wait(5)
    with pytest.raises(ModelUnavailable, match="now, by one call"):
        breaker.call(lambda: "second probe")
    go_on.set()
    thread.join()
    assert answers == ["healed"]
    assert breaker.call(lambda: "open to all") == "open to all"


def test_after_an_interrupted_probe_the_next_call_probes() -> None:
    seconds = Seconds()
    breaker = Breaker("m", failures=1, clock=seconds)

    def down() -> None:
        raise ModelUnavailable("down")

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(ModelUnavailable):
        breaker.call(down)
    seconds.now += 1.0
    with pytest.raises(KeyboardInterrupt):
        breaker.call(interrupted)
    assert breaker.call(lambda: "healed") == "healed"


def test_a_failure_that_began_before_the_outage_does_not_prolong_it() -> None:
    seconds = Seconds()
    breaker = Breaker("m", failures=1, clock=seconds)

    def down() -> None:
        raise ModelUnavailable("down")

    def slow_call_that_outlives_the_first_failure() -> None:
        with pytest.raises(ModelUnavailable):
            breaker.call(down)
        seconds.now += 0.9
        raise ModelUnavailable("down too")

    with pytest.raises(ModelUnavailable):
        breaker.call(slow_call_that_outlives_the_first_failure)
    seconds.now += 0.1
    assert breaker.call(lambda: "healed") == "healed"


class Lying:
    """An embedder that returns a fixed value."""

    def __init__(self, answer: NDArray[np.float32] | Exception) -> None:
        self._answer = answer

    @property
    def profile(self) -> Profile:
        return HashEmbedder().profile

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.mark.requirement("INV-5")
@pytest.mark.parametrize(
    "answer",
    [np.zeros((2, 64), np.float32), np.zeros((1, 3), np.float32), np.full((1, 64), np.nan, np.float32), KeyError("x")],
    ids=["too many", "too short", "not finite", "an error of its own"],
)
def test_invalid_vectors_count_as_a_failure(answer: NDArray[np.float32] | Exception) -> None:
    embedder = GuardedEmbedder(Lying(answer), Breaker("liar", failures=1))
    with pytest.raises(ModelMisbehaved):
        embedder.embed(["a"])
    assert embedder.degraded is not None
