"""What a turn tells and its window: the same, whichever turns they are read together with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holdfast.gate.durability import weigh, weigh_apart
from holdfast.index.blocks import IndexSizes
from holdfast.models.embedder import StaticEmbedder
from holdfast.store.open import open_store
from holdfast.store.types import Space
from tests.support.memories import QUICK, OpenMemory, ingest_month, month


def _vectors(path: Path, space: Space, fingerprint: str) -> dict[int, bytes]:
    store = open_store(path, QUICK.store)
    with store.snapshot("ana") as view:
        found = dict(view.vectors_between(space, fingerprint, 0, view.end()))
    store.close()
    return found


@pytest.mark.requirement("INV-3")
@pytest.mark.parametrize("space", [Space.STATEMENT, Space.WINDOW])
def test_turns_read_a_few_at_a_time_read_as_all_at_once(
    open_memory: OpenMemory, static_embedder: StaticEmbedder, tmp_path: Path, space: Space
) -> None:
    few = replace(QUICK, _tuning=(IndexSizes(tail=1, vector_tail=1, batch=7),))
    for file, settings in (("few.db", few), ("all.db", QUICK)):
        memory = open_memory(file=file, embedder=static_embedder, settings=settings)
        ingest_month(memory)
        memory.flush()
    fingerprint = static_embedder.profile.fingerprint
    one, other = (_vectors(tmp_path / file, space, fingerprint) for file in ("few.db", "all.db"))
    assert len(one) == len(month()) and one.keys() == other.keys()
    for num, data in one.items():
        np.testing.assert_allclose(np.frombuffer(data, "<f4"), np.frombuffer(other[num], "<f4"), atol=1e-6)


def test_turns_weighed_together_are_weighed_as_each_alone() -> None:
    texts = ["", "?!", "I’ve two cats.", "ok", "I moved to Ghent in May. Thanks! Isn't it far?"] * 20
    for text, together in zip(texts, weigh_apart(texts), strict=True):
        alone = weigh(text, False)
        assert together == alone and np.array_equal(together.vectors, alone.vectors)
