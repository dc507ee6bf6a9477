"""MCP over HTTP: behind the guard of the one server, with the SDK's client and with strangers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from tests.serve.http.http_peers import Server, served
from tests.serve.mcp.mcp_peers import HELLO, PATIENT, Model, connected, line_of
from tests.serve.peers import WAIT_S

pytestmark = pytest.mark.requirement("API-4")

ACCEPT = "application/json, text/event-stream"


@contextmanager
def client_of(server: Server, mode: str = "auto", whose: str = "") -> Iterator[Model]:
    shown = [(b"authorization", f"Bearer {server.token}".encode())]
    shown += [(b"holdfast-namespace", whose.encode())] if whose else []
    http = httpx2.AsyncClient(headers=shown, timeout=WAIT_S)
    with connected(streamable_http_client(f"http://{server.host}/mcp", http_client=http), mode) as model:
        try:
            yield model
        finally:
            model.wait(http.aclose)


def post(http: httpx2.Client, message: dict[str, Any], **headers: str) -> httpx2.Response:
    given = {"accept": ACCEPT, "content-type": "application/json", **headers}
    return http.post("/mcp", content=line_of(message), headers=given)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdk_client_works_over_http(tmp_path: Path, mode: str) -> None:
    with (
        served(tmp_path, serve=PATIENT.serve) as server,
        client_of(server, mode) as model,
        client_of(server, mode) as another,
    ):
        model.call("ingest", text="I moved to Lisbon", session="s1")
        assert [hit["text"] for hit in another.call("search", query="Lisbon")["hits"]] == ["I moved to Lisbon"]
        assert "I moved to Lisbon" in another.read("memory://session/s1")
        assert model.error("why", id="t-0").startswith("NotFound")
        assert len(model.wait(model.client.list_tools).tools) == 8
        big = "x" * 5_000_000  # more than the SDK takes by itself, or gives in a stream
        assert model.call("ingest", text=big, session="s2")["turn"]["text"] == big


@pytest.mark.requirement("INV-4")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_header_names_the_memory_unless_the_server_is_bound(tmp_path: Path, mode: str) -> None:
    with served(tmp_path) as server:
        with client_of(server, mode, "Zoë") as model:
            turn = model.call("ingest", text="Zoë keeps a parrot", session="birds")["turn"]
            assert turn["namespace"] == "Zoë"
        with client_of(server, mode) as ana:
            assert ana.call("search", query="parrot")["hits"] == [] and ana.call("recent")["turns"] == []
            assert ana.error("forget", id=turn["id"]).startswith("NotFound")
    with served(tmp_path, bound=True) as server, client_of(server, mode, "Zoë") as model:
        for said in (model.error("recent"), model.error("remember", text="x"), model.error("why", id=turn["id"])):
            assert said.startswith("Refused: ") and "bound to namespace 'ana'" in said
    with served(tmp_path, namespace=None) as server, client_of(server, mode) as model:
        assert model.error("recent").startswith("NamespaceRequired: ")


@pytest.mark.requirement("SAFE-3")
def test_mcp_refuses_strangers_other_hosts_and_other_origins(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        with server.stranger() as http:
            assert post(http, HELLO).status_code == 401
            assert post(http, HELLO, authorization="Bearer wrong").status_code == 401
            assert http.get("/mcp").status_code == 401 and http.delete("/mcp").status_code == 401
        with server.client() as http:
            for host in ("127.0.0.1:evil.com", "evil.com", f"127.0.0.1:{server.port}.evil.com", "localhost"):
                assert post(http, HELLO, host=host).status_code in (400, 403, 421), host
            for origin in ("null", "http://evil.com", f"http://127.0.0.1:{server.port}.evil.com", "https://127.0.0.1"):
                assert post(http, HELLO, origin=origin).status_code == 403, origin
            for path in ("/mcp/", "/mcp/x", "/MCP"):
                assert http.post(path, content=line_of(HELLO)).status_code in (400, 404), path
            assert post(http, HELLO).status_code == 200
            assert post(http, HELLO, origin=f"http://{server.host}").status_code == 200


def test_invalid_messages_are_refused_and_there_is_no_stream(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client() as http:
        given = {"accept": ACCEPT, "content-type": "application/json"}
        for body in (b"", b"[", b"7", b"[]", b'{"jsonrpc": "1.0"}', b'{"a":' * 2000):
            answer = http.post("/mcp", content=body, headers=given)
            assert 400 <= answer.status_code < 500 and b"Traceback" not in answer.content, body[:20]
        for method in ("GET", "DELETE", "PUT"):
            refused = http.request(method, "/mcp", headers=given)
            assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
        assert post(http, {"method": "tools/list", "id": 1}).json()["id"] == 1


def test_a_client_continues_after_a_restart_of_the_server(tmp_path: Path) -> None:
    asked = {"method": "tools/call", "id": 1,
             "params": {"name": "memory_remember", "arguments": {"text": "The bell is brass"}}}  # fmt: skip
    with served(tmp_path) as server, server.client() as http:
        before = {"mcp-session-id": "0" * 32, "mcp-protocol-version": "2025-06-18"}
        assert post(http, asked, **before).json()["result"]["structuredContent"]["text"] == "The bell is brass"
        assert "mcp-session-id" not in post(http, HELLO).headers


def test_requests_of_one_client_run_concurrently(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client() as http, ThreadPoolExecutor(10) as threads:
        asked = [{"method": "tools/call", "id": number,
                  "params": {"name": "memory_ingest", "arguments": {"text": f"turn {number}", "session": "s1"}}}
                 for number in range(40)]  # fmt: skip
        answers = [answer.json() for answer in threads.map(lambda one: post(http, one), asked)]
        assert [answer["id"] for answer in answers] == list(range(40))
        assert not any(answer["result"]["isError"] for answer in answers)
        with server.memories.lend() as memory:  # type: ignore[union-attr]
            assert memory.status().turns == 40
