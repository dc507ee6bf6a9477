"""Folding vectors into segments stays inside its namespace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.index.blocks import IndexSizes
from holdfast.memory import Memory
from holdfast.settings import Settings, StoreSettings
from holdfast.testing import HashEmbedder

SMALL = replace(Settings(), _tuning=(IndexSizes(tail=4, vector_tail=4),), store=StoreSettings(durable=False))


@pytest.mark.requirement("INV-4")
def test_a_namespace_written_later_never_folds_the_vectors_of_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, namespace="first", embedder=HashEmbedder(), settings=SMALL) as first:
        first.ingest_many([{"role": "user", "content": f"harbour light number {n}"} for n in range(40)])
        first.flush()
    with Memory(path, namespace="second", embedder=HashEmbedder(), settings=SMALL) as second:
        second.ingest_many([{"role": "user", "content": f"apple tree number {n}"} for n in range(10)])
        second.flush()
        own = second.search("apple tree number 3", limit=50)
        assert own[0].text == "apple tree number 3" and own[0].semantic > 0.99
        hits = [*own, *second.search("harbour light number 3", limit=50)]
        assert all(hit.text.startswith("apple") for hit in hits)
        assert all(hit.semantic < 0.9 for hit in hits[len(own) :])
