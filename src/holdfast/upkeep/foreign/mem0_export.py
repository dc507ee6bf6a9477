"""mem0's memories as `get_all` and its exports give them: a list, or a list under "results" (or "memories")."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import InputError
from holdfast.settings import DoctorSettings
from holdfast.upkeep.foreign.found import Foreign
from holdfast.upkeep.foreign.texts import parse, parse_lines, when
from holdfast.upkeep.memo import Memo

__all__ = ["read_export"]

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
