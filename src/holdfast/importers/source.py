"""What importers read and give: JSON of any size as a stream of objects, chats as messages, memories as notes."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

from holdfast.errors import InputError

Message = dict[str, object]
"""As `ingest_many` takes them."""
Object = Mapping[str, object]

_CHUNK = 1 << 20
_MOST_CHARS = 256 * 1024 * 1024
"""An object that is longer is no conversation: the largest that was seen has 20 MB."""
_SPACE = " \t\r\n,\ufeff"


@dataclass(frozen=True)
class ImportedChat:
    """One conversation. Its messages are read once, as they are stored."""

    session: str
    messages: Iterable[Message]


@dataclass(frozen=True)
class ImportedNote:
    """One memory that another product extracted, or one line of a file of notes."""

    key: str
    text: str
    at: str | None = None


@dataclass(frozen=True)
class ChatImport:
    """What an import of chats and other products' memories stored."""

    source: str
    namespace: str
    formats: tuple[str, ...]
    chats: int = 0
    turns: int = 0
    """New turns; a message with attachments or tool results is several."""
    notes: int = 0
    """New memories of other products."""
    known: int = 0
    """Turns and memories that were here before."""
    skipped: int = 0
    reasons: tuple[str, ...] = ()
    """Of the first things that were skipped."""
    seconds: float = 0.0
    knows: tuple[str, ...] = ()
    """What is known about the user now."""
    degraded: str | None = None
    """Reason why the new turns cannot be embedded; they are stored and found by words."""


Item = ImportedChat | ImportedNote
Reader = Callable[[Iterator[Object], str], Iterator[Item]]
"""Reads the objects of a file, whose name it is given."""


def read_objects(file: IO[bytes]) -> Iterator[Object]:
    """Yield the objects of a JSON array, of a single document or of JSON lines, holding one at a time.

    A truncated or damaged file raises InputError where it breaks; what came before has been yielded.
    """
    text = codecs.getincrementaldecoder("utf-8")("replace")
    decoder = json.JSONDecoder()
    buffer, start, wanted, ended = "", 0, _CHUNK, False
    count = 0
    while True:
        while start < len(buffer) and buffer[start] in _SPACE:
            start += 1
        if start < len(buffer):
            if buffer[start] in "[]":  # the array around the objects
                start += 1
                continue
            try:
                value, start = decoder.raw_decode(buffer, start)
                if isinstance(value, dict):
                    count += 1
                    yield value
                continue
            except RecursionError as error:
                raise InputError("it is nested too deeply to be read") from error
            except ValueError as error:
                if ended or len(buffer) - start > _MOST_CHARS:
                    raise InputError(
                        f"it is damaged or was cut off; {count:,} of its objects came in before that. Download or copy "
                        "it again, and import it again: only what is new is stored"
                    ) from error
        elif ended:
            return
        # Twice as much each time, so that a long object is not parsed from its beginning for every chunk.
        wanted = max(_CHUNK, len(buffer) - start)
        data = file.read(wanted)
        ended = not data
        buffer, start = buffer[start:] + text.decode(data, ended), 0


def iso(value: object) -> str | None:
    """Return a time as ISO text: Unix seconds, milliseconds or ISO; None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        try:
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC).isoformat()
        except (OverflowError, ValueError, OSError):
            return None
    return value if isinstance(value, str) and value[:4].isdigit() else None


def with_times(messages: Iterable[Message], start: str | None) -> Iterator[Message]:
    """Give a message without a time that of the one before it, or of the conversation: the order is certain."""
    last = start
    for message in messages:
        at = iso(message.pop("at", None)) or last
        if at is not None:
            message["at"] = last = at
        yield message


def objects_in(value: object) -> list[Object]:
    """Return the objects of a list; none for anything else."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def text_in(value: object) -> str:
    return value if isinstance(value, str) else ""
