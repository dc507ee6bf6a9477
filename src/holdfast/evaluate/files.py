"""Files that a person gives a benchmark: text or JSON, packed or not."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path

from holdfast.errors import InputError

__all__ = ["read_json", "read_text"]


def read_text(path: Path) -> str:
    """The whole file, unpacked if its name ends in .gz."""
    try:
        packed = path.read_bytes()
        return (gzip.decompress(packed) if path.suffix == ".gz" else packed).decode()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}") from error


def read_json(path: Path) -> object:
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON: {error}") from error
