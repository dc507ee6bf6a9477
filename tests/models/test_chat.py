"""Chat models against a scripted HTTP server."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence

import pytest

from holdfast.errors import InputError, ModelError, ModelMisbehaved, ModelUnavailable
from holdfast.models.chat import API_KEY, GuardedChat, Message, OpenAIChat, Schema, open_chat
from holdfast.models.embedder import Breaker
from holdfast.testing import Delayed, Reply, ScriptedChat

ASK = [Message("system", "be brief"), Message("user", "hello")]
SCHEMA: Schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


class Seconds:
    """A monotonic clock that moves only when advanced."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_chat_request_has_model_messages_schema_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(API_KEY, "not-a-real-key")
    with ScriptedChat(['{"a": 1}']) as server:
        assert OpenAIChat(server.url, "some-model").complete(ASK, SCHEMA, 5.0) == '{"a": 1}'
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer not-a-real-key"
    assert request.body["model"] == "some-model"
    assert request.body["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hello"},
    ]
    assert request.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
    }


def test_without_a_schema_no_response_format_is_requested() -> None:
    with ScriptedChat(["hi"]) as server:
        assert OpenAIChat(server.url, "m").complete(ASK, None, 5.0) == "hi"
    assert "response_format" not in server.requests[0].body


@pytest.mark.parametrize("refusal", [400, 422])
def test_a_server_that_refuses_schemas_is_asked_in_json_mode_from_then_on(refusal: int) -> None:
    with ScriptedChat([refusal, '{"a": 1}', '{"a": 2}']) as server:
        chat = OpenAIChat(server.url, "m")
        assert chat.complete(ASK, SCHEMA, 5.0) == '{"a": 1}'
        assert chat.complete(ASK, SCHEMA, 5.0) == '{"a": 2}'
    assert [r.body["response_format"] for r in server.requests[1:]] == [{"type": "json_object"}] * 2
    assert "temperature" not in server.requests[1].body
    assert json.dumps(SCHEMA) in str(server.requests[1].body["messages"])


def test_a_server_that_refuses_json_mode_too_is_not_asked_a_third_time() -> None:
    with ScriptedChat([400, 400, '{"a": 1}']) as server:
        with pytest.raises(ModelMisbehaved, match="HTTP 400"):
            OpenAIChat(server.url, "m").complete(ASK, SCHEMA, 5.0)
        assert len(server.requests) == 2


@pytest.mark.requirement("INV-5")
@pytest.mark.parametrize(
    "reply",
    [
        b"<html>welcome</html>",
        b"[" * 100_000,
        b'{"choices": [{"message": {"content": "cut of',
        {"choices": []},
        {"choices": None},
        {"choices": [None]},
        {"choices": [{"message": "hello"}]},
        {"choices": [{"message": {"content": None}}]},
        {"choices": [{"message": {"content": 7}}]},
        {"choices": [{"message": {"content": "{}"}, "finish_reason": "length"}]},
        {"choices": [{"message": {"content": "{}"}, "finish_reason": "content_filter"}]},
        {"choices": [{"message": {"content": None, "refusal": "I cannot do that"}}]},
        "",
        "  \n",
        401,
        404,
        302,
    ],
    ids=repr,
)
def test_an_invalid_reply_raises_model_misbehaved(reply: Reply) -> None:
    with ScriptedChat([reply]) as server, pytest.raises(ModelMisbehaved):
        OpenAIChat(server.url, "m").complete(ASK, None, 5.0)


@pytest.mark.requirement("SAFE-1")
@pytest.mark.parametrize("trouble", [500, 503, 429, 408])
def test_a_failing_chat_server_is_unavailable(trouble: int) -> None:
    with ScriptedChat([trouble]) as server, pytest.raises(ModelUnavailable, match=f"HTTP {trouble}"):
        OpenAIChat(server.url, "m").complete(ASK, None, 5.0)


@pytest.mark.requirement("SAFE-1")
def test_a_slow_chat_server_is_abandoned_at_the_deadline() -> None:
    with ScriptedChat([Delayed("late", 30.0)]) as server:
        begun = time.monotonic()
        with pytest.raises(ModelUnavailable, match="did not answer"):
            OpenAIChat(server.url, "m").complete(ASK, None, 0.2)
        assert time.monotonic() - begun < 5.0


@pytest.mark.requirement("SAFE-1")
def test_both_attempts_share_one_deadline() -> None:
    with ScriptedChat([Delayed(400, 0.2), Delayed("late", 30.0)]) as server:
        begun = time.monotonic()
        with pytest.raises(ModelUnavailable):
            OpenAIChat(server.url, "m").complete(ASK, SCHEMA, 0.4)
        assert time.monotonic() - begun < 5.0


@pytest.mark.parametrize("size", [1_001, 500_000])
def test_an_oversized_answer_is_refused(size: int) -> None:
    with ScriptedChat(["x" * size]) as server, pytest.raises(ModelMisbehaved, match="answered with"):
        OpenAIChat(server.url, "m", max_reply_chars=1_000).complete(ASK, None, 5.0)


def test_an_answer_of_maximum_size_is_accepted_in_any_script() -> None:
    with ScriptedChat(["😀" * 1_000]) as server:
        assert OpenAIChat(server.url, "m", max_reply_chars=1_000).complete(ASK, None, 5.0) == "😀" * 1_000


@pytest.mark.requirement("SAFE-1")
def test_a_failing_chat_model_opens_the_breaker_and_recovers() -> None:
    clock = Seconds()
    with ScriptedChat([500, 500, 500, "back"]) as server:
        chat = GuardedChat(OpenAIChat(server.url, "m"), Breaker("chat model m", clock=clock))
        assert chat.degraded is None
        for _ in range(3):
            with pytest.raises(ModelUnavailable):
                chat.complete(ASK, None, 5.0)
        with pytest.raises(ModelUnavailable, match="chat model m is down after 3 failures"):
            chat.complete(ASK, None, 5.0)
        assert len(server.requests) == 3
        assert chat.degraded is not None
        clock.now += 1.5
        assert chat.complete(ASK, None, 5.0) == "back"
        assert chat.degraded is None


@pytest.mark.requirement("INV-5")
def test_every_failure_of_a_custom_model_is_a_model_error() -> None:
    class Rude:
        def complete(self, messages: Sequence[Message], schema: Schema | None, timeout_s: float) -> str:
            raise KeyError("oops")

    class Mute:
        def complete(self, messages: Sequence[Message], schema: Schema | None, timeout_s: float) -> str:
            return None  # type: ignore[return-value]  # the point of the test

    for chat in (Rude(), Mute()):
        with pytest.raises(ModelError):
            GuardedChat(chat).complete(ASK, None, 1.0)


def test_chat_errors_never_show_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(API_KEY, "not-a-real-key")
    for status in (400, 401, 500):
        with ScriptedChat(itertools.repeat((status, b"bad key not-a-real-key"))) as server:
            with pytest.raises(ModelError) as raised:
                OpenAIChat(server.url, "m").complete(ASK, None, 5.0)
            assert "not-a-real-key" not in str(raised.value)


def test_a_chat_spec_opens_a_model_or_is_refused() -> None:
    assert open_chat("none") is None
    with ScriptedChat(["hi"]) as server:
        chat = open_chat(f"{server.url}#small:3b")
        assert chat is not None
        assert chat.complete(ASK, None, 5.0) == "hi"
    assert server.requests[0].body["model"] == "small:3b"
    for wrong in ("", "gpt", "http://127.0.0.1:1/v1", "ftp://host/v1#m", "http://me:pw@host/v1#m"):
        with pytest.raises(InputError):
            open_chat(wrong)
