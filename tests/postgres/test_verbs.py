"""The command line with the address of a server instead of a path."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator
from psycopg import sql

from holdfast.cli import main
from holdfast.memory import Memory
from holdfast_bench.contract import schema
from tests.serve.mcp.mcp_peers import HELLO, line_of
from tests.support.memories import QUICK
from tests.support.postgres_server import ROLE

if TYPE_CHECKING:
    from tests.support.postgres_engine import Engine


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


@pytest.mark.requirement("SAFE-1")
@pytest.mark.parametrize("as_json", [False, True])
def test_the_demo_shows_its_store_without_the_password(
    url: str, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--store", url, *(["--json"] if as_json else [])]) == 0
    said = capsys.readouterr()
    assert "postgresql://holdfast_plain@" in said.out and ":plain" not in said.out + said.err


_DUMPER = "holdfast_dumper"


@pytest.mark.requirement("KEEP-5")
def test_the_documented_role_dumps_a_store_that_can_be_restored(postgres: Engine, url: str, tmp_path: Path) -> None:
    """Row-level security binds the owner of the tables too, so it cannot dump them: another role does."""
    server, file = postgres.server, str(tmp_path / "memory.dump")
    with Memory(url, "ana", embedder="none", settings=QUICK) as memory:
        memory.ingest("I moved to Lisbon in May")
        memory.flush()
    told = (Path(__file__).parents[2] / "docs/how-to/postgres.md").read_text("utf-8")
    made = [line.strip() for line in told.splitlines() if "holdfast_dumper" in line and line.strip().endswith(";")]
    assert len(made) == 2
    with server.alone():  # the names are of the whole server
        for statement in made:
            server.run(sql.SQL(statement.replace("'…'", "'dumper'")))
        try:
            dumper = url.replace(f"{ROLE}:plain@", f"{_DUMPER}:dumper@")
            dumped = ["--format", "custom", "--schema", "holdfast", "--file", file, dumper]
            subprocess.run([server.program("pg_dump"), *dumped], check=True)
            server.drop_database("holdfast_restored")
            other = server.make_database("holdfast_restored")
            restored = ["--no-owner", "--no-acl", "--dbname", other, file]
            subprocess.run([server.program("pg_restore"), *restored], check=True)
            with Memory(other, "ana", embedder="none", settings=QUICK) as memory:
                assert [turn.text for turn in memory.recent()] == ["I moved to Lisbon in May"]
                assert memory.ingest("The harbour is quiet").seq == 2
        finally:
            server.drop_database("holdfast_restored")
            server.run(sql.SQL("DROP ROLE {}").format(sql.Identifier(_DUMPER)))


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
    "store migrate", "store shard", "eval init out.yaml", "eval noise", "rpc --listen stdio",
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


@pytest.mark.requirement("SAFE-1")
def test_mcp_answers_a_call_without_the_password_of_an_unreachable_server() -> None:
    store = "postgresql://ana:hunter2@127.0.0.1:1/memory?sslpassword=hunter2"
    call: dict[str, object] = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "memory_recent", "arguments": {}},
    }
    said: list[dict[str, object]] = [HELLO, {"method": "notifications/initialized"}, call]
    done = subprocess.run(
        [sys.executable, "-m", "holdfast.cli", "mcp", "-n", "ana", "--store", store],
        input=b"".join(line_of(message) + b"\n" for message in said),
        capture_output=True,
        check=False,
    )
    told = (done.stdout + done.stderr).decode()
    assert "does not answer" in told and "hunter2" not in told and "Traceback" not in told
