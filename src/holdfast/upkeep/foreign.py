"""Readers for the memories of other systems: mem0, Markdown files such as MEMORY.md, and MCP's reference memory.

These files are untrusted input: they are read within limits, and every defect becomes an InputError.
"""

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
from holdfast.store.open import is_store_file, read_foreign_table
from holdfast.text.time import read_moment
from holdfast.upkeep.findings import AuditItem, DoctorSizes, Example

_SQLITE = b"SQLite format 3\x00"
_FORMATS = "a mem0 export (JSON), its history.db, a MEMORY.md or a folder of them, or an MCP memory (JSON lines)"
_FENCE = re.compile(r"^\s*(?:```|~~~)")
# A heading, a rule, a table, a comment, the name of a file to read (@docs/style.md), nothing.
_NOT_TEXT = re.compile(r"^\s*(?:#|[-*_=]{3,}\s*$|\||<!--|@\S+\s*$|$)")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?")
_LINK = re.compile(r"\]\(([^()\s]{1,500})\)")
_FRONT_MATTER = "---"
_LIST_KEYS = ("results", "memories", "data")
_TEXT_KEYS = ("memory", "text", "data", "content")
_TIME_KEYS = ("updated_at", "created_at")
# Older versions of mem0 call the text new_value, and the time timestamp.
_HISTORY_COLUMNS = (
    "memory_id", "new_memory", "new_value", "event", "created_at", "updated_at", "timestamp", "is_deleted",
)  # fmt: skip


@dataclass(frozen=True)
class ForeignMemories:
    system: str
    items: tuple[AuditItem, ...]
    authored: bool = False
    """True if a person wrote them as rules and notes."""
    links: int = 0
    """Number of references …"""
    dangling: tuple[Example, ...] = ()
    """… and those whose target does not exist."""


def read_foreign(path: Path, settings: DoctorSizes) -> ForeignMemories:
    """Read a file or folder, detecting the format from its content; InputError for unknown formats."""
    path = path.expanduser()
    if not path.exists():
        raise InputError(f"there is nothing at {path}; the doctor reads {_FORMATS}")
    if path.is_dir() or path.suffix.lower() in (".md", ".markdown", ".mdc"):
        return _read_markdown(path, settings)
    if not path.is_file():
        raise InputError(f"{path} is neither a file nor a folder")
    with path.open("rb") as file:
        if file.read(len(_SQLITE)) == _SQLITE:
            return _read_mem0_history(path, settings)
    text = _read_text(path, settings)
    if not text.strip():
        raise InputError(f"{path} is empty; the doctor reads {_FORMATS}")
    return _read_mcp(path, text, settings) if _looks_like_mcp(text) else _read_mem0_export(path, text, settings)


def _read_text(path: Path, settings: DoctorSizes) -> str:
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
        raise InputError(f"{path} is not UTF-8 text: byte {error.start} cannot be read") from error


def _parse(path: Path, text: str, line: int | None = None) -> object:
    where = f"{path}" if line is None else f"{path}, line {line}"
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{where} is not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise InputError(f"{where} is nested too deeply to be read") from error
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"{where} contains a number that cannot be read: {error}") from error
    return value


def _parse_lines(path: Path, text: str) -> Iterator[tuple[int, object]]:
    """Parse each line that is not blank, with its number. Not `splitlines`: a text may contain U+2028."""
    return ((number, _parse(path, line, number)) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _read_time(value: object) -> datetime | None:
    """Read an ISO time or Unix seconds; None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value, UTC)
        except (OverflowError, ValueError, OSError):
            return None
    if not isinstance(value, str) or not value:
        return None
    try:
        return read_moment(value, datetime.now(UTC))
    except BadTime:
        return None


def _read_markdown(path: Path, settings: DoctorSizes) -> ForeignMemories:
    """Read MEMORY.md, CLAUDE.md, AGENTS.md and the like: each list item or line of text is a memory."""
    root = path if path.is_dir() else path.parent
    items: list[AuditItem] = []
    dangling: list[Example] = []
    links = 0
    for file in _markdown_files(path, settings):
        name = str(file.relative_to(root))
        text = _read_text(file, settings)
        at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        for number, line in _markdown_items(text):
            place = f"{name}:{number}"
            items.append(AuditItem(place, line, at))
            for target in _LINK.findall(line):
                links += _is_local(target)
                if _is_local(target) and not (file.parent / unquote(target.partition("#")[0])).exists():
                    dangling.append(Example(place, line, f"it links to {target}, which does not exist"))
        if len(items) > settings.max_memories:
            raise InputError(f"{path} has more than {settings.max_memories:,} lines (doctor.max_memories)")
    return ForeignMemories("markdown", tuple(items), authored=True, links=links, dangling=tuple(dangling))


def _markdown_files(path: Path, settings: DoctorSizes) -> list[Path]:
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


def _markdown_items(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, text) of each list item or line; wrapped lines belong to the item before them."""
    lines = text.splitlines()
    start = 0
    if lines and lines[0].strip() == _FRONT_MATTER:
        start = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == _FRONT_MATTER), -1) + 1
    fenced, open_at, item = False, 0, ""
    for number, line in enumerate(lines[start:], start + 1):
        if _FENCE.match(line):
            fenced = not fenced
        new = _ITEM.match(line)
        ends = fenced or _FENCE.match(line) is not None or _NOT_TEXT.match(line) is not None
        if (new or ends) and item:
            yield open_at, item
            item = ""
        if ends:
            continue
        part = (line[new.end() :] if new else line).strip()
        item, open_at = (f"{item} {part}", open_at) if item else (part, number)
    if item:
        yield open_at, item


def _is_local(target: str) -> bool:
    return not re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|#|/|~", target)


def _looks_like_mcp(text: str) -> bool:
    first = text.lstrip().partition("\n")[0]
    return first.startswith("{") and ('"entityType"' in first or '"relationType"' in first)


def _read_mcp(path: Path, text: str, settings: DoctorSizes) -> ForeignMemories:
    """Read MCP's reference memory: a graph as JSON lines, entities with observations and relations between them."""
    entities: dict[str, list[str]] = {}
    relations: list[tuple[int, str, str, str]] = []
    for number, one in _parse_lines(path, text):
        if not isinstance(one, Mapping):
            raise InputError(f"{path}, line {number} is not an object")
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
    items = tuple(
        AuditItem(f"{name}[{place}]", text) for name, seen in entities.items() for place, text in enumerate(seen)
    )
    if len(items) > settings.max_memories:
        raise InputError(f"{path} has more than {settings.max_memories:,} observations (doctor.max_memories)")
    dangling = tuple(
        Example(f"line {number}", f"{start} {how} {end}", f"there is no entity {missing[0]!r}")
        for number, start, how, end in relations
        if (missing := [name for name in (start, end) if name not in entities])
    )
    return ForeignMemories("MCP memory", items, links=len(relations), dangling=dangling)


def _observation(value: object) -> str:
    """Return the text of an observation; some servers store an object with the text under "content"."""
    if isinstance(value, Mapping) and isinstance(value.get("content"), str):
        return str(value["content"])
    return str(value)


def _read_mem0_export(path: Path, text: str, settings: DoctorSizes) -> ForeignMemories:
    """Read what mem0's `get_all` and its exports give: a list, or an object with a list under "results"."""
    value = [one for _, one in _parse_lines(path, text)] if _is_json_lines(text) else _parse(path, text)
    listed = value
    if isinstance(value, Mapping):
        listed = next((value[name] for name in _LIST_KEYS if isinstance(value.get(name), list)), None)
    if not isinstance(listed, list):
        raise InputError(f"{path} contains no list of memories; a mem0 export is a list, or has one under 'results'")
    if len(listed) > settings.max_memories:
        raise InputError(f"{path} has more than {settings.max_memories:,} memories (doctor.max_memories)")
    return ForeignMemories("mem0 export", tuple(_mem0_item(path, number, one) for number, one in enumerate(listed, 1)))


def _mem0_item(path: Path, number: int, one: object) -> AuditItem:
    if isinstance(one, str):
        return AuditItem(f"#{number}", one)
    if not isinstance(one, Mapping):
        raise InputError(f"memory {number} of {path} is neither a text nor an object")
    text = next((one[name] for name in _TEXT_KEYS if isinstance(one.get(name), str)), None)
    if text is None:
        raise InputError(f"memory {number} of {path} has no text under any of {', '.join(_TEXT_KEYS)}")
    at = next((time for name in _TIME_KEYS if (time := _read_time(one.get(name))) is not None), None)
    return AuditItem(str(one.get("id") or f"#{number}"), text, at)


def _is_json_lines(text: str) -> bool:
    """Return True for one object per line; a single object is a document."""
    first, _, rest = text.lstrip().partition("\n")
    return first.startswith("{") and first.rstrip().endswith("}") and rest.lstrip().startswith("{")


def _read_mem0_history(path: Path, settings: DoctorSizes) -> ForeignMemories:
    """Read mem0's history.db, which has one row per event; the last event of a memory gives its text."""
    if is_store_file(path):
        raise InputError(f"{path} is a Holdfast store; pass it with --store")
    rows = read_foreign_table(path, "history", _HISTORY_COLUMNS, settings.max_memories)
    if not rows or not {"memory_id", "event"} <= rows[0].keys():
        raise InputError(f"{path} has no table 'history' with memories in it, as mem0's history.db has")
    live: dict[str, AuditItem] = {}
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
        times = (_read_time(row.get(name)) for name in (*_TIME_KEYS, "timestamp"))
        live[memory] = AuditItem(memory, str(text), next((one for one in times if one is not None), None))
    return ForeignMemories("mem0 history", tuple(live.values()), links=len(rows), dangling=tuple(dangling))
