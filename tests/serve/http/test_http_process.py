"""`holdfast serve` as a process: its address, a stop without loss, and many connections."""

from __future__ import annotations

import json
import socket
import stat
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from holdfast.cli import main
from holdfast.memory import Memory
from tests.serve.http.http_peers import announced, process, stop
from tests.serve.peers import WAIT_S

_FREE = ("--port", "0", "--json", "-n", "ana", "--embedder", "none")
_PATIENT = {
    "HOLDFAST_STORE__DURABLE": "true",
    "HOLDFAST_SERVE__STOP_S": "40",
}  # a busy machine takes long to finish calls


@pytest.mark.requirement("SAFE-3", "LOG-1", "API-5")
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_stop_during_ingests_loses_no_acknowledged_turn(tmp_path: Path, processes: str) -> None:
    acknowledged: list[str] = []
    busy = threading.Event()
    with process(tmp_path, *_FREE, "--processes", processes, env=_PATIENT) as started:
        server = announced(started)
        secret = tmp_path / "secret" / "token"
        assert (stat.S_IMODE(secret.stat().st_mode), stat.S_IMODE(secret.parent.stat().st_mode)) == (0o600, 0o700)

        def ingest(who: int) -> None:
            with server.client() as client:
                for number in range(100_000):
                    try:
                        answer = client.post("/v1/ingest", json={"text": f"{who} said {number}", "session": str(who)})
                    except httpx2.TransportError:  # the server stopped
                        return
                    if answer.status_code == 200:
                        acknowledged.append(answer.json()["turn"]["id"])
                    if len(acknowledged) > 40:
                        busy.set()

        threads = [threading.Thread(target=ingest, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        assert busy.wait(WAIT_S)
        code, said = stop(started)
        for thread in threads:
            thread.join(WAIT_S)
    assert (code, said) == (0, "")
    with Memory(tmp_path / "memory.db", "ana", embedder="none") as memory:
        kept = {turn.id for who in range(4) for turn in memory.thread(str(who))}
    assert set(acknowledged) <= kept and len(acknowledged) > 40


@pytest.mark.requirement("SAFE-3")
def test_the_server_survives_a_thousand_connections(tmp_path: Path) -> None:
    limits = {"HOLDFAST_SERVE__HTTP_CONNECTIONS": "300", "HOLDFAST_SERVE__IN_FLIGHT": "64"}
    with process(tmp_path, *_FREE, env=limits) as started:
        server = announced(started)
        with ExitStack() as ends:
            peers = []
            for number in range(1000):
                peer = ends.enter_context(socket.create_connection(("127.0.0.1", server.port), WAIT_S))
                host = "evil.com" if number % 2 else server.host
                wrong = f"POST /v1/erase HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer x\r\nContent-Length: 2\r\n"
                try:
                    peer.sendall(wrong.encode() + (b"" if number % 3 else b"\r\n{}"))
                except ConnectionError:  # hung up on already
                    continue
                peers.append(peer)
            answered = [first for peer in peers[::3] if (first := _first_line(peer))]
            assert not any(b" 200 " in line for line in answered)
        with server.client() as client:
            assert client.post("/v1/ingest", json={"text": "still here"}).status_code == 200
        assert stop(started)[0] == 0


def _first_line(peer: socket.socket) -> bytes:
    peer.settimeout(0.01)
    try:
        return peer.recv(200).partition(b"\r\n")[0]
    except OSError:  # it waits for the rest of the request, or was hung up on
        return b""


@pytest.mark.requirement("SAFE-3")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "memory.example"])
def test_a_remote_address_needs_a_flag_and_a_token(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HOLDFAST_TOKEN_FILE", raising=False)
    here = ["serve", "--store", str(tmp_path / "memory.db"), "-n", "ana", "--host", host]
    assert main(here) == 2
    assert "--allow-remote" in capsys.readouterr().err
    assert main([*here, "--allow-remote"]) == 2
    assert "--token-file" in capsys.readouterr().err
    assert main([*here, "--allow-remote", "--token-file", str(tmp_path / "missing")]) == 2
    weak = tmp_path / "weak"
    weak.write_text("password")
    weak.chmod(0o600)
    assert main([*here, "--allow-remote", "--token-file", str(weak)]) == 2
    assert "too short" in capsys.readouterr().err
    assert not (tmp_path / "missing").exists()


@pytest.mark.requirement("SAFE-3")
def test_a_remote_server_accepts_its_configured_names(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t" * 40)
    token.chmod(0o600)
    asked = ("--host", "0.0.0.0", "--allow-remote", "--token-file", str(token), "--known-as", "memory.example")
    mine = tmp_path / "bo" / "token"
    with process(tmp_path, *_FREE, *asked, "--token-for", f"bo={mine}") as started:
        server = announced(started)
        with server.client(authorization=f"Bearer {mine.read_text().strip()}") as bo:
            assert bo.post("/v1/status").json()["namespace"] == "bo"
        bearer = "Authorization: Bearer " + "t" * 40
        for host in ("memory.example", f"memory.example:{server.port}", f"127.0.0.1:{server.port}"):
            assert server.ask(f"Host: {host}", bearer) == 200, host
        assert server.ask("Host: memory.example", "Origin: https://memory.example", bearer) == 200
        assert server.ask("Host: memory.example", "Origin: https://other.example", bearer) == 403
        assert server.ask(f"Host: 0.0.0.0:{server.port}", bearer) == 403


@pytest.mark.requirement("API-5")
def test_a_used_port_and_invalid_options_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_TOKEN_FILE", str(tmp_path / "token"))
    here = ["serve", "--store", str(tmp_path / "memory.db"), "-n", "ana", "--embedder", "none", "--json"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main([*here, "--port", str(taken.getsockname()[1])]) == 2
    told = json.loads(capsys.readouterr().err)
    assert "--port 0" in told["error"]["message"]
    for option, given, wanted in [
        ("--known-as", "Not A Name", "HOST:PORT"),
        ("--token-for", "bo", "NAME=FILE"),
        ("--token-for", f"bo={tmp_path / 'token'}", "tokens are the same"),
    ]:
        assert main([*here, "--port", "0", option, given]) == 2
        assert wanted in json.loads(capsys.readouterr().err)["error"]["message"]


@pytest.mark.requirement("API-5")
def test_serve_without_the_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setitem(sys.modules, "uvicorn", None)  # as if it were not there
    assert main(["serve", "--store", str(tmp_path / "memory.db"), "-n", "ana", "--embedder", "none"]) == 2
    assert "holdfast[serve]" in capsys.readouterr().err
