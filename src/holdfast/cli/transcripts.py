"""Conversations in files: JSON lines, a JSON array or plain text, from a path or from stdin.

A file is read twice. The first reading checks every message and notes where it stands; the second hands the messages
over, session by session. So a mistake on the last line stops everything before the first turn is written, and of a
large file no more than one session is in memory at a time.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import IO

from holdfast.errors import BadMessage, InputError
from holdfast.log.messages import read_message
from holdfast.log.names import check_name
from holdfast.settings import LogSettings

__all__ = ["Format", "Transcript", "Way", "open_source", "read_transcript"]

Message = Mapping[str, object]

_STDIN = "-"
_FORMAT_OF_SUFFIX = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".txt": "text", ".md": "text"}
_SNIFFED = 64 * 1024  # the first bytes of a source without a telling name


class Format(StrEnum):
    AUTO = "auto"
    JSONL = "jsonl"
    JSON = "json"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Way:
    """How the operator wants sources to be read."""

    format: Format = Format.AUTO
    session: str | None = None
    """For messages that name none; without it the file's name, or "default" for stdin."""
    role: str = "user"
    """Who speaks in a plain text."""
    lines: bool = False
    """Every line of a plain text is a turn of its own."""
    skip_bad: bool = False


@dataclass(slots=True)
class Transcript:
    """A source that has been checked: where the messages of each session stand in it, and what is wrong with it."""

    name: str
    places: dict[str, array[int]] = field(default_factory=dict)
    heartbeats: int = 0
    bad: list[str] = field(default_factory=list)
    """FILE:LINE: reason, for each message that was left out (only when that was asked for)."""
    _fetch: Callable[[int], Message] = field(default=lambda place: {})

    @property
    def count(self) -> int:
        return sum(map(len, self.places.values()))

    def messages(self, session: str) -> Iterator[Message]:
        return (self._fetch(place) for place in self.places[session])


@contextmanager
def open_source(name: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, or of stdin by way of a temporary file, because they are read twice."""
    if name != _STDIN:
        if Path(name).is_dir():
            raise InputError(f"{name} is a folder; give the files in it, for example {name}/*.jsonl")
        with _open(name) as source:
            yield source
        return
    with tempfile.TemporaryFile() as spool:
        shutil.copyfileobj(sys.stdin.buffer, spool)
        spool.seek(0)
        yield spool


def _open(name: str) -> IO[bytes]:
    try:
        return open(name, "rb")
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from error


def read_transcript(
    source: IO[bytes], name: str, way: Way, settings: LogSettings, now: datetime, progress: Callable[[int], None]
) -> Transcript:
    """Check every message of a source. Raises at the first bad one, unless they are to be skipped."""
    shown = "stdin" if name == _STDIN else name
    session = way.session or ("default" if name == _STDIN else Path(name).stem)
    transcript = Transcript(shown)
    form = way.format if way.format is not Format.AUTO else _guess(source, name)
    if form is Format.JSONL:
        places = _numbered_lines(source)
        transcript._fetch = lambda place: _line_at(source, place)
    else:
        messages = _json_messages(source, shown) if form is Format.JSON else _text_messages(source, shown, way)
        places = iter(_numbered(messages))
        transcript._fetch = messages.__getitem__
    for number, place, message in places:
        try:
            if isinstance(message, Exception):
                raise message
            _note(transcript, place, number, message, session, settings, now)
        except InputError as error:
            reason = f"{shown}:{number}: {str(error).removeprefix(f'message {number}: ')}"
            if not way.skip_bad:
                raise type(error)(reason) from error
            transcript.bad.append(reason)
        if form is Format.JSONL:
            progress(place)
    return transcript


def _note(
    transcript: Transcript,
    place: int,
    number: int,
    message: object,
    session: str,
    settings: LogSettings,
    now: datetime,
) -> None:
    if read_message(message, number=number, now=now, settings=settings) is None:
        transcript.heartbeats += 1
        return
    assert isinstance(message, Mapping)
    own = message.get("session")
    named = check_name("session", session if own is None else own, settings)
    transcript.places.setdefault(named, array("q")).append(place)


def _guess(source: IO[bytes], name: str) -> Format:
    """By the file's name, else by how it begins."""
    if suffix := _FORMAT_OF_SUFFIX.get(Path(name).suffix.lower()):
        return Format(suffix)
    start = source.read(_SNIFFED).removeprefix(b"\xef\xbb\xbf").lstrip()
    source.seek(0)
    if start.startswith(b"["):
        return Format.JSON
    if not start.startswith(b"{"):
        return Format.TEXT
    try:
        json.loads(start.partition(b"\n")[0])
    except ValueError:
        return Format.JSON if b"\n" in start else Format.JSONL
    return Format.JSONL


# --- JSON lines


def _numbered_lines(source: IO[bytes]) -> Iterator[tuple[int, int, object]]:
    """(line number, offset, message or what is wrong with it) of every line that is not blank."""
    offset = 0
    for number, line in enumerate(source, 1):
        if line.strip(b" \t\r\n\xef\xbb\xbf"):
            yield number, offset, _parse(line)
        offset += len(line)


def _parse(line: bytes) -> object:
    try:
        return json.loads(line.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n").decode())
    except UnicodeDecodeError as error:
        return BadMessage(f"not UTF-8 at byte {error.start} of the line")
    except json.JSONDecodeError as error:
        return BadMessage(f"not JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError) as error:
        return BadMessage(f"JSON that cannot be read: {error}")


def _line_at(source: IO[bytes], place: int) -> Message:
    source.seek(place)
    message = _parse(source.readline())
    if not isinstance(message, Mapping):
        raise InputError("the file changed while it was being read; run it again")
    return message


# --- whole documents


def _numbered(messages: Sequence[Message]) -> Iterator[tuple[int, int, object]]:
    for place, message in enumerate(messages):
        yield place + 1, place, message


def _json_messages(source: IO[bytes], name: str) -> Sequence[Message]:
    """An array of messages, or an object that holds one under "messages"."""
    document = _parse(source.read())
    if isinstance(document, Exception):
        raise BadMessage(f"{name}: {document}")
    if isinstance(document, Mapping):
        session = document.get("session")
        document = document.get("messages")
        if isinstance(document, list) and isinstance(session, str):
            document = [{"session": session, **one} if isinstance(one, Mapping) else one for one in document]
    if not isinstance(document, list):
        raise BadMessage(f'{name}: expected a JSON array of messages, or an object with "messages"')
    return document


def _text_messages(source: IO[bytes], name: str, way: Way) -> Sequence[Message]:
    try:
        text = source.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadMessage(f"{name}: not UTF-8 at byte {error.start}") from error
    texts = text.splitlines() if way.lines else [text.strip("\r\n")]
    return [{"role": way.role, "content": one} for one in texts if one.strip()]
