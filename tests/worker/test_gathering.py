"""Work in the background waits for more of it, and for nobody who waits for it; it stands aside for who asks."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from holdfast.errors import InputError
from holdfast.settings import IndexSettings
from holdfast.worker.worker import FOREGROUND, BatchDelay, Courtesy, Foreground
from tests.support.memories import QUICK, OpenMemory, found

LONG = 30.0  # seconds: nothing here takes so long, and a test that waited for it would be seen


@pytest.mark.requirement("LOG-3")
def test_batches_wait_longer_while_turns_keep_coming() -> None:
    delay = BatchDelay(0.05, 1.0)
    assert [delay.take() for _ in range(7)] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    delay.reset()
    assert delay.next_s == 0.05


@pytest.mark.requirement("LOG-3")
def test_a_turn_that_waits_for_its_batch_is_found_by_words_at_once_and_by_meaning_after_flush(
    open_memory: OpenMemory,
) -> None:
    slow = replace(QUICK, index=IndexSettings(gather_s=LONG, gather_most_s=LONG))
    memory = open_memory(embedder="static", settings=slow)
    memory.ingest("The ferry to Naxos leaves at seven.", session="trip")
    assert found(memory.search("Naxos")) == ["The ferry to Naxos leaves at seven."]
    with memory.view as view:
        assert not view.receipts(memory.thread("trip")[0].id)
    memory.flush(LONG / 2)
    assert memory.search("Naxos", kind="turn")[0].semantic != 0
    memory.ingest("And the way back is on Sunday.", session="trip")
    memory.close()  # nor does whoever closes it wait for the batch


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="gather_most_s must be a number of seconds"):
        IndexSettings(gather_most_s=float("inf"))


def test_work_waits_until_no_call_is_under_way() -> None:
    foreground = Foreground()
    happened: list[str] = []

    def work() -> None:
        foreground.wait(LONG)
        happened.append("work")

    with foreground.call():
        with foreground.call():
            thread = threading.Thread(target=work)
            thread.start()
        happened.append("the first answer")  # another call is still under way
        happened.append("the second answer")
    thread.join(LONG)
    assert happened == ["the first answer", "the second answer", "work"]


def test_a_call_that_fails_is_under_way_no_longer() -> None:
    foreground = Foreground()
    with pytest.raises(ValueError, match="no"), foreground.call():
        raise ValueError("no")
    assert foreground.calls == 0
    Courtesy(foreground).step_aside()


@pytest.mark.requirement("LOG-3")
def test_work_beside_a_call_that_never_ends_is_done_all_the_same(open_memory: OpenMemory) -> None:
    """With nobody waiting for it: a flush would make it hurry."""
    slow = replace(QUICK, index=IndexSettings(gather_s=LONG, gather_most_s=LONG))
    memory = open_memory(embedder="static", settings=slow)
    for number in range(12):
        memory.ingest(f"I keep {number} bees in my garden.", session="yard")
    with FOREGROUND.call():
        for _ in range(3):  # turns, then the records they made
            memory._engine.worker.derive("ana")
        assert memory._engine.worker.behind("ana") == 0
    assert memory.recent(kind="record")
