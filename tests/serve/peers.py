"""Helpers of the RPC tests: clients of a server process or socket."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import cast

Answer = dict[str, object]
WAIT_S = 60  # the machine may be busy; a test that hangs must end all the same


def start(
    folder: Path, *args: str, env: Mapping[str, str] | None = None, piped: bool = False
) -> subprocess.Popen[bytes]:
    """`holdfast rpc` as a process, on a store in the folder."""
    command = [sys.executable, "-m", "holdfast.cli", "rpc", "--store", str(folder / "memory.db"), *args]
    around = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    around |= {
        "HOLDFAST_TOKEN_FILE": str(folder / "secret" / "token"),
        "HOLDFAST_STORE__DURABLE": "false",
        **(env or {}),
    }
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=around,
    )


def first_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().decode().strip()


def stop(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Ask it to stop; its exit code and what it said on stderr."""
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=WAIT_S)
    return process.returncode, said.decode()


def end(process: subprocess.Popen[bytes]) -> None:
    """Whatever state it is in, nothing of it stays."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


class Peer:
    """One connection, or the pipes of one process."""

    def __init__(self, endpoint: str | None = None, process: subprocess.Popen[bytes] | None = None) -> None:
        self._count = 0
        self.socket: socket.socket | None = None
        if process is not None:
            assert process.stdin is not None and process.stdout is not None
            self._in, self._out = process.stdin, process.stdout
            return
        kind, _, place = str(endpoint).partition(":")
        if kind == "unix":
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.socket.settimeout(WAIT_S)
            self.socket.connect(place)
        else:
            host, _, port = place.rpartition(":")
            self.socket = socket.create_connection((host, int(port)), WAIT_S)
        self._in = self._out = cast("object", self.socket.makefile("rwb"))  # type: ignore[assignment]

    def send(self, raw: bytes) -> None:
        self._in.write(raw + b"\n")
        self._in.flush()

    def hear(self) -> Answer | list[Answer] | None:
        line = self._out.readline()
        return json.loads(line) if line else None

    def ask(self, method: str, params: object = None, **named: object) -> Answer:
        """The whole response."""
        self._count += 1
        given = named if params is None else params
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": given, "id": self._count}).encode())
        heard = self.hear()
        assert isinstance(heard, dict), heard
        assert heard["id"] == self._count
        return heard

    def call(self, method: str, **named: object) -> Answer:
        """The result; an error fails the test."""
        heard = self.ask(method, **named)
        assert "result" in heard, heard
        return cast("Answer", heard["result"])

    def error(self, method: str, **named: object) -> Answer:
        heard = self.ask(method, **named)
        assert "error" in heard, heard
        return cast("Answer", heard["error"])

    def close(self) -> None:
        if self.socket is not None:
            with suppress(OSError):  # the other side may have left first
                self._in.close()
            self.socket.close()


OpenPeer = Callable[..., Peer]
Connect = Callable[[str], Peer]
Launch = Callable[..., subprocess.Popen[bytes]]
