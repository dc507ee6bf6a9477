"""Chat models: one small protocol, and any OpenAI-compatible server behind it, POST {base}/chat/completions."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from holdfast.errors import HoldfastError, InputError, ModelMisbehaved, ModelUnavailable
from holdfast.models.breaker import Breaker
from holdfast.models.remote import Endpoint
from holdfast.settings import ChatSettings

API_KEY = "HOLDFAST_CHAT_API_KEY"
"""Not OPENAI_API_KEY: a key found in the environment must not travel to whichever server is configured."""

Schema = Mapping[str, object]
"""A JSON schema."""

_LONGEST_REPLY = ChatSettings().max_reply_chars
_USUAL_TIMEOUT = ChatSettings().timeout_s
_REFUSALS = (400, 422)
"""What servers answer to a field they do not know: OpenAI's kind 400, those built on pydantic 422."""
_CUT_SHORT = ("length", "content_filter")
_FENCE = "```"


@dataclass(frozen=True, slots=True)
class Message:
    """One message to the model."""

    role: Literal["system", "user", "assistant"]
    content: str


class Chat(Protocol):
    """Messages in, one text out."""

    def complete(self, messages: Sequence[Message], schema: Schema | None, timeout_s: float) -> str:
        """The model's answer; JSON when a schema is given, but nothing vouches for it: validate it.

        Raises ModelUnavailable (no answer in time) or ModelMisbehaved (an answer nobody can use).
        """
        ...


class OpenAIChat:
    """`url` is the base ("http://127.0.0.1:11434/v1"). Nothing is sent before complete(); threads may share it.

    It asks for a JSON schema at temperature 0. A server that refuses that is asked once more without what it may not
    know (plain JSON mode, its own temperature), and from then on at once in that way.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout_s: float = _USUAL_TIMEOUT,
        max_reply_chars: int = _LONGEST_REPLY,
    ) -> None:
        self._url = url
        self._model = model
        self._api_key = api_key or os.environ.get(API_KEY)
        self._timeout_s = timeout_s
        self._max_reply_chars = max_reply_chars
        self._plain = False
        self._endpoint = self._connect(timeout_s)

    @property
    def name(self) -> str:
        return self._model

    def complete(self, messages: Sequence[Message], schema: Schema | None, timeout_s: float) -> str:
        deadline = time.monotonic() + timeout_s
        if self._plain:
            return self._ask(_plain_body(self._model, messages, schema), timeout_s)
        try:
            return self._ask(_full_body(self._model, messages, schema), timeout_s)
        except _Refused as refusal:
            left = deadline - time.monotonic()
            if left <= 0:
                raise ModelUnavailable(f"{self._url} did not answer within {timeout_s:g} s") from refusal
        answer = self._ask(_plain_body(self._model, messages, schema), left)
        self._plain = True
        return answer

    def close(self) -> None:
        self._endpoint.close()

    def _ask(self, body: Mapping[str, object], timeout_s: float) -> str:
        # An endpoint has one deadline, so an unusual one gets its own: .1 s beside the seconds a model thinks.
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
        # JSON spells a character with up to 12 bytes (\ud83d\ude00).
        max_bytes = 12 * self._max_reply_chars + 65_536
        return _ChatEndpoint(self._url, api_key=self._api_key, timeout_s=timeout_s, max_bytes=max_bytes)


class GuardedChat:
    """A chat model behind a breaker. Whatever it raises comes out as a ModelError (SAFE-1)."""

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
        """Closes the model's connections, where it has any."""
        close = getattr(self._chat, "close", None)
        if close is not None:
            close()

    def _checked(self, messages: Sequence[Message], schema: Schema | None, timeout_s: float) -> str:
        try:
            answer: object = self._chat.complete(messages, schema, timeout_s)
        except HoldfastError:
            raise
        except Exception as error:  # a host's own model may raise anything; it must cost quality, never a turn
            raise ModelMisbehaved(f"{self.name} raised {type(error).__name__}: {error}") from error
        if not isinstance(answer, str):
            raise ModelMisbehaved(f"{self.name} gave {type(answer).__name__} instead of a text")
        return answer


def open_chat(
    spec: str,
    *,
    timeout_s: float = _USUAL_TIMEOUT,
    max_reply_chars: int = _LONGEST_REPLY,
    first_wait_s: float = ChatSettings().retry_s,
    longest_wait_s: float = ChatSettings().longest_retry_s,
) -> GuardedChat | None:
    """The chat model a spec ("none", "URL#MODEL") names; None for "none". Raises InputError for anything else.

    `timeout_s` is the usual deadline, for which a connection is kept; complete() may be given another. The waits are
    the breaker's, while the model is down.
    """
    if spec == "none":
        return None
    url, _, model = spec.partition("#")
    if not model:
        raise InputError(
            f"no such chat model: {spec!r}. Write none, or URL#MODEL as in http://127.0.0.1:11434/v1#qwen3"
        )
    chat = OpenAIChat(url, model, timeout_s=timeout_s, max_reply_chars=max_reply_chars)
    breaker = Breaker(f"chat model {model}", first_wait_s=first_wait_s, longest_wait_s=longest_wait_s)
    return GuardedChat(chat, breaker)


class _Refused(ModelMisbehaved):
    """The server did not like the request."""


class _ChatEndpoint(Endpoint):
    """An endpoint that tells a refused request from other failures, and takes no endless answer."""

    def __init__(self, url: str, *, max_bytes: int, api_key: str | None = None, timeout_s: float = 10.0) -> None:
        super().__init__(url, api_key=api_key, timeout_s=timeout_s)
        self._max_bytes = max_bytes

    def _exchange(self, url: str, body: Mapping[str, object]) -> tuple[int, bytes]:
        status, raw = super()._exchange(url, body)
        if status in _REFUSALS:
            raise _Refused(f"{url} answered HTTP {status}: {self._excerpt(raw)}")
        if len(raw) > self._max_bytes:
            raise ModelMisbehaved(f"{url} answered with {len(raw)} bytes; {self._max_bytes} are allowed")
        return status, raw


def _full_body(model: str, messages: Sequence[Message], schema: Schema | None) -> dict[str, object]:
    body: dict[str, object] = {"model": model, "messages": _spoken(messages), "temperature": 0}
    if schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": dict(schema), "strict": True},
        }
    return body


def _plain_body(model: str, messages: Sequence[Message], schema: Schema | None) -> dict[str, object]:
    if schema is None:
        return {"model": model, "messages": _spoken(messages)}
    shape = f"Answer with one JSON object that fits this JSON schema, and with nothing else:\n{json.dumps(schema)}"
    told = [*messages[:1], Message("system", shape), *messages[1:]]
    return {"model": model, "messages": _spoken(told), "response_format": {"type": "json_object"}}


def _spoken(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def _content(reply: object, model: str) -> str:
    choices = reply.get("choices") if isinstance(reply, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(message, dict):
        raise ModelMisbehaved(f"{model} gave no choices")
    if first.get("finish_reason") in _CUT_SHORT:
        raise ModelMisbehaved(f"the answer of {model} was cut short ({first['finish_reason']})")
    content = message.get("content")
    if not isinstance(content, str) or not content.strip():
        raise ModelMisbehaved(f"{model} gave an empty answer")
    return content


def unfenced(answer: str) -> str:
    """Without the fence that models like to put around JSON."""
    text = answer.strip()
    if not text.startswith(_FENCE):
        return text
    inside = text.removeprefix(_FENCE).removesuffix(_FENCE)
    return inside[4:] if inside[:4].lower() == "json" else inside
