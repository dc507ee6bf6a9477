"""A file that is there whole or not at all: it is written under another name, synced, and renamed at the end."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.errors import InputError

__all__ = ["beside", "sync", "sync_folder", "whole_file"]

_PRIVATE = 0o600  # memories are nobody else's to read


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """The name to write to. It becomes `path` when the block ends well, and is removed when it does not."""
    part = beside(path)
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE))
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}. Does its folder exist, and may you write there?"
        ) from error
    try:
        yield part
        sync(part)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def beside(path: Path) -> Path:
    """A name in the same folder that nobody has: a rename is one step only inside a file system."""
    return path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.part")


def sync(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """A rename is safe once its folder is on disk too; a system that cannot open folders needs no such thing."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
