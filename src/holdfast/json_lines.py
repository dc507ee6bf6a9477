"""Files of JSON lines that a person wrote: every line with its place, and all that is wrong told at once."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from holdfast.errors import InputError

__all__ = ["complain", "lines_of_file", "lines_of_text", "text_of_file"]

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
