"""MCP and the inspector run in the same server, behind the same middleware."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.serve.http.auth import addresses_of, is_loopback, is_plain_path
from holdfast.serve.token import COOKIE
from tests.serve.http.http_peers import TOKEN, served

_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    },
}


@pytest.mark.requirement("API-4", "SAFE-3")
def test_mcp_answers_behind_the_middleware(tmp_path: Path) -> None:
    accept = {"accept": "application/json, text/event-stream"}
    with served(tmp_path) as server, server.client(**accept) as client, server.stranger(**accept) as stranger:
        assert stranger.post("/mcp", json=_INITIALIZE).status_code == 401
        assert client.post("/mcp", json=_INITIALIZE, headers={"origin": "http://evil.com"}).status_code == 403
        answer = client.post("/mcp", json=_INITIALIZE)
        assert answer.status_code == 200 and '"serverInfo"' in answer.text
        assert client.post("/mcp/", json=_INITIALIZE).status_code == 404


@pytest.mark.requirement("API-5", "SAFE-3")
def test_a_browser_logs_in_and_opens_pages(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.stranger(accept="text/html") as browser:
        sent = browser.get("/", follow_redirects=True)
        assert (sent.status_code, sent.url.path) == (200, "/login")
        own = {"origin": f"http://{server.host}"}
        wrong = browser.post("/login", data={"token": "guess"}, headers=own)
        assert wrong.status_code == 403 and "set-cookie" not in wrong.headers
        assert browser.post("/login", data={"token": TOKEN}).status_code == 403, "from a page of nobody"
        right = browser.post("/login", data={"token": TOKEN}, headers=own)
        assert right.status_code == 303
        cookie = right.headers["set-cookie"]
        assert cookie.startswith(f"{COOKIE}=") and TOKEN not in cookie
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        assert browser.get("/").status_code == 200, "with the cookie, which it keeps"
        assert browser.post("/inspector/forget", data={"id": "t-0"}).status_code == 403
        assert browser.post("/logout", headers=own).status_code == 303
        assert browser.get("/").status_code == 303


@pytest.mark.requirement("SAFE-3")
def test_the_addresses_of_a_server_are_its_names() -> None:
    four = addresses_of("127.0.0.1", 8737)
    assert four.hosts == {"127.0.0.1:8737", "localhost:8737"}
    assert four.origins == {"http://127.0.0.1:8737", "http://localhost:8737"}
    assert addresses_of("::1", 8737).hosts == {"[::1]:8737", "localhost:8737"}
    assert addresses_of("127.0.0.1", 80).hosts == {"127.0.0.1:80", "localhost:80", "127.0.0.1", "localhost"}
    named = addresses_of("0.0.0.0", 8737, ["memory.example", "[2001:db8::1]:443", "10.0.0.7:80"])
    assert named.named == {"memory.example", "memory.example:8737", "[2001:db8::1]:443", "10.0.0.7:80"}
    assert "0.0.0.0:8737" not in named.hosts
    assert named.is_origin("https://memory.example", "memory.example")
    assert not named.is_origin("https://memory.example", "10.0.0.7:80"), "another of its names is another site"
    assert not named.is_origin("https://127.0.0.1:8737", "127.0.0.1:8737")
    assert [is_loopback(host) for host in ("localhost", "127.9.9.9", "::1", "0.0.0.0", "10.0.0.1", "a.example")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip


@pytest.mark.requirement("SAFE-3")
def test_only_plain_paths_are_accepted() -> None:
    for path in ("/", "/v1/search", "/static/style.css", "/a/", "/%C3%A9", "/a.b..c"):
        assert is_plain_path(path.encode()), path
    for path in [
        "", "a", "//", "/a//b", "/..", "/a/..", "/./a", "/%2e%2E/a", "/a%2fb", "/a%5Cb", "/a%00", "/a%7f", "/a\\b",
        "/a b", "/a\tb", "/%", "/%g1", "/%ff", "/é", "/a?b",
    ]:  # fmt: skip
        assert not is_plain_path(path.encode()), path
