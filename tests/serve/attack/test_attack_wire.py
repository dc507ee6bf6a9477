"""Attacks on the connection itself: bodies with two ends, floods of the log, and open files."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.settings import ServeSettings
from tests.serve.http.http_peers import TOKEN, announced, process, served, stop

pytestmark = pytest.mark.requirement("SAFE-3")

BEARER = f"Authorization: Bearer {TOKEN}"
FREE = ("-n", "ana", "--embedder", "none", "--port", "0", "--json")


@pytest.mark.parametrize(
    ("version", "lines"),
    [
        ("1.1", ("Content-Length: 4", "Transfer-Encoding: chunked")),
        ("1.1", ("Transfer-Encoding: chunked", "Content-Length: 13")),
        ("1.0", ("Transfer-Encoding: chunked",)),
    ],
)
def test_a_body_with_two_lengths_is_refused(tmp_path: Path, version: str, lines: tuple[str, ...]) -> None:
    """A proxy that reads the other length would take what follows for another person's request."""
    with served(tmp_path) as server:
        head = [f"POST /v1/status HTTP/{version}", f"Host: {server.host}", BEARER, "Content-Type: application/json"]
        body = b"2\r\n{}\r\n0\r\n\r\n" + b"GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n" % server.host.encode()
        said = server.raw("\r\n".join([*head, *lines, "", ""]).encode() + body)
    assert b" 400 " in said.splitlines()[0] and b"BadFraming" in said
    assert said.count(b"HTTP/1.1 ") == 1, "the connection ends with the answer"


def test_requests_without_a_token_cannot_fill_the_log(tmp_path: Path) -> None:
    with process(tmp_path, *FREE) as started:
        server = announced(started)
        for sent in (
            b"\x16\x03\x01 no HTTP\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            f"GET /mcp HTTP/1.1\r\nHost: {server.host}\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode(),
        ):
            server.raw(sent)
        assert stop(started) == (0, "")


def test_many_connections_leave_files_for_the_stores(tmp_path: Path) -> None:
    """Most systems give a process 1,024 files."""
    import resource

    wanted, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
    try:
        with process(tmp_path, *FREE) as started:
            announced(started)
            limits = Path(f"/proc/{started.pid}/limits").read_text(encoding="ascii")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    given = next(int(line.split()[3]) for line in limits.splitlines() if line.startswith("Max open files"))
    settings = ServeSettings()
    assert given >= min(most, settings.http_connections + 100)
