"""A backup is a copy of the whole store, every namespace, checked before it has its name; restoring checks it again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from holdfast.errors import InputError
from holdfast.results import BackedUp, Restored
from holdfast.settings import StoreSettings
from holdfast.store.open import copy_store_file, set_store_aside
from holdfast.store.store import Store
from holdfast.text.time import utc_now
from holdfast.upkeep.export import whole_file

Progress = Callable[[int, int], None]
"""Called with (done, total)."""

_COMPANIONS = ("-wal", "-shm")  # SQLite would take such a file for part of the backup


def back_up(store: Store, path: str | os.PathLike[str], progress: Progress | None = None) -> BackedUp:
    """Copy the store as it stands now; what was acknowledged before this call is in it."""
    start = time.perf_counter()
    target = Path(path).expanduser().absolute()
    if target.exists():
        raise InputError(f"{target} is there already; a backup never replaces a file. Choose another name")
    if left := [name for suffix in _COMPANIONS if (name := target.with_name(target.name + suffix)).exists()]:
        raise InputError(f"{left[0]} is left of another store of that name; choose another name or remove it")
    with whole_file(target) as part:
        held = store.copy(part, progress)
    store.note_copy(None, str(target), utc_now())
    seconds = round(time.perf_counter() - start, 3)
    return BackedUp(
        str(target),
        store.location,
        held.namespaces,
        held.turns,
        held.lines,
        held.schema,
        target.stat().st_size,
        seconds,
    )


def restore(
    backup: str | os.PathLike[str],
    location: str | os.PathLike[str],
    settings: StoreSettings,
    now: datetime,
    force: bool = False,
    progress: Progress | None = None,
) -> Restored:
    """Put a copy of the backup where the store is. It is checked first; what was there is kept aside, not lost."""
    start = time.perf_counter()
    if "://" in os.fspath(location):
        raise InputError("the store is a server; restore puts a file in place. Use the server's own tools")
    source, target = Path(backup).expanduser().absolute(), Path(location).expanduser().resolve()
    if not source.is_file():
        raise InputError(f"there is no backup at {source}")
    if target.exists() and not target.is_file():
        raise InputError(f"{target} is no file; give the path of the store, for example {target / 'memory.db'}")
    if target.exists() and source.samefile(target):
        raise InputError(f"{target} is the backup itself; give the path of the store with --store")
    if target.exists() and not force:
        raise InputError(f"{target} is there already; to put the backup in its place (it is kept aside) give --force")
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with whole_file(target) as part:
        held = copy_store_file(source, part, settings, progress)
        aside = set_store_aside(target, f"before-restore-{now:%Y%m%dT%H%M%SZ}")
    seconds = round(time.perf_counter() - start, 3)
    return Restored(
        str(target), str(source), None if aside is None else str(aside), held.namespaces, held.turns, held.lines,
        held.schema, target.stat().st_size, seconds,
    )  # fmt: skip
