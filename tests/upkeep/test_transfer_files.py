"""Export files: written atomically, with progress and bounded memory, never over another file."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.errors import InputError
from tests.support.memories import OpenMemory, user
from tests.upkeep.exports import assert_untouched, small_export

pytestmark = pytest.mark.requirement("KEEP-5")


def interrupt_after(most: int) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if done >= most:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_export_leaves_the_earlier_file(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(embedder="none")
    memory.ingest_many([user(f"line {number}") for number in range(3000)])
    folder = tmp_path / "exports"
    folder.mkdir()
    memory.export(folder / "ana.jsonl")
    before = (folder / "ana.jsonl").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        memory.export(folder / "ana.jsonl", interrupt_after(2000))
    assert [path.name for path in folder.iterdir()] == ["ana.jsonl"]
    assert (folder / "ana.jsonl").read_bytes() == before


def test_an_interrupted_import_leaves_nothing(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(embedder="none"), open_memory(file="other.db", embedder="none")
    memory.ingest_many([user(f"line {number}") for number in range(3000)])
    memory.export(tmp_path / "ana.jsonl")
    with pytest.raises(KeyboardInterrupt):
        other.import_file(tmp_path / "ana.jsonl", interrupt_after(5000))
    assert_untouched(other)
    assert other.import_file(tmp_path / "ana.jsonl").turns == 3000


def test_progress_runs_from_zero_to_the_total(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(embedder="none"), open_memory(file="other.db", embedder="none")
    memory.ingest_many([user(f"line {number}") for number in range(2500)])
    told: list[tuple[int, int]] = []
    memory.export(tmp_path / "ana.jsonl", lambda *now: told.append(now))
    assert told == [(0, 2500), (1000, 2500), (2000, 2500), (2500, 2500)]
    told.clear()
    other.import_file(tmp_path / "ana.jsonl", lambda *now: told.append(now))
    assert told[0] == (0, 5000) and told[-1] == (5000, 5000) and told == sorted(told)


def test_an_export_replaces_only_an_export(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory()
    memory.ingest("the harbour is quiet")
    (tmp_path / "notes.txt").write_text("do not lose this")
    for name, said in (("notes.txt", "is not an export"), ("memory.db", "is a store"), (".", "is a folder")):
        with pytest.raises(InputError, match=said):
            memory.export(tmp_path / name)
    with pytest.raises(InputError, match="Does its folder exist"):
        memory.export(tmp_path / "nowhere" / "ana.jsonl")
    assert (tmp_path / "notes.txt").read_text() == "do not lose this"
    (tmp_path / "empty").touch()
    memory.export(tmp_path / "empty")
    assert memory.export(tmp_path / "empty").turns == 1
    assert (tmp_path / "empty").stat().st_mode & 0o077 == 0
    memory.export("/dev/null")
    assert not Path("/dev/null").is_file()


def test_a_stream_that_cannot_be_rewound_is_imported(open_memory: OpenMemory, tmp_path: Path) -> None:
    class Once(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *where: int) -> int:
            raise OSError("a pipe")

    memory, other = open_memory(), open_memory(file="other.db")
    small_export(memory, tmp_path / "ana.jsonl")
    assert other.import_file(Once((tmp_path / "ana.jsonl").read_bytes())).turns == 2
    assert other.thread("s") == memory.thread("s")


def test_memory_use_does_not_grow_with_the_log(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(embedder="none"), open_memory(file="other.db", embedder="none")
    for part in range(3):
        told = [user(f"line {number}", metadata={"seen": "x" * 12_000}) for number in range(1000)]
        memory.ingest_many(told, session=f"s{part}")
    memory.flush()
    del told
    tracemalloc.start()
    try:
        made = memory.export(tmp_path / "ana.jsonl")
        other.import_file(tmp_path / "ana.jsonl")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert made.size_bytes > 32_000_000
    assert peak < 8_000_000, f"{peak:,} bytes at the most"
