"""A sidecar inside the test's own process: real sockets, no process to wait for."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.serve.memories import Memories
from holdfast.serve.process import ServeLimits
from holdfast.serve.rpc import JsonRpc
from holdfast.serve.rpc_server import RpcServer, listen_unix, rpc_methods
from holdfast.settings import ContextSettings, ServeSettings, Settings, tuned
from holdfast.testing import HashEmbedder
from tests.serve.peers import Connect, Launch, OpenPeer, Peer, end, start
from tests.support.memories import QUICK

PATIENT = ContextSettings(deadline_s=30.0, embedder_s=10.0)
"""A busy machine must not make another answer."""


@pytest.fixture
def open_peer(tmp_path: Path) -> Iterator[OpenPeer]:
    """Connect to a new RPC server on memory.db (or another file)."""
    with ExitStack() as ends:

        def open_one(
            namespace: str | None = "ana",
            *,
            file: str = "memory.db",
            bound: bool = False,
            rules: tuple[str, ...] = (),
            serve: ServeSettings | None = None,
            settings: Settings = QUICK,
            embedder: object = None,
        ) -> Peer:
            known = replace(settings, serve=serve or ServeSettings(), context=PATIENT)
            model = HashEmbedder() if embedder is None else embedder
            memories = Memories(tmp_path / file, namespace, embedder=model, settings=known, bound=bound)  # type: ignore[arg-type]
            limits = tuned(known, ServeLimits)
            sidecar = RpcServer(JsonRpc(rpc_methods(memories, rules), limits.max_batch), limits)
            listener = listen_unix(None, 16)
            threading.Thread(target=sidecar.listen, args=(listener, None), daemon=True).start()
            peer = Peer(listener.endpoint)
            for end in (listener.clear, memories.close, sidecar.stop, peer.close):
                ends.callback(end)
            return peer

        yield open_one


@pytest.fixture
def peer(open_peer: OpenPeer) -> Peer:
    """A connection to the memory of `ana`."""
    return open_peer()


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Opens connections, and closes them when the test ends."""
    with ExitStack() as ends:

        def open_one(endpoint: str) -> Peer:
            peer = Peer(endpoint)
            ends.callback(peer.close)
            return peer

        yield open_one


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Starts `holdfast rpc` on memory.db; what still runs when the test ends is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def start_one(*args: str, env: Mapping[str, str] | None = None, piped: bool = False) -> subprocess.Popen[bytes]:
        started.append(start(tmp_path, *args, env=env, piped=piped))
        return started[-1]

    yield start_one
    for process in started:
        end(process)
