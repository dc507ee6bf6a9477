"""Memories of other systems, read for an audit: mem0, folders of MEMORY.md and CLAUDE.md, MCP's reference memory."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import InputError
from holdfast.settings import DoctorSettings
from holdfast.upkeep.foreign.found import Foreign
from holdfast.upkeep.foreign.markdown import read_markdown
from holdfast.upkeep.foreign.mcp_memory import looks_like_mcp, read_mcp
from holdfast.upkeep.foreign.mem0_export import read_export
from holdfast.upkeep.foreign.mem0_history import read_history
from holdfast.upkeep.foreign.texts import read_text

__all__ = ["Foreign", "read_foreign"]

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
