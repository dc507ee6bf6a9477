"""Moving a namespace between stores as its log: export, import, and copy from store to store.

Views are derived again at the destination. Vectors are not moved: they belong to an embedding model, and the other
store has its own.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

from holdfast.admit.redact import Redaction
from holdfast.errors import InputError, NotFound
from holdfast.log.acts import Line
from holdfast.model import Entry
from holdfast.results import ImportResult
from holdfast.settings import Settings
from holdfast.store.store import Store
from holdfast.store.types import GLOBAL
from holdfast.upkeep.backup import Progress, atomic_file, usable
from holdfast.upkeep.export import FORMAT, ExportHeader, ExportReader, ExportWriter
from holdfast.upkeep.results import CopiedNamespace, CopyResult, ExportResult

Source = str | os.PathLike[str] | BinaryIO
"""A path, or an open binary file."""

_PROGRESS_STEP = 1000  # lines between two calls of progress


def export_log(store: Store, namespace: str, target: Source, now: datetime, progress: Progress | None) -> ExportResult:
    """Write the log of one snapshot; a file appears under its name only when it is complete and on disk."""
    start = time.perf_counter()
    with store.snapshot(namespace) as view, _open_target(target) as file:
        counts = view.line_counts()
        total = sum(counts.values())
        writer = ExportWriter(file, namespace, counts, now)
        for line in _with_progress(view.lines(), 0, total, progress):
            writer.write_line(line)
        digest = writer.finish()
        file.flush()
    if isinstance(target, str | os.PathLike) and Path(target).is_file():
        store.note_copy(namespace, str(Path(target).resolve()), now)
    turns = counts.get(Entry.TURN, 0)
    seconds = round(time.perf_counter() - start, 3)
    return ExportResult(_name(target), namespace, turns, total - turns, digest, writer.size, seconds)


def import_log(
    store: Store,
    namespace: str,
    source: Source,
    settings: Settings,
    redact: Redaction | None,
    progress: Progress | None,
) -> ImportResult:
    """Validate the whole file, then write all of it in one transaction, or nothing."""
    start = time.perf_counter()
    with _open_source(source) as file, tempfile.TemporaryFile() as copy:
        again = file.tell() if file.seekable() else None
        first_pass = ExportReader(file, settings, copy if again is None else None)
        with _error_location(source, first_pass):
            header = first_pass.header()
            _check_global(header, namespace)
            total = 2 * sum(header.lines.values())
            for _ in _with_progress(first_pass.lines(header), 0, total, progress):
                pass
        if again is None:
            file = copy
        file.seek(again or 0)
        second_pass = ExportReader(file, settings)
        with _error_location(source, second_pass):
            lines = _with_progress(second_pass.lines(second_pass.header()), total // 2, total, progress)
            taken = store.import_lines(namespace, map(redact.line, lines) if redact else lines)
    seconds = round(time.perf_counter() - start, 3)
    return ImportResult(
        _name(source), namespace, header.namespace, taken.turns, taken.acts, taken.known, taken.left_out, seconds,
        taken.erased,
    )  # fmt: skip


def copy_namespaces(
    source: Store, target: Store, chosen: Sequence[str], redact: Redaction | None, progress: Progress | None = None
) -> CopyResult:
    """Copy the logs of these namespaces between stores of any engine, one transaction per namespace.

    An interrupted copy can be run again: lines that the target has already are recognised by their ids.
    """
    if source.location == target.location:
        raise InputError(f"source and target are the same store ({source.location}); give two different ones")
    start = time.perf_counter()
    *starts, total = accumulate((_log_length(source, name) for name in chosen), initial=0)
    copied: list[CopiedNamespace] = []
    for name, done in zip(chosen, starts, strict=True):
        with source.snapshot(name) as view:
            lines = _with_progress(view.lines(), done, total, progress)
            taken = target.import_lines(name, map(redact.line, lines) if redact else lines)
        copied.append(CopiedNamespace(name, taken.turns, taken.acts, taken.known, taken.left_out, taken.erased))
    seconds = round(time.perf_counter() - start, 3)
    return CopyResult(source.location, target.location, tuple(copied), seconds)


def chosen_namespaces(source: Store, names: Sequence[str] | None) -> list[str]:
    """Return the given namespaces without repeats, or all; NotFound if one does not exist."""
    existing = source.namespaces()
    for name in names or ():
        if name not in existing:
            raise NotFound(f"there is no namespace {name!r} in {source.location}; nothing was copied")
    return list(existing if names is None else dict.fromkeys(names))


def _log_length(store: Store, name: str) -> int:
    with store.snapshot(name) as view:
        return sum(view.line_counts().values())


def _check_global(header: ExportHeader, namespace: str) -> None:
    if namespace == GLOBAL != header.namespace:
        raise InputError(
            f"the file is the memory of {header.namespace!r}; {GLOBAL!r} is readable by every namespace and must not "
            "contain a user's memory. Choose another namespace"
        )


def _with_progress(lines: Iterator[Line], done: int, total: int, progress: Progress | None) -> Iterator[Line]:
    """Yield the lines and report progress; a log may have grown since its lines were counted."""
    for line in lines:
        if progress is not None and done % _PROGRESS_STEP == 0:
            progress(min(done, total), total)
        yield line
        done += 1
    if progress is not None:
        progress(min(done, total), total)


@contextmanager
def _error_location(source: Source, reader: ExportReader) -> Iterator[None]:
    """Add file and line number to errors."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{_name(source)}, line {reader.number}: {error}") from error


def _open_source(source: Source) -> AbstractContextManager[BinaryIO]:
    if not isinstance(source, str | os.PathLike):
        return nullcontext(source)
    try:
        return Path(source).open("rb")
    except OSError as error:
        raise InputError(f"cannot read {source}: {error.strerror}") from error


@contextmanager
def _open_target(target: Source) -> Iterator[BinaryIO]:
    if not isinstance(target, str | os.PathLike):
        yield target
        return
    given = Path(target)
    with usable(given):
        device = given.exists() and not given.is_file() and not given.is_dir()
    if device:  # a pipe or device cannot be replaced
        try:
            with given.open("wb") as file:
                yield file
        except BrokenPipeError:  # the reader has enough
            raise
        except OSError as error:
            raise InputError(f"cannot write {given}: {error.strerror or error}") from error
        return
    with usable(given):
        path = given.resolve()
        _check_replaceable(path)
    with atomic_file(path) as part, part.open("wb") as file:
        yield file


def _check_replaceable(path: Path) -> None:
    """Allow replacing an earlier export, and nothing else."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file in it, for example {path / 'memory.jsonl'}")
    if not path.exists() or path.stat().st_size == 0:
        return
    if path.with_name(path.name + "-lock").exists():  # opening and closing the file would drop SQLite's locks on it
        raise InputError(f"{path} is a store; choose another name for the export")
    with path.open("rb") as file:
        if FORMAT.encode() not in file.readline(100):
            raise InputError(f"{path} already exists and is not an export; choose another name or remove it")


def _name(source: Source) -> str:
    if isinstance(source, str | os.PathLike):
        return os.fsdecode(source)
    name = getattr(source, "name", "the stream")
    return name if isinstance(name, str) else "the stream"
