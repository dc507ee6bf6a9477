"""Files that anybody may have written: read within limits, and every way they can be wrong said in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from holdfast.errors import BadTime, InputError
from holdfast.moments import read_moment
from holdfast.settings import DoctorSettings

__all__ = ["parse", "parse_lines", "read_text", "when"]


def read_text(path: Path, settings: DoctorSettings) -> str:
    most = settings.max_file_mb * 1_000_000
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if len(data) > most:
        raise InputError(f"{path} is larger than {settings.max_file_mb} MB (doctor.max_file_mb)")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no text in UTF-8: byte {error.start} cannot be read") from error


def parse(path: Path, text: str, line: int | None = None) -> object:
    """The JSON of a file, or of a line of it."""
    where = f"{path}" if line is None else f"{path}, line {line}"
    try:
        read: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{where} is no JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise InputError(f"{where} is nested too deeply to be read") from error
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"{where} holds a number that cannot be read: {error}") from error
    return read


def parse_lines(path: Path, text: str) -> Iterator[tuple[int, object]]:
    """The JSON of each line that is not blank, with its number. Not `splitlines`: a text may hold U+2028."""
    return ((number, parse(path, line, number)) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def when(given: object) -> datetime | None:
    """A time as these systems write it: ISO, or seconds of Unix; None if it is none."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        try:
            return datetime.fromtimestamp(given, UTC)
        except (OverflowError, ValueError, OSError):
            return None
    if not isinstance(given, str) or not given:
        return None
    try:
        return read_moment(given, datetime.now(UTC))
    except BadTime:
        return None
