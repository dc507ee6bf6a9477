"""Chat exports: ChatGPT, Claude.ai, OpenAI's JSON lines, and conversations written as text or Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import IO

from holdfast.importers.claude_code import shortened
from holdfast.importers.source import (
    ImportedChat,
    ImportedNote,
    Item,
    Message,
    Object,
    iso,
    objects_in,
    text_in,
    with_times,
)

# --- ChatGPT

_THOUGHTS = ("thoughts", "reasoning_recap", "model_editable_context")
_PROFILE = re.compile(r"```(.*?)```", re.DOTALL)


def read_chatgpt(objects: Iterator[Object], name: str) -> Iterator[Item]:
    """Read conversations.json: the branch that was shown last of each tree, without hidden and deleted nodes.

    Custom instructions are the user's own words, repeated in every conversation: they become one session. What the
    product wrote into its own memory comes in as notes.
    """
    for one in objects:
        mapping = one.get("mapping")
        if not isinstance(mapping, Mapping):
            continue
        ident = text_in(one.get("conversation_id")) or text_in(one.get("id")) or digest(str(sorted(mapping)))
        nodes = [node for node in _branch(mapping, one.get("current_node")) if isinstance(node.get("message"), Mapping)]
        spoken: list[Message] = []
        title = text_in(one.get("title"))
        for node in nodes:
            message = node["message"]
            assert isinstance(message, Mapping)
            yield from _asides(message)
            if made := _chatgpt_message(message, text_in(node.get("id"))):
                spoken.append(made | ({"metadata": {"title": title}} if title and not spoken else {}))
        if spoken:
            yield ImportedChat(f"chatgpt:{ident}", with_times(spoken, iso(one.get("create_time"))))


def _branch(mapping: Mapping[str, object], current: object) -> list[Object]:
    """Return the nodes from the root to the current one; without one, to the newest leaf."""
    nodes = {name: node for name, node in mapping.items() if isinstance(node, Mapping)}
    here = current if isinstance(current, str) and current in nodes else None
    if here is None:
        leaves = [name for name, node in nodes.items() if not node.get("children")]
        here = max(leaves or nodes, key=lambda name: _created(nodes[name]), default=None)
    found: list[Object] = []
    seen: set[str] = set()
    while here is not None and here in nodes and here not in seen:
        seen.add(here)
        found.append(nodes[here])
        here = text_in(nodes[here].get("parent")) or None
    return found[::-1]


def _created(node: Object) -> float:
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, Mapping) else None
    return float(at) if isinstance(at, int | float) else 0.0


def _asides(message: Object) -> Iterator[Item]:
    content = message.get("content")
    if not isinstance(content, Mapping):
        return
    if content.get("content_type") == "user_editable_context":
        for field in ("user_profile", "user_instructions"):
            given = text_in(content.get(field))
            said = "\n".join(part.strip() for part in _PROFILE.findall(given)) or given
            if said.strip():
                own: Message = {"role": "user", "content": said, "key": digest(said), "at": message.get("create_time")}
                yield ImportedChat("chatgpt:custom-instructions", with_times([own], None))
    noted = "\n".join(_strings(content.get("parts"))).strip()
    if noted and message.get("recipient") == "bio" and _author(message) == "assistant":
        yield ImportedNote(f"chatgpt:{digest(noted)}", noted, iso(message.get("create_time")))


def _author(message: Object) -> object:
    author = message.get("author")
    return author.get("role") if isinstance(author, Mapping) else None


def _strings(parts: object) -> list[str]:
    return [one for one in parts if isinstance(one, str)] if isinstance(parts, list) else []


def _chatgpt_message(message: Object, node: str) -> Message | None:
    role, content, about = _author(message), message.get("content"), message.get("metadata")
    about = about if isinstance(about, Mapping) else {}
    if not isinstance(content, Mapping) or role not in ("user", "assistant", "tool", "system"):
        return None
    kind = text_in(content.get("content_type"))
    hidden = message.get("weight") == 0 or about.get("is_visually_hidden_from_conversation") or role == "system"
    if hidden or kind == "user_editable_context" or kind in _THOUGHTS:
        return None
    parts: list[object] = []
    for one in content["parts"] if isinstance(content.get("parts"), list) else [content]:
        if isinstance(one, str):
            parts += [{"type": "text", "text": one}] if one.strip() else []
        elif isinstance(one, Mapping) and one.get("content_type") == "audio_transcription":  # what was spoken
            parts.append({"type": "text", "text": text_in(one.get("text"))})
        elif isinstance(one, Mapping):
            known = {name: one[name] for name in ("text", "result", "title", "url", "asset_pointer") if one.get(name)}
            parts += (
                [{"type": "text" if role == "tool" and "text" in known else _kind_of(one, kind), **known}]
                if known
                else []
            )
    if role == "assistant" and message.get("recipient") not in (None, "all"):
        parts = [{"type": "tool_use", "name": message["recipient"], "input": list(parts)}]
    parts += [{"type": "file", "name": text_in(one.get("name"))} for one in objects_in(about.get("attachments"))]
    if not parts:
        return None
    made = parts if role in ("user", "assistant") else [shortened({"type": "tool_result", "content": parts})]
    return {"role": role, "content": made, "key": node or text_in(message.get("id")), "at": message.get("create_time")}


def _kind_of(part: Object, kind: str) -> str:
    return "image" if "asset_pointer" in part else text_in(part.get("content_type")) or kind or "unknown"


# --- Claude.ai


def read_claude_ai(objects: Iterator[Object], name: str) -> Iterator[Item]:
    """Read conversations.json and memories.json: the newest branch of each conversation, attachments as such."""
    for one in objects:
        for line in _memory_lines(one):
            yield ImportedNote(f"claude-ai:{digest(line)}", line, iso(one.get("updated_at")))
        spoken = objects_in(one.get("chat_messages"))
        ident = text_in(one.get("uuid"))
        if not spoken or not ident:
            continue
        kept = _newest_branch(spoken, one.get("current_leaf_message_uuid"))
        messages = [made for said in kept if (made := _claude_message(said)) is not None]
        if messages and (title := text_in(one.get("name"))):
            messages[0]["metadata"] = {"title": title}
        yield ImportedChat(f"claude-ai:{ident}", with_times(messages, iso(one.get("created_at"))))


def _memory_lines(one: Object) -> Iterator[str]:
    projects = one.get("project_memories")
    texts = [one.get("conversations_memory"), *(projects.values() if isinstance(projects, Mapping) else ())]
    for text in texts:
        for line in text_in(text).splitlines():
            said = re.sub(r"^\s*(?:[-*+•]|\d+[.)])\s+", "", line).replace("**", "").strip()
            if said and not said.startswith("#") and len(said.split()) > 2:
                yield said


def _newest_branch(spoken: list[Object], leaf: object) -> list[Object]:
    """Follow parents back from the newest message; without parents the order of the file is the conversation."""
    by_id = {text_in(one.get("uuid")): one for one in spoken}
    if not any(text_in(one.get("parent_message_uuid")) in by_id for one in spoken):
        return spoken
    here: Object | None = by_id.get(text_in(leaf)) or max(spoken, key=lambda one: text_in(one.get("created_at")))
    taken = set()
    while here is not None and text_in(here.get("uuid")) not in taken:
        taken.add(text_in(here.get("uuid")))
        here = by_id.get(text_in(here.get("parent_message_uuid")))
    return [one for one in spoken if text_in(one.get("uuid")) in taken]


def _claude_message(said: Object) -> Message | None:
    role = {"human": "user", "assistant": "assistant"}.get(text_in(said.get("sender")))
    if role is None:
        return None
    blocks: list[dict[str, object]] = []
    for one in objects_in(said.get("content")):
        if one.get("type") == "text" and text_in(one.get("text")).strip():
            blocks.append({"type": "text", "text": one["text"]})
        elif one.get("type") not in ("text", "thinking", "token_budget"):
            blocks.append(shortened(dict(one)))
    if not blocks and text_in(said.get("text")).strip():
        blocks = [{"type": "text", "text": said["text"]}]
    for one in objects_in(said.get("attachments")):
        blocks.append({"type": "document", "title": text_in(one.get("file_name")),
                       "text": text_in(one.get("extracted_content"))})  # fmt: skip
    blocks += [{"type": "file", "name": text_in(one.get("file_name"))} for one in objects_in(said.get("files"))]
    if not blocks:
        return None
    return {"role": role, "content": blocks, "key": text_in(said.get("uuid")), "at": said.get("created_at")}


# --- lists of messages, and text


def read_openai(objects: Iterator[Object], name: str) -> Iterator[Item]:
    """Read JSON lines or documents with `messages`, one conversation each, keyed by their places."""
    for number, one in enumerate(objects, 1):
        messages: list[Message] = []
        for place, said in enumerate(objects_in(one.get("messages")), 1):
            if said.get("content") or said.get("tool_calls"):
                at = said.get("at") or said.get("created_at") or said.get("timestamp")
                messages.append({**said, "key": f"{name}:{number}:{place}", "at": at})
        ident = text_in(one.get("id")) or text_in(one.get("session")) or f"{name}:{number}"
        yield ImportedChat(f"openai:{ident}", with_times(messages, iso(one.get("created_at"))))


_ROLES = {
    "user": "user", "human": "user", "you": "user", "me": "user", "you said": "user", "prompt": "user",
    "assistant": "assistant", "chatgpt": "assistant", "chatgpt said": "assistant", "claude": "assistant",
    "gemini": "assistant", "ai": "assistant", "bot": "assistant", "model": "assistant", "response": "assistant",
    "system": "system", "tool": "tool",
}  # fmt: skip
_SPEAKER = re.compile(
    rf"^\s{{0,3}}(?P<head>#{{1,6}}\s+)?(?:\*\*|__)?(?P<who>{'|'.join(sorted(_ROLES, key=len, reverse=True))})"
    r"(?P<colon>\s?:)?(?:\*\*|__)?(?P<after>\s?:)?(?P<text>.*)$",
    re.IGNORECASE,
)


def speaker_of(line: str) -> tuple[str, str] | None:
    """Return who speaks from this line on, and what follows on it."""
    found = _SPEAKER.match(line)
    if found is None or not (found["colon"] or found["after"] or (found["head"] and not found["text"].strip())):
        return None
    return _ROLES[found["who"].lower()], found["text"].strip()


def read_text_chat(file: IO[bytes], name: str, at: str) -> Iterator[Item]:
    """Read "User: …" and "## Assistant" conversations; other lines belong to the last speaker."""

    def messages() -> Iterator[Message]:
        role, lines, number = "", list[str](), 0
        for raw in (*file, b"System:"):
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            spoken = speaker_of(line)
            if spoken is None:
                lines.append(line)
                continue
            if role and (text := "\n".join(lines).strip()):
                number += 1
                yield {"role": role, "content": text, "key": str(number), "at": at}
            role, lines = spoken[0], [spoken[1]]

    yield ImportedChat(f"chat:{name}", messages())


def digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()
