"""Memories of other systems, read for an audit: mem0, folders of MEMORY.md and CLAUDE.md, MCP's reference memory."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

from holdfast.errors import BadTime, InputError
from holdfast.settings import DoctorSettings
from holdfast.store.open import is_store_file, read_foreign_table
from holdfast.text.time import read_moment
from holdfast.upkeep.findings import Example, Memo

# --- What was read of another system.


@dataclass(frozen=True)
class Foreign:
    system: str
    memos: tuple[Memo, ...]
    authored: bool = False
    """A person wrote them as rules and notes."""
    links: int = 0
    """Things in it that point to others …"""
    dangling: tuple[Example, ...] = ()
    """… and those that point to nothing."""


# --- Files that anybody may have written: read within limits, and every way they can be wrong said in words.


def read_text(path: Path, settings: DoctorSettings) -> str:
    most = settings.max_file_mb * 1_000_000
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if len(data) > most:
        raise InputError(f"{path} is larger than {settings.max_file_mb} MB (doctor.max_file_mb)")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no text in UTF-8: byte {error.start} cannot be read") from error


def parse(path: Path, text: str, line: int | None = None) -> object:
    """The JSON of a file, or of a line of it."""
    where = f"{path}" if line is None else f"{path}, line {line}"
    try:
        read: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{where} is no JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise InputError(f"{where} is nested too deeply to be read") from error
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"{where} holds a number that cannot be read: {error}") from error
    return read


def parse_lines(path: Path, text: str) -> Iterator[tuple[int, object]]:
    """The JSON of each line that is not blank, with its number. Not `splitlines`: a text may hold U+2028."""
    return ((number, parse(path, line, number)) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def when(given: object) -> datetime | None:
    """A time as these systems write it: ISO, or seconds of Unix; None if it is none."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        try:
            return datetime.fromtimestamp(given, UTC)
        except (OverflowError, ValueError, OSError):
            return None
    if not isinstance(given, str) or not given:
        return None
    try:
        return read_moment(given, datetime.now(UTC))
    except BadTime:
        return None


# --- Folders of MEMORY.md, CLAUDE.md, AGENTS.md and the like: each list item or line of text is a memory.


_FENCE = re.compile(r"^\s*(?:```|~~~)")
_NOT_TEXT = re.compile(r"^\s*(?:#|[-*_=]{3,}\s*$|\||<!--|$)")  # a heading, a rule, a table, a comment, nothing
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_LINK = re.compile(r"\]\(([^()\s]{1,500})\)")
_FRONT = "---"


def read_markdown(path: Path, settings: DoctorSettings) -> Foreign:
    root = path if path.is_dir() else path.parent
    memos: list[Memo] = []
    dangling: list[Example] = []
    links = 0
    for file in _files(path, settings):
        name = str(file.relative_to(root))
        text = read_text(file, settings)
        at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        for number, line in _lines(text):
            place = f"{name}:{number}"
            memos.append(Memo(place, line, at))
            for target in _LINK.findall(line):
                links += _is_local(target)
                if _is_local(target) and not (file.parent / unquote(target.partition("#")[0])).exists():
                    dangling.append(Example(place, line, f"it points to {target}, which is not there"))
        if len(memos) > settings.max_memories:
            raise InputError(f"{path} has more than {settings.max_memories:,} lines (doctor.max_memories)")
    return Foreign("markdown", tuple(memos), authored=True, links=links, dangling=tuple(dangling))


def _files(path: Path, settings: DoctorSettings) -> list[Path]:
    if path.is_file():
        return [path]
    found: list[Path] = []
    for folder, folders, names in os.walk(path, followlinks=False):
        folders[:] = sorted(name for name in folders if name not in (".git", "node_modules", ".venv"))
        found += [Path(folder) / name for name in sorted(names) if name.lower().endswith((".md", ".mdc"))]
        if len(found) > settings.max_files:
            raise InputError(f"{path} has more than {settings.max_files:,} files (doctor.max_files)")
    found = [file for file in found if file.is_file()]
    if not found:
        raise InputError(f"there is no .md file in {path}")
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """(line number, text of a list item or of a line); what is wrapped belongs to the line before."""
    lines = text.splitlines()
    start = 0
    if lines and lines[0].strip() == _FRONT:  # front matter: settings, not memories
        start = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == _FRONT), -1) + 1
    fenced, open_at, said = False, 0, ""
    for number, line in enumerate(lines[start:], start + 1):
        if _FENCE.match(line):
            fenced = not fenced
        new = _ITEM.match(line)
        ends = fenced or _FENCE.match(line) is not None or _NOT_TEXT.match(line) is not None
        if (new or ends) and said:
            yield open_at, said
            said = ""
        if ends:
            continue
        part = (line[new.end() :] if new else line).strip()
        said, open_at = (f"{said} {part}", open_at) if said else (part, number)
    if said:
        yield open_at, said


def _is_local(target: str) -> bool:
    return not re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|#|/|~", target)


# --- MCP's reference memory: a graph as JSON lines, entities with observations, and relations between them.


def looks_like_mcp(text: str) -> bool:
    first = text.lstrip().partition("\n")[0]
    return first.startswith("{") and ('"entityType"' in first or '"relationType"' in first)


def read_mcp(path: Path, text: str, settings: DoctorSettings) -> Foreign:
    entities: dict[str, list[str]] = {}
    relations: list[tuple[int, str, str, str]] = []
    for number, one in parse_lines(path, text):
        if not isinstance(one, Mapping):
            raise InputError(f"{path}, line {number} is no object")
        if one.get("type") == "entity":
            seen = one.get("observations", [])
            if not isinstance(one.get("name"), str) or not isinstance(seen, list):
                raise InputError(f"{path}, line {number}: an entity needs a name and a list of observations")
            entities.setdefault(str(one["name"]), []).extend(_observation(each) for each in seen)
        elif one.get("type") == "relation":
            if not all(isinstance(one.get(name), str) for name in ("from", "to", "relationType")):
                raise InputError(f"{path}, line {number}: a relation needs from, to and relationType")
            relations.append((number, str(one["from"]), str(one["relationType"]), str(one["to"])))
        else:
            raise InputError(f"{path}, line {number} is neither an entity nor a relation")
    memos = tuple(Memo(f"{name}[{place}]", text) for name, seen in entities.items() for place, text in enumerate(seen))
    if len(memos) > settings.max_memories:
        raise InputError(f"{path} has more than {settings.max_memories:,} observations (doctor.max_memories)")
    dangling = tuple(
        Example(f"line {number}", f"{start} {how} {end}", f"there is no entity {missing[0]!r}")
        for number, start, how, end in relations
        if (missing := [name for name in (start, end) if name not in entities])
    )
    return Foreign("MCP memory", memos, links=len(relations), dangling=dangling)


def _observation(given: object) -> str:
    """A text; some servers that follow the format keep an object with the text under "content"."""
    if isinstance(given, Mapping) and isinstance(given.get("content"), str):
        return str(given["content"])
    return str(given)


# --- mem0's memories as `get_all` and its exports give them: a list, or a list under "results" (or "memories").


_LISTS = ("results", "memories", "data")
_TEXTS = ("memory", "text", "data", "content")
_TIMES = ("updated_at", "created_at")


def read_export(path: Path, text: str, settings: DoctorSettings) -> Foreign:
    given = [one for _, one in parse_lines(path, text)] if _is_lines(text) else parse(path, text)
    listed = given
    if isinstance(given, Mapping):
        listed = next((given[name] for name in _LISTS if isinstance(given.get(name), list)), None)
    if not isinstance(listed, list):
        raise InputError(f"{path} holds no list of memories; a mem0 export is a list, or has one under 'results'")
    if len(listed) > settings.max_memories:
        raise InputError(f"{path} has more than {settings.max_memories:,} memories (doctor.max_memories)")
    memos = tuple(_memo(path, number, one) for number, one in enumerate(listed, 1))
    return Foreign("mem0 export", memos)


def _memo(path: Path, number: int, one: object) -> Memo:
    if isinstance(one, str):
        return Memo(f"#{number}", one)
    if not isinstance(one, Mapping):
        raise InputError(f"memory {number} of {path} is neither a text nor an object")
    text = next((one[name] for name in _TEXTS if isinstance(one.get(name), str)), None)
    if text is None:
        raise InputError(f"memory {number} of {path} has no text; it is looked for under {', '.join(_TEXTS)}")
    at = next((moment for name in _TIMES if (moment := when(one.get(name))) is not None), None)
    return Memo(str(one.get("id") or f"#{number}"), text, at)


def _is_lines(text: str) -> bool:
    """Whether it is an object a line: one object alone is a document."""
    first, _, rest = text.lstrip().partition("\n")
    return first.startswith("{") and first.rstrip().endswith("}") and rest.lstrip().startswith("{")


# --- mem0's history.db: an event a row; a memory is what its last event left of it.


# Older versions call the text new_value, and the time timestamp.
_COLUMNS = (
    "memory_id", "new_memory", "new_value", "event", "created_at", "updated_at", "timestamp", "is_deleted",
)  # fmt: skip


def read_history(path: Path, settings: DoctorSettings) -> Foreign:
    if is_store_file(path):
        raise InputError(f"{path} is a store of Holdfast; give it with --store")
    rows = read_foreign_table(path, "history", _COLUMNS, settings.max_memories)
    if not rows or not {"memory_id", "event"} <= rows[0].keys():
        raise InputError(f"{path} has no table 'history' with memories in it, as mem0's history.db has")
    live: dict[str, Memo] = {}
    dangling = []
    for number, row in enumerate(rows, 1):
        memory = str(row["memory_id"])
        event = str(row["event"]).upper()
        if event == "DELETE" or row.get("is_deleted"):
            if live.pop(memory, None) is None:
                dangling.append(Example(memory, "", f"event {number} deletes a memory that was never added"))
            continue
        text = next((row[name] for name in ("new_memory", "new_value") if isinstance(row.get(name), str)), None)
        if text is None:  # an event that changed nothing ("NONE")
            continue
        if event == "UPDATE" and memory not in live:
            dangling.append(Example(memory, str(text), f"event {number} updates a memory that was never added"))
        times = (when(row.get(name)) for name in ("updated_at", "created_at", "timestamp"))
        live[memory] = Memo(memory, str(text), next((one for one in times if one is not None), None))
    return Foreign("mem0 history", tuple(live.values()), links=len(rows), dangling=tuple(dangling))


_SQLITE = b"SQLite format 3\x00"
_KNOWN = "a mem0 export (JSON), its history.db, a MEMORY.md or a folder of them, or an MCP memory (JSON lines)"


def read_foreign(path: Path, settings: DoctorSettings) -> Foreign:
    """What lies there, by its content; InputError if it is nothing we know."""
    path = path.expanduser()
    if not path.exists():
        raise InputError(f"there is nothing at {path}; the doctor reads {_KNOWN}")
    if path.is_dir() or path.suffix.lower() in (".md", ".markdown", ".mdc"):
        return read_markdown(path, settings)
    if not path.is_file():
        raise InputError(f"{path} is neither a file nor a folder")
    with path.open("rb") as file:
        if file.read(len(_SQLITE)) == _SQLITE:
            return read_history(path, settings)
    text = read_text(path, settings)
    if not text.strip():
        raise InputError(f"{path} is empty; the doctor reads {_KNOWN}")
    return read_mcp(path, text, settings) if looks_like_mcp(text) else read_export(path, text, settings)
