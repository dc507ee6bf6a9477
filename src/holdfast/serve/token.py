"""The token of this user's servers: created once in a file that only they can read, compared in constant time.

A browser shows the token once and gets a cookie for it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from holdfast.errors import InputError

COOKIE = "holdfast"
_PURPOSE = b"holdfast: a browser that showed the token"
_LENGTH = 32
_OTHER_USERS = 0o077


def token_path() -> Path:
    """Return HOLDFAST_TOKEN_FILE, or `token` in the user's data folder."""
    from platformdirs import user_data_path

    named = os.environ.get("HOLDFAST_TOKEN_FILE")
    return Path(named) if named else user_data_path("holdfast", appauthor=False) / "token"


def read_token(path: Path) -> str:
    """Return the token in a file, which is created if it does not exist (mode 600, in a folder of mode 700)."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return _read_existing(path)
        token = secrets.token_urlsafe(_LENGTH)
        with open(handle, "w", encoding="ascii") as file:
            file.write(token + "\n")
    except OSError as error:
        raise InputError(f"cannot read or create the token in {path}: {error}; name another file") from error
    return token


def _read_existing(path: Path) -> str:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a named pipe must not block
    try:
        _check_private(path, os.fstat(handle))
    except InputError:
        os.close(handle)
        raise
    with open(handle, encoding="utf-8", errors="replace") as file:
        token = file.read().strip()
    if len(token) < _LENGTH:
        raise InputError(
            f"the token in {path} is too short: it needs at least {_LENGTH} characters. Delete the file to have one "
            "created on loopback"
        )
    return token


def _check_private(path: Path, found: os.stat_result) -> None:
    """Check the opened file, wherever a link led: anyone who created it or can read it knows the token."""
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is not a regular file; name another one for the token")
    if os.name != "posix":
        return
    if found.st_uid != os.geteuid():
        raise InputError(f"the token in {path} belongs to another user, who could log in; name your own file")
    if stat.S_IMODE(found.st_mode) & _OTHER_USERS:
        raise InputError(f"others can read the token in {path}: run `chmod 600 {path}`, or delete it to get a new one")


def is_token(token: str, given: object) -> bool:
    """Compare in constant time."""
    return isinstance(given, str) and hmac.compare_digest(token.encode(), given.encode("utf-8", "surrogatepass"))


def cookie_for(token: str) -> str:
    """Return the cookie's value: it does not contain the token, and a new token invalidates it."""
    return hmac.new(token.encode(), _PURPOSE, hashlib.sha256).hexdigest()


def is_cookie(token: str, value: object) -> bool:
    """Compare in constant time."""
    return is_token(cookie_for(token), value)


def set_cookie_header(token: str) -> str:
    """Return the `Set-Cookie` header of a login: hidden from scripts and other sites, and dropped with the browser."""
    return f"{COOKIE}={cookie_for(token)}; Path=/; HttpOnly; SameSite=Strict"
