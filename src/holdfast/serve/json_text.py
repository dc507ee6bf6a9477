"""JSON as every surface reads and writes it: strict on the way in, one line on the way out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import NoReturn

from holdfast.wire import one_level

__all__ = ["NotJson", "encode", "read_json"]


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
