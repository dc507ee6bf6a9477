"""The token of this user's servers: made once, kept in a file that only they can read, compared in constant time."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from pathlib import Path

from holdfast.errors import InputError

__all__ = ["matches", "read_token", "token_path"]

_BYTES = 32
_OTHERS = 0o077


def token_path() -> Path:
    """HOLDFAST_TOKEN_FILE, or `token` in the user's data folder."""
    from platformdirs import user_data_path

    named = os.environ.get("HOLDFAST_TOKEN_FILE")
    return Path(named) if named else user_data_path("holdfast", appauthor=False) / "token"


def read_token(path: Path) -> str:
    """The token in a file, made at the first start (0600, in a folder of 0700)."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return _known(path)
        token = secrets.token_urlsafe(_BYTES)
        with open(handle, "w", encoding="ascii") as file:
            file.write(token + "\n")
    except OSError as error:
        raise InputError(f"cannot read the token in {path}, nor make it: {error}; name another file") from error
    return token


def _known(path: Path) -> str:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe must not make it wait
    try:
        _check(path, os.fstat(handle))
    except InputError:
        os.close(handle)
        raise
    with open(handle, encoding="utf-8", errors="replace") as file:
        token = file.read().strip()
    if len(token) < _BYTES:
        raise InputError(
            f"the token in {path} is too short: it takes {_BYTES} characters or more. Without the file one is made, on "
            "loopback"
        )
    return token


def _check(path: Path, found: os.stat_result) -> None:
    """Of the file that was opened, wherever a link led: who made it, or may read it, knows the token."""
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is no plain file; name another one for the token")
    if os.name != "posix":
        return
    if found.st_uid != os.geteuid():
        raise InputError(f"the token in {path} belongs to another user, who would be let in; name a file of your own")
    if stat.S_IMODE(found.st_mode) & _OTHERS:
        raise InputError(f"others may read the token in {path}: run `chmod 600 {path}`, or delete it to make a new one")


def matches(token: str, given: object) -> bool:
    """Whether this is the token; how long it takes says nothing about how much of it was right."""
    return isinstance(given, str) and hmac.compare_digest(token.encode(), given.encode("utf-8", "surrogatepass"))
