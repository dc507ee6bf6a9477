"""The nouns as plain JSON values, the same on every surface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum

__all__ = ["one_level", "plain"]

_ATOMS = frozenset((str, int, float, bool, type(None)))
_names: dict[type[object], tuple[str, ...]] = {}


def plain(value: object) -> object:
    """Dataclasses as objects, times as ISO in UTC, enums as their values, tuples as lists."""
    kind: type[object] = type(value)
    if kind in _ATOMS:  # nearly everything is; asking for what is rare first takes twice as long
        return value
    if names := _names.get(kind) or _fields(kind):
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    return {} if is_dataclass(value) else value


def one_level(value: object) -> object:
    """The same for json's `default`: one level of what json does not know; what lies inside it asks for itself.

    Half as long as making all of an answer plain first.
    """
    kind: type[object] = type(value)
    if names := _names.get(kind) or _fields(kind):
        return {name: getattr(value, name) for name in names}
    made = plain(value)
    if made is value:
        raise TypeError(f"JSON has nothing for a {kind.__name__}")
    return made


def _fields(kind: type[object]) -> tuple[str, ...]:
    """Of a dataclass; of anything else none."""
    if not is_dataclass(kind):
        return ()
    _names[kind] = tuple(field.name for field in fields(kind))
    return _names[kind]
