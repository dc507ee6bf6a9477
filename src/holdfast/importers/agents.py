"""Sessions of coding agents: Codex CLI, Gemini CLI and OpenClaw; Claude Code has its own module.

All of them put texts of their own into messages of role user: the environment, the project's instructions. Those are
recognised by their beginnings and left out, for they are not the user's words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO

from holdfast.importers import claude_code
from holdfast.importers.claude_code import shortened
from holdfast.importers.source import ImportedChat, Item, Message, Object, objects_in, text_in, with_times

_HOST_TEXT = (
    "<environment_context>", "<user_instructions>", "<permissions", "<turn_aborted>", "<skills_instructions>",
    "# AGENTS.md instructions", "<session_context>", "<INSTRUCTIONS>", "<apps_instructions>", "<user_shell_command>",
)  # fmt: skip


def _parts(content: object) -> list[dict[str, object]]:
    """Return the parts of a message without those of the host."""
    given = [{"type": "text", "text": content}] if isinstance(content, str) else objects_in(content)
    made: list[dict[str, object]] = []
    for one in given:
        text = one.get("text")
        if not isinstance(text, str):
            made.append(shortened(dict(one)))
        elif text.strip() and not text.lstrip().startswith(_HOST_TEXT):
            made.append({"type": "text", "text": text})
    return made


# --- Codex CLI


def read_codex(objects: Iterator[Object], name: str) -> Iterator[Item]:
    """Read `~/.codex/sessions/**/rollout-*.jsonl`: what was sent to and came from the model, in order."""
    first = next(objects, {})
    about = first.get("payload")
    ident = text_in(about.get("id")) if isinstance(about, Mapping) else ""

    def messages() -> Iterator[Message]:
        for number, one in enumerate(objects, 1):
            item = one.get("payload")
            if one.get("type") != "response_item" or not isinstance(item, Mapping):
                continue
            kind, role = text_in(item.get("type")), text_in(item.get("role"))
            if kind == "message" and role in ("user", "assistant"):
                content = _parts(item.get("content"))
            elif kind.endswith(("_call", "_call_output")):
                role = "tool" if kind.endswith("_output") else "assistant"
                kept = {field: value for field, value in item.items() if field in _CALL_FIELDS}
                content = [shortened({**kept, "type": "tool_result" if role == "tool" else "tool_use"})]
            else:
                continue
            if content:
                key = text_in(item.get("id")) or f"{one.get('ordinal', number)}"
                yield {"role": role, "content": content, "key": key, "at": one.get("timestamp")}

    yield ImportedChat(f"codex:{ident or name}", with_times(messages(), text_in(first.get("timestamp")) or None))


_CALL_FIELDS = frozenset({"call_id", "name", "arguments", "input", "output", "action", "status"})


# --- Gemini CLI


def read_gemini(objects: Iterator[Object], name: str) -> Iterator[Item]:
    """Read `~/.gemini/tmp/*/chats/session-*.json[l]`: a document, or lines that add, replace and rewind messages."""
    ident, kept = "", dict[str, Object]()
    for one in objects:
        ident = text_in(one.get("sessionId")) or ident
        update = one.get("$set")
        if "$rewindTo" in one:
            known = list(kept)
            back = known.index(str(one["$rewindTo"])) if one["$rewindTo"] in kept else 0
            for gone in known[back:]:
                del kept[gone]
        for said in (
            one,
            *objects_in(one.get("messages")),
            *objects_in(update.get("messages") if isinstance(update, Mapping) else None),
        ):
            if isinstance(said.get("id"), str) and said.get("type") in ("user", "gemini"):
                kept[str(said["id"])] = said
    messages = [made for said in kept.values() for made in _gemini_messages(said)]
    yield ImportedChat(f"gemini:{ident or name}", with_times(messages, None))


def _gemini_messages(said: Object) -> Iterator[Message]:
    role = "user" if said["type"] == "user" else "assistant"
    at, key = said.get("timestamp"), str(said["id"])
    if content := _parts(said.get("content")):
        yield {"role": role, "content": content, "key": key, "at": at}
    for number, one in enumerate(objects_in(said.get("toolCalls"))):
        call = {"type": "tool_use", "id": one.get("id"), "name": one.get("name"), "input": one.get("args")}
        result = {"type": "tool_result", "tool_use_id": one.get("id"), "content": one.get("result")}
        yield {"role": "assistant", "content": [shortened(call)], "key": f"{key}:call-{number}", "at": at}
        yield {"role": "tool", "content": [shortened(result)], "key": f"{key}:result-{number}", "at": at}


# --- OpenClaw, and Claude Code: trees in files


def read_openclaw(file: IO[bytes], name: str) -> Iterator[Item]:
    """Read `sessions/*.jsonl` of OpenClaw (and Pi): the newest branch of the tree."""
    header = claude_code.parse(file.readline()) or {}
    file.seek(0)
    ident = text_in(header.get("id")) or name
    yield ImportedChat(f"openclaw:{ident}", claude_code.read_branch(file, _openclaw_entry))


def _openclaw_entry(entry: Object) -> Object:
    """Return an entry in the shape of Claude Code's."""
    said = entry.get("message")
    made: dict[str, object] = {"type": "system", "uuid": entry.get("id"), "parentUuid": entry.get("parentId"),
                               "timestamp": entry.get("timestamp")}  # fmt: skip
    if entry.get("type") != "message" or not isinstance(said, Mapping):
        return made
    role, content = said.get("role"), said.get("content")
    if role in ("user", "assistant"):
        parts = [{**one, "type": "tool_use"} if one.get("type") == "toolCall" else one for one in objects_in(content)]
        return {**made, "type": role, "message": {"role": role, "content": parts or content}}
    result = {"type": "tool_result", "tool_use_id": said.get("toolCallId"), "name": said.get("toolName"),
              "content": content if content is not None else said.get("output")}  # fmt: skip
    return {**made, "type": "user", "message": {"role": "user", "content": [result]}}


def read_claude_code(file: IO[bytes], name: str) -> Iterator[Item]:
    """Read one transcript, whose name is the session's."""
    yield ImportedChat(claude_code.session_name(name), claude_code.read_branch(file))
