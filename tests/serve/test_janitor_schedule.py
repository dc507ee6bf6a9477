"""The janitor while a server runs: once a week, for the memories in use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from holdfast.memory import Memory
from holdfast.model import utc_now
from holdfast.serve.memories import JanitorSchedule, Memories
from holdfast.settings import ServeSettings, Settings
from holdfast.testing import HashEmbedder
from tests.serve.mcp.mcp_peers import HELLO, line_of
from tests.support.memories import QUICK

pytestmark = pytest.mark.requirement("KEEP-2")

COUNTED = replace(QUICK, janitor=replace(QUICK.janitor, count=True))


@contextmanager
def filled(folder: Path, settings: Settings = COUNTED) -> Iterator[Memories]:
    """A memory with a fact of years ago that nobody ever asked for."""
    with closing(Memories(folder / "memory.db", "ana", embedder=HashEmbedder(), settings=settings)) as memories:
        with memories.lend() as memory:
            memory.ingest("The API of our shop runs on port 8080.", at="2020-03-04T18:00:00Z")
            memory.flush()
        yield memories


def after(days: float) -> datetime:
    return utc_now() + timedelta(days=days)


def test_the_janitor_runs_a_week_after_its_last_run(tmp_path: Path) -> None:
    with filled(tmp_path) as memories:
        assert JanitorSchedule(memories, lambda: after(3)).run_due() == [], "what came this week is left alone"
        weekly = JanitorSchedule(memories, lambda: after(8))
        assert weekly.run_due() == ["ana"]
        assert weekly.run_due() == [], "one look is enough"
        with memories.lend() as memory:
            assert memory.janitor(dry_run=True).did == "done before"
        assert JanitorSchedule(memories, lambda: after(6)).run_due() == [], "the log says when it ran last"
        assert JanitorSchedule(memories, lambda: after(8)).run_due() == ["ana"]


def test_the_schedule_can_be_disabled_and_skips_empty_memories(tmp_path: Path) -> None:
    with filled(tmp_path, replace(COUNTED, serve=ServeSettings(janitor=False))) as memories:
        weekly = JanitorSchedule(memories, lambda: after(8))
        with weekly:
            pass
        with memories.lend() as memory:
            assert memory.janitor(dry_run=True).did == "dry run"
        with memories.lend("bo"):
            pass
        assert weekly.run_due() == ["ana"]


_CALL: dict[str, object] = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "memory_recent", "arguments": {}},
}


@pytest.mark.parametrize(
    ("server", "said"),
    [(("rpc", "--listen", "stdio"), []), (("mcp",), [HELLO, {"method": "notifications/initialized"}, _CALL])],
)
def test_stdio_servers_run_the_janitor_too(
    tmp_path: Path, server: tuple[str, ...], said: list[dict[str, object]]
) -> None:
    with filled(tmp_path):
        pass
    command = [sys.executable, "-m", "holdfast.cli", *server, "--store", str(tmp_path / "memory.db")]
    around = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    around |= {"HOLDFAST_STORE__DURABLE": "false", "HOLDFAST_SERVE__JANITOR_DAYS": "0.000001"}
    done = subprocess.run(
        [*command, "--namespace", "ana", "--embedder", "none"],
        input=b"".join(line_of(message) + b"\n" for message in said),
        env=around,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    with Memory(tmp_path / "memory.db", "ana", embedder=HashEmbedder(), settings=COUNTED) as memory:
        assert memory.janitor(dry_run=True).did == "done before"


def test_the_schedule_runs_in_a_thread_and_ends_with_the_server(tmp_path: Path) -> None:
    with filled(tmp_path) as memories:
        weekly = JanitorSchedule(memories, lambda: after(8))
        with weekly:
            pass
        with memories.lend() as memory:
            assert memory.janitor(dry_run=True).did == "done before"
