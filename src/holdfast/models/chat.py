"""Chat models: a small protocol, and a client for OpenAI-compatible servers (POST {base}/chat/completions)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from holdfast.errors import HoldfastError, InputError, ModelMisbehaved, ModelUnavailable
from holdfast.models.embedder import Breaker
from holdfast.models.remote import Endpoint
from holdfast.settings import ChatSettings


@dataclass(frozen=True)
class ChatLimits(ChatSettings):
    """The settings of the chat model and its fixed limits."""

    max_reply_chars: int = 200_000  # a longer answer is refused: three records need about 2,000
    attempts: int = 5
    """Attempts before the rules read a turn instead: with the waits at least 15 s, longer than a server needs to
    restart. A model that failed so is asked once for each turn until it answers again."""
    retry_s: float = 1.0  # first wait after a failure; each next one is twice as long (SAL-5)
    longest_retry_s: float = 60.0  # an outage of hours must not outlast itself by more than a minute


API_KEY = "HOLDFAST_CHAT_API_KEY"
"""Not OPENAI_API_KEY: that key must not be sent to any other server that is configured."""

Schema = Mapping[str, object]
"""A JSON schema."""

_DEFAULTS = ChatLimits()
_UNKNOWN_FIELD = (400, 422)
"""Statuses for a request field that the server does not know: 400 from OpenAI, 422 from servers built on pydantic."""
_CUT_SHORT = ("length", "content_filter")
_FENCE = "```"


@dataclass(frozen=True, slots=True)
class Message:
    """One message to the model."""

    role: Literal["system", "user", "assistant"]
    content: str


class Chat(Protocol):
    """Protocol of a chat model."""

    def complete(self, messages: Sequence[Message], schema: Schema | None, timeout_s: float) -> str:
        """Return the model's answer; JSON if a schema is given, which the caller must validate.

        Raises ModelUnavailable (no answer in time) or ModelMisbehaved (an unusable answer).
        """
        ...


class OpenAIChat:
    """Client for one model; `url` is the base ("http://127.0.0.1:11434/v1"). Safe to share between threads.

    It requests a JSON schema at temperature 0. A server that refuses that is asked again in plain JSON mode at its
    default temperature, and from then on always in that way. Nothing is sent before complete().
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout_s: float = _DEFAULTS.timeout_s,
        max_reply_chars: int = _DEFAULTS.max_reply_chars,
    ) -> None:
        self._url = url
        self._model = model
        self._api_key = api_key or os.environ.get(API_KEY)
        self._timeout_s = timeout_s
        self._max_reply_chars = max_reply_chars
        self._json_mode = False
        self._endpoint = self._connect(timeout_s)

    @property
    def name(self) -> str:
        return self._model

    def complete(self, messages: Sequence[Message], schema: Schema | None, timeout_s: float) -> str:
        deadline = time.monotonic() + timeout_s
        if self._json_mode:
            return self._ask(_json_mode_body(self._model, messages, schema), timeout_s)
        try:
            return self._ask(_schema_body(self._model, messages, schema), timeout_s)
        except _UnknownField as error:
            left = deadline - time.monotonic()
            if left <= 0:
                raise ModelUnavailable(f"{self._url} did not answer within {timeout_s:g} s") from error
        answer = self._ask(_json_mode_body(self._model, messages, schema), left)
        self._json_mode = True
        return answer

    def close(self) -> None:
        self._endpoint.close()

    def _ask(self, body: Mapping[str, object], timeout_s: float) -> str:
        # An endpoint has one deadline, so another one needs its own endpoint: .1 s, little compared to the model.
        usual = timeout_s == self._timeout_s
        endpoint = self._endpoint if usual else self._connect(timeout_s)
        try:
            content = _content(endpoint.post("chat/completions", body), self._model)
        finally:
            if not usual:
                endpoint.close()
        if len(content) > self._max_reply_chars:
            raise ModelMisbehaved(f"{self._model} answered with {len(content)} characters")
        return content

    def _connect(self, timeout_s: float) -> _ChatEndpoint:
        # JSON needs up to 12 bytes for a character (\ud83d\ude00).
        max_bytes = 12 * self._max_reply_chars + 65_536
        return _ChatEndpoint(self._url, api_key=self._api_key, timeout_s=timeout_s, max_bytes=max_bytes)


class GuardedChat:
    """A chat model behind a breaker; every exception of the model becomes a ModelError (SAFE-1)."""

    def __init__(self, chat: Chat, breaker: Breaker | None = None) -> None:
        self._chat = chat
        self.name: str = getattr(chat, "name", type(chat).__name__)
        self._breaker = breaker or Breaker(f"chat model {self.name}")

    @property
    def degraded(self) -> str | None:
        return self._breaker.degraded

    def complete(self, messages: Sequence[Message], schema: Schema | None, timeout_s: float) -> str:
        return self._breaker.call(lambda: self._checked(messages, schema, timeout_s))

    def close(self) -> None:
        """Close the model's connections, if it has any."""
        close = getattr(self._chat, "close", None)
        if close is not None:
            close()

    def _checked(self, messages: Sequence[Message], schema: Schema | None, timeout_s: float) -> str:
        try:
            answer: object = self._chat.complete(messages, schema, timeout_s)
        except HoldfastError:
            raise
        except Exception as error:  # a host's own model may raise anything; it must never cost a turn
            raise ModelMisbehaved(f"{self.name} raised {type(error).__name__}: {error}") from error
        if not isinstance(answer, str):
            raise ModelMisbehaved(f"{self.name} returned {type(answer).__name__} instead of a text")
        return answer


def open_chat(
    spec: str,
    timeout_s: float = _DEFAULTS.timeout_s,
    max_reply_chars: int = _DEFAULTS.max_reply_chars,
    first_wait_s: float = _DEFAULTS.retry_s,
    longest_wait_s: float = _DEFAULTS.longest_retry_s,
) -> GuardedChat | None:
    """Open the chat model of a spec ("URL#MODEL"); None for "none". Raises InputError for anything else.

    `timeout_s` is the usual deadline, for which a connection is kept; complete() may get another one. The waits are
    those of the breaker.
    """
    if spec == "none":
        return None
    url, _, model = spec.partition("#")
    if not model:
        raise InputError(
            f"unknown chat model {spec!r}. Use none, or URL#MODEL, for example http://127.0.0.1:11434/v1#qwen3"
        )
    chat = OpenAIChat(url, model, timeout_s=timeout_s, max_reply_chars=max_reply_chars)
    breaker = Breaker(f"chat model {model}", first_wait_s=first_wait_s, longest_wait_s=longest_wait_s)
    return GuardedChat(chat, breaker)


class _UnknownField(ModelMisbehaved):
    """The server refused the request, probably because of a field that it does not know."""


class _ChatEndpoint(Endpoint):
    """Endpoint that raises _UnknownField for refused requests and limits the size of answers."""

    def __init__(self, url: str, *, max_bytes: int, api_key: str | None = None, timeout_s: float = 10.0) -> None:
        super().__init__(url, api_key=api_key, timeout_s=timeout_s)
        self._max_bytes = max_bytes

    def _exchange(self, url: str, body: Mapping[str, object]) -> tuple[int, bytes]:
        status, raw = super()._exchange(url, body)
        if status in _UNKNOWN_FIELD:
            raise _UnknownField(f"{url} answered HTTP {status}: {self._excerpt(raw)}")
        if len(raw) > self._max_bytes:
            raise ModelMisbehaved(f"{url} answered with {len(raw)} bytes; the limit is {self._max_bytes}")
        return status, raw


def _schema_body(model: str, messages: Sequence[Message], schema: Schema | None) -> dict[str, object]:
    body: dict[str, object] = {"model": model, "messages": _as_json(messages), "temperature": 0}
    if schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": dict(schema), "strict": True},
        }
    return body


def _json_mode_body(model: str, messages: Sequence[Message], schema: Schema | None) -> dict[str, object]:
    if schema is None:
        return {"model": model, "messages": _as_json(messages)}
    shape = f"Answer with one JSON object that fits this JSON schema, and with nothing else:\n{json.dumps(schema)}"
    extended = [*messages[:1], Message("system", shape), *messages[1:]]
    return {"model": model, "messages": _as_json(extended), "response_format": {"type": "json_object"}}


def _as_json(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def _content(reply: object, model: str) -> str:
    choices = reply.get("choices") if isinstance(reply, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(message, dict):
        raise ModelMisbehaved(f"{model} returned no choices")
    if first.get("finish_reason") in _CUT_SHORT:
        raise ModelMisbehaved(f"the answer of {model} was cut short ({first['finish_reason']})")
    content = message.get("content")
    if not isinstance(content, str) or not content.strip():
        raise ModelMisbehaved(f"{model} returned an empty answer")
    return content


def strip_fence(answer: str) -> str:
    """Remove the code fence that models often put around JSON."""
    text = answer.strip()
    if not text.startswith(_FENCE):
        return text
    inside = text.removeprefix(_FENCE).removesuffix(_FENCE)
    return inside[4:] if inside[:4].lower() == "json" else inside
