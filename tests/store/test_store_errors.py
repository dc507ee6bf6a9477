"""A store that cannot be used gives a clear error and is left unchanged."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from holdfast.errors import (
    Closed,
    HoldfastError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreForeign,
    StoreIsDirectory,
    StoreNewer,
    StoreReadOnly,
)
from holdfast.memory import Memory
from holdfast.settings import StoreSettings
from holdfast.store.sqlite.schema import SCHEMA
from tests.support.memories import QUICK, OpenMemory, texts, user


def opened(path: Path | str) -> Memory:
    return Memory(path, "ana", embedder="none", settings=QUICK)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Return a closed store with three turns."""
    path = tmp_path / "kept.db"
    with opened(path) as memory:
        for number in range(3):
            memory.ingest(f"turn {number}")
    return path


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("schema", [SCHEMA + 1, 1000, 2**31 - 1])
def test_a_store_of_a_newer_version_is_left_alone(kept: Path, schema: int) -> None:
    with sqlite3.connect(kept) as connection:
        connection.execute(f"PRAGMA user_version = {schema}")
    connection.close()
    before = kept.read_bytes()
    with pytest.raises(StoreNewer, match="Upgrade"):
        opened(kept)
    assert kept.read_bytes() == before


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    "content",
    [
        b"not a database",
        b"x" * 100_000,
        b"SQLite format 3\x00",
        b"\x00" * 4096,
        b"SQLite format 3\x00" + b"\x00" * 4080,
    ],
    ids=["short", "garbage", "cut header", "zeros", "empty header"],
)
def test_a_file_that_is_not_a_database_is_refused_and_left_unchanged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"memory\.db"):
        opened(path)
    assert path.read_bytes() == content


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_store_is_refused(kept: Path, share: float) -> None:
    whole = kept.read_bytes()
    kept.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(StoreDamaged):
        opened(kept)


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("place", range(100))
@pytest.mark.parametrize("flip", [0x01, 0xFF])
def test_a_flipped_bit_in_the_header_is_harmless_or_reported(kept: Path, place: int, flip: int) -> None:
    """For every byte of the header: the store raises StoreError, or returns every turn."""
    raw = bytearray(kept.read_bytes())
    raw[place] ^= flip
    kept.write_bytes(raw)
    try:
        memory = opened(kept)
    except StoreError as error:
        assert kept.name in str(error)
        return
    with memory:
        assert texts(memory.thread("default")) == ["turn 0", "turn 1", "turn 2"]


@pytest.mark.requirement("SAFE-4")
def test_damage_is_found_by_the_integrity_check_or_on_reading(kept: Path) -> None:
    raw = bytearray(kept.read_bytes())
    page = int.from_bytes(raw[16:18], "big")
    for start in range(page, len(raw), page):  # the head of every b-tree page but the first
        raw[start : start + 8] = b"\xff" * 8
    kept.write_bytes(raw)
    with pytest.raises(StoreDamaged, match=r"kept\.db"):
        opened(kept).recent()


@pytest.mark.requirement("SAFE-4")
def test_a_sound_store_has_nothing_to_report(kept: Path) -> None:
    with opened(kept) as memory:
        assert memory.check() == []


@pytest.mark.requirement("SAFE-4")
def test_a_directory_is_not_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreIsDirectory, match=r"memory\.db"):
        opened(tmp_path)


@pytest.mark.requirement("SAFE-4")
def test_a_read_only_file_is_read_and_writes_are_refused(kept: Path) -> None:
    with opened(kept) as memory:
        said = memory.recent()
    kept.chmod(0o444)
    before = kept.read_bytes()
    with opened(kept) as memory:
        assert memory.recent() == said and memory.profile() is not None
        assert memory.search(said[0].text)[0].text == said[0].text
        for write in (lambda: memory.ingest("no"), lambda: memory.remember("no"), memory.rebuild):
            with pytest.raises(StoreReadOnly, match=r"nothing can be stored .*chmod"):
                write()
    assert kept.read_bytes() == before and not kept.with_name(kept.name + "-wal").exists()


@pytest.mark.requirement("SAFE-4")
def test_a_read_only_file_of_an_older_version_says_what_to_do(kept: Path) -> None:
    connection = sqlite3.connect(kept)
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    kept.chmod(0o444)
    with pytest.raises(StoreReadOnly, match="open a copy of it"):
        opened(kept)


def make_foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE log (a)")
    connection.commit()
    connection.close()


def make_stamped(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA application_id = 7")
    connection.commit()
    connection.close()


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("make", [make_foreign, make_stamped])
def test_the_database_of_another_program_is_left_alone(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "theirs.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreForeign, match="another program"):
        opened(path)
    assert path.read_bytes() == before


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("path", ["", "a\x00b.db", "postgresql://host/db", "\ud800.db"])
def test_an_invalid_path_is_a_store_error(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError):
        opened(path)


@pytest.mark.requirement("SAFE-4")
def test_a_folder_that_is_a_file_is_a_store_error(kept: Path) -> None:
    with pytest.raises(StoreError, match=r"kept\.db"):
        opened(kept / "inner.db")


@pytest.mark.requirement("INV-1")
def test_missing_folders_are_created_for_the_owner_only(tmp_path: Path) -> None:
    with opened(tmp_path / "a" / "b" / "memory.db") as memory:
        memory.ingest("words")
        open_to_others = [path.name for path in (tmp_path / "a" / "b").iterdir() if path.stat().st_mode & 0o077]
    assert (tmp_path / "a" / "b").stat().st_mode & 0o077 == 0
    assert open_to_others == []


@pytest.mark.requirement("SAFE-4")
def test_every_verb_raises_closed_after_close_and_closing_twice_is_fine(open_memory: OpenMemory) -> None:
    memory = open_memory()
    turn = memory.ingest("words")
    memory.close()
    memory.close()
    for verb in (
        lambda: memory.ingest("x"),
        lambda: memory.ingest_many([{"role": "user", "content": "x"}]),
        lambda: memory.search("x"),
        memory.recent,
        lambda: memory.thread("default"),
        lambda: memory.remember("x"),
        lambda: memory.forget(turn.id),
        lambda: memory.why(turn.id),
        memory.status,
        memory.check,
        memory.flush,
        memory.rebuild,
        memory.bootstrap,
    ):
        with pytest.raises(Closed):
            verb()
    assert texts(open_memory().recent()) == ["words"]


@pytest.mark.requirement("SAFE-2")
def test_a_writer_that_blocks_too_long_gives_store_busy_and_no_partial_write(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    short = replace(QUICK, store=StoreSettings(durable=False, busy_s=0.1))
    with Memory(path, "ana", embedder="none", settings=short) as memory:
        memory.ingest("before")
        lock = os.open(f"{path}-lock", os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with pytest.raises(StoreBusy, match="Try again"):
                memory.ingest("during")
            assert texts(memory.recent()) == ["before"]  # reading goes on
        finally:
            os.close(lock)
        memory.ingest("after")
        assert texts(memory.thread("default")) == ["before", "after"]


@pytest.mark.requirement("SAFE-4", "LOG-7")
@pytest.mark.parametrize(
    ("column", "value"),
    [("at", "never"), ("idx", None), ("role", "x"), ("session", 1.5), ("text", b"\xff\xfe"), ("text", 7)],
)
def test_a_damaged_row_is_our_error(open_memory: OpenMemory, tmp_path: Path, column: str, value: object) -> None:
    with open_memory() as memory:
        memory.ingest("The harbour is closed.", session="x", metadata={"speaker": "Ana"})
    damaged = apsw.Connection(str(tmp_path / "memory.db"))
    damaged.execute(f"UPDATE log SET {column} = ? WHERE entry = 'turn'", (value,))
    damaged.close()
    memory = open_memory()
    for call in (lambda: memory.search("harbour"), lambda: memory.recent(3), memory.doctor, lambda: memory.thread("x")):
        with suppress(HoldfastError):
            call()
    made = memory.context([user("Is the harbour closed?")], "x")
    assert "Error" not in (made.degraded or "")
