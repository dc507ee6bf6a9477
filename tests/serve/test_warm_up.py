"""The first call of a process is answered like any other."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.memory import Memory
from holdfast.serve.memories import Memories
from holdfast.settings import ContextSettings
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK, WaitingEmbedder, found, user

pytestmark = pytest.mark.requirement("TRUST-5", "SAFE-1")


def test_a_server_warms_up_when_it_opens(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        memory.ingest("My sister Anna lives in Porto.", session="old")
        memory.flush()
    patient = replace(QUICK, context=ContextSettings(deadline_s=30.0, embedder_s=10.0))  # this machine may be busy
    memories = Memories(tmp_path / "memory.db", "ana", embedder=HashEmbedder(), settings=patient)
    try:
        with memories.lend() as memory:
            assert "assembler" in vars(memory._shared)  # loaded before anyone asked
            assert memory.context([user("Where does Anna live?")]).receipt.degraded is None
    finally:
        memories.close()


@pytest.mark.slow
def test_a_search_does_not_wait_for_a_slow_embedder(tmp_path: Path) -> None:
    embedder = WaitingEmbedder()
    embedder.go.set()
    with Memory(tmp_path / "memory.db", "ana", embedder=embedder, settings=QUICK) as memory:
        memory.ingest("My sister Anna lives in Porto.")
        memory.flush()
        embedder.go.clear()
        started = time.monotonic()
        hits = memory.search("Where does Anna live?")
        assert time.monotonic() - started < 20.0  # the embedder takes 30
        assert found(hits) and hits.receipt.degraded
        embedder.go.set()
