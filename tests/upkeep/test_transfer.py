"""A namespace moves to an empty store with its ids, history and answers."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.aio import AsyncMemory
from holdfast.errors import InputError
from holdfast.model import Record
from holdfast.models.chat import ChatLimits
from holdfast.settings import LogSettings
from holdfast.testing import FixedClock, HashEmbedder, ScriptedChat
from holdfast.text.jsonio import plain
from tests.support.hostile_texts import HOSTILE
from tests.support.memories import EAGER, QUICK, CountingEmbedder, OpenMemory, ingest_month, user
from tests.upkeep.exports import assert_untouched, everything, lived_in, small_export

pytestmark = pytest.mark.requirement("KEEP-5")
NOON = FixedClock(datetime(2026, 5, 4, 12, 0, tzinfo=UTC))


@pytest.mark.slow
@pytest.mark.requirement("INV-3")
def test_an_import_gives_the_same_ids_records_receipts_and_answers(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = lived_in(open_memory(settings=EAGER))
    made = memory.export(tmp_path / "ana.jsonl")
    assert (made.turns, made.acts) == (123, 12 + 6 + 3 + 1 + 1)
    other = open_memory(file="other.db", settings=EAGER)
    taken = other.import_file(tmp_path / "ana.jsonl")
    assert (taken.turns, taken.acts, taken.known, taken.left_out) == (made.turns, made.acts, 0, 0)
    other.flush()
    assert everything(other) == everything(memory)


def test_exporting_an_import_gives_the_same_file(open_memory: OpenMemory, tmp_path: Path) -> None:
    lived_in(open_memory())
    first = open_memory(clock=NOON).export(tmp_path / "first.jsonl")
    other = open_memory(file="other.db", clock=NOON)
    other.import_file(tmp_path / "first.jsonl")
    other.flush()
    second = other.export(tmp_path / "second.jsonl")
    assert (tmp_path / "second.jsonl").read_bytes() == (tmp_path / "first.jsonl").read_bytes()
    assert (first.sha256, first.size_bytes) == (second.sha256, (tmp_path / "second.jsonl").stat().st_size)


@pytest.mark.requirement("INV-3", "INV-5")
def test_model_proposals_are_imported_without_asking_a_model(open_memory: OpenMemory, tmp_path: Path) -> None:
    reply = {"text": "I moved to Porto in March", "kind": "fact", "turns": [1], "basis": "stated", "supersedes": None}
    with ScriptedChat([json.dumps({"candidates": [reply]})]) as server:
        asking = replace(QUICK, chat=ChatLimits(model=f"{server.url}#small", attempts=1))
        memory = open_memory(settings=asking)
        memory.ingest("I moved to Porto in March with my sister Anna.")
        memory.flush(10)
        memory.export(tmp_path / "ana.jsonl")
        asked = len(server.requests)
        other = open_memory(file="other.db", settings=asking)
        other.import_file(tmp_path / "ana.jsonl")
        other.flush(10)
        assert len(server.requests) == asked == 1
    assert plain(other.recent(kind="record")) == plain(memory.recent(kind="record"))
    assert [one.text for one in other.recent(kind="record") if isinstance(one, Record)] == [reply["text"]]


@pytest.mark.slow
@pytest.mark.requirement("INV-3")
def test_compactions_are_imported(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(settings=EAGER), open_memory(file="other.db", settings=EAGER)
    ingest_month(memory, 60)
    memory.flush()
    sessions = sorted({turn.session for turn in memory.recent(1000)})
    made = [memory.compact(session, force=True) for session in sessions]
    assert any(compaction.did_compact for compaction in made)
    memory.flush()
    memory.export(tmp_path / "ana.jsonl")
    other.import_file(tmp_path / "ana.jsonl")
    other.flush()
    assert everything(other) == everything(memory)
    assert [other.active(session) for session in sessions] == [memory.active(session) for session in sessions]


@pytest.mark.requirement("INV-1", "SAFE-4")
def test_every_text_arrives_byte_for_byte(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(embedder="none"), open_memory(file="other.db", embedder="none")
    for name, text in HOSTILE:
        memory.ingest(text, session="texts", metadata={"name": name, "again": text.replace("\x00", "")})
    memory.export(tmp_path / "ana.jsonl")
    other.import_file(tmp_path / "ana.jsonl")
    assert other.thread("texts") == memory.thread("texts")
    assert [turn.text.encode() for turn in other.thread("texts")] == [text.encode() for _, text in HOSTILE]


def test_an_empty_namespace_can_be_exported_and_imported(open_memory: OpenMemory, tmp_path: Path) -> None:
    assert open_memory().export(tmp_path / "none.jsonl").turns == 0
    other = open_memory(file="other.db")
    assert other.import_file(tmp_path / "none.jsonl").turns == 0
    assert_untouched(other)


def test_imported_turns_are_embedded_in_the_background(open_memory: OpenMemory, tmp_path: Path) -> None:
    class Noticing(HashEmbedder):
        embedded = threading.Event()

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            self.embedded.set()
            return super().embed(texts)

    small_export(open_memory(), tmp_path / "ana.jsonl")
    open_memory(file="other.db", embedder=Noticing()).import_file(tmp_path / "ana.jsonl")
    assert Noticing.embedded.wait(20)


@pytest.mark.requirement("INV-4")
def test_an_import_writes_only_to_the_memorys_own_namespace(open_memory: OpenMemory, tmp_path: Path) -> None:
    small_export(open_memory("ana"), tmp_path / "ana.jsonl")
    ben, cleo = open_memory("ben"), open_memory("cleo")
    made = ben.import_file(tmp_path / "ana.jsonl")
    assert (made.namespace, made.exported_from) == ("ben", "ana")
    assert {turn.namespace for turn in ben.thread("s")} == {"ben"}
    assert_untouched(cleo)
    with pytest.raises(InputError, match="'global' is readable by every namespace"):
        open_memory("global").import_file(tmp_path / "ana.jsonl")


@pytest.mark.requirement("COMP-2", "KEEP-5", "INV-4")
def test_imported_guidance_belongs_to_the_importing_namespace(open_memory: OpenMemory, tmp_path: Path) -> None:
    ana, bo = open_memory("ana"), open_memory("bo", file="other.db")
    ana.ingest_many([user(f"Always lock gate {number} before you leave.") for number in range(8)], session="s")
    ana.flush()
    ana.compact("s", force=True)
    ana.export(tmp_path / "ana.jsonl")
    for _ in range(2):
        bo.import_file(tmp_path / "ana.jsonl")
        bo.flush()
        assert {one.metadata["collection"] for one in bo.active("s").guidance} == {"elevated:user:bo"}
        bo.rebuild()
    assert [one.text for one in bo.active("s").guidance] == [one.text for one in ana.active("s").guidance]


@pytest.mark.slow
@pytest.mark.requirement("KEEP-4", "KEEP-5", "INV-4")
def test_the_erase_proof_ignores_what_another_namespace_imported(open_memory: OpenMemory, tmp_path: Path) -> None:
    ana, bo = open_memory("ana"), open_memory("bo")
    ana.ingest_many([user(f"My cousin Wladka{n} repairs accordion number {n}.") for n in range(30)], session="s")
    ana.flush()
    ana.compact("s", force=True)
    ana.export(tmp_path / "ana.jsonl")
    bo.import_file(tmp_path / "ana.jsonl")
    bo.flush()
    before = everything(bo)
    proof = ana.erase(session="s", prove=True).proof
    assert proof is not None and proof.found == 0
    assert everything(bo) == before


@pytest.mark.requirement("ADMIT-7")
def test_importing_masks_secrets_if_redaction_is_on(open_memory: OpenMemory, tmp_path: Path) -> None:
    secret = "ghp_FAKEfakeFAKEfakeFAKEfakeFAKEfake0000"
    open_memory().ingest(f"my token is {secret}", session="s")
    open_memory().export(tmp_path / "ana.jsonl")
    other = open_memory(file="other.db", settings=replace(QUICK, log=LogSettings(redact_secrets=True)))
    other.import_file(tmp_path / "ana.jsonl")
    assert secret not in other.thread("s")[0].text
    assert other.import_file(tmp_path / "ana.jsonl").known == 1


@pytest.mark.requirement("API-1")
def test_async_memory_can_export_import_and_restore(tmp_path: Path) -> None:
    async def there_and_back() -> None:
        async with AsyncMemory(tmp_path / "a.db", "ana", embedder=CountingEmbedder(), settings=QUICK) as memory:
            await memory.ingest("the harbour is quiet", session="s")
            assert (await memory.export(tmp_path / "ana.jsonl")).turns == 1
            assert (await memory.import_file(tmp_path / "ana.jsonl")).known == 1
            assert (await memory.backup(tmp_path / "backup.db")).turns == 1
        assert (await AsyncMemory.restore(tmp_path / "backup.db", tmp_path / "new.db")).turns == 1

    anyio.run(there_and_back)


def test_the_python_example_of_the_transfer_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "transfer.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block, "transfer.md", "exec"), {})
    assert (tmp_path / "restored.db").exists()
