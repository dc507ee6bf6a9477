"""The export format: a header, one JSON line per log line, and a trailer that proves the file is complete.

    {"format":"holdfast-export","version":1,"namespace":"ana","lines":{"turn":2},"made_at":…,"holdfast":"0.1.0"}
    {"seq":1,"entry":"turn","id":"t-…",…}
    {"seq":2,"entry":"turn","id":"t-…",…}
    {"end":2,"sha256":"…"}

The hash covers the lines between header and trailer, so two exports of the same log differ only in `made_at`. The
reader validates every value as if a caller had passed it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import BinaryIO, NoReturn

from holdfast.errors import InputError
from holdfast.log.acts import ActLine, Line, TurnLine, read_compaction, read_tombstone
from holdfast.log.messages import check_name, check_text, read_metadata, read_turn
from holdfast.model import Action, Entry, Kind, Metadata, Provenance
from holdfast.settings import LogSettings, Settings
from holdfast.text.jsonio import plain
from holdfast.text.time import read_moment
from holdfast.version import __version__

WIDEST_GAP = 1_000_000
"""Places that may be missing in an imported log, all together. Erased turns leave some; but every place costs a search
some bytes, so a file that claims places in the billions is refused."""

FORMAT = "holdfast-export"
_VERSION = 1
_CHUNK = 1 << 20
_ESCAPED = 6  # bytes that JSON needs for one control character
_OVERHEAD = 1 << 24  # bytes of a line in addition to its text: names, times, metadata
_GZIP = b"\x1f\x8b"
_MAX_INTEGER = 2**53  # the largest integer that every JSON reader represents exactly
_MAX_REASON = 200  # characters of a validator's message
_ENTRIES = frozenset(Entry)
_TURN_FIELDS = (
    "seq", "entry", "id", "session", "index", "role", "origin", "text", "at", "at_given", "recorded_at", "stability",
    "key", "metadata",
)  # fmt: skip
_ACT_FIELDS = ("seq", "entry", "id", "at", "recorded_at", "payload")


@dataclass(frozen=True)
class ExportHeader:
    namespace: str
    lines: Mapping[str, int]
    """Number of lines per entry kind."""


class ExportWriter:
    """Writes one export."""

    def __init__(self, target: BinaryIO, namespace: str, counts: Mapping[str, int], made_at: datetime) -> None:
        self._target = target
        self._digest = hashlib.sha256()
        self.lines = self.size = 0
        head = {"format": FORMAT, "version": _VERSION, "namespace": namespace, "lines": dict(counts)}
        self._write(head | {"made_at": plain(made_at), "holdfast": __version__})

    def write_line(self, line: Line) -> None:
        self._digest.update(self._write(_line_to_json(line)))
        self.lines += 1

    def finish(self) -> str:
        """Write the trailer and return the hash."""
        digest = self._digest.hexdigest()
        self._write({"end": self.lines, "sha256": digest})
        return digest

    def _write(self, value: object) -> bytes:
        raw = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        self._target.write(raw)
        self.size += len(raw)
        return raw


class ExportReader:
    """One pass over an export: the header, then the lines; raises InputError if the file is incomplete or changed."""

    def __init__(self, source: BinaryIO, settings: Settings, copy: BinaryIO | None = None) -> None:
        self._source = source
        self._settings = settings
        self._copy = copy
        """Receives every byte that is read, for a second pass over a stream that cannot be rewound."""
        self._max_bytes = _ESCAPED * settings.log.max_text_bytes + _OVERHEAD
        self.number = 0
        """Number of the current line, from 1."""

    def header(self) -> ExportHeader:
        raw = self._next()
        if raw.startswith(_GZIP):
            raise InputError("the file is compressed; unpack it first: gunzip -c FILE | holdfast import -")
        if not raw.startswith(b"{"):
            raise InputError("this is not a Holdfast export: the first line is not a header")
        head = _read_object(raw)
        if head.get("format") != FORMAT:
            raise InputError("this is not a Holdfast export: wrong header. Use `holdfast ingest` for transcripts")
        version = head.get("version")
        if version != _VERSION:
            raise InputError(f"the export has version {version!r}, this Holdfast reads {_VERSION}. Upgrade Holdfast")
        lines = head.get("lines")
        if not isinstance(lines, dict):
            raise InputError("the header does not say how many lines follow")
        counts = {name: _integer(f"the number of {name} lines", count, 0) for name, count in lines.items()}
        return ExportHeader(check_name("namespace", head.get("namespace"), self._settings.log), counts)

    def lines(self, header: ExportHeader) -> Iterator[Line]:
        digest, counts, place = hashlib.sha256(), Counter[str](), 0
        while True:
            raw = self._next()
            if not raw:
                raise InputError("the file is cut off: its last line is missing. Nothing was imported; export it again")
            value = _read_object(raw)
            if "end" in value:
                break
            line = _line_from_json(value, self._settings.log)
            if line.seq <= place:
                raise InputError(f"seq {line.seq} follows {place}, but must be larger")
            place = line.seq
            counts[Entry.TURN if isinstance(line, TurnLine) else line.action.entry] += 1
            if place - counts.total() > WIDEST_GAP:
                raise InputError(f"seq {place} is too large: more than {WIDEST_GAP:,} lines are missing before it")
            digest.update(raw)
            yield line
        trailer = {"end": counts.total(), "sha256": digest.hexdigest()}
        if value != trailer or dict(counts) != {name: count for name, count in header.lines.items() if count}:
            raise InputError("the lines are not the exported ones: the file was changed or parts of it are missing")
        if self._next():
            raise InputError("there is more data after the trailer")

    def _next(self) -> bytes:
        """Read the next line with its line end, in chunks, so that a line without an end stays bounded."""
        self.number += 1
        chunks: list[bytes] = []
        size = 0
        while chunk := self._source.readline(_CHUNK):
            if self._copy is not None:
                self._copy.write(chunk)
            chunks.append(chunk)
            size += len(chunk)
            if size > self._max_bytes:
                raise InputError(f"the line is longer than {self._max_bytes:,} bytes, the limit for one turn")
            if chunk.endswith(b"\n") or not chunks[0].startswith(b"{"):
                break
        return b"".join(chunks)


def _line_to_json(line: Line) -> dict[str, object]:
    if isinstance(line, ActLine):
        act = line.action
        values = (line.seq, act.entry, act.subject, plain(act.at), plain(line.recorded_at), act.payload)
        return dict(zip(_ACT_FIELDS, values, strict=True))
    turn = line.turn
    return dict(zip(_TURN_FIELDS, (
        line.seq, Entry.TURN, line.id, line.session, line.index, turn.role, turn.origin, turn.text, plain(turn.at),
        turn.at_given, plain(line.recorded_at), turn.stability, turn.key, turn.metadata,
    ), strict=True))  # fmt: skip


def _line_from_json(value: Mapping[str, object], settings: LogSettings) -> Line:
    entry = value.get("entry")
    if not isinstance(entry, str) or entry not in _ENTRIES:
        raise InputError(f"unknown entry {entry!r}; a newer Holdfast may know it: pip install -U holdfast")
    fields = _TURN_FIELDS if entry == Entry.TURN else _ACT_FIELDS
    if missing := [name for name in fields if name not in value]:
        raise InputError(f"an entry {entry!r} needs {', '.join(missing)}")
    if unknown := sorted(value.keys() - set(fields)):
        raise InputError(f"an entry {entry!r} has no field {', '.join(unknown)}; a newer Holdfast may know it")
    seq = _integer("seq", value["seq"], 1)
    line_id = check_name("id", value["id"], settings)
    at, recorded_at = _time("at", value["at"]), _time("recorded_at", value["recorded_at"])
    if entry != Entry.TURN:
        action = Action(Entry(entry), line_id, at, read_metadata(value["payload"], settings))
        _check_payload(action, settings)
        return ActLine(seq, recorded_at, action)
    if not isinstance(value["origin"], str):
        raise InputError(f"origin must be a string, not {value['origin']!r}")
    turn = read_turn(
        value["text"],
        role=value["role"],  # type: ignore[arg-type]  # read_turn checks the types
        at=at,
        key=value["key"],  # type: ignore[arg-type]
        origin=value["origin"],
        stability=value["stability"],  # type: ignore[arg-type]
        metadata=value["metadata"],  # type: ignore[arg-type]
        now=at,
        settings=settings,
    )
    if not isinstance(value["at_given"], bool):
        raise InputError(f"at_given must be true or false, not {value['at_given']!r}")
    session, index = check_name("session", value["session"], settings), _integer("index", value["index"], 0)
    return TurnLine(seq, line_id, session, index, recorded_at, replace(turn, at_given=value["at_given"]))


def _integer(name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MAX_INTEGER:
        raise InputError(f"{name} must be a whole number from {least} on, not {value!r}")
    return value


def _time(name: str, value: object) -> datetime:
    """Read an exact time; a relative one would change each time the file is read."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise InputError(f"{name} must be an ISO time with its zone (2026-05-01T08:30:00Z), not {value!r}")
    return read_moment(at, datetime.now(UTC))


def _read_object(raw: bytes) -> dict[str, object]:
    if not raw.startswith(b"{"):
        raise InputError("the line is not a JSON object")
    if not raw.endswith(b"\n"):
        raise InputError("the file is cut off in the middle of this line. Nothing was imported; export it again")
    try:
        value = json.loads(raw.decode(), parse_constant=_reject_constant)
    except UnicodeDecodeError as error:
        raise InputError(f"the line is not UTF-8 (byte {error.start})") from error
    except RecursionError as error:
        raise InputError("the line is nested too deeply") from error
    except ValueError as error:
        raise InputError(f"the line is not JSON: {error}") from error
    assert isinstance(value, dict)
    return value


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


# Payloads are parsed again when views are derived from them, so an unusable one is refused here.


def _check_payload(action: Action, settings: LogSettings) -> None:
    check = _PAYLOAD_CHECKS.get(action.entry)
    try:
        if check is not None:
            check(action.payload, settings)
    except (ValueError, TypeError, KeyError) as error:
        reason = " ".join(str(error).split())[:_MAX_REASON]
        raise InputError(f"the payload of this {action.entry.value} cannot be used: {reason}") from error


def _check_remember(payload: Metadata, settings: LogSettings) -> None:
    if Kind(str(payload["kind"])) is Kind.TURN:
        raise ValueError("a turn is not a record")
    Provenance(str(payload["provenance"]))
    if not check_text("the text of a record", payload["text"], settings).strip():
        raise ValueError("its text is empty")
    confidence = payload["confidence"]
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise ValueError(f"confidence must be a number from 0 to 1, not {confidence!r}")
    turns = payload.get("turn_ids", [])
    if not isinstance(turns, list) or not all(isinstance(one, str) for one in turns):
        raise ValueError("turn_ids must be a list of ids of turns")
    if "said" in payload:
        _integer("said", payload["said"], 0)


def _check_propose(payload: Metadata, settings: LogSettings) -> None:
    from holdfast.admit.llm import unpack

    unpack(payload)


def _check_calibrate(payload: Metadata, settings: LogSettings) -> None:
    from pydantic import TypeAdapter

    from holdfast.results import Calibration

    TypeAdapter(Calibration).validate_python(payload)


_PAYLOAD_CHECKS: Mapping[Entry, Callable[[Metadata, LogSettings], object]] = {
    Entry.REMEMBER: _check_remember,
    Entry.PROPOSE: _check_propose,
    Entry.REBUILD: lambda payload, settings: _integer("upto", payload["upto"], 0),
    Entry.COMPACT: lambda payload, settings: read_compaction(payload),
    Entry.ERASE: lambda payload, settings: read_tombstone(payload),
    Entry.CALIBRATE: _check_calibrate,
}
