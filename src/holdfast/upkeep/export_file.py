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
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, NoReturn

from holdfast.errors import InputError
from holdfast.log.lines import Line, TurnLine
from holdfast.log.names import check_name
from holdfast.model import Entry
from holdfast.settings import Settings
from holdfast.upkeep.export_lines import read_line, whole_number, written
from holdfast.version import __version__
from holdfast.wire import plain

__all__ = ["FORMAT", "Header", "Reading", "Writing"]

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
