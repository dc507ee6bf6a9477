"""What admission keeps in mind from one batch to the next is what it would read again."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from holdfast.admit.ledger import Earlier, SessionTurns
from holdfast.memory import Memory
from holdfast.model import Record, Turn
from tests.support.memories import OpenMemory


def records(memory: Memory) -> list[str]:
    return sorted(one.text for one in memory.recent(100, kind="record") if isinstance(one, Record))


def verdicts(memory: Memory, turn: Turn) -> list[str]:
    return [decision.what for decision in memory.why(turn.id).decisions]


@pytest.mark.requirement("MERGE-1")
def test_what_the_operator_does_between_two_batches_is_known_to_the_next(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="static")
    memory.ingest("I grow tomatoes on my balcony.")
    memory.flush()
    memory.remember("My sister lives in Ghent.")
    memory.flush()
    said = memory.ingest("My sister lives in Ghent.")
    memory.flush()
    assert verdicts(memory, said)[-1] in ("merged", "dropped")
    memory.forget(memory.search("sister Ghent", kind="fact")[0].id)
    again = memory.ingest("My sister lives in Ghent.", session="later")
    memory.flush()
    assert verdicts(memory, again)[-1] == "added"


@pytest.mark.requirement("MERGE-1", "SAFE-2")
@pytest.mark.parametrize("forgets", [False, True])
def test_what_the_operator_does_while_a_batch_is_judged_is_known_to_the_next(
    open_memory: OpenMemory, forgets: bool
) -> None:
    memory = open_memory(embedder="static")
    memory._engine.worker.wake = lambda namespace: None  # type: ignore[method-assign]  # the work is done here, step by step
    known = memory.remember("My brother lives in Porto.")
    derive(memory)

    def meanwhile() -> None:
        if forgets:
            memory.forget(known.id)
        else:
            memory.remember("My sister lives in Ghent.")

    memory.ingest("I grow tomatoes on my balcony.")
    admit(memory, meanwhile)
    said = memory.ingest("My brother lives in Porto." if forgets else "My sister lives in Ghent.")
    derive(memory)
    assert ("added" in verdicts(memory, said)) == forgets


def derive(memory: Memory) -> None:
    while memory._engine.worker.behind("ana"):
        memory._engine.worker.derive("ana")


def admit(memory: Memory, meanwhile: Callable[[], None]) -> None:
    """One turn; something is done by another thread after the records were read and before any is written."""
    worker = memory._engine.worker
    admission = worker.admission("ana")
    opening, worker._open_admission = worker._open_admission, None
    worker.derive("ana")
    worker._open_admission = opening

    def act() -> None:
        thread = threading.Thread(target=meanwhile)
        thread.start()
        thread.join()

    assert admission.admit_batch(act) == 1


@pytest.mark.requirement("INV-3")
def test_a_rebuild_by_another_process_is_seen(open_memory: OpenMemory) -> None:
    """It numbers records anew: those of acts come first."""
    memory, other = open_memory(embedder="static"), open_memory(embedder="static")
    memory.ingest("I grow tomatoes on my balcony.")
    memory.flush()
    other.remember("My sister lives in Ghent.")
    other.rebuild()
    said = memory.ingest("My sister lives in Ghent.")
    memory.flush()
    assert verdicts(memory, said)[-1] in ("merged", "dropped")
    assert records(memory) == ["I grow tomatoes on my balcony.", "My sister lives in Ghent."]


def lines(memory: Memory, heard: SessionTurns, turns: list[Turn]) -> list[list[str]]:
    with memory.view as view:
        heard.look(view)
        earlier = Earlier(view, turns, heard)
        return [[one.text for one in earlier.before(turn)] for turn in turns]


@pytest.mark.requirement("INV-3")
@pytest.mark.parametrize("reach", [0, 1, 3, 32])
def test_the_turns_before_a_turn_are_the_same_whether_they_were_heard_or_are_read(memory: Memory, reach: int) -> None:
    said = [memory.ingest(f"{number}", session="ab"[number % 3 == 0]) for number in range(20)]
    heard = SessionTurns(reach)
    for start, stop in ((0, 1), (1, 2), (2, 9), (9, 10), (10, 17), (13, 15), (17, 20)):  # one comes again, in part
        part = said[start:stop]
        assert lines(memory, heard, part) == lines(memory, SessionTurns(reach), part)


@pytest.mark.requirement("KEEP-4")
def test_a_turn_that_was_erased_is_not_heard_any_more(memory: Memory) -> None:
    said = [memory.ingest(text) for text in ("one", "two", "three")]
    heard = SessionTurns(8)
    assert lines(memory, heard, said[:2]) == [[], ["one"]]
    memory.erase(turn=said[0].id)
    assert lines(memory, heard, said[2:]) == [["two"]]


def test_a_session_of_long_turns_is_read_again_instead_of_being_kept(memory: Memory) -> None:
    said = [memory.ingest(text) for text in ("x" * 30_000, "two", "three")]
    heard = SessionTurns(8)
    lines(memory, heard, said[:2])
    assert heard.before("default", 2) is None
    assert [len(text) for text in lines(memory, heard, said[2:])[0]] == [30_000, 3]
