"""Faults from outside while a store is open: its files, its rows, its clock, its process."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError, InputError, StoreError
from holdfast.memory import Memory
from holdfast.settings import JanitorSettings
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK, texts, user

SAID = [f"I live in Oslo, near house {number}." for number in range(5)]


def opened(path: Path) -> Memory:
    return Memory(path, "ana", embedder="none", settings=QUICK)


def filled(path: Path, said: list[str] = SAID) -> Path:
    with opened(path) as memory:
        for text in said:
            memory.ingest(text, metadata={"source": "a test"})
        memory.remember("Never deploy on Fridays.", "guidance")
    return path


def remove_wal(path: Path) -> None:
    path.with_name(path.name + "-wal").unlink()


def remove_shm(path: Path) -> None:
    path.with_name(path.name + "-shm").unlink()


def replace_wal(path: Path) -> None:
    wal = path.with_name(path.name + "-wal")
    wal.rename(path.with_name("elsewhere"))
    wal.write_bytes(b"")


def empty_wal(path: Path) -> None:
    os.truncate(path.with_name(path.name + "-wal"), 0)


def cut_wal(path: Path) -> None:
    wal = path.with_name(path.name + "-wal")
    os.truncate(wal, wal.stat().st_size - 100)


def overwrite_wal(path: Path) -> None:
    wal = path.with_name(path.name + "-wal")
    with wal.open("r+b") as file:
        file.write(bytes(wal.stat().st_size))


def copy_another(path: Path) -> None:
    shutil.copyfile(filled(path.with_name("another.db"), ["Something else."]), path)


def copy_older(path: Path) -> None:
    shutil.copyfile(path.with_name("older.db"), path)


def rename_another(path: Path) -> None:
    filled(path.with_name("another.db")).rename(path)


@pytest.mark.requirement("INV-1", "SAFE-4")
@pytest.mark.parametrize(
    "fault",
    [
        remove_wal,
        remove_shm,
        replace_wal,
        empty_wal,
        cut_wal,
        overwrite_wal,
        copy_another,
        copy_older,
        rename_another,
    ],
    ids=lambda one: one.__name__,
)
def test_a_write_is_not_acknowledged_into_files_that_are_gone(tmp_path: Path, fault: Callable[[Path], None]) -> None:
    path = filled(tmp_path / "memory.db")
    shutil.copyfile(path, tmp_path / "older.db")
    filled(path, ["I moved to Bergen."])
    with opened(path) as memory:
        memory.ingest("This is kept.")
        fault(path)
        with pytest.raises(StoreError, match="nothing of this write was kept"):
            memory.ingest("This is not.")
        with pytest.raises(StoreError):
            memory.remember("Nor is this.")
        assert any("while it was open" in line for line in memory.check())


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("times", [None, (0, 0)])
def test_a_new_time_of_the_file_alone_stops_no_write(tmp_path: Path, times: tuple[int, int] | None) -> None:
    path = filled(tmp_path / "memory.db")
    with opened(path) as memory:
        memory.ingest("This is kept.")
        os.utime(path, times)
        memory.ingest("This too.")
        memory.flush()
        shutil.copyfile(filled(tmp_path / "another.db", ["Something else."]), path)
        with pytest.raises(StoreError, match="nothing of this write was kept"):
            memory.ingest("This is not.")


CHECKPOINTS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=60)
for _ in range(300):
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
"""


@pytest.mark.requirement("INV-1", "SAFE-4")
def test_checkpoints_of_any_process_are_no_fault(tmp_path: Path) -> None:
    path = filled(tmp_path / "memory.db")
    with opened(path) as memory:
        other = subprocess.Popen([sys.executable, "-c", CHECKPOINTS, str(path)])
        count = 0
        while other.poll() is None or count < 100:
            memory.ingest(f"{count} " + "long " * 4000)  # the WAL is moved into the file every 4 MB
            count += 1
        assert other.returncode == 0
        assert len(memory.thread("default")) == len(SAID) + count and memory.check() == []


@pytest.mark.requirement("SAFE-4", "LOG-1")
@pytest.mark.parametrize("number", range(len(SAID)))
def test_the_check_finds_one_changed_letter_of_a_turn(tmp_path: Path, number: int) -> None:
    path = filled(tmp_path / "memory.db")
    raw = path.read_bytes()
    place = raw.index(SAID[number].encode()) + 3 + number
    path.write_bytes(raw[:place] + b"X" + raw[place + 1 :])
    with opened(path) as memory:
        [fault] = memory.check()
    assert f"line {number + 1} of the log" in fault and "has changed" in fault


@pytest.mark.requirement("SAFE-4", "LOG-1")
def test_the_check_finds_one_changed_letter_of_an_act(tmp_path: Path) -> None:
    path = filled(tmp_path / "memory.db")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE log SET text = replace(text, 'Fridays', 'Mondays') WHERE entry = 'remember'")
    connection.close()
    with opened(path) as memory:
        [fault] = memory.check()
    assert "remember" in fault and "has changed" in fault


DAMAGES = {
    "JSON of a turn": "UPDATE log SET metadata = '{\"source\": ' WHERE entry = 'turn'",
    "JSON of an act": "UPDATE log SET text = '{x' WHERE entry <> 'turn'",
    "not UTF-8": "UPDATE log SET text = CAST(x'41ff42' AS TEXT) WHERE entry = 'turn'",
    "role": "UPDATE log SET role = 99 WHERE entry = 'turn'",
    "time": "UPDATE log SET at = 9223372036854775807 WHERE entry = 'turn'",
    "kind of a record": "UPDATE records SET kind = 50",
    "text of a record": "UPDATE records SET text = CAST(x'41ff42' AS TEXT)",
    "a table": "DROP TABLE hidden",
}


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_rows_give_errors_of_ours_only(tmp_path: Path, damage: str) -> None:
    path = filled(tmp_path / "memory.db")
    with opened(path) as memory:
        turn = memory.thread("default")[0].id
    with sqlite3.connect(path) as connection:
        connection.execute(DAMAGES[damage])
    connection.close()
    with opened(path) as memory:
        verbs: list[Callable[[], object]] = [
            memory.check, memory.status, memory.recent, lambda: memory.recent(5, kind="record"),
            lambda: memory.thread("default"), lambda: memory.why(turn), lambda: memory.search("Oslo"),
            lambda: memory.context([user("Where do I live?")]),
            lambda: memory.ingest_many([user(SAID[-1]), user("new")]), lambda: memory.forget(turn),
            lambda: memory.remember("I like tea."),
            lambda: memory.export(tmp_path / "out.jsonl"), lambda: memory.backup(tmp_path / "copy.db"),
        ]  # fmt: skip
        failed = []
        for verb in verbs:
            try:
                verb()
            except HoldfastError as error:
                failed.append(error)
        assert failed or memory.check()


@pytest.mark.requirement("SAFE-4")
def test_an_export_to_a_full_device_says_so(tmp_path: Path) -> None:
    with opened(filled(tmp_path / "memory.db")) as memory, pytest.raises(InputError, match="/dev/full"):
        memory.export("/dev/full")


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("name", ["n" * 300, "loop", "notes.txt/out", "nowhere/out"])
def test_paths_that_the_system_refuses_give_errors_of_ours(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "notes.txt").write_text("a file, not a folder")
    path, odd = filled(tmp_path / "memory.db"), tmp_path / name
    with opened(path) as memory:
        verbs: list[Callable[[], object]] = [
            lambda: memory.export(odd), lambda: memory.import_file(odd), lambda: memory.backup(odd),
        ]  # fmt: skip
        for verb in verbs:
            with pytest.raises(InputError):
                verb()
        memory.backup(tmp_path / "backup.db")
    with pytest.raises(InputError):
        Memory.restore(odd, tmp_path / "new.db")
    if name != "nowhere/out":  # a missing folder is made
        with pytest.raises(HoldfastError):
            Memory.restore(tmp_path / "backup.db", odd)
        with pytest.raises(StoreError):
            opened(odd)


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("year", [1, 1969, 9999])
def test_a_clock_that_is_wrong_breaks_nothing(tmp_path: Path, year: int) -> None:
    now = datetime(year, 1, 1, tzinfo=UTC)
    settings = replace(QUICK, janitor=JanitorSettings())
    with Memory(tmp_path / "m.db", "ana", embedder=HashEmbedder(), settings=settings, clock=lambda: now) as memory:
        turn = memory.ingest("I moved to Bergen yesterday.")
        record = memory.remember("Never deploy on Fridays.", "guidance")
        memory.flush()
        assert len({len(turn.id), len(memory.ingest("ok").id), len(memory.ingest("key", key="k").id)}) == 1
        assert texts(memory.recent()) == ["key", "ok", "I moved to Bergen yesterday."]
        assert memory.search("Where did I live three years ago?")
        assert "Fridays" in memory.context([user("Shall I deploy?")]).text
        assert memory.doctor().findings and memory.themes(since=None) is not None
        assert memory.themes().until is None and texts(memory.recent(since="last year")) == texts(memory.recent())
        assert not memory.janitor(dry_run=True).culled and memory.stats().days
        memory.forget(record.id)
        memory.rebuild()
        assert memory.check() == []


FORK = """
import os, sys
from holdfast.memory import Memory
from holdfast.testing import HashEmbedder
memory = Memory(sys.argv[1], "ana", embedder=HashEmbedder())
memory.ingest("I live in Oslo.")
memory.flush()
child = os.fork()
memory.ingest("I like tea." if child == 0 else "I like coffee.")
memory.flush(timeout=60)
assert memory.search("What do I like?")
memory.close()
sys.exit(0 if child == 0 else os.waitpid(child, 0)[1])
"""


@pytest.mark.slow
@pytest.mark.requirement("INV-1", "SAFE-4")
def test_a_memory_works_on_in_a_fork(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    subprocess.run([sys.executable, "-c", FORK, str(path)], check=True, timeout=200)
    with opened(path) as memory:
        assert sorted(texts(memory.thread("default"))) == ["I like coffee.", "I like tea.", "I live in Oslo."]
        assert memory.check() == []
