"""The tour of docs/how-to/serve.md: every line of it is sent to a server."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.serve.http.http_peers import Server, served

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "serve.md"


def said(server: Server, line: str) -> tuple[int, str]:
    """Return the response to a line of curl."""
    filled = line.replace("$URL", f"http://{server.host}").replace("$auth", f"Authorization: Bearer {server.token}")
    words = iter(shlex.split(filled.replace("$json", "Content-Type: application/json"), comments=True)[1:])
    headers, body, method, url = {}, None, "GET", ""
    for word in words:
        if word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            method, body = "POST", next(words)
        elif word == "-X":
            method = next(words)
        elif word != "-s":
            url = word
    with server.stranger() as client:
        answer = client.request(method, url, headers=headers, content=body)
        return answer.status_code, answer.text


@pytest.mark.requirement("API-5")
def test_the_http_tour_is_true(tmp_path: Path) -> None:
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for line in block.splitlines() if line.startswith("curl ")]
    assert len(lines) > 5
    with served(tmp_path, embedder="static") as server:
        answers = [said(server, line) for line in lines]
    assert {status for status, _ in answers} == {200}, answers
    texts = "".join(text for _, text in answers)
    for shown in ('"ok":true', "I moved to Lisbon in May", "Zofia", '"namespace":"bo"', "holdfast-export", "# HELP"):
        assert shown in texts
