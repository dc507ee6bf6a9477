"""Backups are consistent while others write; restores are checked and lose nothing."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError, InputError, StoreBusy, StoreDamaged, StoreForeign, StoreNewer
from holdfast.memory import Memory
from holdfast.store.sqlite import files
from holdfast.testing import HashEmbedder
from tests.support.memories import EAGER, QUICK, OpenMemory, answers, found, ingest_month, user

pytestmark = pytest.mark.requirement("KEEP-5")


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "COPY_PAGES", 4)


WRITER = """
import sys
from holdfast import Memory
from holdfast.testing import HashEmbedder
memory = Memory(sys.argv[1], "ana", embedder=HashEmbedder())
for number, _ in enumerate(sys.stdin):
    print(memory.ingest(f"turn {number} of the writer", session="written").id, flush=True)
"""


@contextmanager
def writer(path: Path) -> Iterator[Callable[[int], list[str]]]:
    """Open the store in another process; the yielded function writes turns there and returns their ids."""
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None and child.stdout is not None
    asked, said = child.stdin, child.stdout

    def write(count: int) -> list[str]:
        asked.write("\n" * count)
        asked.flush()
        return [said.readline().strip() for _ in range(count)]

    try:
        yield write
    finally:
        child.kill()
        child.wait()
        asked.close()
        said.close()


def kept(path: Path, session: str) -> list[str]:
    with Memory(path, "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        return [turn.id for turn in memory.thread(session)]


def filled(memory: Memory) -> Memory:
    ingest_month(memory, 60)
    memory.remember("Zofia has the spare key")
    memory.flush()
    return memory


@pytest.fixture
def backup(open_memory: OpenMemory, tmp_path: Path) -> Path:
    memory = filled(open_memory())
    memory.backup(tmp_path / "backup.db")
    memory.close()
    return tmp_path / "backup.db"


@pytest.mark.usefixtures("small_steps")
@pytest.mark.requirement("INV-1", "SAFE-2")
def test_a_backup_contains_every_turn_acknowledged_before_it(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = filled(open_memory())
    with writer(tmp_path / "memory.db") as write:
        before = write(20)
        meanwhile: list[str] = []
        steps = 0

        def others_go_on(done: int, total: int) -> None:
            nonlocal steps
            steps += 1
            if steps <= 10:
                meanwhile.extend(write(2))

        made = memory.backup(tmp_path / "backup.db", others_go_on)
    assert steps > 10 and len(set(meanwhile)) == 20, "the writer wrote while the copy was made"
    held = kept(tmp_path / "backup.db", "written")
    assert set(before) <= set(held) <= set(kept(tmp_path / "memory.db", "written"))
    assert not set(meanwhile) & set(held), "one moment: what came after it is not in it"
    assert made.turns == 60 + len(held)
    with Memory(tmp_path / "backup.db", "ana", embedder=HashEmbedder(), settings=QUICK) as copy:
        assert copy.check() == []


def test_a_backup_contains_every_namespace_and_gives_the_same_answers(open_memory: OpenMemory, tmp_path: Path) -> None:
    ana, ben = filled(open_memory("ana", settings=EAGER)), open_memory("ben", settings=EAGER)
    ben.ingest("the harbour is quiet", session="s")
    ben.flush()
    made = ana.backup(tmp_path / "backup.db")
    assert (made.namespaces, made.turns, made.lines) == (2, 61, 62)
    assert answers(open_memory("ana", file="backup.db", settings=EAGER)) == answers(ana)
    assert found(open_memory("ben", file="backup.db", settings=EAGER).search("harbour")) == ["the harbour is quiet"]


def test_a_backup_is_one_private_file(backup: Path) -> None:
    assert backup.stat().st_mode & 0o077 == 0
    assert [path.name for path in backup.parent.iterdir() if path.name.startswith("backup")] == ["backup.db"]


def test_a_backup_never_replaces_a_file(open_memory: OpenMemory, backup: Path) -> None:
    before = backup.read_bytes()
    with pytest.raises(InputError, match="never replaces a file"):
        open_memory().backup(backup)
    assert backup.read_bytes() == before
    backup.rename(backup.with_name("moved.db"))
    backup.with_name("backup.db-wal").write_bytes(b"left over")
    with pytest.raises(InputError, match=r"backup\.db-wal remains from another store"):
        open_memory().backup(backup)


@pytest.mark.usefixtures("small_steps")
def test_an_interrupted_backup_leaves_no_file(open_memory: OpenMemory, tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    memory = filled(open_memory())
    (tmp_path / "backups").mkdir()
    with pytest.raises(KeyboardInterrupt):
        memory.backup(tmp_path / "backups" / "backup.db", interrupt)
    assert list((tmp_path / "backups").iterdir()) == []
    memory.ingest("and the store goes on")


def test_a_restored_store_gives_the_answers_of_the_backup(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = filled(open_memory(settings=EAGER))
    before = answers(memory)
    memory.backup(tmp_path / "backup.db")
    memory.ingest("what came later", session="later")
    memory.close()
    made = Memory.restore(tmp_path / "backup.db", tmp_path / "memory.db", force=True)
    assert made.turns == 60 and made.kept_aside is not None
    assert answers(open_memory(settings=EAGER)) == before
    aside = open_memory(file=Path(made.kept_aside).name)
    assert [turn.text for turn in aside.thread("later")] == ["what came later"]
    assert aside.check() == []


def test_a_restore_creates_a_missing_store(backup: Path, tmp_path: Path) -> None:
    made = Memory.restore(backup, tmp_path / "new" / "memory.db")
    assert (made.turns, made.kept_aside) == (60, None)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["memory.db"]
    assert backup.exists()


def test_an_existing_store_is_replaced_only_with_force(open_memory: OpenMemory, backup: Path, tmp_path: Path) -> None:
    memory = open_memory()
    memory.ingest("only here", session="only")
    memory.close()
    with pytest.raises(InputError, match="--force"):
        Memory.restore(backup, tmp_path / "memory.db")
    assert len(kept(tmp_path / "memory.db", "only")) == 1


@pytest.mark.requirement("SAFE-2")
def test_a_store_used_by_another_process_is_never_replaced(backup: Path, tmp_path: Path) -> None:
    shutil.copy(backup, tmp_path / "memory.db")
    with writer(tmp_path / "memory.db") as write:
        before = write(5)
        with pytest.raises(StoreBusy, match="is in use"):
            Memory.restore(backup, tmp_path / "memory.db", force=True)
        after = write(5)
    assert set(before + after) <= set(kept(tmp_path / "memory.db", "written"))
    assert not [path for path in tmp_path.iterdir() if "before-restore" in path.name or "part" in path.name]


def test_a_store_used_by_this_process_is_never_replaced(open_memory: OpenMemory, backup: Path, tmp_path: Path) -> None:
    memory = open_memory()
    with pytest.raises(StoreBusy, match="is in use"):
        Memory.restore(backup, tmp_path / "memory.db", force=True)
    memory.ingest("it goes on", session="later")
    assert len(kept(tmp_path / "memory.db", "later")) == 1


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def cut_to_a_page(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 4096)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(50_000))


def foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE notes (text)")
        other.commit()


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as store:
        store.execute("PRAGMA user_version = 999")
        store.commit()


def one_letter_changed(path: Path) -> None:
    """Change a turn's text; SQLite still considers the file intact."""
    text = Memory(path, "ana", embedder="none", settings=QUICK)
    words = text.recent(1)[0].text.encode()
    text.close()
    raw = bytearray(path.read_bytes())
    place = raw.index(words)
    raw[place] ^= 1
    path.write_bytes(raw)


def an_index_changed(path: Path) -> None:
    with closing(sqlite3.connect(path)) as store:
        root = store.execute("SELECT rootpage FROM sqlite_master WHERE name = 'log_by_id'").fetchone()[0]
        size = store.execute("PRAGMA page_size").fetchone()[0]
    with path.open("r+b") as file:
        file.seek((root - 1) * size + size // 2)
        file.write(b"\xff" * 400)


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    ("hurt", "error"),
    [
        (cut, StoreDamaged),
        (cut_to_a_page, StoreDamaged),
        (emptied, StoreForeign),
        (garbage, StoreDamaged),
        (foreign, StoreForeign),
        (newer, StoreNewer),
        (one_letter_changed, StoreDamaged),
        (an_index_changed, StoreDamaged),
    ],
)
def test_a_damaged_backup_is_refused_and_the_store_stays(
    open_memory: OpenMemory, backup: Path, tmp_path: Path, hurt: Callable[[Path], None], error: type[HoldfastError]
) -> None:
    hurt(backup)
    mine = open_memory(file="mine.db")
    mine.ingest("still here", session="mine")
    mine.close()
    before = set(tmp_path.iterdir())
    with pytest.raises(error, match=r"backup\.db"):
        Memory.restore(backup, tmp_path / "mine.db", force=True)
    assert set(tmp_path.iterdir()) == before


def test_a_damaged_store_is_replaced_and_kept_under_another_name(backup: Path, tmp_path: Path) -> None:
    hurt = tmp_path / "memory.db"
    garbage(hurt)
    before = hurt.read_bytes()
    (tmp_path / "memory.db-wal").write_bytes(b"of the store that is damaged")
    made = Memory.restore(backup, hurt, force=True)
    assert made.kept_aside is not None
    assert Path(made.kept_aside).read_bytes() == before
    assert Path(made.kept_aside + "-wal").read_bytes() == b"of the store that is damaged"
    with Memory(hurt, "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        assert memory.status().turns == 60


def test_a_leftover_wal_file_does_not_get_into_the_restored_store(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "new.db-wal").write_bytes(b"left over")
    Memory.restore(backup, tmp_path / "new.db")
    assert not (tmp_path / "new.db-wal").exists()
    with Memory(tmp_path / "new.db", "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        assert memory.status().turns == 60


def test_a_store_in_use_can_serve_as_a_backup(open_memory: OpenMemory, tmp_path: Path) -> None:
    """A store file that `backup` did not make is copied with the contents of its WAL."""
    memory = open_memory()
    memory.ingest_many([user(f"line {number}") for number in range(10)], session="s")
    assert Memory.restore(tmp_path / "memory.db", tmp_path / "copy.db").turns == 10


def test_restore_errors_say_what_is_wrong(backup: Path, tmp_path: Path) -> None:
    for source, target, said in (
        (tmp_path / "none.db", tmp_path / "new.db", "there is no backup at"),
        (backup, backup, "is the backup itself"),
        (backup, tmp_path, "is not a file"),
        (backup, "postgresql://host/db", "on a server"),
    ):
        with pytest.raises(InputError, match=said):
            Memory.restore(source, target, force=True)
