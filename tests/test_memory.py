"""The façade: status, why, closing, and what it says of itself."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.errors import Closed
from holdfast.memory import Memory
from holdfast.testing import FixedClock, HashEmbedder
from holdfast.version import __version__
from tests.support.memories import EAGER, QUICK, OpenMemory, found, texts, user


@pytest.mark.requirement("INV-6")
def test_status_counts_turns_and_the_progress_of_derived_work(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=EAGER)
    empty = memory.status()
    assert (empty.turns, empty.records, empty.sessions, empty.hidden, empty.log_end) == (0, 0, 0, 0, 0)
    memory.ingest_many([user("one"), user("two")], session="a")
    memory.ingest("three", session="b")
    memory.forget(memory.ingest("four", session="b").id)
    memory.remember("five")
    memory.flush()
    status = memory.status()
    assert (status.turns, status.records, status.sessions, status.hidden) == (4, 1, 2, 1)
    assert (status.namespace, status.engine, status.embedder) == ("ana", "sqlite", "hash")
    assert status.fingerprint == HashEmbedder().profile.fingerprint
    assert (status.vectors_done, status.degraded, status.version) == (4, None, __version__)
    assert status.size_bytes > 0
    assert status.store.endswith("memory.db") and status.store in repr(memory)


@pytest.mark.requirement("INV-6")
def test_why_tells_the_life_of_a_turn_in_order(open_memory: OpenMemory) -> None:
    clock = FixedClock(datetime(2026, 5, 1, tzinfo=UTC))
    memory = open_memory(clock=clock)
    turn = memory.ingest("the harbour is quiet", key="k", session="s")
    memory.flush()
    clock.advance(60)
    memory.forget(turn.id)
    told = memory.why(turn.id)
    assert (told.id, told.kind, told.text, told.session) == (turn.id, "turn", "the harbour is quiet", "s")
    assert [decision.what for decision in told.decisions] == [
        "kept", "found by words", "found by meaning", "scored", "gated", "no record", "forgotten",
    ]  # fmt: skip
    assert told.decisions[0].at == turn.recorded_at and told.decisions[0].details["key"] == "k"
    assert told.decisions[-1].at == clock.now
    assert all(decision.reason for decision in told.decisions)


@pytest.mark.requirement("INV-1")
def test_a_memory_that_is_dropped_without_close_keeps_everything(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.db", "ana", embedder=HashEmbedder(), settings=QUICK)
    memory.ingest("the harbour is quiet")
    del memory
    gc.collect()
    again = open_memory()
    again.flush()
    assert found(again.search("harbour")) == texts(again.recent()) == ["the harbour is quiet"]


@pytest.mark.requirement("INV-1")
def test_an_unreferenced_memory_closes_its_store(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.db", "ana", embedder=HashEmbedder(), settings=QUICK)
    memory.ingest("the harbour is quiet")
    memory.flush()
    store, gone = memory._store, weakref.ref(memory)
    del memory
    gc.collect()
    assert gone() is None
    with pytest.raises(Closed), store.snapshot("ana"):
        pass


def test_search_does_not_import_admission(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", "ana", settings=QUICK) as memory:
        memory.ingest("the harbour is quiet")
        memory.flush()
    asking = """
import sys
import weakref
from holdfast import Memory
with Memory(sys.argv[1], "ana") as memory:
    assert [hit.text for hit in memory.search("harbour")] == ["the harbour is quiet"]
print(*(name for name in ("holdfast.admit.pipeline", "holdfast.admit.extract") if name in sys.modules))
"""
    command = [sys.executable, "-c", asking, str(tmp_path / "memory.db")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == ""


@pytest.mark.requirement("INV-1", "LOG-3")
def test_what_was_not_derived_before_close_is_derived_after_opening(open_memory: OpenMemory) -> None:
    first = open_memory(embedder="none")
    first.ingest_many([user(f"turn {number}") for number in range(20)])
    first.close()
    memory = open_memory()
    memory.flush(10)
    assert memory.status().vectors_done == 20


def test_a_context_manager_closes(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", "ana", embedder="none", settings=QUICK) as memory:
        memory.ingest("words")
    assert not (tmp_path / "m.db-wal").exists()


@pytest.mark.slow
@pytest.mark.requirement("INV-1")
def test_a_program_that_ends_without_close_ends_cleanly_and_keeps_everything(tmp_path: Path) -> None:
    program = (
        "import sys; from holdfast import Memory\n"
        "memory = Memory(sys.argv[1], namespace='ana')\n"
        "for n in range(200): memory.ingest(f'turn {n}')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(tmp_path / "m.db")], capture_output=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    with Memory(tmp_path / "m.db", "ana", embedder="none", settings=QUICK) as memory:
        assert memory.status().turns == 200


@pytest.mark.requirement("API-1")
def test_importing_holdfast_loads_nothing_heavy() -> None:
    program = "import sys, holdfast; print([m for m in ('numpy', 'apsw', 'pydantic', 'rich') if m in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.stdout.strip() == "[]"


@pytest.mark.requirement("API-1")
def test_every_public_name_can_be_had() -> None:
    import holdfast

    for name in holdfast.__all__:
        assert getattr(holdfast, name) is not None
    assert sorted(holdfast.__all__) == dir(holdfast)
    with pytest.raises(AttributeError):
        _ = holdfast.nothing_of_this_name
