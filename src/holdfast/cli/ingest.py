"""`holdfast ingest`: store conversations from files or stdin.

A file is read twice. The first pass checks every message and notes its position; the second stores the messages,
session by session. So an error on the last line stops everything before the first message is stored, and at most one
session of a large file is in memory at a time.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.command import MemoryTarget, argument, command, option, progress_bar
from holdfast.errors import BadMessage, InputError
from holdfast.log.messages import check_name, read_message
from holdfast.settings import LogSettings

if TYPE_CHECKING:
    from holdfast.memory import Memory

_BAD_SHOWN = 5


@command("render.show_ingest")
def ingest(
    target: MemoryTarget,
    files: Annotated[list[str], argument('Files of messages; "-" reads stdin.', "FILE…")],
    session: Annotated[
        str | None,
        option(
            "Session for messages that don't specify one (default: the file name).", "--session", "-s", metavar="NAME"
        ),
    ] = None,
    format: Annotated[str, option("Format of the files.", "--format", metavar="auto|jsonl|json|text")] = "auto",
    role: Annotated[
        str, option("Role of plain text messages: user, assistant, system or tool.", metavar="ROLE")
    ] = "user",
    lines: Annotated[bool, option("Store each line of a plain text as a message.", "--lines")] = False,
    skip_bad: Annotated[bool, option("Skip invalid messages and report them.", "--skip-bad")] = False,
    wait: Annotated[bool, option("Wait until the new messages are embedded.", "--wait/--no-wait")] = True,
) -> object:
    """Store conversations. Run it again and only new messages are added.

    JSON lines ({"role", "content", "at"?, "key"?, "session"?}), a JSON array, or plain text.

    [dim]holdfast ingest chat.jsonl · git log | holdfast ingest - --session history[/dim]
    """
    from holdfast.results import IngestAnswer

    if format not in set(Format):
        raise typer.BadParameter(f"{format!r} is none of {', '.join(Format)}", param_hint="--format")
    if len(files) == 1 and format == Format.AUTO and _is_foreign(files[0]):
        from holdfast.cli.transfer_verbs import import_

        made: Any = import_.function(target, files[0], None, wait)
        return IngestAnswer(
            made.turns + made.notes, made.known, 0, made.skipped, made.chats, made.seconds, made.degraded
        )
    start = time.perf_counter()
    options = ReadOptions(Format(format), session, role, lines, skip_bad)
    with ExitStack() as sources:
        transcripts = _read(files, options, sources)
        with target.open() as memory:
            added, known = store_messages(memory, transcripts)
            degraded = wait_until_embedded(memory) if wait else None
    bad = [reason for transcript in transcripts for reason in transcript.bad]
    for reason in bad[:_BAD_SHOWN]:
        typer.echo(f"holdfast: skipped {reason}", err=True)
    if len(bad) > _BAD_SHOWN:
        typer.echo(f"holdfast: skipped {len(bad) - _BAD_SHOWN} more", err=True)
    return IngestAnswer(
        added=added,
        known=known,
        heartbeats=sum(transcript.heartbeats for transcript in transcripts),
        skipped=len(bad),
        sessions=len({name for transcript in transcripts for name in transcript.places}),
        seconds=round(time.perf_counter() - start, 3),
        degraded=degraded,
    )


def _is_foreign(name: str) -> bool:
    """Return whether a file is an export of another program; documents with `messages` are read here."""
    from holdfast.importers.run import HOLDFAST, detect

    form = detect(Path(name)) if name != _STDIN and Path(name).is_file() else None
    return form not in (None, HOLDFAST, "notes", "chat", "memories") and (form != "openai" or name.endswith(".jsonl"))


def _read(files: Sequence[str], options: ReadOptions, sources: ExitStack) -> list[Transcript]:
    """Check every source before anything is written."""
    from holdfast.model import utc_now
    from holdfast.settings import load_settings

    settings, now = load_settings().log, utc_now()
    transcripts = []
    for name in files:
        source = sources.enter_context(open_source(name))
        size = source.seek(0, 2)
        source.seek(0)
        with progress_bar(f"checking {name}") as progress:
            transcripts.append(
                read_transcript(source, name, options, settings, now, lambda place: progress(place, size))  # noqa: B023
            )
    return transcripts


def store_messages(memory: Memory, transcripts: Sequence[Transcript]) -> tuple[int, int]:
    """Store the messages, session by session; return the number of new turns and of known ones."""
    before = memory.status().log_end
    new: set[int] = set()
    done, total = 0, sum(transcript.count for transcript in transcripts)
    with progress_bar("storing") as progress:
        for transcript in transcripts:
            for session in transcript.places:
                turns = memory.ingest_many(
                    transcript.messages(session),
                    session=session,
                    progress=lambda part, _: progress(done + part, total),  # noqa: B023
                )
                new.update(turn.seq for turn in turns if turn.seq > before)
                done += len(turns)
    return len(new), done - len(new)


def wait_until_embedded(memory: Memory) -> str | None:
    """Wait for background work. If a model is unavailable, return the reason: the turns are stored all the same."""
    from holdfast.errors import ModelError

    try:
        with progress_bar("embedding") as progress:
            memory.flush(progress=progress)
    except ModelError as error:
        return str(error)
    return None


# --- transcripts

Message = Mapping[str, object]

_STDIN = "-"
_FORMAT_OF_SUFFIX = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".txt": "text", ".md": "text"}
_SNIFFED = 64 * 1024  # bytes to look at when the file name does not tell the format


class Format(StrEnum):
    AUTO = "auto"
    JSONL = "jsonl"
    JSON = "json"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options for reading sources."""

    format: Format = Format.AUTO
    session: str | None = None
    """For messages that name none (default: the file name, or "default" for stdin)."""
    role: str = "user"
    lines: bool = False
    """Every line of a plain text is a message."""
    skip_bad: bool = False


@dataclass(slots=True)
class Transcript:
    """A checked source: the positions of each session's messages, and its errors."""

    name: str
    places: dict[str, array[int]] = field(default_factory=dict)
    heartbeats: int = 0
    bad: list[str] = field(default_factory=list)
    """FILE:LINE: reason, for each skipped message (only with `skip_bad`)."""
    _fetch: Callable[[int], Message] = field(default=lambda place: {})

    @property
    def count(self) -> int:
        return sum(map(len, self.places.values()))

    def messages(self, session: str) -> Iterator[Message]:
        return (self._fetch(place) for place in self.places[session])


@contextmanager
def open_source(name: str) -> Iterator[IO[bytes]]:
    """Open a file, or stdin through a temporary file because it is read twice."""
    if name != _STDIN:
        if Path(name).is_dir():
            raise InputError(f"{name} is a folder; name the files in it, for example {name}/*.jsonl")
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
    source: IO[bytes],
    name: str,
    options: ReadOptions,
    settings: LogSettings,
    now: datetime,
    progress: Callable[[int], None],
) -> Transcript:
    """Check every message of a source; raise at the first invalid one, unless they are skipped."""
    shown = "stdin" if name == _STDIN else name
    session = options.session or ("default" if name == _STDIN else Path(name).stem)
    transcript = Transcript(shown)
    form = options.format if options.format is not Format.AUTO else _guess(source, name)
    if form is Format.JSONL:
        places = _numbered_lines(source)
        transcript._fetch = lambda place: _line_at(source, place)
    else:
        messages = _json_messages(source, shown) if form is Format.JSON else _text_messages(source, shown, options)
        places = iter(_numbered(messages))
        transcript._fetch = messages.__getitem__
    for number, place, message in places:
        try:
            if isinstance(message, Exception):
                raise message
            _note(transcript, place, number, message, session, settings, now)
        except InputError as error:
            reason = f"{shown}:{number}: {str(error).removeprefix(f'message {number}: ')}"
            if not options.skip_bad:
                raise type(error)(reason) from error
            transcript.bad.append(reason)
        if form is Format.JSONL:
            progress(place)
    return transcript


def _note(
    transcript: Transcript, place: int, number: int, message: object, session: str, settings: LogSettings, now: datetime
) -> None:
    if not read_message(message, number=number, now=now, settings=settings):
        transcript.heartbeats += 1
        return
    assert isinstance(message, Mapping)
    own = message.get("session")
    named = check_name("session", session if own is None else own, settings)
    transcript.places.setdefault(named, array("q")).append(place)


def _guess(source: IO[bytes], name: str) -> Format:
    """Guess from the file name, or else from the first bytes."""
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
    """Yield (line number, offset, message or error) for every line that is not blank."""
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
    """Read an array of messages, or an object that holds one under "messages"."""
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


def _text_messages(source: IO[bytes], name: str, options: ReadOptions) -> Sequence[Message]:
    try:
        text = source.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadMessage(f"{name}: not UTF-8 at byte {error.start}; convert the file to UTF-8") from error
    texts = text.splitlines() if options.lines else [text.strip("\r\n")]
    return [{"role": options.role, "content": one} for one in texts if one.strip()]
