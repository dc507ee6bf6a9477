"""A command is the same alone and among all, and search imports nothing that it does not need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from holdfast.cli.app import open_app

pytestmark = pytest.mark.requirement("API-1")

_ASK = """
import json, sys
from holdfast.cli import main
code = main(["search", "which port?", "--json", "--store", sys.argv[1], "--namespace", "ana"])
print(json.dumps([code, sorted(name for name in sys.modules if name.startswith("holdfast."))]))
"""
_FOR_OTHERS = {
    "holdfast.results", "holdfast.cli.render", "holdfast_bench.cli", "holdfast.admit.pipeline",
    "holdfast.insight.history", "holdfast.context.assemble",
}  # fmt: skip


@pytest.mark.parametrize(("given", "used"), [(None, "1"), ("3", "3")])
def test_commands_use_one_thread_for_arithmetic(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str | None, used: str
) -> None:
    """Two threads on two busy cores took 11 times as long to import 600 turns; who sets another number gets it."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if given is not None:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", given)
    code = _ASK + "import os; print(os.environ['OPENBLAS_NUM_THREADS'], 'numpy' in sys.modules)"
    command = [sys.executable, "-c", code, str(tmp_path / "memory.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"{used} True"


def _verbs(*args: str) -> dict[str, object]:
    """Return the commands for these arguments, with their options and help; groups with their commands."""
    return {name: _told(one) for name, one in getattr(get_command(open_app(args)), "commands", {}).items()}


def _told(command: object) -> object:
    inner = getattr(command, "commands", None)
    if inner is not None:
        return {name: _told(one) for name, one in inner.items()}
    options = [(one.name, one.opts, one.default) for one in getattr(command, "params", ())]
    return getattr(command, "help", None), getattr(command, "rich_help_panel", None), options


def test_a_command_alone_equals_the_one_among_all() -> None:
    everything = _verbs()
    assert len(everything) > 30
    for name, told in everything.items():
        alone = _verbs(name, "--json")
        assert alone[name] == told
        assert name == "bench" or list(alone) == [name]


@pytest.mark.parametrize("args", [("--help",), ("serch", "x"), ("--version",)])
def test_without_a_known_command_all_are_loaded(args: tuple[str, ...]) -> None:
    assert list(_verbs(*args)) == list(_verbs())


def test_search_imports_nothing_of_other_commands(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ASK, str(tmp_path / "memory.db")], capture_output=True, text=True, check=True
    )
    code, loaded = json.loads(done.stdout.splitlines()[-1])
    assert code == 0
    assert "holdfast.search.search" in loaded
    assert _FOR_OTHERS.intersection(loaded) == set()
