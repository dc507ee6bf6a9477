"""Damaged or foreign files are refused with the line number, and nothing is imported."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.settings import LogSettings
from holdfast.upkeep import export
from tests.support.memories import QUICK, OpenMemory
from tests.upkeep.exports import act, assert_untouched, put, small_export

pytestmark = pytest.mark.requirement("KEEP-5")


def changed(line: int, **fields: object) -> Callable[[list[dict[str, object]]], list[object]]:
    return lambda lines: [{**one, **fields} if number == line else one for number, one in enumerate(lines)]


def added(one: dict[str, object]) -> Callable[[list[dict[str, object]]], list[object]]:
    return lambda lines: [*lines[:-1], one, lines[-1]]


DEEP: dict[str, object] = {}
for _ in range(100):
    DEEP = {"in": DEEP}

BAD_LINES: dict[str, tuple[Callable[[list[dict[str, object]]], list[object]], str]] = {
    "a version of the future": (changed(0, version=2), r"line 1: the export has version 2, .* reads 1"),
    "no version": (changed(0, version=None), "line 1: the export has version None"),
    "another format": (changed(0, format="other"), "line 1: this is not a Holdfast export"),
    "no namespace": (changed(0, namespace=None), "line 1: a namespace must be a string"),
    "an unknown kind": (changed(1, entry="dream"), "line 2: unknown entry 'dream'"),
    "an entry that is a list": (changed(1, entry=["turn"]), "line 2: unknown entry"),
    "an unknown field": (changed(1, mood="good"), "line 2: an entry 'turn' has no field mood"),
    "an id twice": (changed(2, id="{first}"), "line 3: the id .* occurs twice"),
    "a key twice": (changed(2, key="k"), "line 3: the key 'k' occurs twice in session 's'"),
    "an index that goes back": (changed(2, index=0), "line 3: turn .* has the index 0"),
    "a seq that goes back": (changed(2, seq=1), "line 3: seq 1 follows 1"),
    "a seq that is a boolean": (changed(1, seq=True), "line 2: seq must be a whole number"),
    "a seq far too large": (changed(4, seq=17_000_000_000), "line 5: seq 17000000000 is too large"),
    "an unknown role": (changed(1, role="boss"), "line 2: unknown role 'boss'"),
    "an assistant as the user": (changed(2, origin="user"), "line 3: .* cannot have the origin user"),
    "a text that is a number": (changed(1, text=7), "line 2: the text of a turn must be a string"),
    "half a character": (changed(1, text="a\ud800b"), "line 2: the line is not UTF-8"),
    "a time without a zone": (changed(1, at="2026-05-04T12:00:00"), "line 2: at must be an ISO time with its zone"),
    "a relative time": (changed(1, at="yesterday"), "line 2: at must be an ISO time"),
    "a time before time": (changed(1, at="0001-01-01T00:00:00+14:00"), "line 2: .* outside the calendar"),
    "metadata that is a list": (changed(1, metadata=[1]), "line 2: metadata must be a mapping"),
    "metadata too deep": (changed(1, metadata=DEEP), "line 2: metadata is nested more than"),
    "a stability out of range": (changed(1, stability=2), "line 2: stability must be a number from 0 to 1"),
    "an empty session": (changed(1, session=""), "line 2: a session must not be empty"),
    "an enormous name": (changed(1, id="t" * 5000), "line 2: the id has 5000 bytes"),
    "a record of no kind": (changed(3, payload={"text": "x"}), "line 4: the payload of this remember cannot be used"),
    "a record of an odd kind": (
        changed(3, payload={"text": "x", "kind": "turn", "provenance": "authored", "confidence": 1.0}),
        "line 4: the payload of this remember cannot be used: a turn is not a record",
    ),
    "a record made twice": (
        lambda lines: [*lines[:-1], {**lines[3], "seq": 5}, lines[-1]],
        "line 6: the record .* is created twice",
    ),
    "an empty proposal": (added(act("propose", "t-1", 5)), "line 6: the payload of this propose cannot be used"),
    "a rebuild of nothing": (added(act("rebuild", "admit", 5)), "line 6: the payload of this rebuild"),
    "an empty calibration": (added(act("calibrate", "calibration", 5)), "line 6: the payload of this calibrate"),
    "an empty compaction": (added(act("compact", "c-1", 5)), "line 6: the payload of this compact"),
}


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_named_and_nothing_is_imported(open_memory: OpenMemory, tmp_path: Path, name: str) -> None:
    change, said = BAD_LINES[name]
    lines = small_export(open_memory(), tmp_path / "ana.jsonl")
    wrong = json.loads(json.dumps(change(lines)).replace("{first}", str(lines[1]["id"])))
    other = open_memory(file="other.db")
    with pytest.raises(InputError, match=f"wrong.jsonl, {said}"):
        other.import_file(put(tmp_path / "wrong.jsonl", wrong))
    assert_untouched(other)


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "not a Holdfast export"),
        (b"\n", "not a Holdfast export"),
        (b"\xff\xfe\x00", "not a Holdfast export"),
        (b"[" * 100_000 + b"\n", "not a Holdfast export"),
        (b'{"a":' * 100_000 + b"\n", "line 1: the line is nested too deeply"),
        (b'{"format": NaN}\n', "line 1: the line is not JSON: NaN"),
        (b'{"format": ' + b"9" * 5000 + b"}\n", "line 1: the line is not JSON"),
        (b'{"role": "user", "content": "hi"}\n', "Use `holdfast ingest` for transcripts"),
        (gzip.compress(b"\x00" * 10_000_000), "the file is compressed; unpack it first"),
    ],
    ids=["empty", "blank", "binary", "deep list", "deep object", "NaN", "huge number", "transcript", "gzip bomb"],
)
def test_other_files_are_refused(open_memory: OpenMemory, tmp_path: Path, raw: bytes, said: str) -> None:
    (tmp_path / "odd").write_bytes(raw)
    other = open_memory()
    with pytest.raises(InputError, match=said):
        other.import_file(tmp_path / "odd")
    assert_untouched(other)


def test_a_missing_file_is_named(memory: Memory, tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(InputError, match=f"cannot read {path}"):
            memory.import_file(path)


@pytest.mark.requirement("SAFE-4")
def test_an_endless_line_is_refused_early(open_memory: OpenMemory, tmp_path: Path) -> None:
    class Endless(io.RawIOBase):
        """An endless line."""

        given = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
            head = b'{"format":"' if self.given == 0 else b""
            buffer[: len(head)] = head
            buffer[len(head) :] = b"a" * (len(buffer) - len(head))
            self.given += len(buffer)
            return len(buffer)

    bomb = Endless()
    other = open_memory(settings=replace(QUICK, log=LogSettings(max_text_bytes=1000)))
    with pytest.raises(InputError, match="the line is longer than"):
        other.import_file(io.BufferedReader(bomb))  # type: ignore[type-var]
    assert bomb.given < 20_000_000
    assert_untouched(other)


def test_a_turn_above_the_size_limit_is_refused(open_memory: OpenMemory, tmp_path: Path) -> None:
    open_memory().ingest("x" * 2000)
    open_memory().export(tmp_path / "ana.jsonl")
    other = open_memory(file="other.db", settings=replace(QUICK, log=LogSettings(max_text_bytes=1000)))
    with pytest.raises(InputError, match="line 2: the text of a turn has 2,000 bytes"):
        other.import_file(tmp_path / "ana.jsonl")


def test_gaps_in_the_log_are_kept_up_to_a_limit(
    open_memory: OpenMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = small_export(open_memory(), tmp_path / "ana.jsonl")
    lines[4]["seq"] = 40
    put(tmp_path / "gap.jsonl", lines)
    monkeypatch.setattr(export, "WIDEST_GAP", 36)
    other = open_memory(file="other.db")
    other.import_file(tmp_path / "gap.jsonl")
    assert other.status().log_end == 40
    monkeypatch.setattr(export, "WIDEST_GAP", 35)
    strict = open_memory(file="strict.db")
    with pytest.raises(InputError, match="more than 35 lines are missing"):
        strict.import_file(tmp_path / "gap.jsonl")


@pytest.mark.requirement("SAFE-4")
def test_a_file_cut_anywhere_is_refused(open_memory: OpenMemory, tmp_path: Path) -> None:
    small_export(open_memory(embedder="none"), tmp_path / "ana.jsonl")
    whole = (tmp_path / "ana.jsonl").read_bytes()
    other = open_memory(file="other.db", embedder="none")
    for length in range(len(whole)):
        with pytest.raises(InputError):
            other.import_file(io.BytesIO(whole[:length]))
    assert_untouched(other)
    with pytest.raises(InputError, match="more data after the trailer"):
        other.import_file(io.BytesIO(whole + b"\n"))
    assert other.import_file(io.BytesIO(whole)).turns == 2


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("small")
    with Memory(folder / "a.db", "ana", embedder="none", settings=QUICK) as memory:
        small_export(memory, folder / "ana.jsonl")
    return (folder / "ana.jsonl").read_bytes()


@pytest.fixture(scope="module")
def taker(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return Memory(tmp_path_factory.mktemp("taker") / "b.db", "ana", embedder="none", settings=QUICK)


@pytest.mark.requirement("SAFE-4")
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_one_changed_byte_after_the_header_is_detected(small: bytes, taker: Memory, data: st.DataObject) -> None:
    place = data.draw(st.integers(small.index(b"\n") + 1, len(small) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != small[place]))
    with pytest.raises(InputError):
        taker.import_file(io.BytesIO(small[:place] + bytes([byte]) + small[place + 1 :]))
    assert_untouched(taker)
