from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.memory import Memory
from holdfast.version import __version__

from .command import Holdfast

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
PATIENCE_S = 240  # on a machine with ten other jobs 20,000 turns took 59


def test_the_installed_command_runs(tmp_path: Path) -> None:
    done = subprocess.run([HOLDFAST, "--version"], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert done.stdout == f"holdfast {__version__}\n"


def test_help_groups_the_commands(holdfast: Holdfast) -> None:
    said = holdfast("--help")
    assert said.code == 0
    assert said.out.index("─ Store") < said.out.index("ingest") < said.out.index("Retrieve") < said.out.index("search")
    assert "HOLDFAST_STORE" in holdfast("search", "--help").out


@pytest.mark.parametrize("args", [[], ["bench"], ["eval"], ["store"], ["tune"]])
def test_without_a_command_the_help_is_printed(holdfast: Holdfast, args: list[str]) -> None:
    said = holdfast(*args)
    assert (said.code, said.err) == (2, "")
    assert f"Usage: {' '.join(['holdfast', *args])}" in said.out


def test_an_unknown_id_exits_with_1_and_one_line(holdfast: Holdfast) -> None:
    said = holdfast("why", "t-nothing")
    assert (said.code, said.out) == (1, "")
    where = "in this namespace; search and recent print the ids"
    assert said.err == f"holdfast: there is no turn or record 't-nothing' {where}\n"


@pytest.mark.parametrize(
    "args",
    [
        ["search"],
        ["search", "x", "--limit", "many"],
        ["search", "x", "--colour"],
        ["serch", "x"],
        ["search", "x", "--limit", "0"],
        ["search", "x", "--kind", "rumour"],
        ["search", "x", "--since", "soon"],
        ["search", "x", "--embedder", "psychic"],
        ["search", "\udcff"],
        ["search", "x", "--store", "."],
        ["search", "x", "--store", "postgresql://localhost/x"],
        ["remember", " "],
        ["remember", "x", "--kind", "turn"],
        ["ingest", "-", "--format", "xml"],
        ["bench", "speed", "--records", "1"],
        ["bench", "speed", "--json", "/no/such/folder/out.json"],
        ["bench", "hostile", "--data", "/no/such/file"],
    ],
)
def test_a_usage_error_exits_with_2_and_one_line(holdfast: Holdfast, args: list[str]) -> None:
    said = holdfast(*args)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("holdfast: ") and said.err.count("\n") == 1


@pytest.mark.parametrize("package", ["uvicorn", "jinja2"])
def test_a_missing_extra_is_named(holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    said = holdfast("serve", "--port", "0")
    assert (said.code, said.out) == (2, "") and "pip install 'holdfast[serve]'" in said.err


def test_serving_on_a_plain_installation_names_the_extra(tmp_path: Path) -> None:
    code = "import sys; sys.modules['starlette'] = None; from holdfast.cli import main; sys.exit(main())"
    args = ["serve", "--store", str(tmp_path / "memory.db"), "-n", "ana"]
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "pip install 'holdfast[serve]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("args", [["search", "where", "do", "I", "live"], ["remember", "The", "key", "is", "there"]])
def test_missing_quotes_are_explained(holdfast: Holdfast, args: list[str]) -> None:
    said = holdfast(*args)
    assert said.code == 2 and "quotes" in said.err and f"holdfast {args[0]} --help" in said.err


@pytest.mark.parametrize(
    ("args", "code", "kind"),
    [
        (["why", "t-nothing"], 1, "NotFound"),
        (["search", "x", "--since", "soon"], 2, "BadTime"),
        (["search"], 2, "MissingParameter"),
        (["search", "x", "--colour"], 2, "NoSuchOption"),
    ],
)
def test_with_json_an_error_is_json_on_stderr(holdfast: Holdfast, args: list[str], code: int, kind: str) -> None:
    said = holdfast(*args, "--json")
    assert (said.code, said.out) == (code, "")
    error = json.loads(said.err)["error"]
    assert error["type"] == kind and error["message"]


def test_json_after_a_double_dash_is_text(holdfast: Holdfast) -> None:
    assert holdfast("why", "--", "--json").err.startswith("holdfast: ")


@pytest.mark.requirement("LOG-6")
def test_a_missing_namespace_is_an_error(holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_NAMESPACE")
    said = holdfast("search", "x")
    assert said.code == 2
    assert "--namespace" in said.err


def test_reading_a_missing_store_says_so_and_creates_none(holdfast: Holdfast, tmp_path: Path) -> None:
    typo = tmp_path / "no" / "typo.db"
    said = holdfast("search", "x", "--store", str(typo), "--json")
    assert (said.code, said.json["hits"]) == (0, [])
    assert f"there is no store at {typo}" in said.err
    assert holdfast("status", "--store", str(typo), "--json").json["store"] == str(typo)
    assert not typo.parent.exists()  # looking makes nothing: the next look says it again


def test_a_missing_store_is_not_healthy(holdfast: Holdfast, tmp_path: Path) -> None:
    said = holdfast("doctor", "--store", str(tmp_path / "typo.db"))
    assert (said.code, said.out) == (2, "")
    assert "there is no store at" in said.err


def test_a_missing_file_is_named_without_error_numbers(holdfast: Holdfast, tmp_path: Path) -> None:
    missing = tmp_path / "probes.jsonl"
    said = holdfast("eval", "run", str(missing))
    assert (said.code, said.err) == (2, f"holdfast: {missing}: No such file or directory\n")


def test_a_damaged_store_is_an_error_not_a_traceback(holdfast: Holdfast, tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    path.write_bytes(b"no database at all, but long enough to look at" * 100)
    said = holdfast("search", "x", "--store", str(path))
    assert (said.code, said.err.count("\n")) == (2, 1)


def test_a_closed_pipe_gives_no_traceback(store: Path, tmp_path: Path) -> None:
    with Memory(store, "ana", embedder="none") as memory:
        memory.ingest_many([{"role": "user", "content": "word " * 1000} for _ in range(100)])
    for args in (["recent", "--json"], ["thread", "default"]):
        process = subprocess.Popen([HOLDFAST, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        error = process.stderr.read()
        process.stderr.close()
        assert (process.wait(PATIENCE_S), error) == (141, b"")


def test_an_ascii_terminal_gets_escapes(holdfast: Holdfast, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holdfast("ingest", "-", stdin="大阪")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    for args in (["recent"], ["recent", "--json"]):
        done = subprocess.run([HOLDFAST, *args], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        assert "\\u5927" in done.stdout


@pytest.mark.requirement("INV-1", "LOG-7")
def test_ctrl_c_keeps_acknowledged_turns_and_a_rerun_continues(store: Path, tmp_path: Path) -> None:
    path, total = tmp_path / "long.jsonl", 20_000
    path.write_text("".join(json.dumps({"role": "user", "content": f"turn {n}"}) + "\n" for n in range(total)))
    command = [HOLDFAST, "ingest", str(path), "--embedder", "none"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with Memory(store, "ana", embedder="none") as memory:
        deadline = time.monotonic() + PATIENCE_S
        while memory.status().turns == 0 and time.monotonic() < deadline:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130
        assert error == "holdfast: interrupted; everything acknowledged is stored; run the command again to continue\n"
        kept = memory.status().turns
        assert 0 < kept < total
        subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=True)
        assert [turn.text for turn in memory.thread("long")] == [f"turn {n}" for n in range(total)]
