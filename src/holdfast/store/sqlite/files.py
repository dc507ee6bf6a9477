"""The files of a SQLite store: copied, checked, renamed and read as bytes; and errors of SQLite in plain words."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import apsw

from holdfast.errors import StoreBusy, StoreDamaged, StoreForeign, StoreNewer
from holdfast.log.messages import digest
from holdfast.settings import StoreSettings
from holdfast.store.rows import ROLES
from holdfast.store.sqlite.schema import APPLICATION_ID, SCHEMA
from holdfast.store.sqlite.transaction import translated
from holdfast.store.types import StoreCounts

COPY_PAGES = 2048  # pages per step of a backup (8 MB): often enough for progress and Ctrl-C, no slower than in one go

FILES = ("", "-wal", "-shm", "-lock", "-work")
"""Suffixes of the files of a store."""
_PIECE = 4_000_000
_OVERLAP = 4096  # a string that is searched for is shorter
_COMPANIONS = ("-wal", "-shm")
"""Suffixes of SQLite's own files: pages that are not in the store yet, and their index."""
_FAULTS_NAMED = 3
_PAGE = 4096
_WAL_HEADER, _FRAME_HEADER = 32, 24
_SAMPLES = 64  # pages of the file that are compared: a fifth of a millisecond after each checkpoint


def copy_store(
    source: Path, target: Path, settings: StoreSettings, progress: Callable[[int, int], None] | None = None
) -> StoreCounts:
    """Copy the file as it is at this moment, and check the copy. Writers of the source go on meanwhile.

    The read transaction fixes the moment: without one, SQLite starts the copy again whenever another connection
    commits, and under steady writers it would never end.
    """
    with translated(source):
        reader = _open_source(source)
        try:
            reader.execute("BEGIN")
            _identify(reader, source)
            before = _ends_of_logs(reader)
            _copy_pages(reader, target, COPY_PAGES, progress)
            reader.execute("COMMIT")
        finally:
            reader.close()
    held, after = _look(target, source)
    if before != after:
        raise StoreDamaged(f"the copy of {source} does not contain the same log as the store; try again")
    return held


def set_aside(path: Path, label: str) -> Path | None:
    """Give the store at a path another name, so that replacing it loses nothing; None if there is no store.

    A damaged one is kept too, as it is: somebody may want to save what is left of it.
    """
    aside = _free_name(path, label)
    there = path.exists()
    if there:
        with suppress(StoreDamaged):
            _check_readable(path)
            _vacate(path)
        try:
            os.link(path, aside)  # there is a store at the path at every moment
        except OSError:
            os.rename(path, aside)  # a file system without hard links
    for suffix in _COMPANIONS:
        left = path.with_name(path.name + suffix)
        if left.exists():  # of a damaged or deleted store: SQLite must not use it for the next one
            os.replace(left, aside.with_name(aside.name + suffix))
    return aside if there else None


def _free_name(path: Path, label: str) -> Path:
    names = (path.with_name(f"{path.name}.{label}{more}") for more in _more())
    return next(name for name in names if not name.exists())


def _more() -> Iterator[str]:
    yield ""
    yield from (f"-{number}" for number in count(2))


def _check_readable(path: Path) -> None:
    """Raise an error if SQLite cannot read the file: opened for writing, it would delete the WAL of such a file."""
    with translated(path), closing(_open_still(path)) as reader:
        reader.pragma("schema_version")


def _vacate(path: Path) -> None:
    """Move the contents of the WAL into the file, so that it can be renamed; StoreBusy while it is open elsewhere.

    SQLite gives up the WAL only if there is no other connection, and every open memory has one.
    """
    with translated(path):
        connection = apsw.Connection(str(path))
        try:
            alone = connection.pragma("journal_mode", "DELETE") == "delete"
        except (apsw.BusyError, apsw.LockedError):
            alone = False
        finally:
            connection.close()
    if not alone:
        raise StoreBusy(f"{path} is in use; stop what uses it, then try again")


def _open_source(path: Path) -> apsw.Connection:
    """Open a file without a WAL as immutable, so that a backup on a read-only disk can be read too."""
    if path.with_name(path.name + "-wal").exists():
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.pragma("query_only", True)
        return connection
    return _open_still(path)


def open_to_read(path: Path) -> apsw.Connection:
    """Open a store that must not be written. One with a WAL is read through it, which needs its -shm file, too."""
    if not path.with_name(path.name + "-wal").exists():
        return _open_still(path)
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quote(str(path))}?mode=ro", flags=flags)


def _open_still(path: Path) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags)


def _copy_pages(reader: apsw.Connection, target: Path, pages: int, progress: Callable[[int, int], None] | None) -> None:
    with translated(target):
        writer = apsw.Connection(str(target))
        try:
            writer.pragma("journal_mode", "OFF")  # an unfinished copy is deleted
            writer.pragma("synchronous", "OFF")  # it is synced before it gets its name
            with writer.backup("main", reader, "main") as copying:
                while not copying.done:
                    copying.step(pages)
                    if progress is not None:
                        progress(copying.page_count - copying.remaining, copying.page_count)
        finally:
            writer.close()


def _look(path: Path, named: Path) -> tuple[StoreCounts, list[tuple[object, ...]]]:
    with translated(named):
        reader = _open_still(path)
        try:
            _identify(reader, named)
            faults = [str(row[0]) for row in reader.execute("PRAGMA integrity_check") if row[0] != "ok"]
            faults += _changed_turns(reader)
            if faults:
                shown = "; ".join(faults[:_FAULTS_NAMED])
                raise StoreDamaged(f"{named} is damaged: {shown}. Take another backup")
            return _held(reader), _ends_of_logs(reader)
        except apsw.SQLError as error:
            raise StoreDamaged(f"{named} is damaged: {error}. Take another backup") from error
        finally:
            reader.close()


def _identify(reader: apsw.Connection, path: Path) -> None:
    application, schema = reader.pragma("application_id"), reader.pragma("user_version")
    if application != APPLICATION_ID:
        raise StoreForeign(f"{path} is not a Holdfast store")
    if schema > SCHEMA:
        raise StoreNewer(
            f"{path} was made by a newer Holdfast (schema {schema}, this one knows {SCHEMA}). "
            "Upgrade: pip install -U holdfast"
        )
    if schema < 1:
        raise StoreDamaged(f"{path} is damaged: its schema is {schema}. Take another backup")


def _changed_turns(reader: apsw.Connection) -> list[str]:
    """Compare the text of each turn with its digest: SQLite checks only its own structure."""
    rows = reader.execute("SELECT id, role, text, digest FROM log WHERE entry = 'turn'")
    return [
        f"the text of turn {noun} has changed"
        for noun, role, text, kept in rows
        if role not in range(len(ROLES)) or digest(ROLES[role], str(text)) != kept
    ]


def _held(reader: apsw.Connection) -> StoreCounts:
    return StoreCounts(
        namespaces=int(str(reader.execute("SELECT count(*) FROM namespaces").get)),
        turns=int(str(reader.execute("SELECT count(*) FROM log WHERE entry = 'turn'").get)),
        lines=int(str(reader.execute("SELECT count(*) FROM log").get)),
        schema=int(reader.pragma("user_version")),
    )


def _ends_of_logs(reader: apsw.Connection) -> list[tuple[object, ...]]:
    """Return (namespace, length, end) of each log."""
    return list(reader.execute("SELECT ns, count(*), max(pos) FROM log GROUP BY ns ORDER BY ns"))


# --- The bytes of the files, for the proof of an erase.


class RawFiles:
    """Reads the files of a store as bytes.

    Closing any handle on the database or its -shm would drop the locks that SQLite holds on them for this whole
    process (POSIX), so those handles are kept until the last store on the path is closed.
    """

    _gate = threading.Lock()
    _open: ClassVar[Counter[Path]] = Counter()
    _kept: ClassVar[dict[Path, dict[tuple[int, int], int]]] = {}

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self._closed = False
        with self._gate:
            self._open[self._path] += 1

    def read(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        for ending in FILES:
            file = self._path.with_name(self._path.name + ending)
            if file.exists():
                yield str(file), self._pieces(file)

    def _pieces(self, file: Path) -> Iterator[bytes]:
        handle = self._handle(file)
        at = 0
        while piece := os.pread(handle, _PIECE + _OVERLAP, at):
            yield piece
            at += _PIECE

    def _handle(self, file: Path) -> int:
        with self._gate:
            state = file.stat()
            kept = self._kept.setdefault(self._path, {})
            known = (state.st_dev, state.st_ino)
            if known not in kept:
                kept[known] = os.open(file, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
            return kept[known]

    def close(self) -> None:
        """Close the handles with the last store on the path. The connections must be closed before."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._open[self._path] -= 1
            if self._open[self._path] <= 0:
                del self._open[self._path]
                for handle in self._kept.pop(self._path, {}).values():
                    os.close(handle)

    def index_head(self) -> bytes:
        """Return the head of the -shm file, SQLite's index of the WAL."""
        return os.pread(self._handle(self._path.with_name(self._path.name + "-shm")), 136, 0)

    def wal_frame(self, number: int, page: int) -> bytes:
        """Return one frame of the WAL: a header and a page. It is shorter if the file ends before."""
        size = _FRAME_HEADER + page
        handle = self._handle(self._path.with_name(self._path.name + "-wal"))
        return os.pread(handle, size, _WAL_HEADER + (number - 1) * size)

    def sample(self, size: int) -> bytes:
        """Return a digest of the file: of all of a small one, of the first page and others of a large one."""
        handle, found = self._handle(self._path), blake2b(b"%d" % size)
        for at in range(0, size, max(size // _SAMPLES // _PAGE, 1) * _PAGE):
            found.update(os.pread(handle, _PAGE, at))
        return found.digest()


class MainFile:
    """Notices that the file of an open store was written by another program, for example a copy.

    With a WAL only checkpoints write the file, and SQLite counts them in the head of its -shm file
    (https://sqlite.org/walformat.html): a file that changed without one is not ours any more. A new time alone (touch,
    a tool that restores times) is no change: size and content decide. Of a file of more than 64 pages a sample is
    compared; a copy that is a turn or two older could pass, one of another size or of another store does not.
    """

    _SALTS, _DONE, _ATTEMPTED = slice(32, 40), slice(96, 100), slice(128, 132)
    _PAGE_SIZE, _LAST, _CHECKSUMS = slice(14, 16), slice(16, 20), (24, 28)

    def __init__(self, path: Path, raw: RawFiles) -> None:
        self._path = path
        self._raw = raw
        self._known: tuple[tuple[int, int], bytes] | None = None
        """The time and size of the file, and the checkpoint that it had then."""
        self._content = b""

    def note(self) -> None:
        """Remember the file as it is."""
        before, self._known = self._known, self._look()
        if self._known is not None and (before is None or before[0] != self._known[0]):
            self._content = self._raw.sample(self._known[0][1])

    def is_ours(self) -> bool:
        """Return whether nobody but SQLite has written the file since it was noted, as far as one can know."""
        if self._known is None or (now := self._look()) is None:
            return True
        return now[0] == self._known[0] or now[1] != self._known[1] or self._raw.sample(now[0][1]) == self._content

    def has_wal(self) -> bool:
        """Return whether the WAL still ends with the last commit, by the salts and checksum of its last frame.

        Its index is in memory, so SQLite would go on behind the end of a WAL that was emptied or overwritten. Call it
        inside a write transaction: nobody else commits or restarts the WAL meanwhile.
        """
        try:
            head = self._raw.index_head()
            last, page = (int.from_bytes(head[part], sys.byteorder) for part in (self._LAST, self._PAGE_SIZE))
            page = 65536 if page == 1 else page
            frame = self._raw.wal_frame(last, page) if last else b""
        except OSError:  # a read-only store has neither
            return True
        sums = (int.from_bytes(head[at : at + 4], sys.byteorder).to_bytes(4, "big") for at in self._CHECKSUMS)
        expected = head[self._SALTS] + b"".join(sums)
        return not last or (len(frame) == _FRAME_HEADER + page and frame[8:_FRAME_HEADER] == expected)

    def _look(self) -> tuple[tuple[int, int], bytes] | None:
        try:
            before, state, after = self._checkpoint(), self._path.stat(), self._checkpoint()
        except OSError:  # a read-only store has no -shm file
            return None
        return None if before is None or before != after else ((state.st_mtime_ns, state.st_size), before)

    def _checkpoint(self) -> bytes | None:
        """Return the number of the last checkpoint, None while one is being made."""
        head = self._raw.index_head()
        done, attempted = (int.from_bytes(head[part], sys.byteorder) for part in (self._DONE, self._ATTEMPTED))
        return None if attempted > done else head[self._SALTS] + head[self._DONE]
