"""The same log gives the same answers on both engines: hits and their order, threads, records, receipts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.memory import Memory
from holdfast.testing import HashEmbedder
from holdfast.text.jsonio import plain
from tests.support.memories import EAGER, QUESTIONS, answers, ingest_month


@pytest.mark.requirement("INV-3")
def test_a_copied_month_gives_the_same_answers_word_for_word(url: str, tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    with Memory(file, "ana", embedder=HashEmbedder(), settings=EAGER) as here:
        ingest_month(here, 120)
        here.remember("Deploys happen on Fridays", kind="decision")
        here.forget(here.recent(1)[0].id)
        here.compact(here.recent(1)[0].session, force=True)
        here.flush()
        Memory.copy(file, url, settings=EAGER)
        with Memory(url, "ana", embedder=HashEmbedder(), settings=EAGER) as there:
            there.flush()
            for question in QUESTIONS:
                assert plain(list(there.search(question, limit=10))) == plain(list(here.search(question, limit=10)))
            assert json.dumps(answers(there), sort_keys=True) == json.dumps(answers(here), sort_keys=True)
            assert plain(there.stats()) == plain(here.stats())
            there.rebuild()
            assert json.dumps(answers(there), sort_keys=True) == json.dumps(answers(here), sort_keys=True)


@pytest.mark.requirement("KEEP-5")
def test_a_memory_is_the_same_after_a_copy_to_a_server_and_back(url: str, tmp_path: Path) -> None:
    with Memory(tmp_path / "from.db", "ana", embedder="none", settings=EAGER) as memory:
        ingest_month(memory, 40)
        memory.ingest("a \x00 and a \ue000 and \U0001f600", metadata={"note": "\x00"}, key="k\ue000")
        first = memory.export(tmp_path / "first.jsonl").sha256
    Memory.copy(tmp_path / "from.db", url, settings=EAGER)
    Memory.copy(url, tmp_path / "back.db", settings=EAGER)
    with Memory(tmp_path / "back.db", "ana", embedder="none", settings=EAGER) as memory:
        assert memory.export(tmp_path / "second.jsonl").sha256 == first
