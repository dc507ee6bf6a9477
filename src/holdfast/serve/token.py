"""The token of this user's servers: created once in a file that only they can read, compared in constant time.

A browser shows the token once and gets a cookie for it.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path

from holdfast.errors import InputError

COOKIE = "holdfast"
_PURPOSE = b"holdfast: a browser that showed the token"
_COOKIE_SHAPE = re.compile(r"(?P<login>(?P<since>[0-9a-f]{1,12})-[0-9a-f]{32})\.[0-9a-f]{64}")
_LONGEST_LOGIN_S = 30 * 86_400  # browsers that restore their tabs never drop a cookie
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


def cookie_for(token: str, login: str | None = None) -> str:
    """Return the cookie of a login, a new one if none is named.

    It does not contain the token, and a new token invalidates it.
    """
    login = login or f"{int(time.time()):x}-{secrets.token_hex(16)}"
    return f"{login}.{hmac.new(token.encode(), _PURPOSE + login.encode(), hashlib.sha256).hexdigest()}"


def is_cookie(token: str, value: object) -> bool:
    """Compare in constant time."""
    if not isinstance(value, str) or not (shape := _COOKIE_SHAPE.fullmatch(value)):
        return False
    age = time.time() - int(shape["since"], 16)
    return age < _LONGEST_LOGIN_S and is_token(cookie_for(token, shape["login"]), value)


class EndedLogins:
    """Logins that were ended: their cookies are worth nothing, even if somebody copied them.

    They are kept in a file, so that all processes of a server know them, after a restart too.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._names: set[str] = set()
        self._seen: tuple[int, int] | None = None

    def add(self, cookie: str) -> None:
        name = cookie.partition(".")[0]
        self._names.add(name)
        if self._path is None:
            return
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, f"{name}\n".encode())
            finally:
                os.close(handle)
        except OSError as error:
            logging.getLogger("holdfast").warning(
                "cannot note in %s that a login ended (%s): other processes of this server still accept its cookie",
                self._path, error.strerror,
            )  # fmt: skip

    def __contains__(self, cookie: object) -> bool:
        if self._path is not None:
            with suppress(OSError):  # nobody has logged out yet
                found = self._path.stat()
                if (now := (found.st_mtime_ns, found.st_size)) != self._seen:
                    self._names.update(self._path.read_text("utf-8", errors="replace").split())
                    self._seen = now
        return isinstance(cookie, str) and cookie.partition(".")[0] in self._names


def set_cookie_header(token: str) -> str:
    """Return the `Set-Cookie` header of a login: hidden from scripts and other sites, and dropped with the browser."""
    return f"{COOKIE}={cookie_for(token)}; Path=/; HttpOnly; SameSite=Strict"
