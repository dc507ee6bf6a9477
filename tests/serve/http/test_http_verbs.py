"""Verbs answer over HTTP as they do in process; errors are problems; exports are streamed."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.memory import Memory
from holdfast.serve.verbs import VERBS
from tests.serve.congruence import SETTINGS, Payload, bad_calls, differences, in_process, twins
from tests.serve.http.http_peers import read_metrics, served
from tests.serve.in_process import call
from tests.support.memories import QUICK, OpenMemory, WaitingEmbedder


@pytest.mark.slow
@pytest.mark.requirement("API-1", "API-5")
def test_http_answers_as_verbs_do_in_process(tmp_path: Path) -> None:
    one, other, known = twins(tmp_path)
    with (
        Memory(one, "ana", embedder="static", settings=SETTINGS) as memory,
        served(tmp_path, file=other.name, embedder="static", settings=SETTINGS) as server,
        server.client() as client,
    ):

        def over_http(verb: str, payload: Payload) -> object:
            answer = client.post(f"/v1/{verb}", json=payload)
            assert answer.status_code == 200, answer.text
            return answer.json()

        assert list(differences(in_process(memory), over_http, known)) == []
        for verb, payload, kind in bad_calls(known):
            with pytest.raises(HoldfastError) as raised:
                call(VERBS[verb], memory, payload)
            answer = client.post(f"/v1/{verb}", json=payload)
            assert answer.headers["content-type"] == "application/problem+json"
            told = answer.json()
            assert (told["title"], told["detail"]) == (kind, str(raised.value))
            assert told["status"] == answer.status_code in (404, 422) and told["advice"]


@pytest.mark.requirement("SAFE-4")
def test_invalid_requests_get_errors_with_advice(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client() as client:
        as_json = {"content-type": "application/json"}
        for body, headers, status, title in [
            (b"{", as_json, 400, "NotJson"),
            (b'{"text": NaN}', as_json, 400, "NotJson"),
            (b'{"text": "\xff"}', as_json, 400, "NotJson"),
            (b"[" * 100_000, as_json, 400, "NotJson"),
            (b'{"messages": [{"role": "user", "x": %s}]}' % (b"[" * 600 + b"]" * 600), as_json, 400, "NotJson"),
            (b"[]", as_json, 422, "InputError"),
            (b'{"text": "\\ud800"}', as_json, 422, "BadText"),
            (b'{"text": "hi"}', {"content-type": "text/plain"}, 415, "NotJson"),
            (b'{"text": "hi"}', {}, 415, "NotJson"),
        ]:
            answer = client.post("/v1/ingest", content=body, headers=headers)
            assert (answer.status_code, answer.json()["title"]) == (status, title), body[:20]
        assert client.post("/v1/recent").json() == {"turns": []}, "nothing is kept, and no body is an empty one"


@pytest.mark.requirement("API-5")
def test_unknown_paths_and_methods_are_problems(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client() as client:
        missing = client.get("/v1/dream")
        assert (missing.status_code, missing.json()["title"]) == (404, "NoSuchPath")
        wrong = client.get("/v1/search")
        assert (wrong.status_code, wrong.json()["title"]) == (405, "WrongMethod")
        assert wrong.headers["allow"] == "POST"
        assert client.get("/v1/search/").status_code == 404, "no second spelling, no redirect"


@pytest.mark.slow
@pytest.mark.requirement("API-5", "INV-4")
def test_the_namespace_header_selects_the_memory(tmp_path: Path) -> None:
    bo = [(b"holdfast-namespace", "Bö".encode())]
    with served(tmp_path) as server, server.client() as client:
        client.post("/v1/remember", json={"text": "The key is with Zofia"}, headers=bo)
        assert client.post("/v1/status").json()["records"] == 0
        named = client.post("/v1/recent", json={"kind": "record"}, headers=bo)
        assert [record["text"] for record in named.json()["records"]] == ["The key is with Zofia"]
        twice = client.post("/v1/status", headers=[("holdfast-namespace", "a"), ("holdfast-namespace", "b")])
        assert (twice.status_code, twice.json()["title"]) == (422, "InputError")
    with served(tmp_path, None) as server, server.client() as client:
        assert client.post("/v1/status").json()["title"] == "NamespaceRequired"
        assert client.get("/v1/export").json()["title"] == "NamespaceRequired"
    with served(tmp_path, bound=True) as server, server.client() as client:
        for verb in VERBS:
            refused = client.post(f"/v1/{verb}", headers={"holdfast-namespace": "bo"})
            assert (refused.status_code, refused.json()["title"]) == (403, "Refused"), verb
        assert client.get("/v1/export", headers={"holdfast-namespace": "bo"}).status_code == 403
        assert client.post("/v1/status", headers={"holdfast-namespace": "global"}).status_code == 200
        wrote = client.post("/v1/ingest", json={"text": "x"}, headers={"holdfast-namespace": "global"})
        assert wrote.status_code == 403


@pytest.mark.requirement("INV-4", "SAFE-3")
def test_a_token_of_one_memory_does_not_open_another(tmp_path: Path) -> None:
    tokens = {"bo": "b" * 40, "cy": "c" * 40}
    with (
        served(tmp_path, token_for=tokens) as server,
        server.client() as ana,
        server.client(authorization="Bearer " + "b" * 40) as bo,
    ):
        kept = bo.post("/v1/ingest", json={"text": "the safe is behind the clock"}).json()["turn"]
        assert kept["namespace"] == "bo", "it comes from the credential"
        assert bo.post("/v1/status", headers={"holdfast-namespace": "bo"}).json()["turns"] == 1
        assert bo.get("/v1/export").text.count("the safe") == 1
        for other in ("ana", "cy", "global", "Bo", "bob"):
            named = {"holdfast-namespace": other}
            assert {bo.post(f"/v1/{verb}", headers=named).status_code for verb in VERBS} == {403}, other
            assert bo.get("/v1/export", headers=named).status_code == bo.post("/mcp", headers=named).status_code == 403
        for path in ("/", "/metrics", "/inspector/records"):
            assert bo.get(path).status_code == 403, path
        assert bo.get("/healthz").status_code == bo.get("/openapi.json").status_code == 200
        assert ana.post("/v1/status").json()["turns"] == 0
        assert ana.post("/v1/status", headers={"holdfast-namespace": "bo"}).json()["turns"] == 1


@pytest.mark.slow
@pytest.mark.requirement("INV-4", "SAFE-3")
def test_ids_of_another_namespace_are_unknown_on_every_route(tmp_path: Path, open_memory: OpenMemory) -> None:
    bo = open_memory("bo")
    turn, record = bo.ingest("the code of the safe is 4711", session="vault"), bo.remember("the safe is blue")
    bo.close()
    ids = (turn.id, record.id)
    with served(tmp_path, "ana") as server, server.client() as client:
        for verb in VERBS.values():
            for given in [{"id": one} for one in ids] if "id" in verb.fields else []:
                answer = client.post(f"/v1/{verb.name}", json=given)
                assert answer.status_code == 404, (verb.name, answer.text)
            if "session" in verb.fields and verb.name not in ("ingest", "ingest_many", "context"):
                query = {"search": {"query": "safe"}, "remember": {"text": "x"}}.get(verb.name, {})
                answer = client.post(f"/v1/{verb.name}", json={"session": "vault", **query})
                assert answer.status_code in (200, 404) and "4711" not in answer.text, verb.name
        for given in ({"turn": turn.id}, {"record": record.id}, {"session": "vault"}):
            assert client.post("/v1/erase", json=given).status_code in (200, 404)
        asked = {"messages": [{"role": "user", "content": "what is the code of the safe?"}], "session": "vault"}
        assert "4711" not in client.post("/v1/context", json=asked).text
        assert "4711" not in client.get("/v1/export").text
    with Memory(tmp_path / "memory.db", "bo", embedder="none", settings=QUICK) as again:
        assert [one.text for one in again.thread("vault")] == ["the code of the safe is 4711"]
        assert again.why(record.id)


@pytest.mark.slow
@pytest.mark.requirement("KEEP-5", "API-5")
def test_an_http_export_can_be_imported(tmp_path: Path, open_memory: OpenMemory) -> None:
    with served(tmp_path) as server, server.client() as client:
        long = "a long way to the harbour " * 4_000
        messages = [{"role": "user", "content": f"{n}: {long}"} for n in range(6)]
        client.post("/v1/ingest_many", json={"messages": messages, "session": "s"})
        with client.stream("GET", "/v1/export") as answer:
            assert answer.headers["content-type"] == "application/x-ndjson"
            (tmp_path / "ana.jsonl").write_bytes(b"".join(answer.iter_bytes()))
        assert client.head("/v1/export").content == b""
    other = open_memory(file="other.db")
    assert other.import_file(tmp_path / "ana.jsonl").turns == 6
    assert [turn.text for turn in other.thread("s")] == [message["content"] for message in messages]


@pytest.mark.requirement("API-5")
def test_slow_calls_do_not_delay_quick_ones(tmp_path: Path) -> None:
    embedder = WaitingEmbedder()
    with served(tmp_path, embedder=embedder) as server, server.client() as client:
        client.post("/v1/ingest", json={"text": "the tide comes at noon"})
        waiting = [threading.Thread(target=lambda: client.post("/v1/flush", json={"timeout": 30.0})) for _ in range(12)]
        for thread in waiting:
            thread.start()
        assert embedder.asked.wait(30)
        assert client.post("/v1/status").json()["turns"] == 1
        embedder.go.set()
        for thread in waiting:
            thread.join()


@pytest.mark.requirement("API-5")
def test_health_needs_no_token_and_metrics_count(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client() as client, server.stranger() as stranger:
        assert stranger.get("/healthz").json() == {"ok": True}
        assert stranger.get("/metrics").status_code == 401
        client.post("/v1/ingest", json={"text": "the word secret-harbour is nobody's business"})
        client.post("/v1/ingest_many", json={"messages": [{"role": "user", "content": "one"}] * 2})
        client.post("/v1/search", json={})
        metrics = read_metrics(client)
        assert metrics["holdfast_requests_total", "200", "ingest"] == 1
        assert metrics["holdfast_requests_total", "422", "search"] == 1
        assert metrics["holdfast_request_seconds_count", "ingest_many"] == 1
        assert metrics["holdfast_turns_acknowledged_total",] == 3
        assert metrics["holdfast_refused_total", "TokenNeeded"] == 1
        assert metrics["holdfast_in_flight",] == metrics["holdfast_open_memories",] == 1
        text = client.get("/metrics").text
        assert "harbour" not in text and "ana" not in text


@pytest.mark.requirement("API-5")
def test_the_served_openapi_document_is_the_committed_one(tmp_path: Path) -> None:
    committed = Path(__file__).parents[3] / "contract" / "openapi.json"
    with served(tmp_path) as server, server.client() as client:
        assert client.get("/openapi.json").json() == json.loads(committed.read_text(encoding="utf-8"))
