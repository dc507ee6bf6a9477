"""Attacks on what is answered: other memories seen through a keyhole, errors that should not be, errors without end."""

from __future__ import annotations

from pathlib import Path

import pytest
from http_peers import served
from peers import OpenPeer

from holdfast.errors import NotFound
from holdfast.serve.faults import fault_of
from holdfast.serve.mcp.calls import _told

BO = "a-token-of-bo-" + "y" * 32


@pytest.mark.requirement("INV-4", "SAFE-3")
def test_the_proof_of_an_erase_tells_nobody_what_other_memories_hold(tmp_path: Path, open_peer: OpenPeer) -> None:
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
def test_a_question_about_the_last_year_of_the_calendar_is_answered(tmp_path: Path, query: str) -> None:
    with served(tmp_path) as server, server.client() as client:
        assert client.post("/v1/search", json={"query": query}).status_code == 200
        context = client.post("/v1/context", json={"messages": [{"role": "user", "content": query}]})
        assert (context.status_code, context.json()["degraded"]) == (200, None)


@pytest.mark.requirement("API-5")
def test_an_error_does_not_send_back_all_that_was_sent(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    with served(tmp_path) as server, server.client() as client:
        for verb, given in [
            ("why", {"id": long}), ("ingest", {"text": "t", "role": long}), ("recent", {long: 1}),
            ("recent", {f"field{number}": 1 for number in range(5000)}),
        ]:  # fmt: skip
            answer = client.post(f"/v1/{verb}", json=given)
            assert answer.status_code in (404, 422) and len(answer.content) < 10_000, verb
    assert len(_told(fault_of(NotFound(long)))) < 10_000
