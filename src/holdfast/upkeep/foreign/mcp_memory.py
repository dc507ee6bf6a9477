"""MCP's reference memory: a graph as JSON lines, entities with observations, and relations between them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import InputError
from holdfast.settings import DoctorSettings
from holdfast.upkeep.foreign.found import Foreign
from holdfast.upkeep.foreign.texts import parse_lines
from holdfast.upkeep.memo import Example, Memo

__all__ = ["looks_like_mcp", "read_mcp"]


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
