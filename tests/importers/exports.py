"""Generators of exports, with the odd cases that real ones have, and the turns that must come of them.

Each gives the file and an independent list of (session, role, origin, text): what a person would say was said by whom.
It is written down while the file is made, not read back from it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Line = tuple[str, str, str, str]
"""Session, role, origin and text of a turn."""
WORDS = ("harbour", "lisbon", "coffee", "bicycle", "piano", "winter", "garden", "recipe", "train", "ledger", "tent")
EPOCH = 1_750_000_000.0


@dataclass
class Export:
    """A file that is being made, and what it says."""

    document: list[Any] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    notes: set[str] = field(default_factory=set)
    times: dict[str, float] = field(default_factory=dict)
    """Unix seconds by text, where they are certain."""


def sentence(chance: random.Random) -> str:
    return f"I like the {' '.join(chance.sample(WORDS, 6))} number {chance.randrange(10**9)}"


def chatgpt(seed: int, conversations: int) -> Export:
    """Trees with branches, deleted and hidden nodes, images, tool calls, saved memories and null times."""
    chance, made = random.Random(seed), Export()
    profile = "I am a carpenter in Porto."
    for number in range(conversations):
        session, at = f"chatgpt:c{seed}-{number}", EPOCH + number * 1000
        nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
        last = "root"

        def add(role: str, content: dict[str, Any], time: float | None, *, shown: bool = True, **more: Any) -> str:
            nonlocal last
            name = f"n{len(nodes)}"  # noqa: B023
            message = {"id": name, "author": {"role": role, "name": None, "metadata": {}}, "create_time": time,
                       "content": content, "weight": 1.0, "recipient": "all", "metadata": {}, **more}  # fmt: skip
            nodes[name] = {"id": name, "message": message, "parent": last, "children": []}  # noqa: B023
            nodes[last]["children"].append(name)  # noqa: B023
            if shown:
                last = name
            return name

        def say(role: str, time: float | None, text: str, origin: str = "") -> None:
            add(role, {"content_type": "text", "parts": [text]}, time)
            made.lines.append((session, role, origin or role, text))  # noqa: B023
            if time is not None:
                made.times[text] = time

        hidden = {"is_visually_hidden_from_conversation": True}
        add("system", {"content_type": "text", "parts": ["You are ChatGPT"]}, None, weight=0.0, metadata=hidden)
        add("user", {"content_type": "user_editable_context", "user_profile": f"About me:\n```{profile}```",
                     "user_instructions": ""}, None, metadata=hidden)  # fmt: skip
        if number == 0:
            made.lines.append(("chatgpt:custom-instructions", "user", "user", profile))
        for _ in range(chance.randrange(1, 4)):
            at += 10
            # A question that was edited: its first wording is a branch that nobody sees any more.
            add("user", {"content_type": "text", "parts": ["abandoned " + sentence(chance)]}, at, shown=False)
            say("user", None if chance.random() < 0.2 else at, sentence(chance))
            if chance.random() < 0.3:
                picture = {"content_type": "image_asset_pointer", "asset_pointer": f"file-service://f{number}"}
                asked = sentence(chance)
                add("user", {"content_type": "multimodal_text", "parts": [picture, asked]}, at + 1)
                made.lines.append((session, "user", "user", asked))
            if chance.random() < 0.3:
                code, output = sentence(chance), sentence(chance)
                add("assistant", {"content_type": "code", "text": code}, at + 2, recipient="python")
                add("tool", {"content_type": "execution_output", "text": output}, at + 3)
                made.lines.append((session, "tool", "tool", output))
            if chance.random() < 0.3:
                noted = "User likes " + sentence(chance)
                add("assistant", {"content_type": "text", "parts": [noted]}, at + 4, recipient="bio")
                made.notes.add(noted)
            add("assistant", {"content_type": "thoughts", "thoughts": [{"content": "hidden " + sentence(chance)}]}, at)
            say("assistant", at + 5, sentence(chance))
            last = next(name for name in reversed(nodes) if nodes[name]["message"]["author"]["role"] == "assistant")
        current = last if chance.random() < 0.8 else "a node that was deleted"
        made.document.append({"title": f"Talk {number}", "create_time": EPOCH + number * 1000, "mapping": nodes,
                              "current_node": current, "conversation_id": f"c{seed}-{number}"})  # fmt: skip
    made.document.append({"title": "empty", "mapping": {}, "current_node": None, "id": "empty"})
    return made


def claude_ai(seed: int, conversations: int) -> Export:
    """Lists with retried answers, attachments, files, tool blocks and empty texts."""
    chance, made = random.Random(seed), Export()
    for number in range(conversations):
        session, messages, parent = f"claude-ai:u{seed}-{number}", list[dict[str, Any]](), "00000000"

        def add(sender: str, text: str, shown: bool = True, **more: Any) -> None:
            nonlocal parent
            name = f"m{number}-{len(messages)}"  # noqa: B023
            stamp = f"2026-05-{1 + number % 27:02}T09:{len(messages) % 60:02}:00.000000Z"  # noqa: B023
            messages.append({"uuid": name, "sender": sender, "text": text, "created_at": stamp, "attachments": [],  # noqa: B023
                             "files": [], "content": [{"type": "text", "text": text}], "parent_message_uuid": parent,
                             **more})  # fmt: skip
            if shown:
                parent = name
                role = "user" if sender == "human" else "assistant"
                made.lines.extend([(session, role, role, text)] if text else [])  # noqa: B023

        for _ in range(chance.randrange(1, 4)):
            pasted = "pasted " + sentence(chance)
            with_paper = {"attachments": [{"file_name": "a.txt", "extracted_content": pasted}]}
            paper = chance.random() < 0.3
            add("human", sentence(chance), True, **(with_paper if paper else {}))
            if paper:
                made.lines.append((session, "tool", "user_pasted", pasted))
            add("assistant", "first try " + sentence(chance), shown=False)
            found, answer = "found " + sentence(chance), sentence(chance)
            blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "name": "search", "input": {}},
                      {"type": "tool_result", "content": [{"type": "text", "text": found}]},
                      {"type": "text", "text": answer}]  # fmt: skip
            add("assistant", answer, content=blocks)
            made.lines.insert(-1, (session, "tool", "tool", found))
        made.document.append({"uuid": f"u{seed}-{number}", "name": f"Talk {number}", "chat_messages": messages,
                              "created_at": "2026-05-01T00:00:00Z"})  # fmt: skip
    return made


def write_json(path: Path, made: Export, indent: int | None = None) -> Path:
    path.write_text(json.dumps(made.document, indent=indent), encoding="utf-8")
    return path


def codex_lines() -> Iterator[dict[str, Any]]:
    """A session as Codex CLI 0.166 writes it."""
    at = "2026-11-16T12:19:3{}.000Z"

    def item(number: int, **payload: Any) -> dict[str, Any]:
        return {"timestamp": at.format(number), "ordinal": number, "type": "response_item", "payload": payload}

    yield {"timestamp": at.format(0), "type": "session_meta", "payload": {"id": "s-1", "cwd": "/p", "originator": "x"}}
    yield {"timestamp": at.format(1), "type": "event_msg", "payload": {"type": "task_started"}}
    yield item(2, type="message", role="developer", content=[{"type": "input_text", "text": "Obey the sandbox"}])
    yield item(3, type="message", role="user", id="m3",
               content=[{"type": "input_text", "text": "<environment_context>\n<cwd>/p</cwd>"}])  # fmt: skip
    yield item(4, type="message", role="user", id="m4", content=[{"type": "input_text", "text": "I live in Lisbon"}])
    yield item(5, type="reasoning", summary=[], encrypted_content="xyz")
    yield item(6, type="function_call", id="f1", name="exec", arguments='{"cmd": "ls"}', call_id="c1")
    yield item(7, type="function_call_output", id="o1", call_id="c1", output="I live in Oslo")
    yield item(8, type="message", role="assistant", id="m8", content=[{"type": "output_text", "text": "Noted."}])
    yield {"timestamp": at.format(9), "type": "event_msg", "payload": {"type": "agent_message", "message": "Noted."}}


def gemini_lines() -> Iterator[dict[str, Any]]:
    """A session as Gemini CLI 0.61 writes it, with a rewound question."""
    at = "2026-11-16T12:19:58.000Z"

    def said(name: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
        return {"id": name, "timestamp": at, "type": kind, "content": content, **more}

    call = {"id": "c1", "name": "read", "args": {"path": "a"}, "status": "success",
            "result": [{"functionResponse": {"name": "read", "response": {"output": "I live in Oslo"}}}]}  # fmt: skip
    yield {"sessionId": "g-1", "projectHash": "ab", "startTime": at, "lastUpdated": at, "kind": "main"}
    yield {"$set": {"messages": [said("h", "user", [{"text": "<session_context>\nThis is the Gemini CLI"}])]}}
    yield said("a", "user", [{"text": "I live in Rome"}])
    yield {"$rewindTo": "a"}
    yield said("b", "user", [{"text": "I live in Lisbon"}])
    yield said("c", "gemini", "Noted.", thoughts=[{"subject": "hidden"}], toolCalls=[call])
    yield said("d", "info", "Update available")
    yield {"$set": {"lastUpdated": at}}


def openclaw_lines() -> Iterator[dict[str, Any]]:
    """A session of version 3 with a branch that was left."""

    def said(name: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
        message = {"role": role, "content": content, "timestamp": 1_794_831_575_000, **more}
        return {"type": "message", "id": name, "parentId": parent, "timestamp": "2026-11-16T12:00:00.000Z",
                "message": message}  # fmt: skip

    yield {"type": "session", "version": 3, "id": "o-1", "timestamp": "2026-11-16T12:00:00.000Z", "cwd": "/p"}
    yield {"type": "model_change", "id": "x", "parentId": None, "timestamp": "2026-11-16T12:00:00.000Z"}
    yield said("a", "x", "user", "I live in Rome")
    yield said("b", "a", "assistant", [{"type": "text", "text": "Rome it is"}])
    yield said("c", "x", "user", [{"type": "text", "text": "I live in Lisbon"}])
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}
    yield said("d", "c", "assistant", [{"type": "thinking", "thinking": "hm"}, call])
    yield said("e", "d", "toolResult", [{"type": "text", "text": "I live in Oslo"}], toolCallId="c1", toolName="read")
    yield said("f", "e", "assistant", [{"type": "text", "text": "Noted."}])


def write_lines(path: Path, lines: Iterator[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
