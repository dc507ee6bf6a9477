"""A disk that forgets: every write of SQLite is noted, and any moment can be played back as a power cut.

After a cut a file holds what was synced, and of what was written since, any part: whole writes are dropped or kept at
random, and one may be torn between two sectors. That is what a disk without power may do, and no more than SQLite
promises to survive.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw

_SECTOR = 512


@dataclass(frozen=True)
class Write:
    name: str
    offset: int
    data: bytes


@dataclass(frozen=True)
class Truncate:
    name: str
    size: int


@dataclass(frozen=True)
class Sync:
    name: str


@dataclass(frozen=True)
class Delete:
    name: str


@dataclass(frozen=True)
class Acknowledged:
    turn_id: str
    text: str


Event = Write | Truncate | Sync | Delete | Acknowledged


@dataclass
class Tape:
    """Everything that happened to the files of one folder, in order."""

    events: list[Event] = field(default_factory=list)

    def cut(self, moment: int, folder: Path, rng: random.Random) -> list[Acknowledged]:
        """Lay out in `folder` what a disk may hold after a cut at this moment; what had been acknowledged by then."""
        files: dict[str, bytearray] = {}
        waiting: dict[str, list[Write | Truncate]] = {}
        safe: list[Acknowledged] = []
        for event in self.events[:moment]:
            match event:
                case Acknowledged():
                    safe.append(event)
                case Sync(name):
                    for change in waiting.pop(name, []):
                        _apply(files, change)
                case Delete(name):
                    files.pop(name, None)
                    waiting.pop(name, None)
                case Write(name) | Truncate(name):
                    files.setdefault(name, bytearray())
                    waiting.setdefault(name, []).append(event)
        for changes in waiting.values():
            for change in changes:
                if rng.random() < 0.5:
                    _apply(files, _torn(change, rng))
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return safe


def _apply(files: dict[str, bytearray], change: Write | Truncate) -> None:
    content = files.setdefault(change.name, bytearray())
    if isinstance(change, Truncate):
        del content[change.size :]
        return
    if len(content) < change.offset:
        content.extend(bytes(change.offset - len(content)))
    content[change.offset : change.offset + len(change.data)] = change.data


def _torn(change: Write | Truncate, rng: random.Random) -> Write | Truncate:
    if isinstance(change, Truncate) or len(change.data) <= _SECTOR or rng.random() < 0.8:
        return change
    kept = _SECTOR * rng.randrange(1, (len(change.data) - 1) // _SECTOR + 1)
    return Write(change.name, change.offset, change.data[:kept])


class _NotingFile(apsw.VFSFile):
    def __init__(self, tape: Tape, base: str, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._tape = tape
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = Path(path).name if path else ""
        super().__init__(base, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        if self._name:
            self._tape.events.append(Write(self._name, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        if self._name:
            self._tape.events.append(Truncate(self._name, newsize))

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        if self._name:
            self._tape.events.append(Sync(self._name))


class _NotingDisk(apsw.VFS):
    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._base = "unix"
        super().__init__("holdfast-powercut", self._base, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _NotingFile(self._tape, self._base, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self._tape.events.append(Delete(Path(filename).name))


@contextmanager
def noting_disk() -> Iterator[Tape]:
    """While this lasts, every SQLite file that is opened is noted on the tape."""
    tape = Tape()
    disk = _NotingDisk(tape)
    try:
        yield tape
    finally:
        disk.unregister()
