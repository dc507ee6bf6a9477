"""OpenTelemetry spans, one per verb, with the names of the GenAI memory conventions.

Without the package, or without an SDK in this process, they cost next to nothing. Spans hold no text unless
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT asks for it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_OPERATIONS = {
    "ingest": "upsert_memory",
    "ingest_many": "upsert_memory",
    "remember": "create_memory",
    "search": "search_memory",
    "forget": "delete_memory",
    "erase": "delete_memory",
}
"""Names of the conventions; other verbs keep their own."""
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_WITH_CONTENT = ("true", "1", "span_only", "span_and_event")
_LISTS = ("hits", "turns", "records", "exchanges")
_PARENTS = (b"traceparent", b"tracestate")


class CallSpan:
    """The span of one call, or nothing if nobody reads spans."""

    def __init__(self, span: Span | None = None) -> None:
        self._span = span

    def record_answer(self, answer: object) -> None:
        """Record how many items came back, the id of a new one and, where that is wanted, their texts."""
        if self._span is None:
            return
        found = next((items for name in _LISTS if isinstance(items := getattr(answer, name, None), tuple | list)), None)
        if found is not None:
            self._span.set_attribute("gen_ai.memory.record.count", len(found))
            if _captures_content():
                records = json.dumps([_record(one) for one in found], default=str, ensure_ascii=False)
                self._span.set_attribute("gen_ai.memory.records", records)
        new_id = getattr(getattr(answer, "turn", answer), "id", None)
        if isinstance(new_id, str):
            self._span.set_attribute("gen_ai.memory.record.id", new_id)


@contextmanager
def traced(verb: str, namespace: str, payload: Mapping[str, object]) -> Iterator[CallSpan]:
    """Open a span around a verb; an error is recorded by its name only, because its message may quote text."""
    tracer = _tracer()
    if tracer is None:
        yield CallSpan()
        return
    operation = _OPERATIONS.get(verb, verb)
    if verb == "erase" and payload.get("namespace") is True:
        operation = "delete_memory_store"
    given = {"gen_ai.operation.name": operation, "gen_ai.memory.store.id": namespace} | _attributes(payload)
    with tracer.start_as_current_span(
        operation, attributes=given, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield CallSpan(span)
        except Exception as error:
            from opentelemetry.trace import Status, StatusCode

            span.set_attribute("error.type", type(error).__name__)
            span.set_status(Status(StatusCode.ERROR))
            raise


def caller_of(scope: Mapping[str, Any]) -> Any:
    """Return a context in which spans are children of the caller's, if its request has a `traceparent`."""
    if _tracer() is None or not any(key == _PARENTS[0] for key, _ in scope["headers"]):
        return nullcontext()
    return _attached({key.decode(): value.decode("latin-1") for key, value in scope["headers"] if key in _PARENTS})


@contextmanager
def _attached(headers: Mapping[str, str]) -> Iterator[None]:
    from opentelemetry import context, propagate

    mark = context.attach(propagate.extract(headers))
    try:
        yield
    finally:
        context.detach(mark)


def _tracer() -> Tracer | None:
    """Return None if nobody could read a span: without the package, or while no SDK is set up in this process."""
    trace = _api()
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    return _open_tracer(trace)


@cache
def _api() -> ModuleType | None:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace


@cache
def _open_tracer(trace: ModuleType) -> Tracer:
    made: Tracer = trace.get_tracer("holdfast")
    return made


def _attributes(payload: Mapping[str, object]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, key in (("session", "gen_ai.conversation.id"), ("id", "gen_ai.memory.record.id")):
        if isinstance(value := payload.get(name), str):
            found[key] = value
    if isinstance(query := payload.get("query"), str) and _captures_content():
        found["gen_ai.memory.query.text"] = query
    return found


def _captures_content() -> bool:
    return os.environ.get(_CONTENT, "").lower() in _WITH_CONTENT


def _record(one: object) -> dict[str, object]:
    fields = {"id": "id", "content": "text", "score": "score", "metadata": "metadata"}
    return {name: getattr(one, field, None) for name, field in fields.items()}
