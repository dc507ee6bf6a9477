"""Attacks on answers: side channels to other memories, unexpected errors, endless errors."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from holdfast.errors import NotFound
from holdfast.serve.errors import failure_of
from holdfast.serve.mcp.server import error_text
from holdfast.serve.memories import Memories
from holdfast.serve.rpc import JsonRpc
from holdfast.serve.rpc_server import rpc_methods
from holdfast.testing import HashEmbedder
from tests.serve.http.http_peers import served
from tests.serve.mcp.mcp_peers import in_process, text_of
from tests.serve.peers import OpenPeer
from tests.support.memories import QUICK
from tests.support.pace import slowness

_Said = TypeVar("_Said")
BO = "a-token-of-bo-" + "y" * 32


@pytest.mark.requirement("INV-4", "SAFE-3")
def test_an_erase_proof_reveals_no_other_memory(tmp_path: Path, open_peer: OpenPeer) -> None:
    """It looks through all bytes of the store, so its counts differ when another memory has the erased words."""
    with served(tmp_path, token_for={"bo": BO}) as server:
        with server.client() as client:
            client.post("/v1/ingest", json={"text": "my passphrase is marzipan"})
        with server.client(authorization=f"Bearer {BO}") as bo:
            bo.post("/v1/ingest", json={"text": "marzipan", "session": "guess"})
            refused = bo.post("/v1/erase", json={"session": "guess", "prove": True})
            assert (refused.status_code, refused.json()["title"]) == (403, "Refused")
            assert "--prove" in refused.json()["detail"]
            done = bo.post("/v1/erase", json={"session": "guess"})
            assert (done.json()["turns"], done.json()["proof"]) == (1, None), "without the proof it is erased"
        with server.client() as client:
            client.post("/v1/ingest", json={"text": "away with it", "session": "s"})
            assert client.post("/v1/erase", json={"session": "s", "prove": True}).json()["proof"]["found"] == 0
    bound = open_peer(bound=True, file="bound.db")
    bound.call("memory.ingest", text="marzipan", session="guess")
    assert "--prove" in str(bound.error("memory.erase", session="guess", prove=True)["message"])


@pytest.mark.requirement("API-5", "RECALL-7")
@pytest.mark.parametrize("query", ["9999-12-30", "What did I say between 9999-01-01 and 9999-12-31?", "in 9999"])
def test_a_question_about_the_year_9999_is_answered(tmp_path: Path, query: str) -> None:
    with served(tmp_path) as server, server.client() as client:
        assert client.post("/v1/search", json={"query": query}).status_code == 200
        context = client.post("/v1/context", json={"messages": [{"role": "user", "content": query}]})
        assert (context.status_code, context.json()["degraded"]) == (200, None)


@pytest.mark.requirement("API-5")
def test_an_error_does_not_echo_the_whole_input(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    with served(tmp_path) as server, server.client() as client:
        for verb, given in [
            ("why", {"id": long}), ("ingest", {"text": "t", "role": long}), ("recent", {long: 1}),
            ("recent", {f"field{number}": 1 for number in range(5000)}),
        ]:  # fmt: skip
            answer = client.post(f"/v1/{verb}", json=given)
            assert answer.status_code in (404, 422) and len(answer.content) < 10_000, verb
    assert len(error_text(failure_of(NotFound(long)))) < 10_000


UNKNOWN = {f"field{number}": 1 for number in range(300_000)}


@pytest.mark.requirement("SAFE-4", "API-1")
def test_many_unknown_fields_are_refused_quickly_and_few_are_named(tmp_path: Path) -> None:
    memories = Memories(tmp_path / "rpc.db", "ana", embedder=HashEmbedder(), settings=QUICK)
    line = json.dumps({"jsonrpc": "2.0", "method": "memory.recent", "params": UNKNOWN, "id": 1}).encode()
    body, kind = json.dumps(UNKNOWN).encode(), {"content-type": "application/json"}
    with served(tmp_path) as server, server.client() as client, in_process(tmp_path / "mcp.db") as model:
        rpc = JsonRpc(rpc_methods(memories), 1)
        client.post("/v1/recent", json={})  # what is loaded for the first call is no cost of the next
        model.ask("memory_recent")
        said = {
            "HTTP": quickly(lambda: client.post("/v1/recent", content=body, headers=kind).text),
            "RPC": quickly(lambda: str(rpc.read(line).run())),
            "MCP": quickly(lambda: text_of(model.ask("memory_recent", UNKNOWN))),
        }
    memories.close()
    for surface, told in said.items():
        assert "field0" in told and "299,995 more unknown" in told and len(told) < 1000, surface


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("ingest_many", {"messages": [1] * 300_000}),
        ("context", {"messages": ["x"] * 300_000}),
        ("calibrate", {"labels": [None] * 300_000}),
    ],
)
def test_a_long_list_reports_its_first_wrong_value(verb: str, given: dict[str, object], tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client() as client:
        client.post(f"/v1/{verb}", json={})
        answer = quickly(lambda: client.post(f"/v1/{verb}", json=given))
    assert answer.status_code == 422 and ".0: input should be a valid dictionary" in answer.json()["detail"]


def quickly(ask: Callable[[], _Said]) -> _Said:
    """Return the answer, within a second of processor time; half of that is the client's own."""
    started = time.process_time()
    said = ask()
    assert time.process_time() - started < 1.0 * slowness()
    return said
