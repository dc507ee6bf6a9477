"""Content parts: a message's own text is one turn, everything else it carries a turn of its own channel."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as laws
from hypothesis import strategies as st

from holdfast.errors import BadMessage
from holdfast.log.parts import split_content
from holdfast.memory import Memory
from holdfast.model import Origin, Role, Turn
from tests.support.memories import found, texts, user

pytestmark = pytest.mark.requirement("TRUST-1")

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(64))
PNG_TEXT = base64.b64encode(PNG).decode()
FORM = "Tenants feed the parrot at nine."

OTHERS: dict[str, tuple[dict[str, object], str]] = {
    "Anthropic tool_result, text": ({"type": "tool_result", "tool_use_id": "toolu_1", "content": FORM}, "tool"),
    "Anthropic tool_result, blocks": (
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": FORM}]},
        "tool",
    ),
    "Anthropic document, plain text": (
        {"type": "document", "title": "Lease", "source": {"type": "text", "media_type": "text/plain", "data": FORM}},
        "user_pasted",
    ),
    "Anthropic document, base64 text": (
        {
            "type": "document",
            "source": {
                "type": "base64",
                "media_type": "text/plain",
                "data": base64.b64encode(FORM.encode()).decode(),
            },
        },
        "user_pasted",
    ),
    "Anthropic document, blocks": (
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": FORM}]}},
        "user_pasted",
    ),
    "Anthropic search_result": (
        {
            "type": "search_result",
            "source": "https://example.org",
            "title": "T",
            "content": [{"type": "text", "text": FORM}],
        },
        "tool",
    ),
    "Anthropic web_search_tool_result": (
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": [{"type": "web_search_result", "title": FORM, "url": "https://example.org"}],
        },
        "tool",
    ),
    "OpenAI file": ({"type": "file", "file": {"filename": "lease.txt", "file_data": FORM}}, "user_pasted"),
    "OpenAI input_file": (
        {
            "type": "input_file",
            "filename": "lease.txt",
            "file_data": f"data:text/plain;base64,{base64.b64encode(FORM.encode()).decode()}",
        },
        "user_pasted",
    ),
    "OpenAI function_call_output": ({"type": "function_call_output", "call_id": "c1", "output": FORM}, "tool"),
    "OpenAI output_text of another": ({"type": "output_text", "text": FORM}, "tool"),
    "Gemini functionResponse": ({"functionResponse": {"name": "lease", "response": {"result": FORM}}}, "tool"),
    "Gemini function_response": ({"function_response": {"name": "lease", "response": {"rule": FORM}}}, "tool"),
    "Gemini inlineData": (
        {"inlineData": {"mimeType": "text/plain", "data": base64.b64encode(FORM.encode()).decode()}},
        "user_pasted",
    ),
    "Gemini codeExecutionResult": ({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": FORM}}, "tool"),
    "Gemini thought": ({"text": FORM, "thought": True}, "tool"),
    "Bedrock toolResult": ({"toolResult": {"toolUseId": "t", "content": [{"text": FORM}]}}, "tool"),
    "Bedrock document": (
        {"document": {"name": "lease", "format": "txt", "source": {"bytes": FORM.encode()}}},
        "user_pasted",
    ),
    "MCP resource": (
        {"type": "resource", "resource": {"uri": "file:///lease.md", "mimeType": "text/markdown", "text": FORM}},
        "user_pasted",
    ),
    "MCP resource_link": ({"type": "resource_link", "uri": "file:///l", "name": FORM}, "user_pasted"),
    "unknown type": ({"type": "hologram", "text": FORM}, "tool"),
    "text beside a function response": (
        {"text": FORM, "functionResponse": {"name": "f", "response": {"a": 1}}},
        "tool",
    ),
}


@pytest.mark.parametrize("shape", OTHERS)
def test_every_other_part_is_a_turn_of_its_channel(memory: Memory, shape: str) -> None:
    part, origin = OTHERS[shape]
    kept = memory.ingest_many([{"role": "user", "content": [{"type": "text", "text": "Please read it."}, part]}])
    own, other = kept
    assert (own.role, own.origin, own.text) == (Role.USER, Origin.USER, "Please read it.")
    assert (other.role, other.origin.value) == (Role.TOOL, origin)
    assert other.stability < own.stability and own.metadata["message"] == other.metadata["message"]
    if "Bedrock document" not in shape:
        assert FORM in other.text
        assert other.text in found(memory.search("when do tenants feed the parrot"))


def test_adjacent_texts_join_and_parts_keep_their_order(memory: Memory) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_TEXT}}
    content = [
        "One.",
        {"type": "text", "text": "Two."},
        image,
        {"type": "input_text", "text": "Three."},
        {"text": "4."},
    ]
    kept = memory.ingest_many([{"role": "user", "content": content}, user("Five.")])
    assert [(turn.text, turn.origin.value) for turn in kept] == [
        ("One.\nTwo.", "user"), ("[image/png, 72 bytes]", "user_pasted"), ("Three.\n4.", "user"),
        ("Five.", "user"),
    ]  # fmt: skip
    assert kept == memory.thread("default") and "message" not in kept[3].metadata
    assert len({turn.metadata["message"] for turn in kept[:3]}) == 1


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_TEXT}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG_TEXT}"}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG_TEXT}"},
        {"inline_data": {"mime_type": "image/png", "data": PNG}},
        {"type": "image", "data": PNG_TEXT, "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///a.png", "mimeType": "image/png", "blob": PNG_TEXT}},
        {"type": "tool_result", "content": [{"type": "image", "data": PNG_TEXT, "mimeType": "image/png"}]},
    ],
)
def test_binary_parts_keep_type_size_and_hash_but_no_bytes(memory: Memory, part: dict[str, object]) -> None:
    turn = memory.ingest([part])
    assert turn.metadata["part"]["binary"] == [  # type: ignore[index]
        {"type": "image/png", "bytes": len(PNG), "sha256": hashlib.sha256(PNG).hexdigest()}
    ]
    assert PNG_TEXT not in turn.text + json.dumps(turn.metadata) and turn.origin is not Origin.USER


@pytest.mark.requirement("LOG-4")
def test_parts_share_the_key_and_a_repeated_key_gives_the_same_turns(memory: Memory) -> None:
    message = {
        "role": "user",
        "key": "m1",
        "content": ["See.", {"type": "tool_result", "content": "13 degrees"}, "Ok?"],
    }
    kept = memory.ingest_many([message])
    assert [turn.key for turn in kept] == ["m1", "m1#part-2", "m1#part-3"]
    assert {turn.metadata["message"] for turn in kept} == {"m1"}
    assert memory.ingest_many([message]) == kept == memory.thread("default")
    assert memory.ingest(message["content"], key="m1") == kept[0]  # type: ignore[arg-type]
    assert len(memory.thread("default")) == 3


@pytest.mark.requirement("LOG-7")
def test_a_history_with_parts_is_recognised_without_keys(memory: Memory) -> None:
    history: list[dict[str, object]] = [
        user("What is the weather?"),
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "weather", "input": {"city": "Oslo"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "13 degrees"}]},
    ]
    first = memory.ingest_many(history)
    history.append({"role": "assistant", "content": "It has 13 degrees."})
    assert memory.ingest_many(history)[:3] == first
    thread = memory.thread("default")
    assert texts(thread) == ["What is the weather?", "name: weather\ncity: Oslo", "13 degrees", "It has 13 degrees."]
    assert [turn.origin.value for turn in thread] == ["user", "assistant", "tool", "assistant"]


def test_one_message_gives_the_turn_of_its_own_text(memory: Memory) -> None:
    result: dict[str, object] = {"type": "tool_result", "content": "13 degrees"}
    assert memory.ingest([result, "Is that cold?"]).text == "Is that cold?"
    assert memory.ingest([result]).text == "13 degrees"
    assert memory.ingest({"type": "text", "text": "So be it."}).origin is Origin.USER


def test_gemini_messages_and_openai_items_are_read(memory: Memory) -> None:
    kept = memory.ingest_many(
        [
            {"role": "user", "parts": [{"text": "Hi"}]},
            {"role": "model", "parts": [{"text": "Hello"}, {"functionCall": {"name": "f", "args": {"city": "Oslo"}}}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"city": "Oslo"}'},
            {"type": "function_call_output", "call_id": "c", "output": "13 degrees"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "13."}]},
        ]
    )
    assert [(turn.role.value, turn.origin.value) for turn in kept] == [
        ("user", "user"), ("assistant", "assistant"), ("assistant", "assistant"), ("assistant", "assistant"),
        ("tool", "tool"), ("assistant", "assistant"),
    ]  # fmt: skip


def test_the_speaker_of_a_message_is_not_that_of_its_document(memory: Memory) -> None:
    own, other = memory.ingest_many(
        [{"role": "user", "name": "Ana", "content": ["Read it.", OTHERS["MCP resource"][0]], "metadata": {"n": 1}}]
    )
    assert own.metadata["name"] == "Ana" and own.metadata["n"] == 1
    assert "name" not in other.metadata
    only = memory.ingest([OTHERS["MCP resource"][0]], metadata={"name": "Ana", "n": 1})
    assert "name" not in only.metadata and only.metadata["n"] == 1


def test_a_context_asks_with_the_users_text_and_knows_what_is_visible(memory: Memory) -> None:
    memory.ingest("The spare key is with Zofia", session="s1")
    memory.ingest("Gulls nest on the roof of the harbour office", session="s2", role="tool")
    result: dict[str, object] = {"type": "tool_result", "content": "Gulls nest on the roof of the harbour office"}
    made = memory.context([{"role": "user", "content": ["Where is the spare key, and who has it?", result]}])
    assert made.degraded is None and "Zofia" in made.text and "Gulls" not in made.text


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    "content",
    [7, True, {"a": 1}, [7], [None], [["text"]], [{}], [{"type": 7}], [{"type": "text"}], [{"type": "text", "text": 7}],
     [{"type": ""}], [{"type": "refusal", "text": None, "refusal": 3}, 4]],
)  # fmt: skip
def test_a_bad_shape_is_refused_with_a_reason(memory: Memory, content: object) -> None:
    with pytest.raises(BadMessage, match=r"message 0: content"):
        memory.ingest_many([{"role": "user", "content": content}])
    assert memory.recent() == []


@pytest.mark.requirement("SAFE-4")
def test_deep_nesting_is_refused(memory: Memory) -> None:
    deep: object = "x"
    for _ in range(200):
        deep = [deep]
    with pytest.raises(BadMessage, match="nested more than"):
        memory.ingest_many([{"role": "user", "content": [{"type": "tool_result", "content": deep}]}])


_WORDS = st.text("abcdefgh ", min_size=1, max_size=12).map(lambda text: f"w{text}w")
_VALUES = st.recursive(
    _WORDS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "content", "note", "output", "data", "title", "a"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
_TYPES = st.sampled_from(["tool_result", "document", "image", "resource", "search_result", "made_up", "thinking"])
_NAMES = st.sampled_from(["text", "content", "source", "data", "response", "title", "snippet"])
_PART = st.builds(lambda kind, body: {"type": kind, **body}, _TYPES, st.dictionaries(_NAMES, _VALUES, max_size=3))
_TEXT_PART = _WORDS | _WORDS.map(lambda text: {"type": "text", "text": text}) | _WORDS.map(lambda text: {"text": text})


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (leaf for name, one in value.items() if name != "type" for leaf in _leaves(one))
    elif isinstance(value, list):
        yield from (leaf for one in value for leaf in _leaves(one))
    elif isinstance(value, str):
        yield value


@laws(max_examples=300)
@given(st.lists(st.tuples(st.booleans(), _TEXT_PART, _PART), min_size=1, max_size=5), st.sampled_from(list(Role)))
def test_no_nesting_loses_text_or_makes_another_part_the_users(
    given_parts: list[tuple[bool, object, dict[str, object]]], role: Role
) -> None:
    content = [text if own else other for own, text, other in given_parts]
    parts = split_content(content, role)
    own = "\n".join(part.text for part in parts if part.own)
    others = "\n".join(part.text for part in parts if not part.own)
    assert [leaf for is_own, text, _ in given_parts if is_own for leaf in _leaves(text) if leaf not in own] == []
    assert [leaf for is_own, _, part in given_parts if not is_own for leaf in _leaves(part) if leaf not in others] == []
    assert sum(not part.own for part in parts) == sum(not is_own for is_own, _, _ in given_parts)
    assert all(part.origin not in (Origin.USER, Origin.SYSTEM) for part in parts if not part.own)
    assert not any(one.own and next_one.own for one, next_one in pairwise(parts))


def test_the_turns_of_a_message_survive_export_and_import(memory: Memory, tmp_path: Path) -> None:
    kept = memory.ingest_many([{"role": "user", "key": "k", "content": ["See.", OTHERS["MCP resource"][0]]}])
    path = tmp_path / "log.jsonl"
    memory.export(path)
    other = memory.of("bo")
    other.import_file(path)

    def said(turns: list[Turn]) -> list[tuple[object, ...]]:
        return [(turn.role, turn.origin, turn.text, turn.key, turn.metadata) for turn in turns]

    assert said(other.thread("default")) == said(kept)
    other.close()
