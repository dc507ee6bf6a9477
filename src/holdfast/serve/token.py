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
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _known(path)
    token = secrets.token_urlsafe(_BYTES)
    with open(handle, "w", encoding="ascii") as file:
        file.write(token + "\n")
    return token


def _known(path: Path) -> str:
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & _OTHERS:
        raise InputError(f"others may read the token in {path}: run `chmod 600 {path}`, or delete it to make a new one")
    token = path.read_text(encoding="utf-8", errors="replace").strip()
    if len(token) < _BYTES:
        raise InputError(f"the token in {path} is too short to be one; delete the file to make a new one")
    return token


def matches(token: str, given: object) -> bool:
    """Whether this is the token; how long it takes says nothing about how much of it was right."""
    return isinstance(given, str) and hmac.compare_digest(token.encode(), given.encode("utf-8", "surrogatepass"))
