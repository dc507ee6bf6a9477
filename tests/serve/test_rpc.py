"""`holdfast rpc` as a process: on stdio, on a Unix socket and on TCP, with peers who behave and peers who do not."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.serve.rpc_server import listen_unix
from holdfast.serve.token import is_token, read_token
from holdfast.settings import ServeSettings
from tests.serve.peers import WAIT_S, Connect, Launch, Peer, end, first_line, start, stop
from tests.support.memories import QUICK

pytestmark = pytest.mark.requirement("API-2")

WORDS = ("--embedder", "none")  # these tests look at the way, not at the answers


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen[bytes], str, Path]]:
    """A server on a Unix socket, for tests that leave it as it was."""
    folder = tmp_path_factory.mktemp("rpc")
    process = start(folder, "-n", "ana", *WORDS, env={"HOLDFAST_SERVE__MAX_REQUEST_BYTES": "100000"})
    yield process, first_line(process), folder
    end(process)


@pytest.fixture
def endpoint(shared: tuple[subprocess.Popen[bytes], str, Path]) -> str:
    return shared[1]


def test_stdio_serves_a_whole_conversation(tmp_path: Path, launch: Launch) -> None:
    process = launch("-n", "ana", *WORDS, piped=True)
    peer = Peer(process=process)
    assert peer.call("health") == {"ok": True, "message": "ready"}
    assert peer.call("memory.ingest", text="I moved to Lisbon", session="s1")["turn"]
    hits = cast("list[dict[str, object]]", peer.call("memory.search", query="Lisbon")["hits"])
    assert [hit["text"] for hit in hits] == ["I moved to Lisbon"]
    peer.send(b'{"jsonrpc": "2.0", "method": "memory.ingest", "params": {"text": "said to nobody"}}')
    peer.send(b"this is no JSON")
    assert cast("dict[str, dict[str, object]]", peer.hear())["error"]["code"] == -32700
    peer.send(b'{"jsonrpc": "2.0", "method": "flush", "id": "last"}')
    out, err = process.communicate(timeout=WAIT_S)  # closes stdin; the slow call is answered before it ends
    assert json.loads(out) == {"jsonrpc": "2.0", "result": {"ok": True}, "id": "last"}
    assert (process.returncode, err.decode().splitlines()[0]) == (0, "stdio")
    with Memory(tmp_path / "memory.db", "ana", embedder="none", settings=QUICK) as memory:
        assert memory.status().turns == 2


@pytest.mark.requirement("SAFE-3")
def test_a_socket_is_private_and_removed_with_its_server(launch: Launch, connect: Connect) -> None:
    process = launch("-n", "ana", *WORDS, "--json")
    told = json.loads(first_line(process))
    kind, _, path = str(told["endpoint"]).partition(":")
    assert (kind, told["namespace"], told["token_file"]) == ("unix", "ana", None)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    peer = connect(str(told["endpoint"]))
    assert peer.call("status")["turnCount"] == 0
    assert stop(process)[0] == 0
    assert peer.hear() is None
    assert not os.path.exists(os.path.dirname(path))


@pytest.mark.requirement("SAFE-3")
def test_a_socket_path_is_private_and_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    place = tmp_path / "run" / "rpc.sock"
    alive = listen_unix(str(place), 1)
    assert (stat.S_IMODE(place.parent.stat().st_mode), stat.S_IMODE(place.stat().st_mode)) == (0o700, 0o600)
    with pytest.raises(InputError, match="another server listens"):
        listen_unix(str(place), 1)
    alive.socket.close()  # as if it had been killed: the file stays
    assert place.exists()
    next_one = listen_unix(str(place), 1)
    next_one.socket.close()
    next_one.clear()
    assert not place.exists()
    place.write_text("a file of somebody's")
    with pytest.raises(InputError, match="not a socket"):
        listen_unix(str(place), 1)
    assert place.read_text() == "a file of somebody's"
    place.parent.chmod(0o750)
    with pytest.raises(InputError, match="chmod 700"):
        listen_unix(str(place), 1)


@pytest.mark.requirement("SAFE-3")
def test_a_token_is_created_once_and_must_be_private(tmp_path: Path) -> None:
    file = tmp_path / "data" / "token"
    token = read_token(file)
    assert read_token(file) == token and len(token) > 40
    assert is_token(token, token)
    assert not any(is_token(token, wrong) for wrong in (token[:-1], token + "x", "", None, 5, "\ud800"))
    file.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        read_token(file)
    file.chmod(0o600)
    file.write_text("short")
    with pytest.raises(InputError, match="too short"):
        read_token(file)


@pytest.mark.requirement("SAFE-3")
def test_tcp_listens_on_loopback_and_needs_the_token(launch: Launch, connect: Connect) -> None:
    process = launch("-n", "ana", *WORDS, "--listen", "tcp", "--json")
    told = json.loads(first_line(process))
    place = str(told["endpoint"])
    assert place.startswith("tcp:127.0.0.1:")
    file = Path(str(told["token_file"]))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    token = file.read_text().strip()
    for first in (
        b'{"jsonrpc": "2.0", "method": "health", "id": 1}',
        b'{"jsonrpc": "2.0", "method": "authenticate", "params": {"token": "%s"}, "id": 1}' % token[:-1].encode(),
        b'{"jsonrpc": "2.0", "method": "authenticate", "params": {"token": 5}, "id": 1}',
        b'[{"jsonrpc": "2.0", "method": "authenticate", "params": {"token": "%s"}, "id": 1}]' % token.encode(),
        b"POST / HTTP/1.1",
    ):
        peer = connect(place)
        peer.send(first)
        refused = peer.hear()
        assert isinstance(refused, dict) and cast("dict[str, object]", refused["error"])["code"] == -32001
        assert peer.hear() is None  # hung up
    peer = connect(place)
    assert peer.call("authenticate", token=token) == {"ok": True}
    assert peer.call("health")["ok"] is True
    strangers = [connect(place) for _ in range(ServeSettings().connections + 10)]
    late = connect(place)
    assert late.call("authenticate", token=token) == {"ok": True}, "who has no token makes room"
    assert peer.call("health")["ok"] is True and strangers[0].hear() is None
    assert stop(process)[0] == 0


@pytest.mark.requirement("SAFE-4", "SAFE-3")
@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["--listen", "unix:/tmp/holdfast-rpc-open.sock"], "chmod 700"),
        (["--listen", "ftp"], "auto, stdio, unix"),
        (["--listen", "tcp:0.0.0.0"], "port"),
        (["--listen", "tcp:99999"], "99999"),
        (["--listen", "unix:" + "/x" * 80], "bytes"),
        (["--listen", "unix", "--bound"], "--namespace"),
    ],
)
def test_an_unsafe_or_invalid_address_is_refused(
    tmp_path: Path, args: list[str], named: str, capfd: pytest.CaptureFixture[str]
) -> None:
    from holdfast.cli import main

    assert main(["rpc", "--store", str(tmp_path / "memory.db"), *WORDS, *args]) == 2
    said = capfd.readouterr().err
    assert named in said and said.count("\n") == 1


@pytest.mark.requirement("SAFE-4")
def test_a_long_request_is_refused_and_the_connection_continues(endpoint: str, connect: Connect) -> None:
    peer = connect(endpoint)
    peer.send(json.dumps({"jsonrpc": "2.0", "method": "echo", "params": ["x" * 200_000], "id": 1}).encode())
    refused = peer.hear()
    assert isinstance(refused, dict) and "100,000 bytes" in str(refused["error"])
    assert peer.call("health")["ok"] is True
    peer.close()


def test_concurrent_connections_get_their_own_answers(endpoint: str, connect: Connect) -> None:
    peers = [connect(endpoint) for _ in range(100)]
    for number, peer in enumerate(peers):
        peer.send(b'{"jsonrpc": "2.0", "method": "memory.recent", "params": {"limit": 1}, "id": %d}' % number)
    for number, peer in enumerate(peers):
        heard = peer.hear()
        assert isinstance(heard, dict) and heard["id"] == number and "result" in heard
        peer.close()


def test_one_connection_too_many_is_rejected(launch: Launch, connect: Connect) -> None:
    process = launch("-n", "ana", *WORDS, env={"HOLDFAST_SERVE__CONNECTIONS": "2"})
    place = first_line(process)
    peers = [connect(place), connect(place)]
    for peer in peers:
        assert peer.call("health")["ok"] is True
    refused = connect(place).hear()
    assert isinstance(refused, dict) and "in use" in str(refused["error"])
    assert peers[0].call("health")["ok"] is True
    stop(process)


def test_a_client_that_leaves_disturbs_nobody(endpoint: str, connect: Connect) -> None:
    for raw in (b'{"jsonrpc": "2.0", "meth', b'{"jsonrpc": "2.0", "method": "rpc.discover", "id": 1}\n' * 50):
        leaver = connect(endpoint)
        assert leaver.socket is not None
        leaver.socket.sendall(raw)
        leaver.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        leaver.socket.close()
    assert connect(endpoint).call("health")["ok"] is True


def test_rpc_discover_describes_every_method(endpoint: str, connect: Connect) -> None:
    found = {
        str(one["name"]): one
        for one in cast("list[dict[str, object]]", connect(endpoint).call("rpc.discover")["methods"])
    }
    thirteen = {
        "health", "status", "ensure_collections", "insert_text", "gating_scalar", "search_text", "list_by_meta",
        "export_memory", "flush_namespace", "delete", "delete_batch", "compact_session", "flush",
    }  # fmt: skip
    assert thirteen | {"bootstrap", "ingest", "assemble", "compact", "prompt_section"} <= found.keys()
    assert found["memory.search"]["danger"] == "reads" and found["memory.erase"]["danger"] == "destroys"


@pytest.mark.requirement("INV-1", "SAFE-2")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["terminated", "killed"])
def test_no_acknowledged_turn_is_lost_however_the_client_ends(
    tmp_path: Path, how: signal.Signals, launch: Launch, connect: Connect
) -> None:
    process = launch("-n", "ana", *WORDS, env={"HOLDFAST_STORE__DURABLE": "true"})
    place = first_line(process)
    acknowledged: list[str] = []
    enough = threading.Event()

    def host(name: str) -> None:
        peer, number = connect(place), 0
        while True:
            text = f"turn {number} of {name}"
            params = {"sessionId": name, "message": {"role": "user", "content": text, "id": str(number)}}
            try:
                peer.send(json.dumps({"jsonrpc": "2.0", "method": "ingest", "params": params, "id": number}).encode())
                heard = peer.hear()
            except OSError:
                return
            if heard is None:
                return
            assert cast("dict[str, dict[str, object]]", heard)["result"] == {"ingested": True}
            acknowledged.append(text)
            number += 1
            if len(acknowledged) >= 60:
                enough.set()

    hosts = [threading.Thread(target=host, args=(f"s{number}",)) for number in range(4)]
    for one in hosts:
        one.start()
    assert enough.wait(WAIT_S)
    process.send_signal(how)
    _, said = process.communicate(timeout=WAIT_S)
    for one in hosts:
        one.join(WAIT_S)
    assert process.returncode == (0 if how is signal.SIGTERM else -signal.SIGKILL), said
    with Memory(tmp_path / "memory.db", "ana", embedder="none", settings=QUICK) as memory:
        kept = {turn.text for number in range(4) for turn in memory.thread(f"s{number}")}
    assert set(acknowledged) <= kept
