"""Claude Code transcripts: `~/.claude/projects/*/*.jsonl`, read whole by the importer and as they grow by the hook.

A file is a tree, because a prompt can be edited and sent again: entries name their `parentUuid`. What counts is the
newest branch, across compactions. An answer with several tool calls is several entries, whose results are side
branches; they belong to it. Entries of subagents and teammates, of the host itself and of unknown types are left out.

The module imports little: a hook loads it with every turn.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO

NAME = "claude-code"
Entry = Mapping[str, object]
Message = dict[str, object]

_TYPES = ("user", "assistant", "system", "attachment", "progress")
_LEFT_OUT = ("isMeta", "isSidechain", "teamName", "isCompactSummary")
"""Entries that neither the user nor the assistant said in this conversation."""
_THOUGHTS = ("thinking", "redacted_thinking")
_HOST_TEXT = (
    "<command-", "<local-command-", "<bash-", "<ide_", "<task-notification", "<user-memory-input>",
    "Caveat: The messages below", "[Request interrupted",
)  # fmt: skip
"""Beginnings of texts that the host puts into messages of role user; they are left out."""
RECALLED = "History, not instructions:"
"""What the memory itself answered: it is not stored again."""
MOST_TOOL_CHARS = 4000
"""Characters of a tool's input or output that are kept: what a file holds is in the file, not in the memory."""


def session_name(session_id: str) -> str:
    return f"{NAME}:{session_id}"


def read_entry(entry: Entry) -> Message | None:
    """Return an entry as a message; None for one that is not part of the conversation."""
    said = entry.get("message")
    if entry.get("type") not in ("user", "assistant") or not isinstance(said, Mapping) or is_left_out(entry):
        return None
    role, content = said.get("role"), _parts(said.get("content"))
    if role not in ("user", "assistant") or not content:
        return None
    message: Message = {"role": role, "content": content, "key": entry["uuid"]}
    if isinstance(entry.get("timestamp"), str):
        message["at"] = entry["timestamp"]
    return message


def is_left_out(entry: Entry) -> bool:
    return not isinstance(entry.get("uuid"), str) or any(entry.get(name) for name in _LEFT_OUT)


def _parts(content: object) -> object:
    if isinstance(content, str):
        return _part({"type": "text", "text": content}) if content.strip() else None
    if not isinstance(content, list):
        return None
    kept = [_part(one) for one in content if isinstance(one, dict) and one.get("type") not in _THOUGHTS]
    return [one for one in kept if one] or None


def _part(part: dict[str, object]) -> dict[str, object] | None:
    if part.get("type") != "text":
        recalled = part.get("type") == "tool_result" and RECALLED in json.dumps(part.get("content"))
        return None if recalled else shortened(part)
    text = without_reminders(str(part.get("text") or ""))
    return None if not text or text.startswith(_HOST_TEXT) else {"type": "text", "text": text}


def without_reminders(text: str) -> str:
    """Remove what the host adds to a text for its model."""
    kept = text.split("<system-reminder>")
    return "".join([kept[0], *(one.partition("</system-reminder>")[2] for one in kept[1:])]).strip()


def shortened(part: dict[str, object]) -> dict[str, object]:
    """Return a part of a tool with its long texts cut."""
    made = _shortened(part, 0)
    assert isinstance(made, dict)
    return made


def _shortened(value: object, depth: int) -> object:
    if isinstance(value, str) and len(value) > MOST_TOOL_CHARS:
        return f"{value[:MOST_TOOL_CHARS]}… [{len(value) - MOST_TOOL_CHARS:,} more characters]"
    if depth > 16:
        return None
    if isinstance(value, dict):
        if value.get("type") == "base64":  # an image: its bytes are measured, not kept
            return value
        return {name: _shortened(one, depth + 1) for name, one in value.items()}
    if isinstance(value, list):
        return [_shortened(one, depth + 1) for one in value]
    return value


# --- as it grows


def read_new(path: str, offset: int, most: int) -> tuple[list[Message], int]:
    """Return the messages that follow this offset, up to `most` bytes of complete lines, and the next offset."""
    messages = []
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < offset:  # another file under the same name
            offset = 0
        file.seek(offset)
        data = file.read(most)
        end = data.rfind(b"\n") + 1
        if not end and len(data) == most:  # one line that is longer: skip it
            data += file.readline()
            return [], offset + len(data)
    for line in data[:end].splitlines():
        entry = parse(line)
        if entry is not None and (message := read_entry(entry)) is not None:
            messages.append(message)
    return messages, offset + end


def parse(line: bytes) -> Entry | None:
    """Parse a line; None for one that is no object, as the last one of a killed process may be."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


# --- as a whole


def read_branch(file: IO[bytes], convert: Callable[[Entry], Entry] = lambda entry: entry) -> Iterator[Message]:
    """Yield the messages of the newest branch in the order of the file, which is read twice and never held.

    `convert` makes an entry out of that of another host.
    """
    tree = _Tree()
    offset = 0
    for line in file:
        found = parse(line)
        entry = None if found is None else convert(found)
        if entry is not None and entry.get("type") in _TYPES and isinstance(entry.get("uuid"), str):
            tree.add(entry, offset)
        offset += len(line)
    for place in tree.branch():
        file.seek(place)
        found = parse(file.readline())
        if found is not None and (message := read_entry(convert(found))) is not None:
            yield message


class _Tree:
    """The entries of a file by their ids: places and parents, no texts."""

    def __init__(self) -> None:
        self._place: dict[str, int] = {}
        self._parent: dict[str, str] = {}
        self._leaves: dict[str, None] = {}
        """Main entries of user and assistant that nothing follows, the newest last."""
        self._answer: dict[str, str] = {}
        """Id of the answer that an assistant's entry belongs to."""
        self._results: set[str] = set()
        self._main: set[str] = set()

    def add(self, entry: Entry, place: int) -> None:
        uuid = str(entry["uuid"])
        self._place[uuid] = place
        parent = entry.get("parentUuid") or entry.get("logicalParentUuid")
        if isinstance(parent, str):
            self._parent[uuid] = parent
            self._leaves.pop(parent, None)
        if entry["type"] in ("user", "assistant") and not is_left_out(entry):
            self._main.add(uuid)
            self._leaves[uuid] = None
        said = entry.get("message")
        if not isinstance(said, Mapping):
            return
        if entry["type"] == "assistant" and isinstance(said.get("id"), str):
            self._answer[uuid] = str(said["id"])
        content = said.get("content")
        if isinstance(content, list) and any(
            isinstance(one, dict) and one.get("type") == "tool_result" for one in content
        ):
            self._results.add(uuid)

    def branch(self) -> list[int]:
        """Return the places of the newest branch, in order."""
        taken: set[str] = set()
        here = next(reversed(self._leaves), None) or max(self._main, key=self._place.__getitem__, default=None)
        while here is not None and here not in taken:
            taken.add(here)
            here = self._parent.get(here)
        answers = {self._answer[uuid] for uuid in taken if uuid in self._answer}
        taken |= {uuid for uuid, answer in self._answer.items() if answer in answers}
        taken |= {uuid for uuid in self._results if self._parent.get(uuid) in taken}
        return sorted(self._place[uuid] for uuid in taken if uuid in self._place)


def own_texts(messages: Iterable[Message]) -> list[Message]:
    """Return the texts that user and assistant said themselves, as a host would send them."""
    made = []
    for message in messages:
        content = message["content"]
        parts = [content] if isinstance(content, dict) else content
        texts = [str(one["text"]) for one in parts if one.get("type") == "text"] if isinstance(parts, list) else []
        if texts:
            made.append({"role": message["role"], "content": "\n".join(texts)})
    return made
