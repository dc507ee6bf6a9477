"""`holdfast ingest`: keep conversations from files or stdin."""

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
from typing import IO, TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import EmbedderOption, JsonOption, NamespaceOption, StoreOption, open_memory
from holdfast.cli.run import bar, print_json
from holdfast.errors import BadMessage, InputError
from holdfast.log.messages import check_name, read_message
from holdfast.settings import LogSettings

if TYPE_CHECKING:
    from holdfast.memory import Memory

_BAD_SHOWN = 5


def ingest(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help='Files of messages; "-" reads stdin.', show_default=False)
    ],
    session: Annotated[
        str | None,
        typer.Option(
            "--session", "-s", metavar="NAME", help="Of messages that name none. Else: the file's name.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[str, typer.Option("--format", metavar="auto|jsonl|json|text", help="How to read them.")] = "auto",
    role: Annotated[str, typer.Option(help="Who speaks in a plain text.")] = "user",
    lines: Annotated[bool, typer.Option("--lines", help="Each line of a plain text is a turn.")] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave bad messages out, and say which.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until all of it is found by meaning.")] = True,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Keep conversations; run it again and only what is new is added.

    JSON lines ({"role", "content", "at"?, "key"?, "session"?}), a JSON array, or plain text.

    [dim]holdfast ingest chat.jsonl · git log | holdfast ingest - --session history[/dim]
    """
    from holdfast.results import IngestAnswer

    if format not in set(Format):
        raise typer.BadParameter(f"{format!r} is none of {', '.join(Format)}", param_hint="--format")
    start = time.perf_counter()
    way = Way(Format(format), session, role, lines, skip_bad)
    with ExitStack() as sources:
        transcripts = _read(files, way, sources)
        with open_memory(store, namespace, embedder) as memory:
            added, known = keep(memory, transcripts)
            degraded = wait_for_meaning(memory) if wait else None
    bad = [reason for transcript in transcripts for reason in transcript.bad]
    for reason in bad[:_BAD_SHOWN]:
        typer.echo(f"holdfast: left out {reason}", err=True)
    if len(bad) > _BAD_SHOWN:
        typer.echo(f"holdfast: left out {len(bad) - _BAD_SHOWN} more", err=True)
    answer = IngestAnswer(
        added=added,
        known=known,
        heartbeats=sum(transcript.heartbeats for transcript in transcripts),
        skipped=len(bad),
        sessions=len({name for transcript in transcripts for name in transcript.places}),
        seconds=round(time.perf_counter() - start, 3),
        degraded=degraded,
    )
    if as_json:
        print_json(answer)
    else:
        from holdfast.cli.render import show_ingest

        show_ingest(answer)


def _read(files: Sequence[str], way: Way, sources: ExitStack) -> list[Transcript]:
    """Check every source before anything is written."""
    from holdfast.settings import load_settings
    from holdfast.text.time import utc_now

    settings, now = load_settings().log, utc_now()
    transcripts = []
    for name in files:
        source = sources.enter_context(open_source(name))
        size = source.seek(0, 2)
        source.seek(0)
        with bar(f"checking {name}") as progress:
            transcripts.append(
                read_transcript(source, name, way, settings, now, lambda place: progress(place, size))  # noqa: B023
            )
    return transcripts


def keep(memory: Memory, transcripts: Sequence[Transcript]) -> tuple[int, int]:
    """Hand the messages over, session by session: how many turns are new, and how many were known."""
    before = memory.status().log_end
    new: set[int] = set()
    done, total = 0, sum(transcript.count for transcript in transcripts)
    with bar("keeping") as progress:
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


def wait_for_meaning(memory: Memory) -> str | None:
    """Wait for derived work; a model that is down costs meaning, not the turns, so it is told and not raised."""
    from holdfast.errors import ModelError

    try:
        with bar("embedding") as progress:
            memory.flush(progress=progress)
    except ModelError as error:
        return str(error)
    return None


# --- Conversations in files: JSON lines, a JSON array or plain text, from a path or from stdin.
#
# A file is read twice. The first reading checks every message and notes where it stands; the second hands the messages
# over, session by session. So a mistake on the last line stops everything before the first turn is written, and of a
# large file no more than one session is in memory at a time.


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
