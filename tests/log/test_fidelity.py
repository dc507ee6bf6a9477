"""Every text is stored byte for byte and found again, or refused with a clear error."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.errors import HoldfastError, InputError, NotFound
from holdfast.memory import Memory
from holdfast.models.embedder import StaticEmbedder
from holdfast.text.words import query_terms
from tests.support.hostile_texts import HOSTILE, LONE_SURROGATES
from tests.support.memories import OpenMemory, texts, user

NAMED = [pytest.param(text, id=name) for name, text in HOSTILE]


@pytest.mark.requirement("SAFE-4", "INV-1")
@pytest.mark.parametrize("text", NAMED)
def test_a_hostile_text_is_read_back_byte_for_byte(memory: Memory, text: str) -> None:
    kept = memory.ingest(text, metadata={"speaker": text, "inner": [text, {"deep": text}]})
    memory.ingest("the tide table hangs by the door")
    memory.flush()
    assert memory.thread("default")[0] == kept
    assert texts(memory.recent(session="default"))[1].encode() == text.encode()
    assert memory.thread("default")[0].metadata == {"speaker": text, "inner": [text, {"deep": text}]}
    assert memory.why(kept.id).text.encode() == text.encode()
    again = memory.ingest_many([user(text)])[0]
    assert again.id == kept.id


@pytest.mark.requirement("SAFE-4", "RECALL-9")
@pytest.mark.parametrize("text", NAMED)
def test_a_hostile_text_as_a_question_finds_itself_or_nothing(memory: Memory, text: str) -> None:
    memory.ingest(text)
    memory.ingest("the tide table hangs by the door")
    hits = memory.search(text)
    if query_terms(text[:8000], 64):
        assert text in [hit.text for hit in hits]
    assert hits.receipt.reason


@pytest.mark.requirement("SAFE-4", "INV-1")
@pytest.mark.parametrize("name", NAMED)
def test_hostile_session_names_and_keys_are_kept_exactly_or_refused(memory: Memory, name: str) -> None:
    try:
        kept = memory.ingest("the pier is closed", session=name, key=name)
    except InputError as error:
        assert str(error)
        assert memory.recent() == []
        return
    assert (kept.session, kept.key) == (name, name)
    assert memory.thread(name) == [kept]
    assert memory.recent(session=name) == [kept]
    assert memory.search("pier", session=name)[0].session == name
    assert memory.ingest("other words", session=name, key=name).id == kept.id
    assert memory.bootstrap(name).turns == 1


@pytest.mark.requirement("SAFE-4", "INV-4")
@pytest.mark.parametrize("name", NAMED)
def test_a_hostile_namespace_contains_only_its_own_turns_or_is_refused(open_memory: OpenMemory, name: str) -> None:
    open_memory("ana").ingest("the pier is closed")
    try:
        memory = open_memory(name)
    except InputError as error:
        assert str(error)
        return
    assert memory.recent() == []
    kept = memory.ingest("the pier is open")
    assert memory.recent() == [kept] and kept.namespace == unicodedata.normalize("NFC", name)


@pytest.mark.requirement("SAFE-4", "INV-1")
@pytest.mark.parametrize("text", NAMED)
def test_a_hostile_record_is_remembered_byte_for_byte_or_refused(memory: Memory, text: str) -> None:
    try:
        record = memory.remember(text)
    except InputError as error:
        assert not text.strip() and str(error)
        return
    assert memory.recent(kind="record") == [record]
    assert record.text.encode() == text.encode()
    assert memory.why(record.id).text == text


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("text", LONE_SURROGATES)
def test_a_lone_surrogate_is_refused_by_every_verb_that_writes(memory: Memory, text: str) -> None:
    for write in (
        lambda: memory.ingest(text),
        lambda: memory.ingest("x", session=text),
        lambda: memory.ingest("x", key=text),
        lambda: memory.ingest("x", metadata={"speaker": text}),
        lambda: memory.ingest("x", metadata={text: 1}),
        lambda: memory.ingest_many([user("x"), user(text)]),
        lambda: memory.remember(text),
        lambda: memory.bootstrap(text),
    ):
        with pytest.raises(InputError, match="surrogate"):
            write()
    assert memory.recent() == []
    assert memory.status().sessions == 0


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("verb", ["search", "search session", "recent", "thread", "why", "forget"])
def test_a_lone_surrogate_is_refused_by_every_verb_that_reads(memory: Memory, verb: str) -> None:
    memory.ingest("the pier is closed")
    text = LONE_SURROGATES[2]
    asks: dict[str, Callable[[], object]] = {
        "search": lambda: memory.search(text),
        "search session": lambda: memory.search("pier", session=text),
        "recent": lambda: memory.recent(session=text),
        "thread": lambda: memory.thread(text),
        "why": lambda: memory.why(text),
        "forget": lambda: memory.forget(text),
    }
    with pytest.raises((InputError, NotFound)):
        asks[verb]()


@pytest.mark.requirement("SAFE-4", "INV-1")
def test_ten_megabytes_are_kept_and_found_in_time(open_memory: OpenMemory, static_embedder: StaticEmbedder) -> None:
    memory = open_memory(embedder=static_embedder)
    text = "harbour " + "the quick brown fox jumps over the lazy dog. " * 230_000 + " the end"
    assert len(text) > 10_000_000
    started = time.process_time()  # of all threads: a machine that is busy with other things is no finding
    kept = memory.ingest(text)
    memory.flush()
    assert memory.search("harbour")[0].turn_ids == (kept.id,)
    assert memory.thread("default")[0].text == text
    assert memory.why(kept.id).text == text
    assert time.process_time() - started < 20


@pytest.mark.requirement("SAFE-4")
def test_a_text_beyond_the_limit_is_refused_with_the_limit(memory: Memory) -> None:
    with pytest.raises(InputError, match="max_text_bytes"):
        memory.ingest("x" * (64 * 1024 * 1024 + 1))
    assert memory.recent() == []


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("text", [None, 7, b"bytes", [7], {"a": 1}])
def test_values_that_are_not_text_are_refused(memory: Memory, text: object) -> None:
    with pytest.raises(InputError, match="string"):
        memory.ingest(text)  # type: ignore[call-overload]
    with pytest.raises(InputError, match="string"):
        memory.remember(text)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="string"):
        memory.search(text)  # type: ignore[arg-type]


def deep(levels: int) -> object:
    value: object = "bottom"
    for _ in range(levels):
        value = [value]
    return value


LOOP: list[object] = []
LOOP.append(LOOP)


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    "metadata",
    [
        {"a": float("nan")},
        {"a": [float("inf")]},
        {"a": -float("inf")},
        {"a": deep(100)},
        {"a": deep(100_000)},
        {"a": LOOP},
        {"a": object()},
        {"a": {1, 2}},
        {"a": b"bytes"},
        {"a": 1 + 2j},
        {1: "a"},
        {"a": 10**5000},
        ["a"],
        "a",
    ],
    ids=lambda value: type(value).__name__,
)
def test_metadata_that_is_not_json_is_refused_and_nothing_is_stored(memory: Memory, metadata: object) -> None:
    with pytest.raises(InputError):
        memory.ingest("words", metadata=metadata)  # type: ignore[call-overload]
    with pytest.raises(InputError):
        memory.ingest_many([user("words", metadata=metadata)])
    assert memory.recent() == []


@pytest.mark.requirement("SAFE-4")
def test_names_inside_metadata_are_kept_as_they_are_or_refused(memory: Memory) -> None:
    """JSON has string names only: 1 and "1" in one mapping would become one, and a value would be lost."""
    with pytest.raises(InputError):
        memory.ingest("words", metadata={"map": {1: "number", "1": "text"}})


@pytest.mark.requirement("INV-1")
def test_metadata_is_copied_when_it_is_stored(memory: Memory) -> None:
    given = {"tags": ["a"]}
    kept = memory.ingest("words", metadata=given)
    given["tags"].append("b")
    assert kept.metadata == memory.recent()[0].metadata == {"tags": ["a"]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.requirement("SAFE-4", "INV-1")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(), st.dictionaries(st.text(), JSON, max_size=3), st.text(), st.text())
def test_any_text_and_metadata_come_back_as_they_were(
    memory: Memory, text: str, metadata: dict[str, object], session: str, key: str
) -> None:
    try:
        kept = memory.ingest(text, metadata=metadata, session=session, key=key)
    except HoldfastError as error:
        assert isinstance(error, InputError)
        return
    mine = [turn for turn in memory.thread(session) if turn.id == kept.id]
    assert [turn.session for turn in mine] == [session]
    assert mine[0].key == key
    if kept.text == text:  # else the key came before, and the first is kept
        assert mine[0].metadata == kept.metadata
    memory.search(text)


NOT_TEXT = (b"bytes", 7, ["a"], {"a": 1}, object())
TAKES_TEXT: dict[str, Callable[[Memory, Any], object]] = {
    "search": lambda memory, value: memory.search(value),
    "search by kind": lambda memory, value: memory.search("words", kind=value),
    "search in a session": lambda memory, value: memory.search("words", session=value),
    "context": lambda memory, value: memory.context(value),
    "ingest as": lambda memory, value: memory.ingest("words", role=value),
    "key": lambda memory, value: memory.ingest("words", key=value),
    "time": lambda memory, value: memory.ingest("words", at=value),
    "remember": lambda memory, value: memory.remember(value),
    "remember as": lambda memory, value: memory.remember("words", value),
    "update": lambda memory, value: memory.update(memory.records()[0].id, value),
    "get": lambda memory, value: memory.get(value),
    "forget": lambda memory, value: memory.forget(value),
    "why": lambda memory, value: memory.why(value),
    "history": lambda memory, value: memory.history(value),
    "thread": lambda memory, value: memory.thread(value),
    "recent by kind": lambda memory, value: memory.recent(kind=value),
    "erase": lambda memory, value: memory.erase(session=value),
    "erase all": lambda memory, value: memory.erase(namespace=value),
    "themes": lambda memory, value: memory.themes(since=value),
    "gating scalar": lambda memory, value: memory.gating_scalar(value),
    "export": lambda memory, value: memory.export(value),
    "import": lambda memory, value: memory.import_file(value),
    "backup": lambda memory, value: memory.backup(value),
    "restore": lambda memory, value: memory.restore(value, "elsewhere.db"),
    "copy": lambda memory, value: memory.copy(value, "elsewhere.db"),
    "audit": lambda memory, value: memory.audit(value),
    "open": lambda memory, value: Memory(value, "ana"),
    "namespace": lambda memory, value: Memory("elsewhere.db", value),
}


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("verb", TAKES_TEXT)
def test_what_is_no_text_is_an_input_error_that_says_so(memory: Memory, verb: str) -> None:
    memory.remember("My cat is called Tom.")
    for value in NOT_TEXT:
        with pytest.raises(InputError, match=r"not |unknown|exactly one"):
            TAKES_TEXT[verb](memory, value)
    if verb in ("search", "get", "thread", "export", "remember"):
        with pytest.raises(InputError, match="None"):
            TAKES_TEXT[verb](memory, None)
    assert [one.text for one in memory.records()] == ["My cat is called Tom."]
    with pytest.raises(InputError, match="list of messages, not NoneType"):
        memory.ingest_many(None)  # type: ignore[arg-type]
