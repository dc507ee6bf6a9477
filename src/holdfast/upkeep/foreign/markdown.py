"""Folders of MEMORY.md, CLAUDE.md, AGENTS.md and the like: each list item or line of text is a memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

from holdfast.errors import InputError
from holdfast.settings import DoctorSettings
from holdfast.upkeep.foreign.found import Foreign
from holdfast.upkeep.foreign.texts import read_text
from holdfast.upkeep.memo import Example, Memo

__all__ = ["read_markdown"]

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
