"""JSON on every surface: results as plain values, strict parsing, one-line output, and files of JSON lines."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import NoReturn

from holdfast.errors import InputError

_MAX_FAULTS = 5  # faults of a file that are listed
_MAX_DEPTH = 128
"""Twice the limit for metadata; what is nested deeper can be parsed, but writing it again needs too much stack."""
_TOO_DEEP = "this JSON is nested too deeply"
_ATOMS = frozenset((str, int, float, bool, type(None)))
_names: dict[type[object], tuple[str, ...]] = {}


class NotJson(ValueError):
    """The bytes are not JSON; the message says why."""


def plain(value: object) -> object:
    """Convert dataclasses to objects, times to ISO in UTC, enums to their values and tuples to lists."""
    kind: type[object] = type(value)
    if kind in _ATOMS:  # nearly everything is; testing the rare types first takes twice as long
        return value
    if names := _names.get(kind) or _field_names(kind):
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


def encode(answer: object) -> bytes:
    """Write one line of JSON, from JSON values or results."""
    try:
        return _WRITER.encode(answer).encode() + b"\n"
    except UnicodeEncodeError:  # an error message that quotes a lone surrogate
        return _ASCII_WRITER.encode(answer).encode() + b"\n"


def read_json(raw: bytes) -> object:
    """Parse JSON strictly; raises NotJson."""
    try:
        value = json.loads(raw.decode("utf-8"), parse_constant=_reject_constant, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise NotJson(f"this is not UTF-8: byte {error.start} cannot be read") from error
    except RecursionError as error:
        raise NotJson(_TOO_DEEP) from error
    except ValueError as error:
        raise NotJson(f"this is not JSON: {error}") from error
    if raw.count(b"[") + raw.count(b"{") > _MAX_DEPTH and _is_too_deep(value):
        raise NotJson(_TOO_DEEP)
    return value


def read_json_lines(path: str | os.PathLike[str]) -> list[tuple[str, object]]:
    """Return (location, value) of each line, such as ("labels.jsonl:3", {…}); the value is None if it is not JSON."""
    return parse_json_lines(Path(path).name, read_text_file(path))


def parse_json_lines(name: str, text: str) -> list[tuple[str, object]]:
    """Parse the lines that are not blank. Not `splitlines`: strings may contain U+2028 and the like."""
    return [(f"{name}:{number}", _parse_line(line)) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def read_text_file(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{Path(path).name} is not UTF-8 text ({error})") from error


def raise_faults(faults: Sequence[str]) -> None:
    """Raise InputError with the first faults, if there are any."""
    if faults:
        more = f"; and {len(faults) - _MAX_FAULTS} more" if len(faults) > _MAX_FAULTS else ""
        raise InputError("; ".join(faults[:_MAX_FAULTS]) + more)


def _field_names(kind: type[object]) -> tuple[str, ...]:
    """Return the fields of a dataclass, none for other types."""
    if not is_dataclass(kind):
        return ()
    _names[kind] = tuple(field.name for field in fields(kind))
    return _names[kind]


def _one_level(value: object) -> object:
    """Convert one level for json's `default`, which takes half as long as converting the whole answer first."""
    kind: type[object] = type(value)
    if names := _names.get(kind) or _field_names(kind):
        return {name: getattr(value, name) for name in names}
    made = plain(value)
    if made is value:
        raise TypeError(f"{kind.__name__} cannot be written as JSON")
    return made


_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_one_level)
_ASCII_WRITER = json.JSONEncoder(separators=(",", ":"), default=_one_level)


def _parse_line(line: str) -> object:
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found


def _is_too_deep(value: object) -> bool:
    """Check the depth level by level, so that it needs no stack."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [inner for one in level for inner in _children(one)]
    return bool(level)


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(number: str) -> float:
    """Refuse a number that Python reads as infinity, which JSON cannot represent."""
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number[:40]} is too large")
    return value
