"""AsyncMemory: the same verbs, with the same answers, awaited."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from holdfast.aio import AsyncMemory
from holdfast.errors import Closed, InputError
from holdfast.memory import Memory
from holdfast.testing import HashEmbedder
from holdfast.text.jsonio import plain
from tests.support.memories import QUICK, WaitingEmbedder, assistant, user

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def verbs(kind: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(verb)
        for name, verb in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


@pytest.mark.requirement("API-1")
def test_both_have_the_same_verbs_with_the_same_parameters() -> None:
    sync, later = verbs(Memory), verbs(AsyncMemory)
    assert sync.keys() == later.keys()
    for name in sync:
        assert later[name].parameters == sync[name].parameters, name
        if name == "of":  # it opens nothing, so there is nothing to wait for
            continue
        assert inspect.iscoroutinefunction(getattr(AsyncMemory, name)), name
    assert inspect.signature(AsyncMemory.__init__).parameters == inspect.signature(Memory.__init__).parameters


@pytest.mark.requirement("API-1")
async def test_every_verb_answers_as_its_twin_does(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with AsyncMemory(path, "ana", embedder=HashEmbedder(), settings=QUICK) as later:
        assert later.namespace == "ana"
        assert (await later.bootstrap("s")).turns == 0
        turn = await later.ingest("the harbour is quiet", session="s", key="k")
        assert turn is not None
        assert await later.ingest("beat", heartbeat=True) is None
        await later.ingest_many([user("is it open?"), assistant("it is")], session="t")
        record = await later.remember("the harbour opens at six")
        assert (await later.forget(record.id)).what == "forgotten"
        assert (await later.forget(record.id, undo=True)).what == "restored"
        await later.flush(10)
        with Memory(path, "ana", embedder=HashEmbedder(), settings=QUICK) as sync:
            assert plain(list(await later.search("harbour"))) == plain(list(sync.search("harbour")))
            assert await later.recent() == sync.recent()
            assert await later.recent(5, "turn", session="t") == sync.recent(5, "turn", session="t")
            assert await later.recent(kind="exchange") == sync.recent(kind="exchange")
            assert await later.recent(kind="record") == sync.recent(kind="record") == [record]
            assert await later.thread("t") == sync.thread("t")
            assert await later.themes(None, limit=3) == sync.themes(None, limit=3)
            assert await later.why(turn.id) == sync.why(turn.id)
            assert await later.history(record.id) == sync.history(record.id)
            assert await later.stats("7 days ago") == sync.stats("7 days ago")
            assert await later.calibrate([(0.2, False), (0.4, True)]) == sync.calibrate()
            assert await later.tune_similarity([0.8], 3) == sync.tune_similarity([0.8], 3)
            assert replace(await later.status(), size_bytes=0) == replace(sync.status(), size_bytes=0)
            assert await later.check() == sync.check() == []
        await later.rebuild()
        assert len(await later.search("harbour")) == 2


@pytest.mark.requirement("API-1")
async def test_errors_come_through_and_closing_is_awaited(tmp_path: Path) -> None:
    memory = AsyncMemory(tmp_path / "memory.db", "ana", embedder="none", settings=QUICK)
    with pytest.raises(InputError):
        await memory.ingest("x", role="nobody")
    await memory.close()
    await memory.close()
    with pytest.raises(Closed):
        await memory.recent()


@pytest.mark.requirement("API-1", "LOG-3")
async def test_the_event_loop_goes_on_while_a_verb_waits(tmp_path: Path) -> None:
    embedder = WaitingEmbedder()
    async with AsyncMemory(tmp_path / "memory.db", "ana", embedder=embedder, settings=QUICK) as memory:
        await memory.ingest("the harbour is quiet")
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(memory.flush)
                await memory.ingest("said while the flush waits")
                assert len(await memory.recent()) == 2
                embedder.go.set()


@pytest.mark.requirement("API-1", "INV-1")
async def test_a_cancelled_ingest_is_whole_or_absent(tmp_path: Path) -> None:
    async with AsyncMemory(tmp_path / "memory.db", "ana", embedder="none", settings=QUICK) as memory:
        for number in range(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(memory.ingest_many, [user(f"a {number}"), user(f"b {number}")], f"s{number}")
                await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                assert len(await memory.thread(f"s{number}")) in (0, 2)


@pytest.mark.requirement("SAFE-2", "API-1")
async def test_many_tasks_write_at_once(tmp_path: Path) -> None:
    async with AsyncMemory(tmp_path / "memory.db", "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        async with anyio.create_task_group() as tasks:
            for number in range(60):
                tasks.start_soon(memory.ingest, f"turn {number}")
        assert [turn.index for turn in await memory.thread("default")] == list(range(60))
        await memory.flush(10)
