"""Remote embedders against a scripted HTTP server."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Mapping

import numpy as np
import pytest

from holdfast.errors import InputError, ModelMisbehaved, ModelUnavailable
from holdfast.models.embedder import open_embedder
from holdfast.models.remote import API_KEY, RemoteEmbedder
from holdfast.testing import Delayed, HashEmbedder, Reply, ScriptedChat


def hashed(body: Mapping[str, object]) -> Reply:
    """Return HashEmbedder's vectors, three times too long."""
    texts = body["input"]
    assert isinstance(texts, list)
    vectors: list[list[float]] = (HashEmbedder().embed(texts) * 3).tolist()
    return vectors


def unused_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def test_remote_vectors_have_unit_length_and_the_order_of_the_texts() -> None:
    texts = [f"text number {i}" for i in range(150)]  # three requests
    with ScriptedChat(itertools.repeat(hashed)) as server:
        vectors = RemoteEmbedder(server.url, "m").embed(texts)
    assert vectors == pytest.approx(HashEmbedder().embed(texts), abs=1e-6)
    assert vectors.dtype == np.float32
    sizes = [len(r.body["input"]) for r in server.requests if isinstance(r.body["input"], list)]
    assert sum(sizes) == 150
    assert max(sizes) <= 64


def test_the_index_of_a_vector_decides_its_position() -> None:
    reply = {"data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [5, 0]}]}
    with ScriptedChat([reply]) as server:
        assert RemoteEmbedder(server.url, "m").embed(["a", "b"]).tolist() == [[1, 0], [0, 1]]


def test_the_embedding_request_has_model_texts_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(API_KEY, "sk-secret")
    with ScriptedChat([[[1.0]]]) as server:
        RemoteEmbedder(server.url, "some-model").embed(["hello"])
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == "Bearer sk-secret"
    assert request.body["model"] == "some-model"
    assert request.body["input"] == ["hello"]


def test_blank_texts_are_not_sent_and_get_the_zero_vector() -> None:
    with ScriptedChat([[[3.0, 4.0]], [[3.0, 4.0]]]) as server:
        assert RemoteEmbedder(server.url, "m").embed(["", "hello", " \n"]).tolist() == [
            [0, 0],
            pytest.approx([0.6, 0.8]),
            [0, 0],
        ]
        assert RemoteEmbedder(server.url, "m").embed([" "]).tolist() == [[0, 0]]
    assert server.requests[0].body["input"] == ["hello"]


def test_a_huge_text_is_cut_before_it_is_sent() -> None:
    with ScriptedChat([[[1.0]]]) as server:
        RemoteEmbedder(server.url, "m").embed(["x" * 10_000_000])
    assert int(server.requests[0].headers["content-length"]) < 10_000


@pytest.mark.requirement("RECALL-12")
def test_the_fingerprint_is_fixed_before_any_call() -> None:
    with ScriptedChat([[[3.0, 4.0]]]) as server:
        embedder = RemoteEmbedder(server.url + "/", "m")
        before = embedder.profile
        assert server.requests == []
        embedder.embed(["hello"])
        assert (before.dims, embedder.profile.dims) == (0, 2)
        assert embedder.profile.fingerprint == before.fingerprint
        assert RemoteEmbedder(server.url, "m").profile.fingerprint == before.fingerprint
        assert RemoteEmbedder(server.url, "other").profile.fingerprint != before.fingerprint
    assert RemoteEmbedder("http://127.0.0.1:9/v1", "m").profile.fingerprint != before.fingerprint


@pytest.mark.requirement("INV-5")
@pytest.mark.parametrize(
    "reply",
    [
        b"<html>welcome</html>",
        b"[" * 100_000,
        b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}',
        {"data": None},
        {"data": ["vector"]},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": "AACAPw=="}]},
        {"data": [{"index": 0, "embedding": [True, None]}]},
        {"data": [{"index": 0, "embedding": [1e300, 1]}]},
        {"data": [{"index": 0, "embedding": [10**400, 1]}]},
        {"data": [{"index": 7, "embedding": [1, 0]}]},
        {"data": [{"index": [0], "embedding": [1, 0]}]},
        [],
        [[1, 0], [0, 1]],
        401,
        404,
        302,
    ],
    ids=repr,
)
def test_an_invalid_reply_raises_model_misbehaved(reply: Reply) -> None:
    with ScriptedChat([reply]) as server, pytest.raises(ModelMisbehaved):
        RemoteEmbedder(server.url, "m").embed(["one text"])


def test_vectors_of_different_sizes_are_refused() -> None:
    with ScriptedChat([[[1, 0], [1]], [[1, 0]], [[1, 0, 0]]]) as server:
        embedder = RemoteEmbedder(server.url, "m")
        with pytest.raises(ModelMisbehaved, match="different sizes"):
            embedder.embed(["a", "b"])
        embedder.embed(["a"])
        with pytest.raises(ModelMisbehaved, match="3 numbers instead of 2"):
            embedder.embed(["a"])


def test_vectors_must_have_the_given_size() -> None:
    with (
        ScriptedChat([[[1, 0]]]) as server,
        pytest.raises(ModelMisbehaved, match="2 numbers instead of 9"),
    ):
        RemoteEmbedder(server.url, "m", dims=9).embed(["a"])


@pytest.mark.requirement("SAFE-1")
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_or_broken_server_is_unavailable(status: int) -> None:
    with ScriptedChat([status]) as server, pytest.raises(ModelUnavailable, match=str(status)):
        RemoteEmbedder(server.url, "m").embed(["a"])


@pytest.mark.requirement("SAFE-1")
def test_a_slow_embedding_server_is_unavailable_after_the_deadline() -> None:
    with ScriptedChat([Delayed([[1.0]], 30.0)]) as server, pytest.raises(ModelUnavailable, match=r"within 0\.03 s"):
        RemoteEmbedder(server.url, "m", timeout_s=0.03).embed(["a"])


@pytest.mark.requirement("SAFE-1")
def test_a_server_that_drips_its_answer_hits_the_deadline() -> None:
    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):  # the client hangs up, which ends the dripping
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            for _ in range(1000):
                connection.sendall(b" ")
                time.sleep(0.005)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,), daemon=True)
        thread.start()
        with pytest.raises(ModelUnavailable, match=r"within 0\.03 s"):
            RemoteEmbedder(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", "m", timeout_s=0.03).embed(["a"])
        thread.join(2)
        assert not thread.is_alive()


@pytest.mark.requirement("SAFE-1")
def test_a_dead_server_is_unavailable() -> None:
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        RemoteEmbedder(f"http://127.0.0.1:{unused_port()}/v1", "m").embed(["a"])


def test_embedder_errors_never_show_the_key() -> None:
    with ScriptedChat([(401, b"bad key sk-secret")]) as server, pytest.raises(ModelMisbehaved) as caught:
        RemoteEmbedder(server.url, "m", api_key="sk-secret").embed(["a"])
    assert "sk-secret" not in str(caught.value)
    assert "bad key" in str(caught.value)


@pytest.mark.parametrize("url", ["ftp://host/v1", "host/v1", "", "https://me:secret@host/v1"])
def test_an_unusable_url_is_refused(url: str) -> None:
    with pytest.raises(InputError) as caught:
        RemoteEmbedder(url, "m")
    assert "secret" not in str(caught.value)


def test_a_remote_spec_has_url_and_model() -> None:
    with ScriptedChat([[[1.0]]]) as server:
        embedder = open_embedder(f"remote:{server.url}#nomic", timeout_s=5.0)
        assert embedder is not None
        embedder.embed(["a"])
        embedder.close()
    assert server.requests[0].body["model"] == "nomic"


@pytest.mark.requirement("INV-5")
def test_the_specs_static_and_none_need_nothing() -> None:
    static = open_embedder("static", timeout_s=1.0)
    assert static is not None
    assert static.profile.name == "static"
    assert open_embedder("none", timeout_s=1.0) is None


@pytest.mark.parametrize("spec", ["", "bert", "onnx:", "onnx", "remote:", "remote:http://host/v1", "static:x", "None"])
def test_an_unknown_embedder_spec_lists_the_known_ones(spec: str) -> None:
    with pytest.raises(InputError, match="remote:URL#MODEL"):
        open_embedder(spec, timeout_s=1.0)
