"""`holdfast serve --processes`: several answer on one port, are restarted, and end with the first."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.serve.process import worker_processes
from tests.serve.http.http_peers import Server, announced, process, read_metrics, stop
from tests.serve.peers import WAIT_S

_TWO = ("--port", "0", "--json", "-n", "ana", "--embedder", "none", "--processes", "2")
_MANY = 40  # connections: that all of them come to one of two processes happens once in 2 ** 39


def workers_of(pid: int) -> list[int]:
    """Return the worker processes of a server, whichever thread started them."""
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
def test_connections_are_distributed_among_processes(tmp_path: Path) -> None:
    with process(tmp_path, *_TWO) as started:
        server = announced(started)
        (worker,) = workers_of(started.pid)
        os.kill(worker, signal.SIGSTOP)
        peers = [socket.create_connection(("127.0.0.1", server.port), WAIT_S) for _ in range(_MANY)]
        for peer in peers:
            peer.sendall(f"GET /healthz HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\n\r\n".encode())
        answered: set[socket.socket] = set()
        while found := set(select.select([one for one in peers if one not in answered], [], [], 2.0)[0]):
            answered |= found
        assert 0 < len(answered) < _MANY, "one of the two is asleep"
        os.kill(worker, signal.SIGCONT)
        for peer in peers:
            with peer:
                assert peer.recv(100).startswith(b"HTTP/1.1 200")
        assert stop(started) == (0, "")
        assert not is_running(worker)


@pytest.mark.requirement("SAFE-1", "SAFE-3")
def test_a_dead_worker_is_restarted_and_all_end_with_the_first(tmp_path: Path) -> None:
    with process(tmp_path, *_TWO) as started:
        server = announced(started)
        (first,) = workers_of(started.pid)
        os.kill(first, signal.SIGKILL)
        until(lambda: not is_running(first))
        assert {healthy(server) for _ in range(_MANY)} == {200}, "nobody waits for the dead"
        until(lambda: any(one != first for one in workers_of(started.pid)))
        (second,) = (one for one in workers_of(started.pid) if one != first)
        started.kill()
        until(lambda: not is_running(second))
        assert started.stderr is not None and b"is restarted" in started.stderr.read()


@pytest.mark.requirement("SAFE-3", "SAFE-4")
def test_another_server_cannot_share_the_port(tmp_path: Path) -> None:
    with process(tmp_path, *_TWO) as started:
        server = announced(started)
        for count in ("1", "2"):
            again = (*_TWO, "--port", str(server.port), "--processes", count)
            with process(tmp_path, *again) as second:
                said = second.communicate(timeout=WAIT_S)[1].decode()
            assert second.returncode == 2 and f"cannot listen on 127.0.0.1:{server.port}" in said


def _dies(listening: socket.socket, listens: Callable[[], None]) -> None:
    os._exit(3)


@pytest.mark.requirement("SAFE-1", "SAFE-3")
def test_a_worker_that_cannot_start_does_not_delay_the_server(caplog: pytest.LogCaptureFixture) -> None:
    started = time.monotonic()
    with worker_processes(1, _dies, lambda: socket.create_server(("127.0.0.1", 0)), stop_s=WAIT_S):
        assert time.monotonic() - started < 50, "a minute would pass before the server is given up"
        until(lambda: "exited with 3" in caplog.text)


@pytest.mark.requirement("API-5")
def test_metrics_sum_the_counters_of_all_processes(tmp_path: Path) -> None:
    with process(tmp_path, *_TWO) as started:
        server = announced(started)
        for _ in range(_MANY):
            with server.client() as client:
                assert client.post("/v1/status").status_code == 200
        (worker,) = workers_of(started.pid)
        for _ in range(4):  # whichever process answers
            with server.client() as client:
                metrics = read_metrics(client)
            assert metrics["holdfast_requests_total", "200", "status"] == _MANY
            assert metrics["holdfast_request_seconds_count", "status"] == _MANY
            assert metrics["holdfast_in_flight",] == 1
        os.kill(worker, signal.SIGKILL)
        until(lambda: any(one != worker for one in workers_of(started.pid)))
        with server.client() as client:
            assert read_metrics(client)["holdfast_requests_total", "200", "status"] == _MANY, "also of a dead process"
        assert stop(started)[0] == 0
