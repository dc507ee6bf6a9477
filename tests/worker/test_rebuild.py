"""Every view can be dropped and rebuilt from the log with the same answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.errors import ModelUnavailable
from holdfast.index.blocks import IndexSizes
from holdfast.memory import Memory
from holdfast.model import Action, Entry, utc_now
from holdfast.store.open import open_store
from holdfast.store.types import BLOCK, Transaction
from holdfast.testing import FailingEmbedder, HashEmbedder
from tests.support.memories import EAGER, QUICK, CountingEmbedder, OpenMemory, answers, found, ingest_month, user


@pytest.mark.requirement("INV-3")
@pytest.mark.parametrize("tail", [1, 7, 10_000])
def test_a_rebuild_gives_the_same_answers_and_asks_no_model(open_memory: OpenMemory, tail: int) -> None:
    embedder = CountingEmbedder()
    settings = replace(QUICK, _tuning=(IndexSizes(tail=tail, vector_tail=tail, batch=50),))
    memory = open_memory(embedder=embedder, settings=settings)
    ingest_month(memory)
    for number, turn in enumerate(memory.recent(30)):
        memory.forget(turn.id)
        if number % 2:
            memory.forget(turn.id, undo=True)
    memory.remember("Bree tuned pianos for nine years")
    memory.forget(memory.remember("Bree hates the metric system", kind="preference").id)
    memory.flush()
    before = answers(memory)
    asked = len(embedder.asked)
    memory.rebuild()
    rebuilt = answers(memory)
    assert without_progress(rebuilt) == without_progress(before)
    stored = [text for text in embedder.asked[asked:] if len(text) > 60]
    assert stored == [], "a rebuild embeds nothing again; only the questions were embedded"


def without_progress(said: object) -> object:
    """Leave out whether a turn was found in the word index or by a scan."""
    assert isinstance(said, dict)
    return {name: value for name, value in said.items() if name != "why"}


@pytest.mark.requirement("INV-3")
def test_a_rebuild_is_seen_by_a_memory_with_a_warm_cache(open_memory: OpenMemory) -> None:
    """A cached block must not be mistaken for its successor of the same version."""
    memory = open_memory(settings=EAGER)
    memory.ingest_many([user(f"alpha {number}") for number in range(3)])
    memory.flush()
    assert len(memory.search("alpha")) == 3
    memory.ingest_many([user(f"beta {number}") for number in range(3)], session="b")
    memory.flush()
    memory.rebuild()
    assert len(memory.search("beta", kind="turn")) == 3


@pytest.mark.requirement("INV-3", "SAFE-2")
def test_a_rebuild_by_another_memory_is_seen(open_memory: OpenMemory) -> None:
    memory, other = open_memory(settings=EAGER), open_memory(settings=EAGER)
    memory.ingest_many([user(f"alpha {number}") for number in range(3)])
    memory.flush()
    assert len(memory.search("alpha")) == 3
    other.ingest_many([user(f"beta {number}") for number in range(3)], session="b")
    other.flush()
    other.rebuild()
    other.flush()
    assert len(memory.search("beta", kind="turn")) == 3
    assert len(memory.search("alpha", kind="turn")) == 3


@pytest.mark.requirement("INV-3", "INV-5")
def test_a_rebuild_without_an_embedder_fills_the_word_index_again(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="none", settings=EAGER)
    memory.ingest_many([user(f"alpha {number}") for number in range(10)])
    memory.rebuild()
    assert memory.status().words_done == memory.status().log_end
    assert len(memory.search("alpha")) == 10


@pytest.mark.requirement("INV-3", "INV-4")
def test_a_rebuild_touches_no_other_namespace(open_memory: OpenMemory) -> None:
    ana, ben = open_memory("ana", settings=EAGER), open_memory("ben", settings=EAGER)
    for memory in (ana, ben):
        ingest_month(memory, 60)
        memory.flush()
    before = answers(ben)
    ana.rebuild()
    assert answers(ben) == before


@pytest.mark.requirement("INV-3")
def test_an_empty_namespace_can_be_rebuilt(memory: Memory) -> None:
    memory.rebuild()
    assert memory.search("anything") == []


@pytest.mark.requirement("INV-3")
def test_thousands_of_acts_in_a_row_do_not_stop_the_work(tmp_path: Path) -> None:
    """A log block that contains only acts has no vectors."""
    path = tmp_path / "memory.db"
    with Memory(path, "ana", embedder=HashEmbedder(), settings=EAGER) as memory:
        turn = memory.ingest("the harbour is quiet")
        memory.flush()
    store = open_store(path, QUICK.store)
    for number in range(2 * BLOCK):
        store.act("ana", Action(Entry.UNFORGET if number % 2 else Entry.FORGET, turn.id, utc_now()))
    store.close()
    with Memory(path, "ana", embedder=HashEmbedder(), settings=EAGER) as memory:
        memory.ingest("the lighthouse needs paint")
        memory.flush(3)
        assert found(memory.search("lighthouse")) == ["the lighthouse needs paint"]
        assert memory.search("lighthouse needs paint")[0].semantic > 0.4


@pytest.mark.requirement("INV-3")
def test_turns_across_block_boundaries_are_found(tmp_path: Path) -> None:
    count = 2 * BLOCK + 10
    settings = replace(QUICK, _tuning=(IndexSizes(tail=1, vector_tail=1, batch=1500),))
    with Memory(tmp_path / "memory.db", "ana", embedder=HashEmbedder(), settings=settings) as memory:
        memory.ingest_many([user(f"mooring m{number}") for number in range(count)])
        memory.flush()
        for number in (0, BLOCK - 3, BLOCK - 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 1, 2 * BLOCK, count - 1):
            first = memory.search(f"mooring m{number}")[0]
            assert first.text == f"mooring m{number}"
            assert first.semantic > 0.99
        (words,) = [stage for stage in memory.search("mooring", limit=5).receipt.stages if stage.name == "words"]
        assert words.count == count


@pytest.mark.requirement("INV-3")
def test_a_rebuild_embeds_no_remembered_record_again(open_memory: OpenMemory) -> None:
    embedder = FailingEmbedder()
    memory = open_memory(embedder=embedder)
    memory.remember("The spare key is with Zofia")
    memory.flush()
    before = memory.search("spare key")[0].semantic
    asked = embedder.calls
    memory.rebuild()
    assert embedder.calls == asked
    assert memory.search("spare key")[0].semantic == before > 0


@pytest.mark.requirement("INV-3")
def test_a_rebuild_does_not_embed_merged_or_renumbered_records_again(
    open_memory: OpenMemory,
) -> None:
    embedder = CountingEmbedder()
    memory = open_memory(embedder=embedder)
    for session in ("a", "b"):
        memory.ingest("My sister Anna lives in Rome. She has two dogs called Miso and Nori.", session=session)
    memory.flush()
    memory.remember("The spare key is with Zofia")
    memory.flush()
    before = memory.recent(kind="record")
    assert memory.stats().total.merged > 0 and len(before) > 1
    asked = len(embedder.asked)
    memory.rebuild()
    assert embedder.asked[asked:] == []
    assert sorted(map(repr, memory.recent(kind="record"))) == sorted(map(repr, before))
    assert memory.search("spare key")[0].semantic > 0


@pytest.mark.requirement("SAFE-1")
def test_a_flush_that_makes_no_progress_says_so_and_the_doctor_repairs_it(memory: Memory) -> None:
    """Two views that are not equally far are never read on: a version once renamed the cursor of one of them."""
    memory.ingest("I moved to Lisbon in May.")
    memory.flush()

    def fall_behind(tx: Transaction) -> None:
        tx.hold_views()  # as every change of a view: what was read before does not hold
        tx.execute("UPDATE cursors SET done = 0 WHERE ns = :ns AND stage LIKE :stage", stage="vectors:told:%")

    memory._store.database.write("ana", fall_behind)
    with pytest.raises(ModelUnavailable, match="no progress"):
        memory.flush()
    memory.rebuild()
    memory.flush()
    assert memory.search("Where did I move?")[0].text == "I moved to Lisbon in May."
