"""A caller of one memory learns neither the location of the store nor anything about other memories."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.errors import ModelUnavailable
from holdfast.memory import Memory
from holdfast.serve.errors import redact_places
from holdfast.serve.verbs import VERBS
from holdfast.testing import HashEmbedder
from tests.serve.http.http_peers import served
from tests.serve.mcp.mcp_peers import in_process
from tests.serve.peers import OpenPeer
from tests.support.memories import QUICK

BO = "a-token-of-bo-" + "y" * 32
OTHER = "wilhelmina"
SAID = [
    {"role": "user", "content": "I moved to Rome in May."},
    {"role": "assistant", "content": "Noted: Rome, since May."},
    {"role": "user", "content": "Never call me before nine."},
]
ASKED: Mapping[str, Mapping[str, object]] = {
    "ingest": {"text": "The ferry leaves at six.", "session": "late", "key": "k1", "at": "2026-05-03T10:00:00Z"},
    "ingest_many": {"messages": SAID, "session": "talk"},
    "search": {"query": "Where do I live?"},
    "recent": {},
    "records": {},
    "profile": {},
    "get": {"id": "r-none"},
    "gating": {"text": "Bo keeps bees."},
    "update": {"id": "r-none", "text": "Bo keeps two hives."},
    "thread": {"session": "talk"},
    "themes": {"since": None},
    "context": {"messages": [{"role": "user", "content": "Where do I live?"}], "session": "talk"},
    "standing": {},
    "compact": {"session": "talk", "force": True},
    "expand": {"id": "r-none"},
    "active": {"session": "talk"},
    "remember": {"text": "Bo keeps bees.", "key": "bees"},
    "forget": {"id": "t-none"},
    "erase": {"session": "late"},
    "why": {"id": "t-none"},
    "history": {"id": "r-none"},
    "status": {},
    "stats": {},
    "calibrate": {},
    "janitor": {"dry_run": True},
    "doctor": {},
    "flush": {},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The operator's: its name must not come out of it."""
    place = tmp_path / "operators folder"
    place.mkdir()
    return place


def test_every_verb_has_a_question() -> None:
    assert ASKED.keys() == VERBS.keys()


@pytest.mark.requirement("INV-4", "SAFE-3")
def test_confined_answers_reveal_no_other_memory_and_no_path(folder: Path) -> None:
    """The same questions, before and after another memory has grown, was exported, and the store was backed up."""
    with served(folder, None, token_for={"bo": BO}) as server, server.client(authorization=f"Bearer {BO}") as bo:
        ask_all(bo)  # what is made at the first time is there at the next
        before = ask_all(bo)
        with Memory(folder / "memory.db", OTHER, embedder=HashEmbedder(), settings=QUICK) as other:
            other.ingest_many([{"role": "user", "content": f"A secret of mine: {n} boats."} for n in range(300)], "sea")
            other.remember("Wilhelmina keeps boats.")
            other.flush()
            other.export(folder / "wilhelmina.jsonl")
        after = ask_all(bo)
    for verb in ASKED:
        assert after[verb] == before[verb], verb
    everything = json.dumps(after)
    for hidden in (str(folder), folder.name, "memory.db", OTHER, "boats", "jsonl"):
        assert hidden not in everything


@pytest.mark.requirement("INV-4", "SAFE-3", "KEEP-4")
def test_erase_counts_remaining_copies_without_paths(folder: Path) -> None:
    with served(folder, None, token_for={"bo": BO}) as server, server.client(authorization=f"Bearer {BO}") as bo:
        bo.post("/v1/ingest", json={"text": "The ferry leaves at six.", "session": "late"})
        with Memory(folder / "memory.db", "bo", embedder=HashEmbedder(), settings=QUICK) as own:
            own.backup(folder / "backup.db")
        told = bo.post("/v1/erase", json={"session": "late"}).json()
        assert (told["turns"], len(told["copies"])) == (1, 1)
        assert "operator" in told["copies"][0] and "backup" not in told["copies"][0]


@pytest.mark.requirement("INV-4", "SAFE-3")
def test_a_confined_caller_cannot_check_the_store(folder: Path, open_peer: OpenPeer) -> None:
    with served(folder, token_for={"bo": BO}) as server:
        with server.client(authorization=f"Bearer {BO}") as bo:
            refused = bo.post("/v1/status", json={"check": True})
            assert (refused.status_code, refused.json()["title"]) == (403, "Refused")
            assert "status --check" in refused.json()["detail"]
            found = bo.post("/v1/doctor", json={}).json()
            assert "integrity" not in [one["check"] for one in found["findings"]]
        with server.client() as operator:
            told = operator.post("/v1/status", json={"check": True}).json()
            assert (told["store"], told["problems"]) == (str(folder / "memory.db"), [])
            found = operator.post("/v1/doctor", json={}).json()
            assert (found["source"], found["findings"][-1]["check"]) == (str(folder / "memory.db"), "integrity")
    bound = open_peer(bound=True)
    assert bound.call("memory.status")["store"] == ""
    assert bound.error("memory.status", check=True)["data"]["type"] == "Refused"  # type: ignore[index]
    free = open_peer(file="free.db")
    assert str(free.call("memory.status")["store"]).endswith("free.db")


@pytest.mark.requirement("INV-4", "SAFE-1")
def test_degradation_is_reported_without_paths(folder: Path, open_peer: OpenPeer) -> None:
    class Away(HashEmbedder):
        """Names its location in errors, as models do."""

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            raise ModelUnavailable("/opt/models/e5.onnx and http://10.9.8.7:4242/v1 are away")

    away = Away()
    with (
        served(folder, None, token_for={"bo": BO}, embedder=away) as server,
        server.client(authorization=f"Bearer {BO}") as bo,
    ):
        bo.post("/v1/ingest", json={"text": "The ferry leaves at six."})
        told = [
            bo.post("/v1/flush", json={"timeout": 0.2}).text,
            bo.post("/v1/search", json={"query": "When does the ferry leave?"}).text,
            bo.post("/v1/context", json={"messages": SAID[:1]}).text,
            bo.post("/v1/status").text,
        ]
    bound = open_peer(bound=True, embedder=away)
    bound.call("memory.ingest", text="The ferry leaves at six.")
    told += [str(bound.ask("memory.flush", timeout=0.2)), str(bound.ask("status")), str(bound.ask("health"))]
    told += [str(bound.ask("assemble", sessionId="s", messages=SAID[:1]))]
    for one in told:
        assert "models" not in one and "onnx" not in one and "10.9.8.7" not in one
    assert sum("are away" in one for one in told) >= 5, "that it is degraded is told"


@pytest.mark.requirement("INV-4", "SAFE-3", "SAFE-4")
def test_a_damaged_store_is_reported_without_its_path(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with served(folder, None, token_for={"bo": BO}) as server:
        (folder / "memory.db").write_bytes(b"no database at all, and long enough to be looked at" * 100)
        with server.client(authorization=f"Bearer {BO}") as bo:
            answers = [bo.post("/v1/status"), bo.get("/v1/export"), bo.post("/mcp", **mcp_call("search", query="x"))]
        with server.client() as operator:
            assert str(folder) in operator.post("/v1/status", headers={"holdfast-namespace": "ana"}).text
    assert [one.status_code for one in answers] == [500, 500, 200]
    for one in answers:
        assert "StoreDamaged" in one.text and "operators" not in one.text and "memory.db" not in one.text
    assert str(folder) in caplog.text, "the operator finds it in the log"


@pytest.mark.requirement("INV-4", "API-4")
def test_mcp_reveals_no_paths(folder: Path) -> None:
    with in_process(folder / "memory.db", "bo") as model:
        model.call("ingest", text="The ferry leaves at six.")
        told = [
            model.text("context", messages=SAID[:1]),
            model.text("search", query="ferry"),
            model.error("why", id="t-none"),
        ]
    assert not any("operators" in one or "memory.db" in one for one in told)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("derived work waits: the disk of /srv/a b/m.db is full", "derived work waits: the disk of … is full"),
        ("onnx:/srv/models/e5.onnx failed (/tmp/x).", "onnx:… failed (…)."),
        ('connection to server at "10.0.0.3", port 5432 failed', "connection to server at … failed"),
        ("postgresql://me@db/x: and/or 1/2 of it", "… and/or 1/2 of it"),
        ("/srv/a b/models/e5 is away", "… is away"),
        ("store.db and restore.db", "… and restore.db"),
    ],
)
def test_redaction_removes_places_only(said: str, told: str) -> None:
    assert redact_places(said, ["/srv/a b", "/srv/a b/m.db", "store.db", ""]) == told


def ask_all(client: httpx2.Client) -> dict[str, object]:
    told = {}
    for verb, given in ASKED.items():
        client.post("/v1/flush")  # how far derived work has come is no matter of who else is here
        told[verb] = settled(client.post(f"/v1/{verb}", json=given).text)
    return told


def settled(said: str) -> object:
    """Remove what differs from call to call: times, and ids of new items."""
    moments = re.sub(r'"\d{4}-\d\d-\d\dT[^"]*Z"', '"then"', re.sub(r'"(ms|seconds)":[\d.e-]+', r'"\1":0', said))
    return json.loads(re.sub(r'"[tr]-[0-9a-f]{12,}"', '"id"', moments))


def mcp_call(tool: str, **given: object) -> dict[str, Any]:
    asked = {"name": f"memory_{tool}", "arguments": given}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
    kind = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    return {"content": json.dumps(body).encode(), "headers": kind}
