"""Responses arrive whole and in order, and slow calls are not cut off by connection time-outs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.serve.process import ServeLimits
from tests.serve.http.http_peers import TOKEN, Server, served
from tests.support.memories import WaitingEmbedder

pytestmark = pytest.mark.requirement("API-5")


def _asked(server: Server, path: str, body: bytes, *lines: str, method: str = "POST") -> bytes:
    head = [
        f"{method} {path} HTTP/1.1", f"Host: {server.host}", f"Authorization: Bearer {TOKEN}",
        "Content-Type: application/json", f"Content-Length: {len(body)}", *lines,
    ]  # fmt: skip
    return "\r\n".join([*head, "", ""]).encode() + body


def test_pipelined_requests_are_answered_in_order(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        asked = [_asked(server, "/v1/status", b"{}"), _asked(server, "/v1/nowhere", b"{}")]
        last = _asked(server, "/healthz", b"", "Connection: close", method="GET")
        heard = server.raw(b"".join([*asked, last]))
    assert [part[:3] for part in heard.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200"]
    assert heard.endswith(b'{"ok":true}\n')


def test_large_and_streamed_responses_arrive_whole(tmp_path: Path) -> None:
    long = "the log of the harbour, " * 40_000
    with served(tmp_path) as server, server.client() as client:
        kept = client.post("/v1/ingest", json={"text": long, "session": "s"})
        assert kept.json()["turn"]["text"] == long
        told = [json.loads(line) for line in client.get("/v1/export").text.splitlines()]
        assert any(long in json.dumps(one) for one in told)
        assert client.head("/healthz").content == b""


def test_a_slow_call_outlasts_the_time_out_for_request_heads(tmp_path: Path) -> None:
    embedder = WaitingEmbedder()
    with served(tmp_path, serve=ServeLimits(header_s=0.2), embedder=embedder) as server, server.client() as client:
        client.post("/v1/ingest", json={"text": "the tide comes at noon"})
        late = client.post("/v1/flush", json={"timeout": 1.0})
        embedder.go.set()
    assert (late.status_code, late.json()["title"]) == (409, "FlushTimeout")


@pytest.mark.requirement("SAFE-3")
def test_a_second_request_that_never_ends_is_cut_off(tmp_path: Path) -> None:
    with served(tmp_path, serve=ServeLimits(header_s=0.3)) as server:
        first = _asked(server, "/healthz", b"", method="GET")
        heard = server.raw(first + b"GET /healthz HT")
    assert heard.count(b"HTTP/1.1") == 1 and heard.endswith(b'{"ok":true}\n')
