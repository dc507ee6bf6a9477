"""The doubles that ship with Holdfast do what they promise."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

from holdfast.errors import ModelUnavailable
from holdfast.testing import FailingEmbedder, FixedClock, HashEmbedder, Reply, ScriptedChat, temporary_memory


def post(url: str, body: Mapping[str, object]) -> bytes:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with opener.open(request, timeout=5) as response:
        raw: bytes = response.read()
    return raw


def test_the_fixed_clock_moves_only_when_advanced() -> None:
    clock = FixedClock(datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=2))))
    assert clock() == clock() == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert clock().tzinfo is UTC
    clock.advance(90)
    clock.advance(timedelta(days=1))
    assert clock() == datetime(2026, 5, 2, 10, 1, 30, tzinfo=UTC)


def test_hashed_texts_are_as_close_as_the_words_they_share() -> None:
    same, half, none, blank = (
        HashEmbedder().embed(["red boat", "red house", "tax form", "…"]) @ (HashEmbedder().embed(["Boat, red!"])[0])
    )
    assert same == pytest.approx(1.0)
    assert 0.25 < half < 0.75
    assert abs(none) < 0.4
    assert blank == 0.0


@pytest.mark.requirement("RECALL-12")
def test_hashed_vectors_are_the_same_in_every_process() -> None:
    assert HashEmbedder().embed(["holdfast"])[0, :3] == pytest.approx(FIRST, abs=1e-5)


FIRST = [0.08333, -0.17333, 0.15667]


def test_a_failing_embedder_fails_while_it_is_down_and_counts_its_calls() -> None:
    embedder = FailingEmbedder(down=True)
    with pytest.raises(ModelUnavailable):
        embedder.embed(["a"])
    embedder.down = False
    assert np.array_equal(embedder.embed(["a"]), HashEmbedder().embed(["a"]))
    assert embedder.calls == 2


def test_the_scripted_server_follows_its_script_and_records_what_it_was_asked() -> None:
    def echo(body: Mapping[str, object]) -> Reply:
        return f"you said {body['say']}"

    with ScriptedChat(["hello", {"raw": 1}, b"\xff garbage", echo, [[1.0, 2.0]]]) as server:
        chat = server.url + "/chat/completions"
        assert json.loads(post(chat, {"n": 1}))["choices"][0]["message"]["content"] == "hello"
        assert json.loads(post(chat, {"n": 2})) == {"raw": 1}
        assert post(chat, {"n": 3}) == b"\xff garbage"
        assert b"you said hi" in post(chat, {"say": "hi"})
        vectors = json.loads(post(server.url + "/embeddings", {"input": ["x"]}))
        assert vectors["data"][0]["embedding"] == [1.0, 2.0]
    assert [request.body.get("n") for request in server.requests] == [1, 2, 3, None, None]
    assert server.requests[-1].path == "/v1/embeddings"


@pytest.mark.parametrize(
    ("script", "path", "status"), [([503], "/embeddings", 503), ([], "/embeddings", 500), (["x"], "/other", 404)]
)
def test_the_scripted_server_answers_with_a_status(script: list[Reply], path: str, status: int) -> None:
    with ScriptedChat(script) as server, pytest.raises(urllib.error.HTTPError) as caught:
        post(server.url + path, {})
    assert caught.value.code == status
    caught.value.close()


def test_a_temporary_memory_is_a_real_one_that_leaves_nothing_behind() -> None:
    clock = FixedClock(datetime(2026, 3, 1, tzinfo=UTC))
    with temporary_memory("ana", clock=clock) as memory:
        turn = memory.ingest("the lighthouse needs paint")
        memory.flush()
        assert turn.at == clock()
        assert [hit.id for hit in memory.search("lighthouse")] == [turn.id]
        store = Path(memory.status().store)
        assert store.exists()
    assert not store.parent.exists()
