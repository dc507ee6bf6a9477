"""Names of namespaces that look the same are the same, and what cannot be seen is refused."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from holdfast.errors import BadText, InputError
from holdfast.upkeep import backup
from tests.support.memories import OpenMemory, texts


@pytest.mark.requirement("SAFE-4", "INV-4")
def test_both_ways_to_write_an_accent_name_one_namespace(open_memory: OpenMemory) -> None:
    open_memory("Jose\u0301").ingest("Hello.")
    assert texts(open_memory("Jos\u00e9").thread("default")) == ["Hello."]


@pytest.mark.requirement("SAFE-4", "INV-4")
@pytest.mark.parametrize(
    "name",
    [
        "a\tb",
        "a\nb",
        "a\x7f",
        "a\u202eb",
        "\u200fa",
        "a\u2066b",
        "\ufeffa",
        "a\u200bb",
        "a\xadb",
        "a\u3164",
        "a\U000e0041",
    ],
    ids=ascii,
)
def test_control_characters_and_direction_marks_are_refused(open_memory: OpenMemory, name: str) -> None:
    with pytest.raises(BadText, match="direction marks"):
        open_memory(name)
    with pytest.raises(BadText, match="direction marks"):
        open_memory("ana").of(name)


@pytest.mark.requirement("SAFE-4", "INV-4")
@pytest.mark.parametrize("name", ["\u0645\u06cc\u200c\u0646\u0627", "\U0001f469\u200d\U0001f680"], ids=ascii)
def test_joiners_of_letters_and_emoji_are_names(open_memory: OpenMemory, name: str) -> None:
    assert open_memory(name).namespace == name


@pytest.mark.requirement("SAFE-4", "KEEP-5")
def test_a_full_disk_during_an_export_is_our_error(
    open_memory: OpenMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    memory.ingest("Hello.")

    def full(path: Path, flags: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(backup, "_sync", full)
    with pytest.raises(InputError, match="No space left"):
        memory.export(tmp_path / "log.jsonl")
    assert not list(tmp_path.glob("*.part")) and not (tmp_path / "log.jsonl").exists()
