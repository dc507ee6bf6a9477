"""Background work is batched, is finished by flush, and yields to foreground calls."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from holdfast.index.blocks import IndexSizes
from holdfast.worker.worker import FOREGROUND, BackgroundPriority, BatchDelay, Foreground
from tests.support.memories import QUICK, OpenMemory, found

LONG = 30.0  # seconds: nothing here takes so long, and a test that waited for it would be seen


@pytest.mark.requirement("LOG-3")
def test_batches_wait_longer_while_turns_keep_coming() -> None:
    delay = BatchDelay(0.05, 1.0)
    assert [delay.take() for _ in range(7)] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    delay.reset()
    assert delay.next_s == 0.05


@pytest.mark.requirement("LOG-3")
def test_a_waiting_turn_is_found_by_words_now_and_by_meaning_after_flush(
    open_memory: OpenMemory,
) -> None:
    slow = replace(QUICK, _tuning=(IndexSizes(gather_s=LONG, gather_most_s=LONG),))
    memory = open_memory(embedder="static", settings=slow)
    memory.ingest("The ferry to Naxos leaves at seven.", session="trip")
    assert found(memory.search("Naxos")) == ["The ferry to Naxos leaves at seven."]
    with memory.view as view:
        assert not view.receipts(memory.thread("trip")[0].id)
    memory.flush(LONG / 2)
    assert memory.search("Naxos", kind="turn")[0].semantic != 0
    memory.ingest("And the way back is on Sunday.", session="trip")
    memory.close()  # closing does not wait for the batch either


def test_background_work_waits_for_foreground_calls() -> None:
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


def test_a_failed_call_no_longer_blocks_background_work() -> None:
    foreground = Foreground()
    with pytest.raises(ValueError, match="no"), foreground.call():
        raise ValueError("no")
    assert foreground.calls == 0
    BackgroundPriority(foreground).yield_to_foreground()


@pytest.mark.requirement("LOG-3")
def test_background_work_proceeds_despite_an_endless_call(open_memory: OpenMemory) -> None:
    """No flush is waiting, because that would end the delay."""
    slow = replace(QUICK, _tuning=(IndexSizes(gather_s=LONG, gather_most_s=LONG),))
    memory = open_memory(embedder="static", settings=slow)
    for number in range(12):
        memory.ingest(f"I keep {number} bees in my garden.", session="yard")
    with FOREGROUND.call():
        for _ in range(3):  # turns, then the records they made
            memory._engine.worker.derive("ana")
        assert memory._engine.worker.behind("ana") == 0
    assert memory.recent(kind="record")
