"""Connections to one SQLite file: how it is opened, locked, written and read.

WAL with synchronous FULL: an acknowledged turn survives a power cut. Writers queue behind an flock before BEGIN
IMMEDIATE: SQLite's own busy handler polls, and with 8 processes its worst wait was twelve times as long. The lock is a
file of its own, because closing any other handle on the database file would drop SQLite's locks on it.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import apsw

from holdfast.errors import (
    Closed,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreForeign,
    StoreIsDirectory,
    StoreNewer,
    StoreReadOnly,
)
from holdfast.settings import StoreSettings
from holdfast.store.rows import SLOTS
from holdfast.store.sqlite.schema import APPLICATION_ID, MIGRATIONS, SCHEMA
from holdfast.store.types import Space

_fcntl: ModuleType | None
try:
    import fcntl as _fcntl
except ImportError:  # Windows: SQLite's own locks and the busy time-out remain
    _fcntl = None

# Waiting for the lock: a commit takes about .3 ms, so look again soon, then less often. A blocking flock would have
# no time-out, and a stopped process would stop every other.
_MOST_IDLE = 8  # readers kept for the next search; a burst of threads opens more and closes them again
_FIRST_PAUSE_S = 0.0002
_LONGEST_PAUSE_S = 0.005


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors in our own words."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamaged(
            f"{path} is damaged or not a database ({error}). Restore it from a backup, or move it away to start anew"
        ) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreReadOnly(
            f"{path} cannot be written ({error}). Check the rights of the file and its folder"
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"{path} is held by another process for too long ({error}). Try again") from error
    except apsw.FullError as error:
        raise StoreError(f"the disk of {path} is full; nothing of this write was kept") from error
    except apsw.CantOpenError as error:
        raise StoreError(f"cannot open {path} ({error}). Does its folder exist, and may you write there?") from error
    except apsw.IOError as error:
        raise StoreError(f"the disk of {path} failed ({error}); nothing of this write was kept") from error


class FileLock:
    """An flock on a file beside the store. The system gives it free when its holder dies."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) if _fcntl else None

    def acquire(self, timeout_s: float) -> bool:
        if _fcntl is None or self._file is None:
            return True
        deadline = time.monotonic() + timeout_s
        pause = _FIRST_PAUSE_S
        while not self._try():
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE_S)
        return True

    def _try(self) -> bool:
        assert _fcntl is not None and self._file is not None
        try:
            _fcntl.flock(self._file, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EINTR):
                return False
            raise
        return True

    def release(self) -> None:
        if _fcntl is not None and self._file is not None:
            _fcntl.flock(self._file, _fcntl.LOCK_UN)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Connections:
    """One writer for the process, and as many readers as read at once."""

    def __init__(self, path: Path, settings: StoreSettings) -> None:
        self.path = path
        self._settings = settings
        self._closed = False
        self._write_gate = threading.RLock()
        self._readers_gate = threading.Lock()
        self._idle: list[apsw.Connection] = []
        self._mine = threading.local()
        """The reader this thread is inside of, if any: a snapshot inside a snapshot sees the same moment."""
        self._file: tuple[int, int] | None = None
        """Device and inode, once it is there."""
        _check_path(path)
        with translated(path):
            self._lock = FileLock(path.with_name(path.name + "-lock"))
            try:
                self._writer = self._open()
                self._migrate()
            except apsw.SQLError as error:  # a header that SQLite knows no meaning for
                self._lock.close()
                raise StoreDamaged(f"{path} is damaged: {error}. Restore it from a backup") from error
            except BaseException:
                self._lock.close()
                raise
        self._file = _identity(path)

    def _open(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.path))
        connection.set_busy_timeout(int(self._settings.busy_s * 1000))
        connection.pragma("synchronous", "FULL" if self._settings.durable else "OFF")
        connection.pragma("temp_store", "MEMORY")
        connection.pragma("cache_size", -8192)
        return connection

    def _migrate(self) -> None:
        found = self._identify()
        writer = self._writer
        if writer.pragma("journal_mode") != "wal":
            with self._locked():
                writer.pragma("journal_mode", "WAL")
        if found < SCHEMA:
            with self.writing() as connection:
                for number in range(connection.pragma("user_version"), SCHEMA):  # another may have been first
                    connection.execute(MIGRATIONS[number])
                connection.pragma("application_id", APPLICATION_ID)
                connection.pragma("user_version", SCHEMA)
        self.sweep(wait=False)  # an erase that a crash cut short is finished now

    def _identify(self) -> int:
        """The schema of the file; an error if it is not ours.

        Tables are looked for first: another process may be making them, and who sees them sees its marks too.
        """
        tables = _has_tables(self._writer)
        application, found = self._writer.pragma("application_id"), self._writer.pragma("user_version")
        if application not in (0, APPLICATION_ID) or (application == 0 and tables):
            raise StoreForeign(f"{self.path} is a database of another program; choose another path")
        if found > SCHEMA:
            raise StoreNewer(
                f"{self.path} was made by a newer Holdfast (schema {found}, this one knows {SCHEMA}). "
                "Upgrade: pip install -U holdfast"
            )
        if found < 0 or (found == 0 and tables):
            raise StoreDamaged(f"{self.path} is damaged: its schema is {found}. Restore it from a backup")
        return int(found)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if not self._lock.acquire(self._settings.busy_s):
            raise StoreBusy(f"{self.path} has been held by another writer for {self._settings.busy_s:.0f} s. Try again")
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other thread of this process writes meanwhile, before, in and after a transaction."""
        with self._write_gate:
            yield

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """A write transaction: all of it durable when the block ends, or none of it."""
        with self._write_gate:
            if self._closed:
                raise Closed("this memory was closed; open it again to use it")
            with translated(self.path), self._locked():
                writer = self._writer
                writer.execute("BEGIN IMMEDIATE")
                try:
                    yield writer
                    self._check_file()
                    writer.execute("COMMIT")
                except BaseException:
                    if writer.in_transaction:
                        writer.execute("ROLLBACK")
                    raise

    def is_in_place(self) -> bool:
        """Whether the path still leads to the file that is open."""
        return _identity(self.path) == self._file

    def _check_file(self) -> None:
        """SQLite goes on writing into a file that has no name any more: what it acknowledged would be lost."""
        if self._file is not None and not self.is_in_place():
            raise StoreError(
                f"{self.path} was moved or deleted while it was open; nothing of this write was kept. "
                "Put the file back if you can, and start again"
            )

    def sweep(self, wait: bool = True) -> str | None:
        """Write the file anew and empty the WAL, so that nothing of what was erased lies in either.

        None when it is done, or was nothing to do; else what keeps it from being done. The note in the file stays
        until it is, and the next sweep goes on.
        """
        with self._write_gate, translated(self.path):
            if not self._writer.execute("SELECT EXISTS (SELECT 1 FROM unswept)").get:
                return None
            with self._locked():
                self._vacuum()
                if not self._empty_wal(wait):
                    return (
                        "another process reads an older state of the store, which keeps it in the -wal file; "
                        "it is emptied when that is over and the store is opened or swept again"
                    )
                self._writer.execute("DELETE FROM unswept")
                self._empty_wal(wait=False)
        return None

    def _vacuum(self) -> None:
        """secure_delete zeroes what a page does not use; VACUUM leaves out every page and cell that ever was free."""
        large = self.path.stat().st_size > self._settings.sweep_memory_mb * 1_000_000
        self._writer.pragma("secure_delete", True)
        self._writer.pragma("temp_store", "FILE" if large else "MEMORY")
        try:
            self._writer.execute("VACUUM")
        finally:
            self._writer.pragma("temp_store", "MEMORY")
            self._writer.pragma("secure_delete", False)

    def _empty_wal(self, wait: bool) -> bool:
        """Whether every page is in the file and the WAL is empty; readers of an older state prevent it."""
        if not wait:
            self._writer.set_busy_timeout(0)
        try:
            answer = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            self._writer.set_busy_timeout(int(self._settings.busy_s * 1000))
        return answer is not None and not answer[0]

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A read transaction: everything in the block is seen as it stood at one moment."""
        current: apsw.Connection | None = getattr(self._mine, "reader", None)
        if current is not None:
            yield current
            return
        reader = self._take_reader()
        self._mine.reader = reader
        try:
            with translated(self.path):
                reader.execute("BEGIN")
                try:
                    yield reader
                finally:
                    reader.execute("COMMIT")
        finally:
            self._mine.reader = None
            self._give_back(reader)

    def _take_reader(self) -> apsw.Connection:
        with self._readers_gate:
            if self._closed:
                raise Closed("this memory was closed; open it again to use it")
            if self._idle:
                return self._idle.pop()
        with translated(self.path):
            reader = self._open()
            reader.pragma("query_only", True)
            return reader

    def _give_back(self, reader: apsw.Connection) -> None:
        with self._readers_gate:
            if not self._closed and len(self._idle) < _MOST_IDLE:
                self._idle.append(reader)
                return
        reader.close()

    def close(self) -> None:
        """Close what is idle; a reader in use is closed by whoever uses it, when it is done."""
        with self._write_gate:
            with self._readers_gate:
                if self._closed:
                    return
                self._closed = True
                idle, self._idle = self._idle, []
            for reader in idle:
                reader.close()
            self._writer.close()
            self._lock.close()


def _has_tables(connection: apsw.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").get)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _check_path(path: Path) -> None:
    """The faults that SQLite would report in words nobody understands."""
    try:
        os.fsencode(path).decode()
    except UnicodeError as error:
        raise StoreError(f"{str(path)!r} cannot be the name of a file: it is no valid text") from error
    if path.is_dir():
        raise StoreIsDirectory(f"{path} is a directory; give the path of a file, for example {path / 'memory.db'}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(f"cannot make the folder {path.parent}: {error.strerror}") from error
    if not path.exists():
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise StoreReadOnly(f"cannot create {path}: {error.strerror}") from error
        return
    # Even root, whom the rights do not stop, meant something by taking them away.
    if not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK):
        raise StoreReadOnly(f"{path} is read-only; Holdfast must be able to write its store (chmod u+w {path})")
    _check_length(path)


def _check_length(path: Path) -> None:
    """A truncated file: its header counts more pages than it has."""
    if path.with_name(path.name + "-wal").exists():
        return  # pages may still be in the WAL; and whoever has it open here would lose SQLite's locks by our close()
    size = path.stat().st_size
    if size == 0:
        return
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(b"SQLite format 3\x00"):
        raise StoreDamaged(f"{path} is not a Holdfast store: it is no SQLite file, or its first page is damaged")
    page = int.from_bytes(header[16:18], "big")
    expected = int.from_bytes(header[28:32], "big") * (65536 if page == 1 else page)
    if header[24:28] == header[92:96] and size < expected:
        raise StoreDamaged(f"{path} is truncated: {size:,} of {expected:,} bytes are left. Restore it from a backup")


# --- A namespace and a number in it, as the one integer that SQLite clusters rows by.


# 63 bits: 4 million namespaces of 17 billion entries each, and for vectors 16 models and 8 spaces between.
_NUM_BITS = 34
_SPACE_BITS = 3
# Records lay at 4 from the first, when there were fewer spaces.
_SPACE_CODE = {Space.TURN: 0, Space.PASSAGE: 1, Space.TOLD: 2, Space.WINDOW: 3, Space.RECORD: 4, Space.CLAIM: 5}
_SLOT_BITS = (SLOTS - 1).bit_length()
NS_SHIFT = _NUM_BITS + _SPACE_BITS + _SLOT_BITS
NUMBER_MASK = (1 << _NUM_BITS) - 1


def place(ns: int, num: int) -> int:
    """Where the entry of this number lies in the log, or the record among the records."""
    return vector_place(ns, 0, Space.TURN, num)


def vector_place(ns: int, slot: int, space: Space, num: int) -> int:
    assert 0 <= num <= NUMBER_MASK and 0 <= slot < SLOTS, "a number outside its namespace would be another's row"
    return (ns << NS_SHIFT) | (slot << (_NUM_BITS + _SPACE_BITS)) | (_SPACE_CODE[space] << _NUM_BITS) | num


def number_of(pos: int) -> int:
    """The number back out of a place."""
    return pos & NUMBER_MASK
