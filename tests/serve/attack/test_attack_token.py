"""Attacks on the token's file: a token that somebody else put there would let them in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.serve.token import read_token

pytestmark = pytest.mark.requirement("SAFE-3")


def written(path: Path, mode: int = 0o600) -> Path:
    path.write_text("t" * 40, encoding="ascii")
    path.chmod(mode)
    return path


def test_a_token_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = written(tmp_path / "token")
    link = tmp_path / "link"
    link.symlink_to(token)
    assert read_token(token) == read_token(link) == "t" * 40
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    for path in (token, link):
        with pytest.raises(InputError, match="belongs to another user"):
            read_token(path)


def test_a_link_to_a_readable_token_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(written(tmp_path / "token", 0o644))
    with pytest.raises(InputError, match="others can read"):
        read_token(link)


def test_a_dangling_link_creates_no_token(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="cannot read or create the token"):
        read_token(link)
    assert not (tmp_path / "elsewhere").exists()


def test_a_token_file_must_be_a_regular_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(mode=0o700)
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("folder", "pipe"):
        with pytest.raises(InputError, match="is not a regular file"):
            read_token(tmp_path / name)
    with pytest.raises(InputError, match="cannot read or create the token"):
        read_token(written(tmp_path / "file") / "token")
