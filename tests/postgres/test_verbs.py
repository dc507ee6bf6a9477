"""The command line with the address of a server instead of a path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from holdfast.cli import main
from holdfast.memory import Memory
from holdfast_bench.contract import schema
from tests.support.memories import QUICK


@pytest.mark.requirement("KEEP-5")
def test_a_file_is_moved_to_a_server_and_searched_there(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "memory.db"
    with Memory(file, "ana", embedder="none", settings=QUICK) as memory:
        memory.ingest("I moved to Lisbon in May")
    assert main(["copy", str(file), url]) == 0
    said = capsys.readouterr()
    assert "ana: 1 turn and 0 acts" in said.out and "plain:plain" not in said.out + said.err
    monkeypatch.setenv("HOLDFAST_STORE", url)
    assert main(["search", "where did I move", "-n", "ana", "--embedder", "none"]) == 0
    assert "I moved to Lisbon in May" in capsys.readouterr().out


def test_store_info_shows_the_server_but_not_its_password(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "info", "--store", url, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema("store-info")).validate(told)
    assert told["engine"] == "postgresql" and told["server"]["version"].startswith("PostgreSQL ")
    assert "plain:plain" not in str(told)
    assert main(["store", "shard", "--store", url]) == 2
    assert "has no Citus" in capsys.readouterr().err


def test_errors_name_a_missing_namespace_and_a_missing_server(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["copy", url, str(tmp_path / "new.db"), "-n", "nobody"]) == 1
    assert "there is no namespace 'nobody'" in capsys.readouterr().err
    assert main(["status", "--store", "postgresql://ana:hunter2@127.0.0.1:1/memory", "-n", "ana"]) == 2
    said = capsys.readouterr().err
    assert "does not answer" in said and "hunter2" not in said and said.count("\n") == 1


VERBS = (
    "search tea", "recent", "thread s", "themes", "active s", "expand r-1", "why t-1", "history r-1", "stats", "status",
    "remember tea", "forget t-1", "compact s", "doctor", "janitor", "export out.jsonl", "import out.jsonl",
    "backup out.db", "restore out.db", "erase --session s --yes", "calibrate", "tune similarity", "store info",
    "store migrate", "store shard", "eval init out.yaml", "eval noise", "mcp", "rpc --listen stdio",
)  # fmt: skip


@pytest.mark.requirement("SAFE-1")
@pytest.mark.parametrize("as_json", [False, True])
def test_no_verb_shows_the_password_of_an_unreachable_server(
    as_json: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_NAMESPACE", "ana")
    monkeypatch.setenv("HOLDFAST_STORE", "postgresql://ana:hunter2@127.0.0.1:1/memory?sslpassword=hunter2")
    for verb in VERBS:
        assert main([*verb.split(), *(["--json"] if as_json else [])]) != 0, verb
        said = capsys.readouterr()
        assert "hunter2" not in said.out + said.err, verb
        assert "Traceback" not in said.err, verb
