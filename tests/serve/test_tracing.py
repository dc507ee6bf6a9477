"""One span for each verb, named by the conventions; what was said is in none, unless it is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from holdfast.errors import NotFound
from holdfast.memory import Memory
from holdfast.serve.tracing import caller_of
from holdfast.serve.verbs import VERBS
from tests.serve.in_process import call

pytestmark = pytest.mark.requirement("API-5")

_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_exporter = InMemorySpanExporter()


@pytest.fixture(scope="module", autouse=True)
def _provider() -> Iterator[None]:
    """A process has one provider for good; after these tests it keeps nothing more."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(_exporter))
    trace.set_tracer_provider(provider)
    yield
    provider.shutdown()


@pytest.fixture(autouse=True)
def _nothing_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(_CONTENT, raising=False)
    _exporter.clear()


def told(memory: Memory, verb: str, **payload: object) -> tuple[str, dict[str, object]]:
    _exporter.clear()
    call(VERBS[verb], memory, payload)
    (span,) = _exporter.get_finished_spans()
    assert span.kind is SpanKind.INTERNAL
    return span.name, dict(span.attributes or {})


def test_spans_have_the_operations_name_and_no_content(memory: Memory) -> None:
    name, seen = told(memory, "ingest", text="the key is under the mat", session="s1")
    assert name == seen["gen_ai.operation.name"] == "upsert_memory"
    (turn,) = memory.thread("s1")
    assert seen["gen_ai.memory.record.id"] == turn.id
    assert (seen["gen_ai.memory.store.id"], seen["gen_ai.conversation.id"]) == ("ana", "s1")
    name, seen = told(memory, "search", query="under the mat")
    assert (name, seen["gen_ai.memory.record.count"]) == ("search_memory", 1)
    assert "mat" not in json.dumps(seen)
    others: list[tuple[str, dict[str, object]]] = [
        ("remember", {"text": "deploys are on Fridays"}),
        ("forget", {"id": turn.id}),
        ("recent", {}),
        ("context", {"messages": []}),
        ("erase", {"namespace": True}),
    ]
    names = {verb: told(memory, verb, **payload)[0] for verb, payload in others}
    assert names == {
        "remember": "create_memory",
        "forget": "delete_memory",
        "recent": "recent",
        "context": "context",
        "erase": "delete_memory_store",
    }


def test_spans_hold_content_if_configured(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_CONTENT, "true")
    memory.ingest("the key is under the mat")
    _, seen = told(memory, "search", query="where is the key?")
    assert seen["gen_ai.memory.query.text"] == "where is the key?"
    (record,) = json.loads(str(seen["gen_ai.memory.records"]))
    assert record["content"] == "the key is under the mat" and record["id"] and record["score"] > 0


def test_an_error_span_has_its_name_only(memory: Memory) -> None:
    with pytest.raises(NotFound):
        call(VERBS["why"], memory, {"id": "t-secret"})
    (span,) = _exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR and not span.status.description and not span.events
    assert dict(span.attributes or {})["error.type"] == "NotFound"


def test_a_span_is_a_child_of_the_callers_span(memory: Memory) -> None:
    parent = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    with caller_of({"headers": [(b"traceparent", parent)]}):
        told(memory, "recent")
    (span,) = _exporter.get_finished_spans()
    assert span.parent is not None and span.parent.trace_id == 0x4BF92F3577B34DA6A3CE929D0E0E4736
