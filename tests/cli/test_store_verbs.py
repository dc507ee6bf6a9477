"""`holdfast copy` and `holdfast store info | migrate | shard`, on a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from holdfast_bench.contract import schema

from .command import Holdfast

pytestmark = pytest.mark.requirement("KEEP-5")


def test_copy_prints_counts_and_json_of_the_contract(filled: Holdfast, tmp_path: Path) -> None:
    source, target = str(tmp_path / "memory.db"), str(tmp_path / "other.db")
    said = filled("copy", source, target, "-n", "ana")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("ana: 3 turns and 0 acts\ncopied 1 namespace with 3 new turns to ")
    again = filled("copy", source, target, "-n", "ana", "--json").json
    Draft202012Validator(schema("copy")).validate(again)
    told = {"namespace": "ana", "turns": 0, "acts": 0, "known": 3, "left_out": 0, "erased": 0}
    assert again["namespaces"] == [told]


def test_an_impossible_copy_is_one_line_on_stderr(filled: Holdfast, tmp_path: Path) -> None:
    said = filled("copy", str(tmp_path / "nothing.db"), str(tmp_path / "other.db"))
    assert said.code == 2 and said.err.count("\n") == 1 and "there is no store at" in said.err
    said = filled("copy", str(tmp_path / "memory.db"), str(tmp_path / "other.db"), "-n", "nobody")
    assert said.code == 1 and "there is no namespace 'nobody'" in said.err
    assert not (tmp_path / "other.db").exists()


def test_store_info_prints_the_location(filled: Holdfast) -> None:
    for verb in ("info", "migrate"):
        told = filled("store", verb, "--json").json
        Draft202012Validator(schema("store-info")).validate(told)
        assert (told["engine"], told["server"]) == ("sqlite", None)
        assert "sqlite, schema " in filled("store", verb).out


def test_a_file_cannot_be_sharded(filled: Holdfast) -> None:
    said = filled("store", "shard")
    assert said.code == 2 and "is a file, which cannot be spread over servers" in said.err
