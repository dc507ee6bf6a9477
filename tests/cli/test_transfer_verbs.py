"""`holdfast export | import | backup | restore`: there and back, through files and pipes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from holdfast_bench.contract import schema

from .command import Holdfast

pytestmark = pytest.mark.requirement("KEEP-5")


def fits(name: str, document: object) -> None:
    Draft202012Validator(schema(name)).validate(document)


def test_an_export_can_be_imported_into_another_namespace(filled: Holdfast, tmp_path: Path) -> None:
    file = str(tmp_path / "ana.jsonl")
    said = filled("export", file)
    assert (said.code, said.err) == (0, "") and "3 turns and 0 acts" in said.out
    said = filled("import", file, "-n", "ben")
    assert said.code == 0 and "imported from ana into ben: 3 turns and 0 acts, 0 known before" in said.out
    assert "slipway listens on port 9417" in filled("search", "slipway", "-n", "ben").out
    assert "0 turns and 0 acts, 3 known before" in filled("import", file, "-n", "ben", "--no-wait").out


def test_transfer_json_matches_the_contract(filled: Holdfast, tmp_path: Path) -> None:
    exported = filled("export", str(tmp_path / "ana.jsonl"), "--json").json
    imported = filled("import", str(tmp_path / "ana.jsonl"), "-n", "ben", "--json").json
    copied = filled("backup", str(tmp_path / "backup.db"), "--json").json
    restored = filled("restore", str(tmp_path / "backup.db"), "--store", str(tmp_path / "new.db"), "--json").json
    for name, answer in (("export", exported), ("import", imported), ("backup", copied), ("restore", restored)):
        fits(name, answer)
    assert (exported["turns"], imported["turns"], copied["turns"], restored["namespaces"]) == (3, 3, 6, 2)


def test_an_export_can_be_piped(filled: Holdfast) -> None:
    said = filled("export", "-")
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert (lines[0]["format"], lines[0]["lines"], lines[-1]["end"]) == ("holdfast-export", {"turn": 3}, 3)
    assert "exported ana" in said.err
    taken = filled("import", "-", "-n", "ben", "--json", stdin=said.out)
    assert taken.json["turns"] == 3
    fits("export", json.loads(filled("export", "-", "--json").err))


def test_invalid_files_give_one_line_on_stderr(filled: Holdfast, talk: Path, tmp_path: Path) -> None:
    said = filled("import", str(talk))
    assert said.code == 2 and said.err.startswith(f"holdfast: {talk} is of no known format")
    assert said.err.count("\n") == 1
    said = filled("restore", str(talk), "--store", str(tmp_path / "new.db"), "--json")
    assert said.code == 2
    fits("error", json.loads(said.err))
    assert not (tmp_path / "new.db").exists()


def test_a_backup_restores_the_store(filled: Holdfast, store: Path, tmp_path: Path) -> None:
    backup = str(tmp_path / "backup.db")
    assert "3 turns of 1 namespace, " in " ".join(filled("backup", backup).out.split())  # a long path wraps
    filled("remember", "Zofia has the spare key")
    refused = filled("restore", backup)
    assert refused.code == 2 and "--force" in refused.err
    said = filled("restore", backup, "--force")
    assert said.code == 0 and f"the previous store is kept as {store}.before-restore-" in said.out.replace("\n", "")
    assert "Zofia" not in filled("recent", "--kind", "record").out
    assert "Lisbon" in filled("search", "Lisbon").out


def test_backup_of_a_missing_store_fails(holdfast: Holdfast, tmp_path: Path) -> None:
    said = holdfast("backup", str(tmp_path / "backup.db"), "--store", str(tmp_path / "nowhere.db"))
    assert said.code == 2 and "there is no store at" in said.err
    assert not (tmp_path / "nowhere.db").exists() and not (tmp_path / "backup.db").exists()
