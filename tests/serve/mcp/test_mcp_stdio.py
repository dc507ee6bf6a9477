"""`holdfast mcp` as a process: started by the SDK's client, stopped by a signal."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.memory import Memory
from tests.serve.mcp.mcp_peers import HELLO, command, connected, line_of
from tests.serve.peers import WAIT_S, end
from tests.support.memories import QUICK

pytestmark = pytest.mark.requirement("API-4")

Launched = list[subprocess.Popen[bytes]]


@pytest.fixture
def launched() -> Iterator[Launched]:
    """Processes that a test starts; none of them outlives it."""
    started: Launched = []
    yield started
    for one in started:
        end(one)


def launch(launched: Launched, folder: Path, *args: str) -> subprocess.Popen[bytes]:
    wanted, pipe = command(folder, *args), subprocess.PIPE
    arguments = [wanted.command, *wanted.args]
    launched.append(subprocess.Popen(arguments, stdin=pipe, stdout=pipe, stderr=pipe, env=wanted.env))
    return launched[-1]


def test_the_sdk_client_works_over_stdio(tmp_path: Path) -> None:
    with connected(command(tmp_path, "-n", "ana")) as model:
        assert model.client.server_info is not None and model.client.server_info.name == "holdfast"
        model.call("ingest", text="I moved to Lisbon", session="s1")
        assert [hit["text"] for hit in model.call("search", query="Lisbon")["hits"]] == ["I moved to Lisbon"]
        assert "I moved to Lisbon" in model.read("memory://session/s1")
        assert model.error("why", id="t-0").startswith("NotFound")
    with Memory(tmp_path / "memory.db", "ana", embedder="none", settings=QUICK) as memory:
        assert memory.status().turns == 1


def test_a_signal_stops_the_server_without_losing_a_turn(tmp_path: Path, launched: Launched) -> None:
    process = launch(launched, tmp_path, "-n", "ana", "--json")
    assert process.stdin is not None and process.stdout is not None
    said_first: list[dict[str, object]] = [HELLO, {"method": "notifications/initialized"}]
    calls: list[dict[str, object]] = [
        {"method": "tools/call", "id": number,
         "params": {"name": "memory_ingest", "arguments": {"text": f"turn {number}", "session": "s1"}}}
        for number in range(20)
    ]  # fmt: skip
    for message in said_first + calls:
        process.stdin.write(line_of(message) + b"\n")
    process.stdin.flush()
    heard = [process.stdout.readline() for _ in range(6)]
    process.send_signal(signal.SIGTERM)
    out, said = process.communicate(timeout=WAIT_S)
    answers = {one["id"]: one["result"] for one in map(json.loads, [*heard, *out.splitlines()])}
    kept = {answer["structuredContent"]["turn"]["id"] for name, answer in answers.items() if name != "hello"}
    assert "hello" in answers and kept
    assert (process.returncode, json.loads(said)) == (0, {"endpoint": "stdio", "namespace": "ana"})
    with Memory(tmp_path / "memory.db", "ana", embedder="none", settings=QUICK) as memory:
        assert kept <= {turn.id for turn in memory.thread("s1")}


def test_mcp_without_a_namespace_is_an_error(tmp_path: Path, launched: Launched) -> None:
    process = launch(launched, tmp_path)
    out, said = process.communicate(timeout=WAIT_S)
    assert (out, process.returncode) == (b"", 2)
    assert b"--namespace NAME" in said and b"Traceback" not in said
