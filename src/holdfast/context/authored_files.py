"""The rule files of a process, read again only when they change.

The nodes of a file are replaced in one step: the file is read whole and parsed, then the old nodes are exchanged for
the new ones. Nothing of them is kept in the store: they are the operator's files, not anybody's memory.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from holdfast.context.authored import Node, NodeKind, nodes_of
from holdfast.errors import BadText, InputError
from holdfast.settings import AuthoredSettings

__all__ = ["Nodes", "Rules"]

_GIGA = 1_000_000_000


class Nodes(list[Node]):
    """A list of nodes that can say what was wrong with their files."""

    def __init__(self, nodes: Iterable[Node] = (), notices: Iterable[str] = ()) -> None:
        super().__init__(nodes)
        self.notices = tuple(notices)


class Rules:
    """Reads rule files and remembers their nodes while the files stay as they are.

    A file that cannot be used the first time is an error. Later, a file that was deleted loses its rules, and one that
    cannot be read for a while keeps those of its last reading; both are said in `notices`, at every reading.
    """

    def __init__(
        self,
        *,
        nodes_of: Callable[[str, str], tuple[Node, ...]] = nodes_of,
        settings: AuthoredSettings | None = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._nodes_of = nodes_of
        self._settings = settings or AuthoredSettings()
        self._now_ns = now_ns
        self._readings: dict[str, _Reading] = {}
        self._changing = threading.Lock()

    def read(self, paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str]) -> Nodes:
        """The nodes of these files as they are now, in the order given; a file that is named twice counts once."""
        named = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        readings = list(dict.fromkeys(self._reading(os.fspath(path)) for path in named))
        seen: set[tuple[int, int]] = set()
        nodes: list[Node] = []
        for reading in readings:
            if reading.seen is None or reading.seen.file not in seen:  # CLAUDE.md is often a link to AGENTS.md
                nodes += reading.nodes
            if reading.seen is not None:
                seen.add(reading.seen.file)
        return Nodes(nodes, (reading.notice for reading in readings if reading.notice))

    def held(self, kind: NodeKind | None = None) -> list[Node]:
        """The nodes of every file read so far, as they were then: no file is touched."""
        return [
            node for reading in list(self._readings.values()) for node in reading.nodes if kind in (None, node.kind)
        ]

    def _reading(self, path: str) -> _Reading:
        place = os.path.abspath(os.path.expanduser(path))
        last = self._readings.get(place)
        if last is not None and last.settled and last.seen == _look(place):
            return last
        with self._changing:  # one thread reads, the others find what it read
            last = self._readings.get(place)
            if last is None or not last.settled or last.seen != _look(place):
                last = self._readings[place] = self._read_again(path, place, last)
            return last

    def _read_again(self, path: str, place: str, last: _Reading | None) -> _Reading:
        try:
            content, seen = _take(place, self._settings)
            text = _decoded(content)
        except (FileNotFoundError, NotADirectoryError) as error:
            if last is None:
                raise InputError(
                    f"there is no rule file {path!r} (looked for {place}). Check the path or leave it out of the rules."
                ) from error
            return last if last.gone else _Reading(notice=f"the rule file {path} is gone: its rules no longer apply")
        except (OSError, ValueError) as error:  # InputError and BadText are ValueErrors, and so is a NUL in the path
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            if last is None:
                kind = BadText if isinstance(error, BadText) else InputError
                raise kind(f"the rule file {path!r} cannot be read: {reason}") from error
            notice = f"the rule file {path} cannot be read now, its rules are those of the last reading: {reason}"
            return replace(last, notice=notice, settled=False)
        digest = hashlib.sha256(content).hexdigest()
        nodes = last.nodes if last is not None and last.digest == digest else self._nodes_of(text, path)
        return _Reading(nodes, digest, seen, settled=self._now_ns() - seen.changed_ns > self._settings.settle_s * _GIGA)


class _Seen(NamedTuple):
    """What tells, without reading a file, that it is still the same."""

    file: tuple[int, int]
    """Device and inode."""
    size: int
    modified_ns: int
    status_ns: int
    """When its status changed: it moves even when somebody sets the other time back."""

    @property
    def changed_ns(self) -> int:
        return max(self.modified_ns, self.status_ns)


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """What is known of one file. It is never changed, only exchanged for another."""

    nodes: tuple[Node, ...] = ()
    digest: str = ""
    seen: _Seen | None = None
    notice: str = ""
    settled: bool = False
    """Whether a change after this reading is sure to show in `seen`."""

    @property
    def gone(self) -> bool:
        return self.seen is None


def _seen(status: os.stat_result) -> _Seen:
    return _Seen((status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _look(place: str) -> _Seen | None:
    try:
        return _seen(os.stat(place))
    except (OSError, ValueError):  # reading it will say what is wrong
        return None


def _take(place: str, settings: AuthoredSettings) -> tuple[bytes, _Seen]:
    """The whole file, as it was at one moment."""
    mode = os.stat(place).st_mode
    if stat.S_ISDIR(mode):
        raise InputError("it is a directory. Name the file in it, for instance its AGENTS.md.")
    if not stat.S_ISREG(mode):  # opening a pipe would wait for somebody to write
        raise InputError("it is not a regular file.")
    for _ in range(settings.attempts):
        with open(place, "rb") as file:
            before = _seen(os.fstat(file.fileno()))
            if before.size > settings.max_file_bytes:
                raise InputError(
                    f"it has {before.size:,} bytes, the most is {settings.max_file_bytes:,} "
                    "(the setting authored.max_file_bytes)."
                )
            content = file.read(before.size + 1)
            if _seen(os.fstat(file.fileno())) == before and len(content) == before.size:
                return content, before
    raise InputError(f"somebody is writing it: it changed during each of {settings.attempts} readings. Try again.")


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadText(
            f"it is not UTF-8 (byte 0x{content[error.start]:02x} in line {line}). Save it in UTF-8."
        ) from error
