"""A server ends in time after a stop, whatever its calls do, and loses nothing that it acknowledged."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from holdfast.memory import Memory
from holdfast.serve.process import end_in_time
from holdfast.settings import ServeSettings
from tests.serve.peers import WAIT_S, end, stop
from tests.support.memories import QUICK

Process = subprocess.Popen[bytes]
Ask = Callable[[str, dict[str, object]], None]
_AROUND = {"HOLDFAST_SERVE__STOP_S": "1", "HOLDFAST_STORE__BUSY_S": "3600", "HOLDFAST_STORE__DURABLE": "false"}
"""A call that waits for a writer waits an hour, in C: nothing of Python ends it."""


def _over_rpc(process: Process) -> Ask:
    def ask(verb: str, given: dict[str, object]) -> None:
        _say(process, {"jsonrpc": "2.0", "method": f"memory.{verb}", "params": given, "id": 1})

    return ask


def _over_mcp(process: Process) -> Ask:
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}}
    _say(process, {"jsonrpc": "2.0", "method": "initialize", "params": client, "id": 1})
    _hear(process)
    _say(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(verb: str, given: dict[str, object]) -> None:
        named = {"name": f"memory_{verb}", "arguments": given}
        _say(process, {"jsonrpc": "2.0", "method": "tools/call", "params": named, "id": 2})

    return ask


def _say(process: Process, message: dict[str, object]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def _hear(process: Process) -> dict[str, object]:
    assert process.stdout is not None
    heard = json.loads(process.stdout.readline())
    assert "result" in heard and not heard["result"].get("isError"), heard
    return dict(heard)


@contextmanager
def _launched(folder: Path, *args: str) -> Iterator[Process]:
    command = [sys.executable, "-m", "holdfast.cli", *args, "--store", str(folder / "memory.db"), "-n", "ana"]
    around = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    around |= _AROUND | {"HOLDFAST_TOKEN_FILE": str(folder / "secret" / "token")}
    pipe = subprocess.PIPE
    process = subprocess.Popen([*command, "--embedder", "none"], stdin=pipe, stdout=pipe, stderr=pipe, env=around)
    try:
        yield process
    finally:
        end(process)


def _let_views_follow(folder: Path) -> None:
    """So that the next to write is the call, and no worker."""
    with Memory(folder / "memory.db", "ana", embedder="none", settings=QUICK) as memory:
        memory.flush()


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Nobody else can write to the store."""
    with closing(apsw.Connection(str(folder / "memory.db"))) as writer:
        writer.set_busy_timeout(WAIT_S * 1000)
        writer.execute("BEGIN IMMEDIATE")
        yield


def _wait_for_a_writer(folder: Path) -> None:
    """Wait until the server writes: it then holds the lock file of the store."""
    with (folder / "memory.db-lock").open("rb") as beside:
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            try:
                fcntl.flock(beside, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            fcntl.flock(beside, fcntl.LOCK_UN)
            threading.Event().wait(0.01)
    raise AssertionError("the call did not begin")


def _check(folder: Path, ended: tuple[int, str]) -> None:
    code, said = ended
    assert code == 0 and "Traceback" not in said
    assert said.endswith("; everything acknowledged is stored\n"), said
    with Memory(folder / "memory.db", "ana", embedder="none", settings=QUICK) as memory:
        assert [turn.text for turn in memory.thread("s1")] == ["kept"]
        assert memory.check() == []


@pytest.mark.requirement("SAFE-1", "SAFE-3", "LOG-1")
@pytest.mark.parametrize(
    ("server", "over"), [(("rpc", "--listen", "stdio"), _over_rpc), (("mcp", "--all-tools"), _over_mcp)]
)
def test_a_stop_ends_a_stdio_server_during_a_hanging_call(
    server: tuple[str, ...], over: Callable[[Process], Ask], tmp_path: Path
) -> None:
    with _launched(tmp_path, *server) as process:
        ask = over(process)
        ask("ingest", {"text": "kept", "session": "s1"})
        _hear(process)
        _let_views_follow(tmp_path)
        with _held(tmp_path):
            ask("ingest", {"text": "waits", "session": "s1"})
            _wait_for_a_writer(tmp_path)
            ended = stop(process)
    _check(tmp_path, ended)


@pytest.mark.requirement("SAFE-1", "SAFE-3", "LOG-1")
def test_a_stop_ends_an_http_server_during_a_hanging_call(tmp_path: Path) -> None:
    from tests.serve.http.http_peers import announced

    with _launched(tmp_path, "serve", "--port", "0", "--json") as process:
        server = announced(process)
        with server.client() as client:
            assert client.post("/v1/ingest", json={"text": "kept", "session": "s1"}).status_code == 200
        _let_views_follow(tmp_path)
        body = b'{"text": "waits", "session": "s1"}'
        asked = f"POST /v1/ingest HTTP/1.1\r\nHost: {server.host}\r\nAuthorization: Bearer {server.token}\r\n"
        asked += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with _held(tmp_path):
            unanswered = threading.Thread(target=server.raw, args=(asked.encode() + body,), daemon=True)
            unanswered.start()
            _wait_for_a_writer(tmp_path)
            ended = stop(process)
            unanswered.join(WAIT_S)
    _check(tmp_path, ended)


def test_calls_get_most_of_the_stop_time() -> None:
    settings = ServeSettings(stop_s=5.0)
    assert 0 < settings.stop_s - settings.finish_s < settings.finish_s


def test_the_process_is_not_ended_before_a_stop() -> None:
    end_in_time(ServeSettings(stop_s=0.001), lambda: None)
    assert not any(thread.name == "holdfast-stopping" for thread in threading.enumerate())
