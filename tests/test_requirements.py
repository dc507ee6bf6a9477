"""The list of requirements and the tests that prove them agree, in both directions."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| ([A-Z]+-\d+) \| (built|partly: [^|]+|deferred: [^|]+) \|", re.MULTILINE)


def listed() -> dict[str, str]:
    """Every id of docs/requirements.md with its state."""
    return dict(ROW.findall((ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")))


@cache
def proven() -> dict[str, set[str]]:
    """Every id that a test names, with the tests that do."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requirement":
                for argument in node.args:
                    assert isinstance(argument, ast.Constant), f"{path}: an id must be written out"
                    found.setdefault(str(argument.value), set()).add(path.name)
    return found


def test_every_requirement_of_the_list_has_a_state() -> None:
    rows = (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| ([A-Z]+-\d+) \|", rows, re.MULTILINE)) == set(listed())
    assert len(listed()) > 90


def test_every_built_requirement_has_a_test() -> None:
    unproven = [name for name, state in listed().items() if not state.startswith("deferred") and name not in proven()]
    assert unproven == []


def test_every_id_a_test_names_is_on_the_list_and_not_deferred() -> None:
    states = listed()
    assert sorted(name for name in proven() if name not in states) == []
    assert sorted(name for name in proven() if states[name].startswith("deferred")) == []
