"""Servers as processes of their own, and clients that speak with them over one kept connection each."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, cast

__all__ = ["Client", "HttpClient", "RpcClient", "server"]

_TIMEOUT_S = 120.0
Payload = Mapping[str, object]
Answer = dict[str, object]


class Client(Protocol):
    def call(self, verb: str, payload: Payload) -> Answer:
        """A verb's answer; whatever goes wrong is raised."""
        ...

    def close(self) -> None: ...


@contextmanager
def server(verb: str, store: Path, namespace: str, *options: str) -> Iterator[Mapping[str, str]]:
    """`holdfast rpc` or `holdfast serve` on a store: what it told at its start. At the end it is asked to stop."""
    command = [sys.executable, "-m", "holdfast.cli", verb, "--store", str(store), "-n", namespace, "--json", *options]
    around = os.environ | {"HOLDFAST_TOKEN_FILE": str(store.parent / "secret" / "token")}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=around)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"holdfast {verb} did not start; it said why on stderr")
        yield json.loads(line)
        process.send_signal(signal.SIGTERM)
        if code := process.wait(_TIMEOUT_S):
            raise RuntimeError(f"holdfast {verb} ended with {code}")
    finally:
        process.kill()
        process.communicate()


class HttpClient:
    def __init__(self, told: Mapping[str, str]) -> None:
        token = Path(told["token_file"]).read_text(encoding="ascii").strip()
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        self._link = http.client.HTTPConnection(told["url"].removeprefix("http://"), timeout=_TIMEOUT_S)
        self._link.connect()
        assert self._link.sock is not None
        # The body follows its head in a packet of its own, which must not wait for the head's receipt.
        self._link.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, verb: str, payload: Payload) -> Answer:
        self._link.request("POST", f"/v1/{verb}", json.dumps(payload), self._headers)
        answer = self._link.getresponse()
        said = json.loads(answer.read())
        if answer.status != 200:
            raise RuntimeError(f"{verb}: {answer.status} {said.get('detail')}")
        return cast("Answer", said)

    def close(self) -> None:
        self._link.close()


class RpcClient:
    def __init__(self, told: Mapping[str, str]) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_TIMEOUT_S)
        self._socket.connect(told["endpoint"].removeprefix("unix:"))
        self._lines = self._socket.makefile("rb")

    def call(self, verb: str, payload: Payload) -> Answer:
        asked = {"jsonrpc": "2.0", "method": f"memory.{verb}", "params": payload, "id": 1}
        self._socket.sendall(json.dumps(asked).encode() + b"\n")
        said = json.loads(self._lines.readline())
        if "result" not in said:
            raise RuntimeError(f"{verb}: {said.get('error')}")
        return cast("Answer", said["result"])

    def close(self) -> None:
        self._lines.close()
        self._socket.close()
