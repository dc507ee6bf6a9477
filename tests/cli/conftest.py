"""Runs `holdfast …` in this process and gives back what it said."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from holdfast.cli import main
from holdfast.memory import Memory

from .command import TALK, Holdfast, Said


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store that the environment names, and a namespace."""
    path = tmp_path / "memory.db"
    monkeypatch.setenv("HOLDFAST_STORE", str(path))
    monkeypatch.setenv("HOLDFAST_NAMESPACE", "ana")
    monkeypatch.setenv("COLUMNS", "100")
    Memory(path, "ana").close()
    return path


@pytest.fixture
def holdfast(store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Holdfast:
    def run(*args: str, stdin: str = "") -> Said:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        code = main(args)
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return run


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps(message) + "\n" for message in TALK))
    return path


@pytest.fixture
def filled(holdfast: Holdfast, talk: Path) -> Holdfast:
    """The same, with three turns of two sessions in the store."""
    assert holdfast("ingest", str(talk)).code == 0
    return holdfast
