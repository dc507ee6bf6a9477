"""Hostile requests over a real port are refused, and the server continues to answer permitted ones."""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path

import pytest

from holdfast.serve.http.middleware import TokenBucket
from holdfast.serve.process import ServeLimits
from holdfast.serve.token import COOKIE, cookie_for, is_cookie
from holdfast.settings import ServeSettings
from tests.serve.http.http_peers import TOKEN, Server, hear, read_metrics, served
from tests.serve.peers import WAIT_S

pytestmark = pytest.mark.requirement("SAFE-3")

BEARER = f"Authorization: Bearer {TOKEN}"
SHOWN = f"Cookie: {COOKIE}={cookie_for(TOKEN)}"


def is_well(server: Server) -> bool:
    """Return whether the server still answers and has stored nothing."""
    assert server.memories is not None
    with server.memories.lend() as memory:
        return server.ask(f"Host: {server.host}", BEARER) == 200 and memory.status().turns == 0


def test_other_hosts_are_refused(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        port = server.port
        for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
            assert server.ask(f"Host: {host}", BEARER) == 200
        for host in [
            "127.0.0.1:evil.com", f"127.0.0.1:{port}.evil.com", f"127.0.0.1:{port}@evil.com", "evil.com",
            f"evil.com:{port}", f"127.0.0.1.evil.com:{port}", f"127.0.0.1:{port}0", "127.0.0.1", "localhost",
            f"LOCALHOST:{port}", f"Localhost:{port}", f"localhost.:{port}", f"[::1]:{port}", "[::1]",
            f"[::ffff:127.0.0.1]:{port}", f"0.0.0.0:{port}", f"127.1:{port}", f"2130706433:{port}", "null", "*", "",
            f"127.0.0.1:{port}, evil.com", f"127.0.0.1 :{port}",
        ]:  # fmt: skip
            assert server.ask(f"Host: {host}", BEARER) in (400, 403), host
            assert server.ask(f"Host: {host}", path="/healthz", method="GET") in (400, 403), host
        assert server.ask(BEARER) == 400, "without a host"
        assert server.ask(f"Host: 127.0.0.1:{port}", "Host: evil.com", BEARER) == 400
        assert server.raw(f"POST /v1/status HTTP/1.0\r\n{BEARER}\r\n\r\n".encode()).split()[1] == b"403"
        for forwarded in ("X-Forwarded-Host", "Forwarded", "X-Original-Host", "X-Host"):
            assert server.ask("Host: evil.com", f"{forwarded}: 127.0.0.1:{port}", BEARER) == 403
        assert is_well(server)


def test_other_origins_are_refused(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        port = server.port
        own = f"Host: 127.0.0.1:{port}"
        assert server.ask(own, f"Origin: http://127.0.0.1:{port}", BEARER) == 200
        for origin in [
            "null", "", "http://evil.com", f"https://127.0.0.1:{port}", f"http://localhost:{port}",
            f"http://127.0.0.1:{port}.evil.com", f"http://127.0.0.1:{port}/", f"HTTP://127.0.0.1:{port}",
            "http://127.0.0.1", f"http://[::1]:{port}", "file://", f"http://127.0.0.1:{port} http://evil.com",
            "chrome-extension://abc", "*",
        ]:  # fmt: skip
            for credential in (BEARER, SHOWN):
                assert server.ask(own, f"Origin: {origin}", credential) == 403, origin
        twice = (f"Origin: http://127.0.0.1:{port}", "Origin: http://evil.com")
        assert server.ask(own, *twice, BEARER) == 403
        preflight = f"OPTIONS /v1/search HTTP/1.1\r\n{own}\r\nOrigin: http://evil.com\r\nConnection: close\r\n"
        said = server.raw((preflight + "Access-Control-Request-Method: POST\r\n\r\n").encode())
        assert b" 403 " in said.splitlines()[0] and b"access-control" not in said.lower()
        allowed = f"GET /healthz HTTP/1.1\r\n{own}\r\nOrigin: http://127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
        assert b"access-control" not in server.raw(allowed.encode()).lower()
        assert is_well(server)


def test_wrong_tokens_are_refused(tmp_path: Path) -> None:
    generous = ServeLimits(strangers_at_once=1000)
    with served(tmp_path, serve=generous) as server:
        own = f"Host: {server.host}"
        assert server.ask(own) == 401
        for line in [
            "Authorization: Bearer", "Authorization: Bearer ", f"Authorization: Bearer {TOKEN[:-1]}",
            f"Authorization: Bearer {TOKEN}x", f"Authorization: Bearer {TOKEN.upper()}", f"Authorization: {TOKEN}",
            f"Authorization: Basic {TOKEN}", "Authorization: Bearer é", f"Authorization: Bearer {cookie_for(TOKEN)}",
            f"X-Token: {TOKEN}", f"Cookie: {COOKIE}={TOKEN}", f"Cookie: {COOKIE}=", f"Cookie: a={cookie_for(TOKEN)}",
            f"Cookie: {COOKIE}={cookie_for(TOKEN)}; {COOKIE}=x", f"Cookie: {COOKIE}={cookie_for('another')}",
        ]:  # fmt: skip
            for path in ("/v1/status", "/v1/export", "/metrics", "/openapi.json", "/mcp", "/", "/inspector/records"):
                assert server.ask(own, line, path=path, method="GET") == 401, (line, path)
        assert server.ask(own, BEARER, BEARER) == 401, "shown twice"
        assert server.ask(own, "Authorization: Bearer x", SHOWN) == 401, "a wrong token beside a right cookie"
        assert server.ask(own, path=f"/v1/status?token={TOKEN}") == 401
        assert server.ask(own, f"authorization: bearer  {TOKEN} ") == 200
        assert is_well(server)


def test_a_cookie_writes_only_from_our_own_pages(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        own = f"Host: {server.host}"
        assert server.ask(own, SHOWN, path="/metrics", method="GET") == 200
        assert server.ask(own, SHOWN) == 403, "a POST that does not say where it comes from"
        assert server.ask(own, SHOWN, f"Origin: http://{server.host}") == 200
        assert server.ask(own, path="/login", method="POST") == 403, "nor is anybody logged in from elsewhere"
        asked = f"GET /inspector/records HTTP/1.1\r\n{own}\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
        said = server.raw(asked.encode())
        assert b" 303 " in said.splitlines()[0] and b"location: /login\r\n" in said
        assert server.ask(own, "Accept: text/html") == 401, "only who looks is shown the way"


def test_the_cookie_does_not_contain_the_token_and_ends_with_it() -> None:
    assert TOKEN not in cookie_for(TOKEN)
    assert is_cookie(TOKEN, cookie_for(TOKEN))
    assert not any(is_cookie("a new token", value) for value in (cookie_for(TOKEN), TOKEN, "", None))


def test_path_tricks_are_refused(tmp_path: Path) -> None:
    with served(tmp_path, serve=ServeLimits(strangers_at_once=1000)) as server:
        own = f"Host: {server.host}"
        for path in [
            "//v1/status", "/v1//status", "/v1/../v1/status", "/./v1/status", "/v1/status/..", "/static/../v1/status",
            "/static/%2e%2e/v1/status", "/static/..%2fv1/status", "/static/..%5cv1/status", "/healthz/../v1/status",
            "/v1%2fstatus", "/v1/status%00", "/v1/status%0d%0aX: y", "\\v1\\status", "/v1/status\\", "/%",
            "/healthz%2f..%2fv1%2fstatus", "/static/%2E%2E%2F%2E%2E%2Fetc%2Fpasswd", "/static/..%c0%af..%c0%afpasswd",
            f"http://{server.host}/v1/status", "http://evil.com/v1/status", "v1/status", "*", "/v1/status;/../healthz",
        ]:  # fmt: skip
            status = server.ask(own, BEARER, path=path.replace(" ", "%20"))
            assert status in (400, 404), path
            assert server.ask(own, path=path.replace(" ", "%20"), method="GET") in (400, 401, 404), path
        for path in ("/V1/status", "/v1/Status", "/v1/status/", "/v1", "/static", "/static/", "/static/nothing.css"):
            assert server.ask(own, BEARER, path=path, method="GET") == 404, path
        assert is_well(server)


def test_a_large_body_is_refused_without_reading_it(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        head = f"POST /v1/ingest HTTP/1.1\r\nHost: {server.host}\r\n{BEARER}\r\nContent-Type: application/json\r\n"
        said = server.raw(f"{head}Content-Length: {100_000_000}\r\n\r\n".encode())  # and not a byte of it
        assert b" 413 " in said.splitlines()[0]
        assert json.loads(said.partition(b"\r\n\r\n")[2])["title"] == "TooLarge"
        stranger = f"POST /login HTTP/1.1\r\nHost: {server.host}\r\nOrigin: http://{server.host}\r\n"
        assert b" 413 " in server.raw(f"{stranger}Content-Length: 100000\r\n\r\n".encode()).splitlines()[0]
        unknown = f"POST /v1/ingest HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 100000000\r\n\r\n"
        assert b" 401 " in server.raw(unknown.encode()).splitlines()[0], "nobody sends so much without a token"
        assert is_well(server)


def test_a_small_body_is_read_before_its_request_is_refused(tmp_path: Path) -> None:
    """Otherwise the connection would be closed with unread data, and the client might not get the response."""
    with served(tmp_path) as server, socket.create_connection(("127.0.0.1", server.port), WAIT_S) as peer:
        head = f"POST /v1/ingest HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 13\r\n\r\n"
        peer.sendall(head.encode())
        peer.settimeout(0.2)
        with pytest.raises(TimeoutError):
            peer.recv(1)
        peer.settimeout(WAIT_S)
        peer.sendall(b'{"text": "x"}')
        assert b" 401 " in hear(peer).splitlines()[0]


def test_a_chunked_body_ends_at_the_limit(tmp_path: Path) -> None:
    small = ServeSettings(max_request_bytes=1_000_000)
    with served(tmp_path, serve=small) as server:
        with socket.create_connection(("127.0.0.1", server.port), WAIT_S) as peer:
            head = f"POST /v1/ingest HTTP/1.1\r\nHost: {server.host}\r\n{BEARER}\r\nTransfer-Encoding: chunked\r\n"
            peer.sendall((head + "Content-Type: application/json\r\n\r\n").encode())
            sent, piece = 0, b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
            try:
                while sent < 100_000_000:
                    peer.sendall(piece)
                    sent += 0x10000
            except (ConnectionError, TimeoutError):  # the server hung up
                heard = b""
            else:
                heard = hear(peer)
            assert sent < 50_000_000, heard
        assert is_well(server)


def test_too_many_large_bodies_are_refused(tmp_path: Path) -> None:
    narrow = ServeLimits(held_mb=1, max_request_bytes=10_000_000)
    with served(tmp_path, serve=narrow) as server, server.client() as client:
        answer = client.post("/v1/ingest", content=b"x" * 2_000_000, headers={"content-type": "application/json"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert client.post("/v1/ingest", json={"text": "x" * 500_000}).status_code == 200
        assert client.post("/v1/ingest", json={"text": "x" * 500_000}).status_code == 200, "what was held is let go"


def test_a_client_that_sends_too_slowly_is_dropped(tmp_path: Path) -> None:
    hasty = ServeLimits(body_s=0.2, header_s=0.5)
    with served(tmp_path, serve=hasty) as server:
        head = f"POST /v1/ingest HTTP/1.1\r\nHost: {server.host}\r\n{BEARER}\r\nContent-Type: application/json\r\n"
        said = server.raw(f'{head}Content-Length: 100\r\n\r\n{{"text":'.encode())
        assert b" 408 " in said.splitlines()[0] and b'"TooSlow"' in said
        assert server.raw(b"") == b"", "who says nothing"
        assert server.raw(b"POST /v1/sta") == b"", "who never comes to the point"
        kept = f"GET /healthz HTTP/1.1\r\nHost: {server.host}\r\n\r\n"
        assert server.raw(kept.encode()).endswith(b'{"ok":true}\n'), "who said one thing and then no more"
        assert is_well(server)


def test_a_client_that_does_not_read_is_dropped(tmp_path: Path) -> None:
    hasty = ServeLimits(stall_s=0.3)
    with served(tmp_path, serve=hasty, embedder="none") as server, server.client() as client:
        texts = [{"role": "user", "content": f"{number}" * 1_000_000} for number in range(6)]
        client.post("/v1/ingest_many", json={"messages": texts})
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as peer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.settimeout(WAIT_S)
            peer.connect(("127.0.0.1", server.port))
            peer.sendall(f"GET /v1/export HTTP/1.1\r\nHost: {server.host}\r\n{BEARER}\r\n\r\n".encode())
            assert peer.recv(15) == b"HTTP/1.1 200 OK"
            while read_metrics(client)["holdfast_in_flight",] > 1:
                pass  # until the server has given it up
            assert len(hear(peer)) < 6_000_000, "it lacks its end"
        assert client.get("/v1/export").text.count("\n") == 8, "who listens gets all of it"


@pytest.mark.requirement("SAFE-4")
def test_half_open_connections_do_not_lock_out_a_client(tmp_path: Path) -> None:
    narrow = ServeLimits(http_connections=20)
    with served(tmp_path, serve=narrow) as server, contextlib.ExitStack() as peers:
        for number in range(100):
            peer = peers.enter_context(socket.create_connection(("127.0.0.1", server.port), WAIT_S))
            if number % 2:
                peer.sendall(b"POST /v1/sta")
        with server.client() as client:
            for _ in range(10):
                assert client.post("/v1/status").status_code == 200
                peers.enter_context(socket.create_connection(("127.0.0.1", server.port), WAIT_S))


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("path", ["/v1/status", "/login"])
def test_bodies_that_strangers_never_finish_do_not_lock_out_a_client(tmp_path: Path, path: str) -> None:
    narrow = ServeLimits(http_connections=20, in_flight=5, strangers_at_once=1000)
    with served(tmp_path, serve=narrow) as server, contextlib.ExitStack() as peers:
        head = f"POST {path} HTTP/1.1\r\nHost: {server.host}\r\nOrigin: http://{server.host}\r\n"
        for _ in range(10):
            for _ in range(30):
                peer = peers.enter_context(socket.create_connection(("127.0.0.1", server.port), WAIT_S))
                with contextlib.suppress(ConnectionError):  # the server has dropped it
                    peer.sendall(f"{head}Content-Length: 100\r\n\r\n".encode())
            with server.client() as client:
                assert client.post("/v1/status").status_code == 200


def test_a_request_in_progress_keeps_its_connection(tmp_path: Path) -> None:
    few = ServeLimits(http_connections=5)
    with served(tmp_path, serve=few) as server, contextlib.ExitStack() as peers:
        head = f"POST /v1/status HTTP/1.1\r\nHost: {server.host}\r\n{BEARER}\r\nConnection: close\r\n"
        client = peers.enter_context(socket.create_connection(("127.0.0.1", server.port), WAIT_S))
        client.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n".encode())
        with server.client() as other:
            while read_metrics(other)["holdfast_in_flight",] < 2:
                pass  # until the server has read the head
        for _ in range(20):
            peers.enter_context(socket.create_connection(("127.0.0.1", server.port), WAIT_S))
        with server.client() as other:
            assert other.post("/v1/status").status_code == 200
        client.sendall(b"{}")
        assert hear(client).startswith(b"HTTP/1.1 200")


def test_excess_requests_get_503_with_retry_after(tmp_path: Path) -> None:
    narrow = ServeSettings(in_flight=1)
    with served(tmp_path, serve=narrow) as server, server.client() as client:
        with socket.create_connection(("127.0.0.1", server.port), WAIT_S) as peer:
            head = f"POST /v1/status HTTP/1.1\r\nHost: {server.host}\r\n{BEARER}\r\nContent-Length: 2\r\n"
            peer.sendall((head + "Content-Type: application/json\r\nConnection: close\r\n\r\n").encode())
            while (answer := client.post("/v1/status")).status_code == 200:
                pass  # until the server has read the head of the first
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            peer.sendall(b"{}")
            assert hear(peer).startswith(b"HTTP/1.1 200")
        assert client.post("/v1/status").status_code == 200


def test_too_frequent_requests_get_429(tmp_path: Path) -> None:
    strict = ServeLimits(calls_per_s=0.001, calls_at_once=5, strangers_per_s=0.001, strangers_at_once=3)
    with served(tmp_path, serve=strict) as server, server.client() as client, server.stranger() as stranger:
        assert [stranger.post("/v1/status").status_code for _ in range(5)] == [401, 401, 401, 429, 429]
        assert stranger.get("/healthz").status_code == 200, "health is never refused"
        answers = [client.post("/v1/status") for _ in range(7)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 2, "strangers do not use it up"
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 1000


def test_a_token_bucket_refills_at_its_rate() -> None:
    now = [0.0]
    bucket = TokenBucket(2.0, 3, lambda: now[0])
    assert [bucket.take() for _ in range(4)] == [0, 0, 0, 0.5]
    now[0] += 0.5
    assert bucket.take() == 0 and bucket.take() > 0
    now[0] += 1000
    assert [bucket.take() > 0 for _ in range(4)] == [False, False, False, True]


def test_of_too_many_connections_the_oldest_without_a_request_is_dropped(tmp_path: Path) -> None:
    few = ServeLimits(http_connections=20, header_s=30.0)
    with served(tmp_path, serve=few) as server:
        peers = [socket.create_connection(("127.0.0.1", server.port), WAIT_S) for _ in range(20)]
        said = server.raw(f"GET /healthz HTTP/1.0\r\nHost: {server.host}\r\n\r\n".encode())
        assert said.endswith(b'{"ok":true}\n')
        assert hear(peers[0]) == b""
        peers[-1].sendall(f"GET /healthz HTTP/1.0\r\nHost: {server.host}\r\n\r\n".encode())
        assert hear(peers[-1]).endswith(b'{"ok":true}\n'), "newer ones stay"
        for peer in peers:
            peer.close()
        assert is_well(server)


def test_smuggled_requests_are_not_answered(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        inner = f"POST /v1/remember HTTP/1.1\r\nHost: {server.host}\r\n{BEARER}\r\n\r\n"
        both = f"POST /v1/status HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n"
        said = server.raw(f"{both}\r\n0\r\n\r\n{inner}".encode())
        assert said.count(b"HTTP/1.1 200") == 0
        odd = f"POST /v1/status HTTP/1.1\r\nHost: {server.host}\r\n{BEARER}\r\nContent-Length: +5\r\n\r\nhello"
        assert b" 400 " in server.raw(odd.encode()).splitlines()[0]
        upgrade = f"GET /v1/status HTTP/1.1\r\nHost: {server.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        upgrade += "Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port), WAIT_S) as peer:
            peer.sendall(upgrade.encode())
            assert b" 401 " in peer.recv(4096).splitlines()[0]
        assert is_well(server)
