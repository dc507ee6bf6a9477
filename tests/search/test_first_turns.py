"""The first questions that anybody asks: a store of one turn, or of a handful, beside what was remembered."""

from __future__ import annotations

import pytest

from holdfast.models.embedder import StaticEmbedder
from tests.support.memories import OpenMemory, user

TURNS = [
    "I moved to Lisbon in May",
    "My sister Anna has two dogs",
    "We repaint the boat every spring",
    "The dentist is on Thursday",
    "I work at a ferry company",
]
NOTES = ["The spare key is with Zofia", "The wifi password hangs on the fridge"]


@pytest.mark.requirement("RECALL-1", "RECALL-10")
@pytest.mark.parametrize("turns", [1, 2, 3, 5])
def test_in_a_small_store_an_answer_ranks_before_other_records(
    open_memory: OpenMemory, static_embedder: StaticEmbedder, turns: int
) -> None:
    memory = open_memory(embedder=static_embedder)
    memory.ingest_many([user(text) for text in TURNS[:turns]])
    for note in NOTES:
        memory.remember(note)
    memory.flush()
    for question in ("where do I live?", "which city did I move to?"):
        assert [hit.text for hit in memory.search(question)] == [TURNS[0]]
    assert [hit.text for hit in memory.search("who has my key?")] == [NOTES[0]]
    assert not memory.search("what is the capital of Peru?")
