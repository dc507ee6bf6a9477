"""How an answer leaves: head and body in one piece, and a head that has no body yet at once."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tests.serve.http.http_peers import TOKEN, Server, served
from tests.serve.peers import WAIT_S

pytestmark = pytest.mark.requirement("API-5")

_MANY = 30


def _asked(server: Server, path: str, body: bytes, *lines: str, method: str = "POST") -> bytes:
    head = [
        f"{method} {path} HTTP/1.1", f"Host: {server.host}", f"Authorization: Bearer {TOKEN}",
        "Content-Type: application/json", f"Content-Length: {len(body)}", *lines,
    ]  # fmt: skip
    return "\r\n".join([*head, "", ""]).encode() + body


def test_an_answer_comes_in_one_piece(tmp_path: Path) -> None:
    with served(tmp_path) as server, socket.create_connection(("127.0.0.1", server.port), WAIT_S) as peer:
        for number in range(_MANY):
            body = json.dumps({"text": f"buoy {number} is green", "session": "s"}).encode()
            peer.sendall(_asked(server, "/v1/ingest", body))
            piece = peer.recv(1 << 16)
            head, _, kept = piece.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert json.loads(kept)["turn"]["text"] == f"buoy {number} is green"


def test_requests_that_come_at_once_are_answered_in_their_order(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        asked = [_asked(server, "/v1/status", b"{}"), _asked(server, "/v1/nowhere", b"{}")]
        last = _asked(server, "/healthz", b"", "Connection: close", method="GET")
        heard = server.raw(b"".join([*asked, last]))
    assert [part[:3] for part in heard.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200"]
    assert heard.endswith(b'{"ok":true}\n')


def test_a_large_answer_and_a_streamed_one_arrive_whole(tmp_path: Path) -> None:
    long = "the log of the harbour, " * 40_000
    with served(tmp_path) as server, server.client() as client:
        kept = client.post("/v1/ingest", json={"text": long, "session": "s"})
        assert kept.json()["turn"]["text"] == long
        told = [json.loads(line) for line in client.get("/v1/export").text.splitlines()]
        assert any(long in json.dumps(one) for one in told)
        assert client.head("/healthz").content == b""
