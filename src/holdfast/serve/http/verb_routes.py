"""`POST /v1/VERB` for every verb of verbs.py: a JSON object in, the verb's answer out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.errors import InputError
from holdfast.serve.faults import fault_of
from holdfast.serve.http.metrics import Metrics
from holdfast.serve.http.namespaces import is_confined, namespace_of
from holdfast.serve.http.problems import PROBLEM, Refusal, told
from holdfast.serve.inputs import Input
from holdfast.serve.json_text import NotJson, encode, read_json
from holdfast.serve.memories import Memories
from holdfast.serve.outputs import Kept, KeptMany
from holdfast.serve.pace import ByKind
from holdfast.serve.tracing import caller_of
from holdfast.serve.verbs import VERBS, Danger, Surroundings, Verb, answer

__all__ = ["Straight", "verb_apps"]

_JSON = "application/json"
_HEADERS = {"cache-control": "no-store"}


@dataclass(frozen=True)
class _Answer:
    status: int
    body: bytes
    media_type: str
    turns: int = 0


@dataclass(frozen=True)
class _Offer:
    verb: Verb[Input]
    memories: Memories
    around: Surroundings
    crews: ByKind[Executor]
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = time.perf_counter()
        try:
            body = await Request(scope, receive).body()
        except ClientDisconnect:
            return
        loop = asyncio.get_running_loop()
        made = await loop.run_in_executor(self.crews.of(self.verb), self._do, scope, body)
        self.metrics.called(self.verb.name, made.status, time.perf_counter() - start, made.turns)
        await Response(made.body, made.status, _HEADERS, made.media_type)(scope, receive, send)

    def _do(self, scope: Scope, body: bytes) -> _Answer:
        try:
            payload = _payload(scope, body)
            confined, reads = is_confined(scope), self.verb.danger is Danger.READS
            around = replace(self.around, confined=True) if confined else self.around
            with (
                caller_of(scope),
                self.memories.lend(namespace_of(scope), reads=reads, confined=confined) as memory,
            ):
                made = answer(self.verb, memory, payload, around)
            return _Answer(200, encode(made), _JSON, _turns(made))
        except Refusal as refusal:
            return _Answer(refusal.fault.status, encode(told(refusal.fault)), PROBLEM)
        except Exception as error:  # every error is told, and none ends the server
            fault = fault_of(error)
            return _Answer(fault.status, encode(told(fault)), PROBLEM)


def verb_apps(
    memories: Memories, around: Surroundings, crews: ByKind[Executor], metrics: Metrics
) -> dict[str, ASGIApp]:
    """An app for each verb, by its path."""
    return {f"/v1/{verb.name}": _Offer(verb, memories, around, crews, metrics) for verb in VERBS.values()}


class Straight:
    """The way of nearly every request: a POST to a verb's own path goes to it, past the routes that all others need."""

    def __init__(self, verbs: Mapping[str, ASGIApp], app: ASGIApp) -> None:
        self._verbs = verbs
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = self._verbs.get(scope["path"]) if scope.get("method") == "POST" else None
        await (asked or self._app)(scope, receive, send)


def _payload(scope: Scope, body: bytes) -> Mapping[str, object]:
    """The object that a body holds; none at all is an empty one, for verbs that need nothing."""
    if not body.strip():
        return {}
    kinds = [value.decode("latin-1") for key, value in scope["headers"] if key == b"content-type"]
    if len(kinds) != 1 or kinds[0].partition(";")[0].strip().lower() != _JSON:
        raise Refusal(415, "NotJson", f"a body is {_JSON}", f"Send the header Content-Type: {_JSON}.")
    try:
        said = read_json(body)
    except NotJson as error:
        raise Refusal(400, "NotJson", str(error), "Send one JSON object, as UTF-8.") from error
    if not isinstance(said, dict):
        raise InputError("a body is one JSON object with the verb's fields")
    return said


def _turns(made: object) -> int:
    """The turns that an answer acknowledges."""
    if isinstance(made, Kept):
        return int(made.turn is not None)
    return len(made.turns) if isinstance(made, KeptMany) else 0
