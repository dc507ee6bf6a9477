"""The seed's thirteen methods, with its own requests and responses, over a real socket."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from holdfast.model import SIGNALS
from holdfast.settings import ChatSettings
from tests.serve.peers import Answer, OpenPeer, Peer
from tests.support.memories import QUICK

pytestmark = pytest.mark.requirement("API-2")

OK = {"ok": True}


def insert(peer: Peer, collection: str, name: str, text: str, **metadata: object) -> Answer:
    return peer.call("insert_text", collection=collection, id=name, text=text, metadata=metadata)


def results(answer: Answer) -> list[Answer]:
    assert set(answer) == {"results"}
    found = cast("list[Answer]", answer["results"])
    for one in found:
        assert list(one) == ["id", "score", "text", "metadata"]
        assert 0.0 <= cast("float", one["score"]) <= 1.0
    return found


def ids(answer: Answer, sort: bool = False) -> list[str]:
    found = [str(one["id"]) for one in results(answer)]
    return sorted(found) if sort else found


def talk(peer: Peer) -> None:
    insert(peer, "session:s1", "m1", "I moved to Lisbon in May", role="user", ts=1_760_000_000_000)
    insert(peer, "session:s1", "m2", "Noted: Lisbon.", role="assistant")
    insert(peer, "session:s2", "m1", "slipway listens on port 9417", role="user", topic="ports")
    insert(peer, "user:ana", "f1", "Ana keeps bees in Lisbon", type="fact")
    assert peer.call("flush") == OK


def test_health_and_status_report_the_state(peer: Peer) -> None:
    assert peer.call("health") == {"ok": True, "message": "ready"}
    talk(peer)
    status = peer.call("status")
    assert list(status) == [
        "ok", "message", "turnCount", "memoryCount", "gatingThreshold", "abstractiveReady", "embeddingProfile",
    ]  # fmt: skip
    assert (status["ok"], status["turnCount"], status["gatingThreshold"], status["abstractiveReady"]) == (
        True, 3, 0.35, False,
    )  # fmt: skip


def test_a_chat_model_that_does_not_answer_is_not_ready(open_peer: OpenPeer) -> None:
    settings = replace(QUICK, chat=ChatSettings(model="http://127.0.0.1:9/v1#gone"))
    assert open_peer(settings=settings).call("status")["abstractiveReady"] is False


def test_a_server_without_a_namespace_is_healthy(open_peer: OpenPeer) -> None:
    peer = open_peer(None)
    assert peer.call("health")["ok"] is True
    assert peer.call("status")["turnCount"] == 0
    error = peer.error("search_text", collection="session:s1", text="x", k=1)
    assert error["code"] == -32003
    assert insert(peer, "user:bo", "f1", "Bo sails") == OK
    assert ids(peer.call("search_text", collection="user:bo", text="who sails", k=5)) == ["f1"]


def test_unknown_collections_are_refused(peer: Peer) -> None:
    names = [
        "session:s1",
        "turns:ana",
        "user:ana",
        "global",
        "elevated:user:ana",
        "elevated:session:s1",
        "authored:hard",
    ]
    assert peer.call("ensure_collections", collections=names) == OK
    assert peer.call("ensure_collections", collections=names) == OK
    for name in ("users:ana", "session:", "authored:loud", "", "elevated:ana"):
        assert peer.error("ensure_collections", collections=[name])["code"] == -32602


def test_a_turn_keeps_the_hosts_id_and_metadata(peer: Peer) -> None:
    talk(peer)
    assert insert(peer, "session:s1", "m1", "I moved to Lisbon in May", role="user") == OK
    assert insert(peer, "turns:ana", "m1", "I moved to Lisbon in May", role="user", sessionId="s1") == OK
    (found, *_) = results(peer.call("search_text", collection="session:s1", text="moved to Lisbon", k=5))
    metadata = cast("Answer", found["metadata"])
    assert (found["id"], found["text"]) == ("m1", "I moved to Lisbon in May")
    assert (metadata["role"], metadata["ts"], metadata["sessionId"], metadata["userId"], metadata["type"]) == (
        "user", 1_760_000_000_000, "s1", "ana", "turn",
    )  # fmt: skip
    assert metadata["at"] == "2025-10-09T08:53:20Z"
    for name in ("score", "t", "h", "r", "d", "p", "a", "dtech", "gconv", "gtech"):
        assert isinstance(metadata[f"gating_{name}"], float)
    assert peer.call("status")["turnCount"] == 3


def test_an_id_with_another_text_is_refused(peer: Peer) -> None:
    talk(peer)
    for collection, name in (("session:s1", "m1"), ("user:ana", "f1")):
        error = peer.error("insert_text", collection=collection, id=name, text="something else", metadata={})
        assert error["code"] == -32602 and name in str(error["message"])
    assert peer.call("status")["turnCount"] == 3


def test_each_collection_finds_its_own_items(peer: Peer) -> None:
    talk(peer)
    assert ids(peer.call("search_text", collection="session:s1", text="Lisbon", k=5), sort=True) == ["m1", "m2"]
    assert ids(peer.call("search_text", collection="session:s2", text="Lisbon", k=5)) == []
    assert len(ids(peer.call("search_text", collection="turns:ana", text="Lisbon", k=5))) == 2
    assert ids(peer.call("search_text", collection="user:ana", text="bees", k=5))[0] == "f1"
    assert ids(peer.call("search_text", collection="global", text="bees", k=5)) == []
    assert ids(peer.call("search_text", collection="session:s1", text="Lisbon", k=5, excludeIds=["m1"])) == ["m2"]
    assert len(ids(peer.call("search_text", collection="session:s1", text="Lisbon", k=1))) == 1
    assert peer.error("search_text", collection="session:s1", text="Lisbon", k=0)["code"] == -32602


def test_global_is_shared_and_users_are_separate(peer: Peer) -> None:
    insert(peer, "global", "g1", "The office closes at six", type="fact")
    insert(peer, "user:bo", "f1", "Bo keeps goats")
    peer.call("flush")
    assert ids(peer.call("search_text", collection="global", text="when does the office close?", k=5)) == ["g1"]
    assert ids(peer.call("search_text", collection="user:ana", text="goats", k=5)) == []
    assert ids(peer.call("search_text", collection="user:bo", text="goats", k=5)) == ["f1"]
    assert peer.error("search_text", collection="user:bo", userId="ana", text="goats", k=5)["code"] == -32602


def test_list_by_meta_filters_by_metadata(peer: Peer) -> None:
    talk(peer)
    assert ids(peer.call("list_by_meta", collection="turns:ana", key="topic", value="ports")) == ["m1"]
    assert ids(peer.call("list_by_meta", collection="session:s1", key="role", value="assistant")) == ["m2"]
    assert ids(peer.call("list_by_meta", collection="session:s1", key="role", value="nobody")) == []
    assert "f1" in ids(peer.call("list_by_meta", collection="user:ana", key="type", value="fact"))


def test_the_gating_scalar_has_every_signal(peer: Peer) -> None:
    cold = peer.call("gating_scalar", userId="ana", text="I moved to Lisbon in May")
    assert set(cold) == {*SIGNALS, "inputFreq", "memSaturation"}
    assert (cold["inputFreq"], cold["memSaturation"]) == (cold["input_freq"], cold["mem_saturation"])
    assert cold["h"] == 1.0 and cold["input_freq"] == 0.0
    for number in range(5):
        insert(peer, "session:s1", f"m{number}", "I moved to Lisbon in May", role="user")
    warm = peer.call("gating_scalar", userId="ana", text="I moved to Lisbon in May")
    assert warm["input_freq"] == 1.0
    assert cast("float", warm["h"]) < 1.0
    assert peer.call("gating_scalar", text="I moved to Lisbon in May") == warm


def test_an_export_contains_every_turn_and_record_once(peer: Peer) -> None:
    talk(peer)
    records = cast("list[Answer]", peer.call("export_memory", userId="ana")["records"])
    assert all(list(one) == ["collection", "id", "text", "metadata"] for one in records)
    said = {(one["collection"], one["id"]) for one in records}
    assert {("session:s1", "m1"), ("session:s1", "m2"), ("session:s2", "m1"), ("user:ana", "f1")} <= said
    assert len(said) == len(records)
    assert peer.call("export_memory")["records"] == records
    assert peer.call("export_memory", userId="bo") == {"records": []}


def test_deleted_items_are_hidden_until_inserted_again(peer: Peer) -> None:
    talk(peer)
    assert peer.call("delete", collection="session:s1", id="m1") == OK
    assert peer.call("delete_batch", collection="user:ana", ids=["f1", "there is none"]) == OK
    assert ids(peer.call("search_text", collection="turns:ana", text="moved", k=5)) == []
    assert "f1" not in ids(peer.call("search_text", collection="user:ana", text="bees", k=5))
    exported = {one["id"] for one in cast("list[Answer]", peer.call("export_memory")["records"])}
    assert "f1" not in exported
    insert(peer, "session:s1", "m1", "I moved to Lisbon in May", role="user")
    assert ids(peer.call("search_text", collection="session:s1", text="moved", k=5)) == ["m1"]


@pytest.mark.requirement("SAFE-5")
def test_flushing_a_namespace_affects_only_that_name(peer: Peer) -> None:
    for user in ("al", "alice"):
        insert(peer, f"turns:{user}", "m1", f"{user} sails on Sundays", role="user")
        insert(peer, f"user:{user}", "f1", f"{user} has a boat")
    assert peer.call("flush_namespace", userId="al") == OK
    assert peer.call("export_memory", userId="al") == {"records": []}
    assert len(cast("list[object]", peer.call("export_memory", userId="alice")["records"])) >= 2
    assert peer.error("flush_namespace")["code"] == -32602


def test_a_session_is_compacted_and_its_rules_are_elevated(peer: Peer) -> None:
    for number in range(24):
        insert(
            peer, "session:s1", f"m{number}", f"The boat number {number} came in with the tide at noon.", role="user"
        )
    insert(peer, "session:s1", "rule", "Always write the dates of my boats in ISO format.", role="user")
    for number in range(8):
        insert(peer, "session:s1", f"n{number}", f"The ferry number {number} left late again today.", role="assistant")
    made = peer.call("compact_session", sessionId="s1", force=True)
    assert list(made) == ["didCompact", "clustersFormed", "turnsRemoved", "summaryMethod", "meanConfidence"]
    assert made["didCompact"] is True
    peer.call("flush")
    for collection in ("elevated:user:ana", "elevated:session:s1"):
        (rule,) = results(peer.call("search_text", collection=collection, text="dates in ISO format", k=3))
        assert "ISO format" in str(rule["text"])
    assert ids(peer.call("list_by_meta", collection="session:s1", key="type", value="summary"))
    assert ids(peer.call("search_text", collection="elevated:session:s2", text="dates in ISO format", k=3)) == []
    error = peer.error("insert_text", collection="elevated:user:ana", id="x", text="obey me", metadata={})
    assert error["code"] == -32602
    assert peer.error("compact_session", sessionId="nowhere", force=False)["code"] == -32002


def test_rule_collections_are_read_only(open_peer: OpenPeer, tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_text("# Rules\n\n- Never push to main.\n- Use tabs in Makefiles.\n")
    peer = open_peer(rules=(str(file),))
    (found,) = results(peer.call("search_text", collection="authored:hard", text="may I push to main?", k=5))
    assert found["text"] == "- Never push to main."
    assert len(ids(peer.call("list_by_meta", collection="authored:hard", key="tier", value="hard"))) == 2
    for method, params in (
        ("insert_text", {"id": "x", "text": "obey me", "metadata": {}}),
        ("delete", {"id": str(file)}),
    ):
        assert peer.error(method, collection="authored:hard", **params)["code"] == -32602


@pytest.mark.requirement("INV-4", "SAFE-3")
def test_a_bound_server_uses_one_memory_and_reads_global(open_peer: OpenPeer) -> None:
    open_peer("bo").call("insert_text", collection="user:bo", id="f1", text="Bo keeps goats", metadata={})
    peer = open_peer("ana", bound=True)
    for method, params in (
        ("search_text", {"collection": "user:bo", "text": "goats", "k": 1}),
        ("insert_text", {"collection": "turns:bo", "id": "x", "text": "x", "metadata": {}}),
        ("insert_text", {"collection": "global", "id": "x", "text": "x", "metadata": {}}),
        ("flush_namespace", {"userId": "bo"}),
        ("export_memory", {"userId": "bo"}),
        ("gating_scalar", {"userId": "bo", "text": "goats"}),
        ("memory.search", {"query": "goats", "userId": "bo"}),
        ("memory.remember", {"text": "x", "userId": "global"}),
    ):
        assert peer.error(method, **params)["code"] == -32001, method
    assert ids(peer.call("search_text", collection="global", text="goats", k=1)) == []
    assert peer.call("bootstrap", sessionId="s", userId="bo")["ok"] is False


@pytest.mark.requirement("INV-4")
@pytest.mark.parametrize("bound", [True, False])
def test_a_contradicting_namespace_field_is_an_error(open_peer: OpenPeer, bound: bool) -> None:
    peer = open_peer("ana", bound=bound)
    peer.call("insert_text", collection="user:ana", id="f1", text="Ana keeps goats", metadata={}, namespace="ana")
    assert len(cast("list[Answer]", peer.call("export_memory", namespace="ana")["records"])) == 1
    told = peer.error("export_memory", namespace="bo")
    assert told["code"] == (-32001 if bound else -32602)
    assert "'bo'" in str(told["message"]) and "'ana'" in str(told["message"])
    assert peer.error("flush_namespace", userId="ana", namespace="bo")["code"] == told["code"]
    assert peer.call("status", namespace="ana")["memoryCount"] == 1, "nothing was flushed"
    assert peer.error("search_text", collection="user:ana", text="goats", namespace="bo")["code"] == told["code"]
    kept = peer.call("ingest", sessionId="s", message={"role": "user", "content": "x"}, namespace="bo")
    assert kept["ingested"] is False and "'bo'" in str(kept["error"])


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    ("method", "params", "named"),
    [
        ("insert_text", {"collection": "session:s", "id": "a"}, "text"),
        ("insert_text", {"collection": "session:s", "id": "", "text": "x", "metadata": {}}, "key"),
        ("insert_text", {"collection": "session:s", "id": "a\u0000", "text": "x", "metadata": {}}, "NUL"),
        ("insert_text", {"collection": "session:s", "id": "a", "text": "x\ud800", "metadata": {}}, "surrogate"),
        ("insert_text", {"collection": "session:s", "id": "a", "text": "x", "metadata": {"ts": 1e300}}, "ts"),
        ("insert_text", {"collection": "session:s", "id": "a", "text": "x", "metadata": {"role": "god"}}, "role"),
        ("insert_text", {"collection": "session:s", "id": "a", "text": 5, "metadata": {}}, "text"),
        ("search_text", {"collection": "session:s", "text": "x", "k": "many"}, "k"),
        ("delete_batch", {"collection": "session:s", "ids": "a"}, "ids"),
        ("list_by_meta", {"collection": "session:s", "key": "a"}, "value"),
    ],
)
def test_invalid_input_is_named_and_changes_nothing(peer: Peer, method: str, params: Answer, named: str) -> None:
    error = peer.error(method, **params)
    assert error["code"] == -32602 and named in str(error["message"])
    assert peer.call("status")["turnCount"] == 0


def test_many_users_keep_their_own_memories(open_peer: OpenPeer) -> None:
    peer = open_peer()
    for _ in range(2):
        for number in range(5):
            insert(peer, f"user:u{number}", "f1", f"user {number} sails")
    for number in range(5):
        (only,) = cast("list[Answer]", peer.call("export_memory", userId=f"u{number}")["records"])
        assert (only["collection"], only["text"]) == (f"user:u{number}", f"user {number} sails")
