"""OpenTelemetry spans, one for each verb, named as the conventions for GenAI memory name them.

Without the package, or without an SDK in this process, they cost nothing worth measuring. What was said is in no span,
unless OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT asks for it.
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
"""The conventions' own names; other verbs have none, and are called by their own."""
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_WITH_CONTENT = ("true", "1", "span_only", "span_and_event")
_COUNTED = ("hits", "turns", "records", "exchanges")
_PARENTS = (b"traceparent", b"tracestate")


class Seen:
    """What a span is told about the call that it stands for."""

    def __init__(self, span: Span | None = None) -> None:
        self._span = span

    def answered(self, answer: object) -> None:
        """Note how many came back, which one was made and, where that is wanted, what they say."""
        if self._span is None:
            return
        found = next(
            (given for name in _COUNTED if isinstance(given := getattr(answer, name, None), tuple | list)), None
        )
        if found is not None:
            self._span.set_attribute("gen_ai.memory.record.count", len(found))
            if _captures_content():
                told = json.dumps([_record(one) for one in found], default=str, ensure_ascii=False)
                self._span.set_attribute("gen_ai.memory.records", told)
        made = getattr(getattr(answer, "turn", answer), "id", None)
        if isinstance(made, str):
            self._span.set_attribute("gen_ai.memory.record.id", made)


@contextmanager
def traced(verb: str, namespace: str, payload: Mapping[str, object]) -> Iterator[Seen]:
    """A span around a verb; an error is noted by its name alone, for its message may quote what was said."""
    tracer = _tracer()
    if tracer is None:
        yield Seen()
        return
    operation = _OPERATIONS.get(verb, verb)
    if verb == "erase" and payload.get("namespace") is True:
        operation = "delete_memory_store"
    given = {"gen_ai.operation.name": operation, "gen_ai.memory.store.id": namespace} | _asked(payload)
    with tracer.start_as_current_span(
        operation, attributes=given, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield Seen(span)
        except Exception as error:
            from opentelemetry.trace import Status, StatusCode

            span.set_attribute("error.type", type(error).__name__)
            span.set_status(Status(StatusCode.ERROR))
            raise


def caller_of(scope: Mapping[str, Any]) -> Any:
    """Inside, spans hang below the caller's own span, if its request carries a `traceparent`."""
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
    """None where nobody could read a span: without the package, and while no SDK was set up in this process."""
    known = _api()
    if known is None or isinstance(known.get_tracer_provider(), known.ProxyTracerProvider):
        return None
    return _opened(known)


@cache
def _api() -> ModuleType | None:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace


@cache
def _opened(trace: ModuleType) -> Tracer:
    made: Tracer = trace.get_tracer("holdfast")
    return made


def _asked(payload: Mapping[str, object]) -> dict[str, str]:
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
    said = {"id": "id", "content": "text", "score": "score", "metadata": "metadata"}
    return {name: getattr(one, field, None) for name, field in said.items()}
