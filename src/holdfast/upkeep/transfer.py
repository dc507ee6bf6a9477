"""Moving a namespace from one store to another: its log, line by line. Views are derived again where it arrives.

Vectors stay behind: they belong to an embedding model, and the store that takes the log over has its own.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from holdfast.errors import InputError, NotFound
from holdfast.log.acts import Line, TurnLine
from holdfast.model import Entry, NewTurn
from holdfast.results import Copied, CopiedNamespace, Exported, Imported
from holdfast.search.search import GLOBAL
from holdfast.settings import Settings
from holdfast.store.store import Store
from holdfast.upkeep.export import FORMAT, Header, Reading, Writing, whole_file

Progress = Callable[[int, int], None]
"""Called with (done, total)."""
Source = str | os.PathLike[str] | BinaryIO
"""A path, or an open file of bytes."""

_EVERY = 1000  # lines between two calls of progress


def export_log(store: Store, namespace: str, target: Source, now: datetime, progress: Progress | None) -> Exported:
    """Write the log as it stands at one moment; a path gets its file only when all of it is on disk."""
    start = time.perf_counter()
    with store.snapshot(namespace) as view, _open_target(target) as file:
        counts = view.line_counts()
        total = sum(counts.values())
        writing = Writing(file, namespace, counts, now)
        for line in _told(view.lines(), 0, total, progress):
            writing.line(line)
        digest = writing.end()
        file.flush()
    if isinstance(target, str | os.PathLike) and Path(target).is_file():
        store.note_copy(namespace, str(Path(target).resolve()), now)
    turns = counts.get(Entry.TURN, 0)
    seconds = round(time.perf_counter() - start, 3)
    return Exported(_name(target), namespace, turns, total - turns, digest, writing.size, seconds)


def import_log(
    store: Store,
    namespace: str,
    source: Source,
    settings: Settings,
    redacted: Callable[[NewTurn], NewTurn],
    progress: Progress | None,
) -> Imported:
    """Read the whole file before the first line is written, then write all of it in one transaction, or none."""
    start = time.perf_counter()
    with _open_source(source) as file, tempfile.TemporaryFile() as copy:
        again = file.tell() if file.seekable() else None
        checking = Reading(file, settings, copy if again is None else None)
        with _placed(source, checking):
            header = checking.header()
            _check_global(header, namespace)
            total = 2 * sum(header.lines.values())
            for _ in _told(checking.lines(header), 0, total, progress):
                pass
        if again is None:
            file = copy
        file.seek(again or 0)
        keeping = Reading(file, settings)
        with _placed(source, keeping):
            lines = _told(keeping.lines(keeping.header()), total // 2, total, progress)
            taken = store.import_lines(namespace, (_redacted(line, redacted) for line in lines))
    seconds = round(time.perf_counter() - start, 3)
    return Imported(
        _name(source), namespace, header.namespace, taken.turns, taken.acts, taken.known, taken.left_out, seconds,
        taken.erased,
    )  # fmt: skip


def _redacted(line: Line, redacted: Callable[[NewTurn], NewTurn]) -> Line:
    if not isinstance(line, TurnLine) or (turn := redacted(line.turn)) is line.turn:
        return line
    return replace(line, turn=turn)


def _check_global(header: Header, namespace: str) -> None:
    if namespace == GLOBAL != header.namespace:
        raise InputError(
            f"it is the memory of {header.namespace!r}; {GLOBAL!r} is read by everybody and holds nothing of a user "
            "(INV-4). Choose another namespace"
        )


def _told(lines: Iterator[Line], done: int, total: int, progress: Progress | None) -> Iterator[Line]:
    """The lines, and word of how far they have come."""
    for line in lines:
        if progress is not None and done % _EVERY == 0:
            progress(done, total)
        yield line
        done += 1
    if progress is not None:
        progress(done, total)


@contextmanager
def _placed(source: Source, reading: Reading) -> Iterator[None]:
    """An error inside says which line of which file it is about."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{_name(source)}, line {reading.number}: {error}") from error


@contextmanager
def _open_source(source: Source) -> Iterator[BinaryIO]:
    if not isinstance(source, str | os.PathLike):
        yield source
        return
    with _opened(Path(source)) as file:
        yield file


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


@contextmanager
def _open_target(target: Source) -> Iterator[BinaryIO]:
    if not isinstance(target, str | os.PathLike):
        yield target
        return
    given = Path(target)
    if given.exists() and not given.is_file() and not given.is_dir():  # a pipe or a device: nothing to rename there
        with given.open("wb") as file:
            yield file
        return
    path = given.resolve()
    _check_replaceable(path)
    with whole_file(path) as part, part.open("wb") as file:
        yield file


def _check_replaceable(path: Path) -> None:
    """An earlier export may be replaced; anything else at that name was not meant."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file in it, for example {path / 'memory.jsonl'}")
    if not path.exists() or path.stat().st_size == 0:
        return
    if path.with_name(path.name + "-lock").exists():  # not even opened: closing it would drop SQLite's locks on it
        raise InputError(f"{path} is a store; choose another name for the export")
    with path.open("rb") as file:
        if FORMAT.encode() not in file.readline(100):
            raise InputError(f"{path} is there already and is no export; choose another name or remove it")


def _name(source: Source) -> str:
    if isinstance(source, str | os.PathLike):
        return os.fsdecode(source)
    name = getattr(source, "name", "the stream")
    return name if isinstance(name, str) else "the stream"


# --- Copying namespaces from one store into another, whatever engines the two have: each log, line by line.
#
# A namespace is one transaction of the store it goes to. A copy that was broken off is run again: what is there already
# is known by its ids and left as it is, so it goes on with the namespace at which it stopped.


Redact = Callable[[NewTurn], NewTurn]


def copy_namespaces(
    source: Store, target: Store, chosen: Sequence[str], redacted: Redact, progress: Progress | None = None
) -> Copied:
    """Copy the logs of these namespaces. Views are derived where they arrive."""
    if source.location == target.location:
        raise InputError(f"{source.location} is both where to copy from and where to; give two stores")
    start = time.perf_counter()
    totals = [_length(source, name) for name in chosen]
    copied: list[CopiedNamespace] = []
    for at, name in enumerate(chosen):
        copied.append(_copy(source, target, name, redacted, _Steps(progress, sum(totals[:at]), sum(totals))))
    seconds = round(time.perf_counter() - start, 3)
    return Copied(source.location, target.location, tuple(copied), seconds)


def chosen_namespaces(source: Store, names: Sequence[str] | None) -> list[str]:
    """Those that are named, each once, or all; one that is not there is an error."""
    there = source.namespaces()
    for name in names or ():
        if name not in there:
            raise NotFound(f"there is no namespace {name!r} in {source.location}; nothing was copied")
    return list(there if names is None else dict.fromkeys(names))


def _length(store: Store, name: str) -> int:
    with store.snapshot(name) as view:
        return sum(view.line_counts().values())


def _copy(source: Store, target: Store, name: str, redacted: Redact, steps: _Steps) -> CopiedNamespace:
    with source.snapshot(name) as view:
        taken = target.import_lines(name, (_copying_redacted(line, redacted) for line in steps.told(view.lines())))
    return CopiedNamespace(name, taken.turns, taken.acts, taken.known, taken.left_out, taken.erased)


def _copying_redacted(line: Line, redacted: Redact) -> Line:
    if not isinstance(line, TurnLine) or (turn := redacted(line.turn)) is line.turn:
        return line
    return replace(line, turn=turn)


class _Steps:
    """Says how far the whole copy has come, while one namespace of it is read."""

    def __init__(self, progress: Progress | None, done: int, total: int) -> None:
        self._progress = progress
        self._before = done
        self._total = total

    def told(self, lines: Iterator[Line]) -> Iterator[Line]:
        done = self._before
        for line in lines:
            if done % _EVERY == 0:
                self._tell(done)
            yield line
            done += 1
        self._tell(done)

    def _tell(self, done: int) -> None:
        if self._progress is not None:
            self._progress(min(done, self._total), self._total)
