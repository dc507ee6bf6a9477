"""`holdfast serve --processes`: several answer on one port, none is missed when it dies, all end with the first."""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from http_peers import Server, announced, process, stop
from peers import WAIT_S

from holdfast import Memory

_TWO = ("--port", "0", "--json", "-n", "ana", "--embedder", "none", "--processes", "2")
_MANY = 40  # connections: that all of them come to one of two processes happens once in 2 ** 39


def siblings_of(pid: int) -> list[int]:
    """Whichever thread started them."""
    children = [one for task in Path(f"/proc/{pid}/task").glob("*/children") for one in task.read_text().split()]
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def healthy(server: Server) -> int:
    with server.stranger() as client:
        return client.get("/healthz").status_code


@pytest.mark.requirement("SAFE-3", "API-4", "API-5")
def test_connections_are_dealt_out_among_the_processes(tmp_path: Path) -> None:
    with process(tmp_path, *_TWO) as started:
        server = announced(started)
        (sibling,) = siblings_of(started.pid)
        os.kill(sibling, signal.SIGSTOP)
        peers = [socket.create_connection(("127.0.0.1", server.port), WAIT_S) for _ in range(_MANY)]
        for peer in peers:
            peer.sendall(f"GET /healthz HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\n\r\n".encode())
        answered: set[socket.socket] = set()
        while found := set(select.select([one for one in peers if one not in answered], [], [], 2.0)[0]):
            answered |= found
        assert 0 < len(answered) < _MANY, "one of the two is asleep"
        os.kill(sibling, signal.SIGCONT)
        for peer in peers:
            with peer:
                assert peer.recv(100).startswith(b"HTTP/1.1 200")
        assert stop(started) == (0, "")


@pytest.mark.requirement("SAFE-3", "LOG-1", "API-5")
def test_a_stop_of_several_processes_loses_no_acknowledged_turn(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    busy = threading.Event()
    with process(tmp_path, *_TWO, env={"HOLDFAST_STORE__DURABLE": "true"}) as started:
        server = announced(started)
        (sibling,) = siblings_of(started.pid)

        def ingest(who: int) -> None:
            with server.client() as client:
                for number in range(100_000):
                    try:
                        answer = client.post("/v1/ingest", json={"text": f"{who} said {number}", "session": str(who)})
                    except httpx2.TransportError:  # the server stopped
                        return
                    if answer.status_code == 200:
                        acknowledged.append(answer.json()["turn"]["id"])
                    if len(acknowledged) > 100:
                        busy.set()

        threads = [threading.Thread(target=ingest, args=(who,)) for who in range(8)]
        for thread in threads:
            thread.start()
        assert busy.wait(WAIT_S)
        assert stop(started) == (0, "")
        for thread in threads:
            thread.join(WAIT_S)
        assert not is_running(sibling)
    with Memory(tmp_path / "memory.db", "ana", embedder="none") as memory:
        kept = {turn.id for who in range(8) for turn in memory.thread(str(who))}
    assert set(acknowledged) <= kept and len(acknowledged) > 100


@pytest.mark.requirement("SAFE-1", "SAFE-3")
def test_a_process_that_dies_is_started_again_and_all_end_with_the_first(tmp_path: Path) -> None:
    with process(tmp_path, *_TWO) as started:
        server = announced(started)
        (first,) = siblings_of(started.pid)
        os.kill(first, signal.SIGKILL)
        until(lambda: not is_running(first))
        assert {healthy(server) for _ in range(_MANY)} == {200}, "nobody waits for the dead"
        until(lambda: any(one != first for one in siblings_of(started.pid)))
        (second,) = (one for one in siblings_of(started.pid) if one != first)
        started.kill()
        until(lambda: not is_running(second))
        assert started.stderr is not None and b"started again" in started.stderr.read()


@pytest.mark.requirement("SAFE-3", "SAFE-4")
def test_another_server_does_not_come_in_on_the_same_port(tmp_path: Path) -> None:
    with process(tmp_path, *_TWO) as started:
        server = announced(started)
        for count in ("1", "2"):
            again = (*_TWO, "--port", str(server.port), "--processes", count)
            with process(tmp_path, *again) as second:
                said = second.communicate(timeout=WAIT_S)[1].decode()
            assert second.returncode == 2 and f"cannot listen on 127.0.0.1:{server.port}" in said
