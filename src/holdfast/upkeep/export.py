"""The file of an export: a header, the log line by line, and an end that tells a whole file from a cut one.

    {"format":"holdfast-export","version":1,"namespace":"ana","lines":{"turn":2},"made_at":…,"holdfast":"0.1.0"}
    {"seq":1,"entry":"turn","id":"t-…",…}
    {"seq":2,"entry":"turn","id":"t-…",…}
    {"end":2,"sha256":"…"}

The digest is over the lines between: two exports of the same log differ in nothing but when they were made.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NoReturn

from holdfast.errors import InputError
from holdfast.log.acts import ActLine, Line, TurnLine
from holdfast.log.messages import check_name, check_text, read_metadata, read_turn
from holdfast.model import Action, Entry, Kind, Metadata, Provenance
from holdfast.settings import LogSettings, Settings
from holdfast.text.jsonio import plain
from holdfast.text.time import read_moment
from holdfast.version import __version__

# --- A line of the log as a line of an export, and back: what a file says is checked like what a caller says.


_ENTRIES = frozenset(Entry)
_LARGEST = 2**53  # what every reader of JSON can hold exactly
_SHOWN = 200  # characters of what another room says of it
_OF_TURN = (
    "seq", "entry", "id", "session", "index", "role", "origin", "text", "at", "at_given", "recorded_at", "stability",
    "key", "metadata",
)  # fmt: skip
_OF_ACT = ("seq", "entry", "id", "at", "recorded_at", "payload")


def written(line: Line) -> dict[str, object]:
    """The line as plain JSON values. Acts are written alike whatever their kind: later kinds need nothing here."""
    if isinstance(line, ActLine):
        act = line.action
        told = (line.seq, act.entry, act.subject, _iso(act.at), _iso(line.recorded_at), act.payload)
        return dict(zip(_OF_ACT, told, strict=True))
    turn = line.turn
    said = (
        line.seq, Entry.TURN, line.id, line.session, line.index, turn.role, turn.origin, turn.text, _iso(turn.at),
        turn.at_given, _iso(line.recorded_at), turn.stability, turn.key, turn.metadata,
    )  # fmt: skip
    return dict(zip(_OF_TURN, said, strict=True))


def read_line(said: Mapping[str, object], settings: LogSettings) -> Line:
    """The line, or InputError with the reason it cannot be one."""
    entry = said.get("entry")
    if not isinstance(entry, str) or entry not in _ENTRIES:
        raise InputError(f"unknown kind of line {entry!r}; a newer Holdfast may know it: pip install -U holdfast")
    fields = _OF_TURN if entry == Entry.TURN else _OF_ACT
    if missing := [name for name in fields if name not in said]:
        raise InputError(f"a line of kind {entry} needs {', '.join(missing)}")
    if unknown := sorted(said.keys() - set(fields)):
        raise InputError(f"a line of kind {entry} has no {', '.join(unknown)}; a newer Holdfast may know them")
    seq = whole_number("seq", said["seq"], 1)
    noun = check_name("id", said["id"], settings)
    at, recorded_at = _moment("at", said["at"]), _moment("recorded_at", said["recorded_at"])
    if entry != Entry.TURN:
        payload = read_metadata(said["payload"], settings)
        action = Action(Entry(entry), noun, at, payload)
        _check_payload(action, settings)
        return ActLine(seq, recorded_at, action)
    turn = read_turn(
        said["text"],
        role=said["role"],  # type: ignore[arg-type]  # read_turn says what is wrong with what is no string
        at=at,
        key=said["key"],  # type: ignore[arg-type]
        origin=_origin(said["origin"]),
        stability=said["stability"],  # type: ignore[arg-type]
        metadata=said["metadata"],  # type: ignore[arg-type]
        now=at,
        settings=settings,
    )
    if not isinstance(said["at_given"], bool):
        raise InputError(f"at_given must be true or false, not {said['at_given']!r}")
    session, index = check_name("session", said["session"], settings), whole_number("index", said["index"], 0)
    return TurnLine(seq, noun, session, index, recorded_at, turn if said["at_given"] else replace(turn, at_given=False))


def whole_number(name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _LARGEST:
        raise InputError(f"{name} must be a whole number from {least} on, not {value!r}")
    return value


def _origin(origin: object) -> str:
    if not isinstance(origin, str):
        raise InputError(f"origin must be a string, not {origin!r}")
    return origin


def _iso(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _moment(name: str, value: object) -> datetime:
    """An exact time: a relative one would be another each time the file is read."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise InputError(f"{name} must be an ISO time with its zone (2026-05-01T08:30:00Z), not {value!r}")
    return read_moment(at, datetime.now(UTC))


# --- acts that are read again later: what cannot be read then is refused now


def _check_payload(action: Action, settings: LogSettings) -> None:
    check = _CHECKS.get(action.entry)
    try:
        if check is not None:
            check(action.payload, settings)
    except (ValueError, TypeError, KeyError) as error:
        shown = " ".join(str(error).split())[:_SHOWN]
        raise InputError(f"the payload of this {action.entry.value} cannot be used: {shown}") from error


def _check_remember(payload: Metadata, settings: LogSettings) -> None:
    if Kind(str(payload["kind"])) is Kind.TURN:
        raise ValueError("a turn is no record")
    Provenance(str(payload["provenance"]))
    if not check_text("the text of a record", payload["text"], settings).strip():
        raise ValueError("its text is empty")
    confidence = payload["confidence"]
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise ValueError(f"confidence must be a number from 0 to 1, not {confidence!r}")


def _check_propose(payload: Metadata, settings: LogSettings) -> None:
    from holdfast.admit.llm import unpack

    unpack(payload)


def _check_compact(payload: Metadata, settings: LogSettings) -> None:
    from holdfast.log.acts import read_compaction

    read_compaction(payload)


def _check_rebuild(payload: Metadata, settings: LogSettings) -> None:
    whole_number("upto", payload["upto"], 0)


def _check_calibrate(payload: Metadata, settings: LogSettings) -> None:
    from pydantic import TypeAdapter

    from holdfast.results import Calibration

    TypeAdapter(Calibration).validate_python(payload)


def _check_erase(payload: Metadata, settings: LogSettings) -> None:
    from holdfast.log.acts import read_tombstone

    read_tombstone(payload)


_CHECKS: Mapping[Entry, Callable[[Metadata, LogSettings], None]] = {
    Entry.REMEMBER: _check_remember,
    Entry.PROPOSE: _check_propose,
    Entry.REBUILD: _check_rebuild,
    Entry.COMPACT: _check_compact,
    Entry.ERASE: _check_erase,
    Entry.CALIBRATE: _check_calibrate,
}


FORMAT = "holdfast-export"
_VERSION = 1
_CHUNK = 1 << 20
_ESCAPED = 6  # bytes that JSON takes for one control character
_AROUND = 1 << 24  # what a line may hold beside its text: names, times, metadata
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Header:
    namespace: str
    lines: Mapping[str, int]
    """How many of each kind follow."""


class Writing:
    """Writes one export; the digest and the number of bytes grow with it."""

    def __init__(self, target: BinaryIO, namespace: str, counts: Mapping[str, int], made_at: datetime) -> None:
        self._target = target
        self._digest = hashlib.sha256()
        self.lines = self.size = 0
        head = {"format": FORMAT, "version": _VERSION, "namespace": namespace, "lines": dict(counts)}
        self._put(head | {"made_at": plain(made_at), "holdfast": __version__})

    def line(self, line: Line) -> None:
        self._digest.update(self._put(written(line)))
        self.lines += 1

    def end(self) -> str:
        """Write the end; the digest."""
        digest = self._digest.hexdigest()
        self._put({"end": self.lines, "sha256": digest})
        return digest

    def _put(self, said: object) -> bytes:
        raw = json.dumps(said, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        self._target.write(raw)
        self.size += len(raw)
        return raw


class Reading:
    """One pass over an export: its header, then its lines. The pass ends well only if the file is whole."""

    def __init__(self, source: BinaryIO, settings: Settings, copy: BinaryIO | None = None) -> None:
        self._source = source
        self._settings = settings
        self._copy = copy
        """Gets every byte that is read, for a second pass over what cannot be read twice."""
        self._longest = _ESCAPED * settings.log.max_text_bytes + _AROUND
        self.number = 0
        """The line that is being read, as an editor counts it."""

    def header(self) -> Header:
        raw = self._next()
        if raw.startswith(_GZIP):
            raise InputError("it is compressed; unpack it first: gunzip -c FILE | holdfast import -")
        if not raw.startswith(b"{"):
            raise InputError("it is no Holdfast export: the first line is no header")
        said = _object(raw)
        if said.get("format") != FORMAT:
            raise InputError(
                "it is no Holdfast export: its header does not say so. A transcript goes to: holdfast ingest"
            )
        version = said.get("version")
        if version != _VERSION:
            raise InputError(
                f"it has the export version {version!r}, this Holdfast reads {_VERSION}. Upgrade, or export it anew"
            )
        lines = said.get("lines")
        if not isinstance(lines, dict):
            raise InputError("its header does not say how many lines follow")
        counts = {name: whole_number(f"the number of lines of kind {name}", count, 0) for name, count in lines.items()}
        return Header(check_name("namespace", said.get("namespace"), self._settings.log), counts)

    def lines(self, header: Header) -> Iterator[Line]:
        digest, counts, place = hashlib.sha256(), Counter[str](), 0
        while True:
            raw = self._next()
            if not raw:
                raise InputError(
                    "it ends in the middle: its last line is missing. Nothing was imported; export it anew"
                )
            said = _object(raw)
            if "end" in said:
                break
            line = read_line(said, self._settings.log)
            if line.seq <= place:
                raise InputError(f"the place {line.seq} in the log comes after {place}")
            place = line.seq
            counts[Entry.TURN if isinstance(line, TurnLine) else line.action.entry] += 1
            if place - counts.total() > self._settings.transfer.widest_gap:
                raise InputError(
                    f"the place {place} is too far on: more places are missing than transfer.widest_gap allows"
                )
            digest.update(raw)
            yield line
        whole = {"end": counts.total(), "sha256": digest.hexdigest()}
        if said != whole or dict(counts) != {name: count for name, count in header.lines.items() if count}:
            raise InputError(
                "its lines are not those that were exported: the file was changed or parts of it are missing"
            )
        if self._next():
            raise InputError("something follows after its end")

    def _next(self) -> bytes:
        """The next line with its line end, read piece by piece so that one without an end stays bounded."""
        self.number += 1
        pieces: list[bytes] = []
        size = 0
        while piece := self._source.readline(_CHUNK):
            if self._copy is not None:
                self._copy.write(piece)
            pieces.append(piece)
            size += len(piece)
            if size > self._longest:
                raise InputError(f"the line is longer than {self._longest:,} bytes, which no turn can be")
            if piece.endswith(b"\n") or not pieces[0].startswith(b"{"):
                break
        return b"".join(pieces)


def _object(raw: bytes) -> dict[str, object]:
    if not raw.startswith(b"{"):
        raise InputError("the line is no JSON object")
    if not raw.endswith(b"\n"):
        raise InputError("the line is cut: the file ends in the middle of it. Nothing was imported; export it anew")
    try:
        said = json.loads(raw.decode(), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise InputError(f"the line is no UTF-8 (byte {error.start})") from error
    except RecursionError as error:
        raise InputError("the line is nested too deep") from error
    except ValueError as error:
        raise InputError(f"the line is no JSON: {error}") from error
    assert isinstance(said, dict)
    return said


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


# --- A file that is there whole or not at all: it is written under another name, synced, and renamed at the end.


_PRIVATE = 0o600  # memories are nobody else's to read


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """The name to write to. It becomes `path` when the block ends well, and is removed when it does not."""
    part = beside(path)
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE))
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}. Does its folder exist, and may you write there?"
        ) from error
    try:
        yield part
        sync(part)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def beside(path: Path) -> Path:
    """A name in the same folder that nobody has: a rename is one step only inside a file system."""
    return path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.part")


def sync(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """A rename is safe once its folder is on disk too; a system that cannot open folders needs no such thing."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
