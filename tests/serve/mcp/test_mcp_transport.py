"""MCP over pipes, with clients that write lines by hand, send invalid ones, and leave at any time."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from holdfast.memory import Memory
from holdfast.serve.mcp.early import EarlyReader
from holdfast.serve.mcp.server import mcp_server
from holdfast.serve.mcp.transports import StdioTransport
from holdfast.serve.memories import Memories
from holdfast.settings import ServeSettings
from tests.serve.mcp.mcp_peers import EVERYTHING, HELLO, PATIENT, line_of
from tests.serve.peers import WAIT_S
from tests.support.memories import QUICK

pytestmark = pytest.mark.requirement("API-4")

MOST = 200_000
SETTINGS = replace(PATIENT, serve=ServeSettings(max_request_bytes=MOST, stop_s=WAIT_S))


class ByHand:
    """A peer on two pipes."""

    def __init__(self, to_server: int, from_server: int, serving: threading.Thread) -> None:
        self._in = os.fdopen(to_server, "wb", buffering=0)
        self.out = os.fdopen(from_server, "rb")
        self._serving = serving

    def say(self, *messages: dict[str, Any] | bytes) -> None:
        for one in messages:
            self._in.write((one if isinstance(one, bytes) else line_of(one)) + b"\n")

    def hello(self) -> None:
        self.say(HELLO, {"method": "notifications/initialized"})
        assert self.hear()["id"] == "hello"

    def call(self, verb: str, number: int, **given: object) -> None:
        self.say({"method": "tools/call", "params": {"name": f"memory_{verb}", "arguments": given}, "id": number})

    def hear(self) -> dict[str, Any]:
        heard = json.loads(self.out.readline())
        assert isinstance(heard, dict)
        return heard

    def leave(self) -> None:
        self._in.close()

    def rest(self) -> list[dict[str, Any]]:
        """Everything that is said until the server has ended."""
        said = [json.loads(line) for line in self.out.read().splitlines()]
        self._serving.join(WAIT_S)
        assert not self._serving.is_alive()
        return said


@contextmanager
def served(memories: Memories) -> Iterator[tuple[ByHand, StdioTransport]]:
    source, to_server = os.pipe()
    from_server, target = os.pipe()
    reader = EarlyReader(memories.settings.serve.max_request_bytes, early=False)
    reader.start(source, target)
    pipes = StdioTransport(reader, memories.settings.serve)

    def serve() -> None:
        anyio.run(pipes.serve, mcp_server(memories, offer=EVERYTHING))
        os.close(target)

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    peer = ByHand(to_server, from_server, serving)
    watchdog = threading.Timer(WAIT_S, pipes.stop)  # a test that hangs must end all the same
    watchdog.start()
    try:
        yield peer, pipes
    finally:
        watchdog.cancel()
        peer.leave()
        serving.join(WAIT_S)
        peer.out.close()
        os.close(source)


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[Memories]:
    held = Memories(tmp_path / "memory.db", "ana", embedder="none", settings=SETTINGS, bound=True)
    yield held
    held.close()


@pytest.fixture
def peer(memories: Memories) -> Iterator[ByHand]:
    with served(memories) as (one, _):
        yield one


def test_requests_are_answered_after_the_client_closes_stdin(memories: Memories, peer: ByHand) -> None:
    peer.say(HELLO, {"method": "notifications/initialized"})
    for number in range(30):
        peer.call("ingest", number, text=f"turn {number}", session="s1")
    peer.call("themes", 99, since=None)
    peer.leave()
    answers = {one["id"]: one["result"] for one in peer.rest()}
    assert answers.keys() == {"hello", 99, *range(30)}
    assert not any(answers[number]["isError"] for number in range(30))
    with memories.lend() as memory:
        assert memory.status().turns == 30


def test_a_stop_answers_the_requests_that_were_read(memories: Memories) -> None:
    with served(memories) as (peer, pipes):
        peer.hello()
        for number in range(20):
            peer.call("ingest", number, text=f"turn {number}", session="s1")
        assert peer.hear()["result"]["isError"] is False
        pipes.stop()
        answered = 1 + len(peer.rest())
    with memories.lend() as memory:
        assert memory.status().turns == answered


def test_a_stop_before_the_start_ends_the_transport(memories: Memories) -> None:
    source, to_server = os.pipe()
    reader = EarlyReader(memories.settings.serve.max_request_bytes)
    reader.start(source, 1)
    pipes = StdioTransport(reader, memories.settings.serve)
    pipes.stop()
    anyio.run(pipes.serve, mcp_server(memories))
    os.close(source)
    os.close(to_server)


@pytest.mark.requirement("SAFE-4")
def test_invalid_lines_get_an_error_and_the_next_is_answered(peer: ByHand) -> None:
    peer.hello()
    wrong = [
        (b"this is no JSON", None, -32700),
        (b"[" * 100_000, None, -32700),
        (b"\xff\xfe{}", None, -32700),
        (b"x" * (MOST + 1), None, -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', None, -32600),
        (b'{"jsonrpc": "1.0", "method": "ping", "id": 1}', 1, -32600),
        (b'{"jsonrpc": "2.0", "method": "ping", "params": 5, "id": "a"}', "a", -32600),
        (b'{"jsonrpc": "2.0", "method": "ping", "params": {"x": "lone \\ud800 half"}, "id": 4}', 4, -32600),
        (b"[]", None, -32600),
        (b"7", None, -32600),
    ]
    for line, request, code in wrong:
        writing = threading.Thread(target=peer.say, args=(line,))  # a pipe holds less than the longest
        writing.start()
        heard = peer.hear()
        writing.join()
        assert (heard["id"], heard["error"]["code"]) == (request, code), line[:50]
    peer.say({"method": "no/such", "id": 2})
    assert peer.hear()["error"]["code"] == -32601
    peer.say({"method": "tools/call", "params": {"name": "memory_recent", "arguments": [1]}, "id": 3})
    assert peer.hear()["error"]["code"] == -32602
    peer.say(b"", b"   ", {"error": {"code": 1, "message": "of the peer's own"}, "id": 9}, {"method": "ping", "id": 5})
    assert peer.hear() == {"jsonrpc": "2.0", "id": 5, "result": {}}


def test_a_cancelled_call_does_not_keep_the_server_running(peer: ByHand, caplog: pytest.LogCaptureFixture) -> None:
    peer.hello()
    peer.call("themes", 7, since=None)
    peer.say({"method": "notifications/cancelled", "params": {"requestId": 7}})
    peer.leave()
    assert {one["id"] for one in peer.rest()} <= {7}
    assert "in progress" not in caplog.text


def test_a_client_that_stops_reading_loses_no_turn(memories: Memories, tmp_path: Path) -> None:
    with served(memories) as (peer, _):
        peer.hello()
        os.dup2(os.open(os.devnull, os.O_RDONLY), peer.out.fileno())  # nobody reads the pipe now
        for number in range(5):
            peer.call("ingest", number, text=f"turn {number}", session="s1")
        with suppress(OSError):
            peer.leave()
    with Memory(tmp_path / "memory.db", "ana", embedder="none", settings=QUICK) as memory:
        assert memory.status().turns == 5
