"""Backup and restore of a whole store file with every namespace, and atomic file replacement."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from holdfast.errors import InputError
from holdfast.model import utc_now
from holdfast.settings import StoreSettings
from holdfast.store.open import copy_store_file, set_store_aside
from holdfast.store.store import Store
from holdfast.upkeep.results import BackupResult, RestoreResult

Progress = Callable[[int, int], None]
"""Called with (done, total)."""

_COMPANIONS = ("-wal", "-shm")  # SQLite would take such a file for part of the backup
_PRIVATE = 0o600  # only the owner may read memories


def back_up(store: Store, path: str | os.PathLike[str], progress: Progress | None = None) -> BackupResult:
    """Copy the store and check the copy; everything acknowledged before this call is in it."""
    start = time.perf_counter()
    target = Path(path).expanduser().absolute()
    with usable(target):
        if os.path.lexists(target):
            raise InputError(f"{target} already exists, and a backup never replaces a file. Choose another name")
        if left := [name for suffix in _COMPANIONS if (name := target.with_name(target.name + suffix)).exists()]:
            raise InputError(f"{left[0]} remains from another store of that name; choose another name or remove it")
    with atomic_file(target) as part:
        held = store.copy(part, progress)
    store.note_copy(None, str(target), utc_now())
    seconds = round(time.perf_counter() - start, 3)
    return BackupResult(
        str(target), store.location, held.namespaces, held.turns, held.lines, held.schema, target.stat().st_size,
        seconds,
    )  # fmt: skip


def restore(
    backup: str | os.PathLike[str],
    location: str | os.PathLike[str],
    settings: StoreSettings,
    now: datetime,
    force: bool = False,
    progress: Progress | None = None,
) -> RestoreResult:
    """Replace the store with a checked copy of the backup; an existing store is renamed, not deleted."""
    start = time.perf_counter()
    if "://" in os.fspath(location):
        raise InputError("the store is on a server, and restore replaces a file. Use the server's own tools")
    source = Path(backup).expanduser().absolute()
    with usable(source):
        if not source.is_file():
            raise InputError(f"there is no backup at {source}")
    with usable(location):
        target = Path(location).expanduser().resolve()
        if target.exists() and not target.is_file():
            raise InputError(f"{target} is not a file; give the path of the store, for example {target / 'memory.db'}")
        if target.exists() and source.samefile(target):
            raise InputError(f"{target} is the backup itself; give the path of the store with --store")
        if target.exists() and not force:
            raise InputError(f"{target} already exists; use --force to replace it (the existing store is renamed)")
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with atomic_file(target) as part:
        held = copy_store_file(source, part, settings, progress)
        aside = set_store_aside(target, f"before-restore-{now:%Y%m%dT%H%M%SZ}")
    seconds = round(time.perf_counter() - start, 3)
    return RestoreResult(
        str(target), str(source), None if aside is None else str(aside), held.namespaces, held.turns, held.lines,
        held.schema, target.stat().st_size, seconds,
    )  # fmt: skip


@contextmanager
def usable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise an InputError where the system refuses a path: a name too long, a loop of links, a file as a folder."""
    try:
        yield
    except (OSError, RuntimeError) as error:  # Path.resolve has the second for a loop, before Python 3.13
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot use the path {os.fspath(path)}: {reason}") from error


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path that is synced and renamed to `path` on success, and removed on failure."""
    # In the same folder: a rename is atomic only inside one file system.
    part = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE))
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}. Does its folder exist, and may you write there?"
        ) from error
    try:
        yield part
        _sync(part, os.O_RDWR)
        os.replace(part, path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"cannot write {path}: {error.strerror or error}. Is there room on the disk?") from error
        raise
    if os.name == "posix":  # other systems cannot open folders and do not need this
        _sync(path.parent, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
