"""The default engine: one SQLite file, how it is opened, locked, written and read.

WAL with synchronous FULL: an acknowledged turn survives a power cut. Writers queue behind an flock before BEGIN
IMMEDIATE: SQLite's own busy handler polls, and with 8 processes its worst wait was twelve times as long. The lock is a
separate file, because closing any other handle on the database file would drop SQLite's locks on it.
"""

from __future__ import annotations

import errno
import glob
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TypeVar

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
from holdfast.model import NewTurn, Turn
from holdfast.settings import StoreSettings
from holdfast.store.lines import append
from holdfast.store.sqlite.files import MainFile, RawFiles, copy_store, open_to_read
from holdfast.store.sqlite.schema import APPLICATION_ID, MIGRATIONS, SCHEMA
from holdfast.store.sqlite.transaction import SqliteTransaction, out_of_files, read_secret, translated
from holdfast.store.types import Server, StoreCounts, Transaction

_SWEEP_MEMORY_MB = 256
"""A file up to this size is rewritten in memory after an erase, a larger one through a temporary file of the rest."""

_fcntl: ModuleType | None
try:
    import fcntl as _fcntl
except ImportError:  # Windows: SQLite's own locks and the busy time-out remain
    _fcntl = None

T = TypeVar("T")
_MOST_IDLE = 8  # readers kept for the next search; a burst of threads opens more and closes them again
_MOST_TAILS = 1000  # sessions whose end is remembered
# Waiting for the lock: a commit takes about .3 ms, so it is tried again soon, then less often. A blocking flock would
# have no time-out, and a stopped process would stop every other.
_FIRST_PAUSE_S = 0.0002
_LONGEST_PAUSE_S = 0.005


class FileLock:
    """An flock on a file next to the store, or none (`path` is None). The system releases it when its holder dies."""

    def __init__(self, path: Path | None) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) if _fcntl and path else None

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


class TailCache:
    """Cached ends of sessions and logs as this process left them; valid while nobody else has written to the file.

    SQLite counts the commits of other connections (data_version), and all writes of a process use one connection. If
    the count is the same as before, an append is spared the look-ups that its acknowledgement would wait for.
    """

    def __init__(self) -> None:
        self._version = -1
        self._sessions: dict[tuple[str, str], tuple[int, int, int]] = {}
        """(namespace, session, last index) by their names."""
        self._seqs: dict[int, int] = {}

    def take(
        self, connection: apsw.Connection, namespace: str, session: str
    ) -> tuple[int | None, tuple[int, int, int] | None]:
        """Return the number of the namespace and where the session ends (Transaction.session_end), if known.

        It is put back by keep() after the commit: a transaction that fails leaves nothing here.
        """
        version = connection.execute("PRAGMA data_version").get
        if version != self._version:
            self.forget()
            self._version = version
        known = self._sessions.pop((namespace, session), None)
        seq = self._seqs.pop(known[0], None) if known else None
        if known is None or seq is None:
            return None, None
        return known[0], (known[1], seq, known[2])

    def keep(self, namespace: str, session: str, ns: int, end: tuple[int, int, int]) -> None:
        if len(self._sessions) >= _MOST_TAILS:
            self.forget()
        number, seq, index = end
        self._sessions[namespace, session] = (ns, number, index)
        self._seqs[ns] = seq

    def forget(self) -> None:
        self._sessions.clear()
        self._seqs.clear()


class SqliteDatabase:
    """One writer for the process, and as many readers as read at once."""

    engine = "sqlite"
    schema = SCHEMA

    def __init__(self, path: str | Path, settings: StoreSettings) -> None:
        self.path = path = Path(path).expanduser().absolute()
        self._settings = settings
        self._closed = False
        self._write_gate = threading.RLock()
        self._readers_gate = threading.Lock()
        self._idle: list[apsw.Connection] = []
        self._tails = TailCache()
        self._local = threading.local()
        """The reader that this thread is using, if any: a snapshot inside of a snapshot sees the same moment."""
        self._file: tuple[int, int] | None = None
        """Device and inode, once the file exists."""
        with translated(path), ExitStack() as opened:
            self._read_only = _check_path(path)
            self._lock = FileLock(None if self._read_only else path.with_name(path.name + "-lock"))
            opened.callback(self._lock.close)
            self._work = FileLock(None if self._read_only else path.with_name(path.name + "-work"))
            opened.callback(self._work.close)
            try:
                self._writer = self._open()
                opened.callback(self._writer.close)
                self._migrate()
            except apsw.SQLError as error:  # a header that SQLite does not understand
                raise StoreDamaged(f"{path} is damaged: {error}. Restore it from a backup") from error
            opened.pop_all()
        self._real = path.resolve()  # where SQLite puts its other files
        self._file, self._companions = _identity(path), _companions(self._real)
        self._work_gate = threading.Lock()
        """The flock belongs to the process; this one decides among its threads."""
        self._raw = RawFiles(path)
        self._main = MainFile(path, self._raw)
        self._main.note()

    @property
    def location(self) -> str:
        return str(self.path)

    @cached_property
    def secret(self) -> bytes:
        with self._reading() as connection:
            return read_secret(connection)

    # --- opening

    def _open(self) -> apsw.Connection:
        if self._read_only:
            return open_to_read(self.path)
        connection = apsw.Connection(str(self.path))
        connection.set_busy_timeout(int(self._settings.busy_s * 1000))
        connection.pragma("synchronous", "FULL" if self._settings.durable else "OFF")
        connection.pragma("temp_store", "MEMORY")
        connection.pragma("cache_size", -8192)
        return connection

    def _migrate(self) -> None:
        found = self._identify()
        if self._read_only:
            if found < SCHEMA:
                raise StoreReadOnly(
                    f"{self.path} is read-only and was made by an older Holdfast, so it must be upgraded first: open a "
                    "copy of it that can be written"
                )
            return
        writer = self._writer
        if writer.pragma("journal_mode") != "wal":
            with self._locked():
                writer.pragma("journal_mode", "WAL")
        if found < SCHEMA:
            with self._writing() as connection:
                for number in range(connection.pragma("user_version"), SCHEMA):  # another may have been first
                    connection.execute(MIGRATIONS[number])
                connection.pragma("application_id", APPLICATION_ID)
                connection.pragma("user_version", SCHEMA)
        self._sweep(wait=False)  # finish an erase that a crash interrupted

    def _identify(self) -> int:
        """Return the schema of the file; raise an error if it is not ours.

        Tables are looked for first: if another process is creating them, a process that sees them sees its marks too.
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

    # --- writing

    def write(self, namespace: str, work: Callable[[Transaction], T], repeat: bool = True) -> T:
        with self._write_gate:
            with self._writing() as connection:
                tx = SqliteTransaction(connection, namespace)
                result = work(tx)
            if tx.wrote is not None:
                self._tails.forget()
            return result

    def append(
        self,
        namespace: str,
        session: str,
        turns: Sequence[NewTurn],
        ids: Sequence[str],
        recorded_at: datetime,
        expect: int | None,
    ) -> list[Turn] | None:
        with self._write_gate:  # the tail is kept before the next writer can move it
            with self._writing() as connection:
                ns, end = self._tails.take(connection, namespace, session)
                tx = SqliteTransaction(connection, namespace, ns)
                tx.session_end = end
                kept = append(tx, session, turns, ids, recorded_at, expect)
            if tx.session_end is not None:
                self._tails.keep(namespace, session, tx.ns, tx.session_end)
            return kept

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if not self._lock.acquire(self._settings.busy_s):
            raise StoreBusy(f"{self.path} has been held by another writer for {self._settings.busy_s:.0f} s. Try again")
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        """Open a write transaction: all of it is durable when the block ends, or none of it."""
        with self._write_gate:
            if self._closed:
                raise Closed("this memory was closed; open it again to use it")
            if self._read_only:
                raise StoreReadOnly(
                    f"{self.path} is read-only: it can be read, but nothing can be stored (chmod u+w {self.path})"
                )
            with translated(self.path), self._locked():
                writer = self._writer
                writer.execute("BEGIN IMMEDIATE")
                try:
                    yield writer
                    self._check_file()
                    writer.execute("COMMIT")
                    if self._file is not None:
                        self._main.note()
                except BaseException:
                    if writer.in_transaction:
                        writer.execute("ROLLBACK")
                    raise

    def is_in_place(self) -> bool:
        return _identity(self.path) == self._file

    def _check_file(self) -> None:
        """SQLite goes on writing into a file that has no name any more: what it acknowledged would be lost."""
        if fault := self._find_fault():
            raise StoreError(f"{fault[0]} while it was open; nothing of this write was kept. {fault[1]}")

    def _find_fault(self) -> tuple[str, str] | None:
        """Return what happened to the files from outside and what to do, if anything; in a write transaction only."""
        if self._file is None:
            return None
        if not self.is_in_place():
            return f"{self.path} was moved or deleted", "Put the file back if you can, and start again"
        wal = f"the -wal or -shm file of {self.path}, which holds its latest turns,"
        there = _companions(self._real)
        if there != self._companions and self._companions[0] is not None:
            return f"{wal} was moved or deleted", "Put it back if you can, and start again"
        self._companions = there
        restore = "Stop all programs that use it and restore it from a backup: holdfast restore"
        if not self._main.is_ours():
            return f"another file was copied over {self.path}", restore
        return None if self._main.has_wal() else (f"{wal} was emptied or overwritten", restore)

    # --- reading

    @contextmanager
    def reading(self, namespace: str) -> Iterator[SqliteTransaction]:
        with self._reading() as connection:
            yield SqliteTransaction(connection, namespace)

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        current: apsw.Connection | None = getattr(self._local, "reader", None)
        if current is not None:
            yield current
            return
        reader = self._take_reader()
        self._local.reader = reader
        try:
            with translated(self.path):
                reader.execute("BEGIN")
                try:
                    yield reader
                finally:
                    if reader.in_transaction:  # after a failure of the disk SQLite has ended it
                        reader.execute("COMMIT")
        finally:
            self._local.reader = None
            self._return_reader(reader)

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

    def _return_reader(self, reader: apsw.Connection) -> None:
        with self._readers_gate:
            if not self._closed and len(self._idle) < _MOST_IDLE:
                self._idle.append(reader)
                return
        reader.close()

    # --- derived work

    @contextmanager
    def claimed(self, namespace: str, wait_s: float = 0.0) -> Iterator[bool]:
        """Claim the whole file: it has one writer anyway, and the lock dies with its holder."""
        if not self._work_gate.acquire(timeout=wait_s):
            yield False
            return
        try:
            mine = self._work.acquire(wait_s)
            try:
                yield mine
            finally:
                if mine:
                    self._work.release()
        finally:
            self._work_gate.release()

    def write_claimed(self, namespace: str, work: Callable[[Transaction], T], wait_s: float) -> T | None:
        with self.claimed(namespace, wait_s) as mine:
            return self.write(namespace, work) if mine else None

    # --- erased bytes

    def sweep(self) -> str | None:
        return self._sweep()

    def _sweep(self, wait: bool = True) -> str | None:
        """Write the file again and empty the WAL, so that neither contains anything that was erased.

        Return None when it is done or there was nothing to do, else what prevents it. The note in the file stays until
        it is done, and the next sweep goes on.
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
        large = self.path.stat().st_size > _SWEEP_MEMORY_MB * 1_000_000
        self._writer.pragma("secure_delete", True)
        self._writer.pragma("temp_store", "FILE" if large else "MEMORY")
        try:
            self._writer.execute("VACUUM")
        finally:
            self._writer.pragma("temp_store", "MEMORY")
            self._writer.pragma("secure_delete", False)

    def _empty_wal(self, wait: bool) -> bool:
        """Return whether every page is in the file and the WAL is empty; readers of an older state prevent it."""
        if not wait:
            self._writer.set_busy_timeout(0)
        try:
            answer = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            self._writer.set_busy_timeout(int(self._settings.busy_s * 1000))
        return answer is not None and not answer[0]

    # --- the file

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        return self._raw.read()

    def replaced_files(self) -> list[str]:
        pattern = f"{glob.escape(self.path.name)}.before-restore-*"
        return sorted(str(path) for path in self.path.parent.glob(pattern))

    def check(self) -> list[str]:
        if found := self._outside_faults():
            return found
        with self._reading() as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
        return [line for line in found if line != "ok"]

    def _outside_faults(self) -> list[str]:
        """SQLite's own check reads its cache and the WAL, and may not see that the file is another one."""
        if self._read_only:
            return []
        fault = None
        try:
            with self._writing():
                fault = self._find_fault()
        except StoreBusy:  # the process that writes checks the files, too
            return []
        except StoreError as error:
            return [f"{fault[0]} while it was open. {fault[1]}" if fault else str(error)]
        return []

    def copy(self, path: Path, progress: Callable[[int, int], None] | None = None) -> StoreCounts:
        return copy_store(self.path, path, self._settings, progress)

    def size(self) -> int:
        parts = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    def server(self) -> None:
        return None

    def shard(self) -> Server:
        raise StoreError(f"{self.path} is a file, which cannot be spread over servers. Copy it first: holdfast copy")

    def close(self) -> None:
        """Close what is idle; a reader in use is closed by its user."""
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
        self._work.close()
        self._raw.close()


def _has_tables(connection: apsw.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").get)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _companions(path: Path) -> tuple[tuple[int, int] | None, ...]:
    return tuple(_identity(path.with_name(path.name + suffix)) for suffix in ("-wal", "-shm"))


def _check_path(path: Path) -> bool:
    """Report the faults that SQLite would report in words that nobody understands; return whether it is read-only."""
    try:
        os.fsencode(path).decode()
    except UnicodeError as error:
        raise StoreError(f"{str(path)!r} cannot be the name of a file: it is not valid text") from error
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):  # it is made below, or what prevents that is named
        pass
    except OSError as error:
        raise StoreError(f"cannot use the path {path}: {error.strerror}") from error
    if path.is_dir():
        raise StoreIsDirectory(f"{path} is a directory; give the path of a file, for example {path / 'memory.db'}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(f"cannot create the folder {path.parent}: {error.strerror}") from error
    if not path.exists():
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise out_of_files(path) or StoreReadOnly(f"cannot create {path}: {error.strerror}") from error
        return False
    _check_length(path)
    # Root ignores permissions, but somebody took them away on purpose. SQLite needs its folder to write, too.
    return not path.stat().st_mode & 0o222 or not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def _check_length(path: Path) -> None:
    """Raise an error for a truncated file: its header counts more pages than it has."""
    if any(path.with_name(path.name + suffix).exists() for suffix in ("-wal", "-journal")):
        return  # SQLite puts its pages in order first; and closing the file here would drop its locks of this process
    size = path.stat().st_size
    if size == 0:
        return
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(b"SQLite format 3\x00"):
        raise StoreDamaged(f"{path} is not a Holdfast store: it is not a SQLite file, or its first page is damaged")
    page = int.from_bytes(header[16:18], "big")
    expected = int.from_bytes(header[28:32], "big") * (65536 if page == 1 else page)
    if header[24:28] == header[92:96] and size < expected:
        raise StoreDamaged(f"{path} is truncated: {size:,} of {expected:,} bytes are left. Restore it from a backup")
