"""`POST /v1/VERB` for every verb of verbs.py: a JSON object in, the verb's answer out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from holdfast.errors import InputError
from holdfast.serve.faults import fault_of
from holdfast.serve.http.metrics import Metrics
from holdfast.serve.http.namespaces import is_confined, namespace_of
from holdfast.serve.http.problems import PROBLEM, Refusal, told
from holdfast.serve.inputs import Input
from holdfast.serve.json_text import NotJson, encode, read_json
from holdfast.serve.memories import Memories
from holdfast.serve.pace import Pace
from holdfast.serve.tracing import caller_of
from holdfast.serve.verbs import VERBS, Danger, Surroundings, Verb, call

__all__ = ["verb_routes"]

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
    pace: Pace
    metrics: Metrics

    async def answer(self, request: Request) -> Response:
        start = time.perf_counter()
        body = await request.body()
        made = await to_thread.run_sync(self._do, request.scope, body, limiter=self.pace.of(self.verb))
        self.metrics.called(self.verb.name, made.status, time.perf_counter() - start, made.turns)
        return Response(made.body, made.status, _HEADERS, made.media_type)

    def _do(self, scope: Scope, body: bytes) -> _Answer:
        try:
            payload = _payload(scope, body)
            around = replace(self.around, confined=True) if is_confined(scope) else self.around
            with (
                caller_of(scope),
                self.memories.lend(namespace_of(scope), reads=self.verb.danger is Danger.READS) as memory,
            ):
                answer = call(self.verb, memory, payload, around)
            return _Answer(200, encode(answer), _JSON, _turns(self.verb.name, answer))
        except Refusal as refusal:
            return _Answer(refusal.fault.status, encode(told(refusal.fault)), PROBLEM)
        except Exception as error:  # every error is told, and none ends the server
            fault = fault_of(error)
            return _Answer(fault.status, encode(told(fault)), PROBLEM)


def verb_routes(memories: Memories, around: Surroundings, pace: Pace, metrics: Metrics) -> list[Route]:
    return [
        Route(f"/v1/{verb.name}", _Offer(verb, memories, around, pace, metrics).answer, methods=["POST"])
        for verb in VERBS.values()
    ]


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


def _turns(verb: str, answer: object) -> int:
    """The turns that an answer acknowledges."""
    if verb not in ("ingest", "ingest_many") or not isinstance(answer, dict):
        return 0
    kept = answer.get("turns")
    return len(kept) if isinstance(kept, list) else int(answer.get("turn") is not None)
