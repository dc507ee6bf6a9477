"""The nouns as plain JSON values, the same on every surface."""

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


# --- Files of JSON lines that a person wrote: every line with its place, and all that is wrong told at once.


_SHOWN = 5  # faults that are told of one by one


def lines_of_file(path: str | os.PathLike[str]) -> list[tuple[str, object]]:
    """What each line holds, with how an error calls the line ("labels.jsonl:3"); None where it is no JSON."""
    return lines_of_text(Path(path).name, text_of_file(path))


def lines_of_text(name: str, text: str) -> list[tuple[str, object]]:
    """Blank lines are passed over. Not `splitlines`: a text inside JSON may hold U+2028 and others it breaks at."""
    return [(f"{name}:{number}", _read(line)) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def text_of_file(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{Path(path).name} is no UTF-8 text ({error})") from error


def complain(faults: Sequence[str]) -> None:
    """Say what is wrong, if anything is; nothing was stored."""
    if faults:
        more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise InputError("; ".join(faults[:_SHOWN]) + more)


def _read(line: str) -> object:
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found


# --- JSON as every surface reads and writes it: strict on the way in, one line on the way out.


_DEEPEST = 128
"""Twice what metadata may have: what is nested deeper could be read, but writing it again takes too much stack."""
_TOO_DEEP = "this JSON is nested too deep to be read"


class NotJson(ValueError):
    """Bytes that are no JSON; the message says why."""


def read_json(raw: bytes) -> object:
    """What the bytes say; raises NotJson."""
    try:
        said = json.loads(raw.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise NotJson(f"this is no UTF-8: byte {error.start} cannot be read") from error
    except RecursionError as error:
        raise NotJson(_TOO_DEEP) from error
    except ValueError as error:
        raise NotJson(f"this is no JSON: {error}") from error
    if raw.count(b"[") + raw.count(b"{") > _DEEPEST and _is_deep(said):
        raise NotJson(_TOO_DEEP)
    return said


def _is_deep(said: object) -> bool:
    """Whether it is nested deeper than allowed; level by level, so that depth costs no stack."""
    level = [said]
    for _ in range(_DEEPEST):
        level = [inner for one in level for inner in _inside(one)]
    return bool(level)


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _finite(number: str) -> float:
    """A number that Python reads as infinity would go back as a word that no JSON has."""
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number[:40]} is larger than any number here")
    return value


_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=one_level)
_ASCII_WRITER = json.JSONEncoder(separators=(",", ":"), default=one_level)


def encode(answer: object) -> bytes:
    """One line, of JSON values or of nouns as `wire.plain` has them."""
    try:
        return _WRITER.encode(answer).encode() + b"\n"
    except UnicodeEncodeError:  # an error that quotes a lone surrogate
        return _ASCII_WRITER.encode(answer).encode() + b"\n"
