"""A model that is slow, dead, replaced or wrong costs quality, never a turn."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.errors import FlushTimeout, ModelError, ModelUnavailable
from holdfast.memory import Memory
from holdfast.models.embedder import Profile
from holdfast.testing import FailingEmbedder, HashEmbedder
from tests.support.memories import (
    EAGER,
    QUICK,
    CountingEmbedder,
    OpenMemory,
    OtherEmbedder,
    WaitingEmbedder,
    found,
    ingest_month,
    texts,
    user,
)


class HealingEmbedder(CountingEmbedder):
    """Raises a given error; `answered` is set after the first answer."""

    def __init__(self, fault: Exception | None) -> None:
        super().__init__()
        self.fault = fault
        self.answered = threading.Event()
        self.failed = threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.fault is not None:
            self.failed.set()
            raise self.fault
        vectors = super().embed(texts)
        self.answered.set()
        return vectors


@pytest.mark.requirement("INV-5", "SAFE-1")
def test_with_a_dead_embedder_search_uses_words_and_status_says_so(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=FailingEmbedder(down=True))
    memory.ingest("the harbour is quiet")
    with pytest.raises(ModelUnavailable, match="taken down"):
        memory.flush()
    answer = memory.search("harbour")
    assert found(answer) == texts(memory.recent()) == ["the harbour is quiet"]
    assert answer.receipt.degraded is not None and "words" in answer.receipt.degraded
    degraded = memory.status().degraded
    assert degraded is not None and "taken down" in degraded and "found by words" in degraded
    assert memory.status().vectors_done == 0


@pytest.mark.requirement("INV-5", "LOG-3")
def test_flush_raises_if_work_is_not_done_in_time(open_memory: OpenMemory) -> None:
    embedder = WaitingEmbedder()
    memory = open_memory(embedder=embedder)
    memory.ingest("the harbour is quiet")
    with pytest.raises(FlushTimeout, match="nothing is lost"):
        memory.flush(timeout=0.05)
    with pytest.raises(TimeoutError):
        memory.flush(timeout=0)
    embedder.go.set()
    memory.flush(timeout=10)
    assert memory.status().vectors_done == 1


@pytest.mark.requirement("INV-5")
def test_flush_with_a_dead_embedder_times_out_with_the_reason(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=FailingEmbedder(down=True))
    memory.ingest("the harbour is quiet")
    with pytest.raises(ModelUnavailable):
        memory.flush()  # the model has been asked
    with pytest.raises(FlushTimeout, match="taken down"):
        memory.flush(timeout=0.3)


@pytest.mark.requirement("SAFE-1", "INV-3")
def test_a_recovered_embedder_catches_up_in_log_order(open_memory: OpenMemory) -> None:
    embedder = HealingEmbedder(ModelUnavailable("no route to host"))
    memory = open_memory(embedder=embedder)
    for number in range(20):
        memory.ingest(f"turn {number}")
    assert embedder.failed.wait(10)
    embedder.fault = None
    assert embedder.answered.wait(20)  # nobody called flush
    memory.flush(10)
    assert embedder.asked == [f"turn {number}" for number in range(20)]
    assert memory.status().degraded is None
    assert memory.status().vectors_done == 20


@pytest.mark.requirement("INV-3")
def test_an_outage_delays_views_but_never_changes_them(open_memory: OpenMemory) -> None:
    embedder = FailingEmbedder(down=True)
    late, prompt = open_memory(file="late.db", embedder=embedder), open_memory(file="prompt.db")
    ingest_month(late, 80)
    ingest_month(prompt, 80)
    prompt.flush()
    embedder.down = False
    late.flush(20)
    for question in ("piano tuning", "metric", "my name"):
        wanted = [(hit.text, hit.score, hit.semantic) for hit in prompt.search(question, limit=30)]
        assert [(hit.text, hit.score, hit.semantic) for hit in late.search(question, limit=30)] == wanted


@pytest.mark.requirement("INV-5", "SAFE-1")
@pytest.mark.parametrize(
    "fault",
    [RuntimeError("CUDA out of memory"), MemoryError(), KeyError("x"), ValueError("bad"), OSError(28, "no space")],
    ids=lambda fault: type(fault).__name__,
)
def test_an_embedder_may_raise_anything(open_memory: OpenMemory, fault: Exception) -> None:
    embedder = HealingEmbedder(fault)
    memory = open_memory(embedder=embedder)
    memory.ingest("the harbour is quiet")
    with pytest.raises(ModelError):
        memory.flush()
    assert found(memory.search("harbour")) == ["the harbour is quiet"]
    assert memory.status().degraded
    embedder.fault = None
    memory.flush(20)
    assert memory.search("harbour")[0].semantic > 0.3


class WrongEmbedder(HashEmbedder):
    """Returns something other than unit vectors."""

    def __init__(self, value: object) -> None:
        self.value = value

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.value  # type: ignore[return-value]


@pytest.mark.requirement("INV-5", "SAFE-1")
@pytest.mark.parametrize(
    "value",
    [
        None,
        np.zeros((0, 64), np.float32),
        np.zeros((1, 63), np.float32),
        np.zeros(64, np.float32),
        np.full((1, 64), np.nan, np.float32),
        np.full((1, 64), np.inf, np.float32),
        np.full((1, 64), "a", object),
        "vectors",
    ],
    ids=["None", "too few", "too short", "flat", "nan", "inf", "letters", "text"],
)
def test_an_embedder_may_return_anything(open_memory: OpenMemory, value: object) -> None:
    memory = open_memory(embedder=WrongEmbedder(value))
    memory.ingest("the harbour is quiet")
    with pytest.raises(ModelError) as caught:
        memory.flush()
    assert found(memory.search("harbour")) == ["the harbour is quiet"]
    assert memory.status().degraded, f"the caller gets no error: {caught.value}"


@pytest.mark.requirement("INV-5")
def test_an_array_that_the_embedder_reuses_is_not_modified(open_memory: OpenMemory) -> None:
    """A cache may return read-only arrays; one text is outside the model's scripts."""

    class Latin(HashEmbedder):
        @property
        def profile(self) -> Profile:
            return replace(super().profile, scripts=frozenset({"Latin"}))

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            vectors = super().embed(texts)
            vectors.flags.writeable = False
            return vectors

    memory = open_memory(embedder=Latin())
    memory.ingest("渡轮每天早上七点半从北码头出发")
    memory.flush(2)
    assert memory.status().vectors_done == 1


@pytest.mark.requirement("SAFE-1")
def test_status_stays_degraded_until_the_embedder_has_answered(open_memory: OpenMemory) -> None:
    """A probe of a dead model does not count as recovery."""
    asked_again, go = threading.Event(), threading.Event()

    class DeadThenSlow(HashEmbedder):
        calls = 0

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            self.calls += 1
            if self.calls == 1:
                raise ModelUnavailable("no route to host")
            asked_again.set()
            assert go.wait(20)
            return super().embed(texts)

    memory = open_memory(embedder=DeadThenSlow())
    memory.ingest("the harbour is quiet")
    assert asked_again.wait(20)
    try:
        assert memory.status().degraded
    finally:
        go.set()
    memory.flush(10)
    assert memory.status().degraded is None


@pytest.mark.requirement("INV-5")
def test_without_an_embedder_everything_works_by_words(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="none", settings=EAGER)
    ingest_month(memory, 50)
    memory.flush()
    assert memory.search("piano")[0].words
    status = memory.status()
    assert (status.embedder, status.fingerprint, status.vectors_done, status.degraded) == ("none", "", 0, None)
    why = memory.why(memory.recent(1)[0].id)
    assert any("no embedder" in decision.reason for decision in why.decisions)


# --- another model


def semantic(memory: Memory, question: str) -> float:
    return max((hit.semantic for hit in memory.search(question)), default=0.0)


@pytest.mark.requirement("RECALL-12")
@pytest.mark.parametrize("settings", [QUICK, EAGER], ids=["tail", "segments"])
def test_a_new_model_ignores_old_vectors_and_embeds_again(open_memory: OpenMemory, settings: object) -> None:
    chosen = EAGER if settings is EAGER else QUICK
    first = open_memory(settings=chosen)
    for number in range(12):
        first.ingest(f"harbour light number {number}")
    first.flush()
    first.close()
    slow_profile = replace(HashEmbedder().profile, fingerprint="slow|1")

    class Slow(WaitingEmbedder):
        profile = slow_profile

    slow = Slow()
    second = open_memory(embedder=slow, settings=chosen)
    assert slow.asked.wait(10)  # it began to embed again in the background
    assert (second.status().vectors_done, second.status().behind) == (0, 12)
    slow.go.set()
    second.flush(10)
    assert (second.status().vectors_done, second.status().behind) == (12, 0)
    assert semantic(second, "harbour light number 7") > 0.9
    second.close()
    third = open_memory(embedder=OtherEmbedder(), settings=chosen)
    third.flush(10)
    assert semantic(third, "harbour light number 7") == pytest.approx(1.0, abs=0.01)


@pytest.mark.requirement("RECALL-12")
def test_search_uses_words_until_a_new_model_has_embedded(open_memory: OpenMemory) -> None:
    first = open_memory()
    first.ingest("the harbour is quiet")
    first.flush()
    first.close()

    class Dead(FailingEmbedder):
        profile = replace(HashEmbedder().profile, fingerprint="dead|1")

    second = open_memory(embedder=Dead(down=True))
    (hit,) = second.search("harbour")
    assert (hit.text, hit.semantic) == ("the harbour is quiet", 0.0)


@pytest.mark.requirement("RECALL-12")
@pytest.mark.parametrize("settings", [QUICK, EAGER], ids=["tail", "segments"])
def test_returning_to_the_first_model_uses_its_vectors_again(open_memory: OpenMemory, settings: object) -> None:
    chosen = EAGER if settings is EAGER else QUICK
    for embedder in (HashEmbedder(), OtherEmbedder(), HashEmbedder()):
        memory = open_memory(embedder=embedder, settings=chosen)
        memory.ingest("the harbour is quiet", key="k")
        memory.flush(10)
        assert semantic(memory, "the harbour is quiet") == pytest.approx(1.0, abs=0.01)
        memory.close()


@pytest.mark.requirement("RECALL-12", "SAFE-2")
def test_two_models_on_one_namespace_do_not_share_vectors(open_memory: OpenMemory) -> None:
    one, other = open_memory(), open_memory(embedder=OtherEmbedder())
    one.ingest("the harbour is quiet")
    one.flush(10)
    other.flush(10)
    assert semantic(one, "the harbour is quiet") == pytest.approx(1.0, abs=0.01)
    assert semantic(other, "the harbour is quiet") == pytest.approx(1.0, abs=0.01)


@pytest.mark.requirement("INV-3")
def test_each_turn_is_embedded_once_across_reopenings(open_memory: OpenMemory) -> None:
    embedder = CountingEmbedder()
    for part in range(4):
        memory = open_memory(embedder=embedder, settings=EAGER)
        memory.ingest_many([user(f"ping {part} {number}") for number in range(10)])
        memory.flush()
        memory.close()
    assert sorted(embedder.asked) == sorted(set(embedder.asked))
    assert len(embedder.asked) == 40


@pytest.mark.requirement("LOG-3")
def test_flush_progress_ends_at_the_total(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=(embedder := WaitingEmbedder()))
    memory.ingest_many([user(f"turn {number}") for number in range(30)])
    told: list[tuple[int, int]] = []
    embedder.go.set()
    memory.flush(10, progress=lambda done, total: told.append((done, total)))
    assert told == [] or told[-1][0] == told[-1][1]
    assert [done for done, _ in told] == sorted(done for done, _ in told)
