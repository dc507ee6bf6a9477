"""Helpers of the HTTP tests: a server on a real port, in this process or in another."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from holdfast.models.embedder import Embedder
from holdfast.serve.http.app import create_app
from holdfast.serve.http.auth import addresses_of
from holdfast.serve.mcp.tools import Offer
from holdfast.serve.memories import Memories
from holdfast.serve.process import ServeLimits
from holdfast.serve.run_http import make_server
from holdfast.settings import ContextSettings, ServeSettings, Settings, tuned
from holdfast.testing import HashEmbedder
from tests.serve.peers import WAIT_S
from tests.support.memories import QUICK

EVERY_TOOL = Offer(all_tools=True, structured=True)
TOKEN = "a-token-of-the-tests-" + "x" * 32
PATIENT = ContextSettings(deadline_s=30.0, embedder_s=10.0)
"""A busy machine must not make another answer."""


@dataclass(frozen=True)
class Server:
    port: int
    memories: Memories | None = None
    token: str = TOKEN

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def client(self, **headers: str) -> httpx2.Client:
        """One that has the token, unless another is given."""
        shown = {"authorization": f"Bearer {self.token}"} | headers
        return httpx2.Client(base_url=f"http://{self.host}", headers=shown, timeout=WAIT_S)

    def stranger(self, **headers: str) -> httpx2.Client:
        return httpx2.Client(base_url=f"http://{self.host}", headers=headers, timeout=WAIT_S)

    def raw(self, sent: bytes) -> bytes:
        """Send bytes as they are; all that comes back until the server hangs up."""
        with socket.create_connection(("127.0.0.1", self.port), WAIT_S) as peer:
            peer.sendall(sent)
            return hear(peer)

    def ask(self, *lines: str, path: str = "/v1/status", method: str = "POST", body: bytes = b"") -> int:
        """The status of a request with exactly these header lines."""
        head = [f"{method} {path} HTTP/1.1", *lines, f"Content-Length: {len(body)}", "Connection: close"]
        said = self.raw("\r\n".join([*head, "", ""]).encode("latin-1") + body)
        return int(said.split(b" ", 2)[1])


def read_metrics(client: httpx2.Client) -> dict[tuple[str, ...], float]:
    """Return the value of each metric, by its name and the values of its labels in the order of their names."""
    families = text_string_to_metric_families(client.get("/metrics").text)
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def hear(peer: socket.socket) -> bytes:
    """Everything until the other side hangs up, however it does."""
    heard = bytearray()
    try:
        while piece := peer.recv(1 << 16):
            heard += piece
    except ConnectionResetError:  # it did so while we were still talking
        return bytes(heard)
    return bytes(heard)


@contextmanager
def served(
    folder: Path,
    namespace: str | None = "ana",
    *,
    file: str = "memory.db",
    bound: bool = False,
    token_for: Mapping[str, str] | None = None,
    rules: tuple[str, ...] = (),
    serve: ServeSettings | None = None,
    settings: Settings = QUICK,
    embedder: Embedder | str | None = None,
) -> Iterator[Server]:
    """A server of this process, on a free port."""
    known = replace(settings, serve=serve or ServeSettings(), context=PATIENT)
    model = HashEmbedder() if embedder is None else embedder
    memories = Memories(folder / file, namespace, embedder=model, settings=known, bound=bound)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app = create_app(memories, TOKEN, addresses_of("127.0.0.1", port), rules, token_for, EVERY_TOOL)
    started = threading.Event()
    server = make_server(app, tuned(known, ServeLimits), started.set)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        assert started.wait(WAIT_S)
        yield Server(port, memories)
    finally:
        server.should_exit = True
        thread.join(WAIT_S)
        memories.close()
        listening.close()


@contextmanager
def process(folder: Path, *args: str, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """`holdfast serve` on a store in the folder; killed at the end, if it still runs."""
    command = [sys.executable, "-m", "holdfast.cli", "serve", "--store", str(folder / "memory.db"), *args]
    around = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    around |= {"HOLDFAST_TOKEN_FILE": str(folder / "secret" / "token"), "HOLDFAST_STORE__DURABLE": "false"}
    started = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=around | dict(env or {})
    )
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def announced(started: subprocess.Popen[bytes]) -> Server:
    """The server of a process that was started with --json."""
    assert started.stdout is not None
    line = started.stdout.readline()
    assert line, started.communicate()[1].decode()
    told = json.loads(line)
    token = Path(told["token_file"]).read_text(encoding="ascii").strip()
    return Server(int(told["url"].rpartition(":")[2]), token=token)


def stop(started: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Ask it to stop; its exit code and what it said on stderr."""
    started.send_signal(signal.SIGTERM)
    _, said = started.communicate(timeout=WAIT_S)
    return started.returncode, said.decode()
