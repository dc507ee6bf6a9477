"""docs/cli.md names every command and every option, and the Python of the pages runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.main import get_command

from holdfast.cli.app import open_app

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def commands() -> Iterator[tuple[str, list[str]]]:
    waiting = [("holdfast", get_command(open_app()))]
    while waiting:
        path, command = waiting.pop()
        inner = getattr(command, "commands", {})
        waiting += [(f"{path} {name}", one) for name, one in inner.items()]
        if not inner:
            options = [option for param in command.params for option in param.opts if option.startswith("--")]
            yield path, [option for option in options if option != "--help"]


@pytest.mark.parametrize(("path", "options"), list(commands()), ids=lambda value: str(value) if value is str else None)
def test_every_command_and_option_is_documented(path: str, options: list[str]) -> None:
    assert f"## `{path}" in DOCS, f"{path} has no section in docs/cli.md"
    section = DOCS.split(f"## `{path}", 1)[1].split("\n## ", 1)[0]
    shared = DOCS.split("## For every verb", 1)[1].split("\n## ", 1)[0]
    assert [option for option in options if option not in section and option not in shared] == []


@pytest.mark.parametrize(
    "page", ["README", "docs/authored", "docs/compaction", "docs/content", "docs/transfer", "docs/when"]
)
def test_the_python_of_the_docs_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("AGENTS.md").write_text("- Never push to main.\n", encoding="utf-8")
    text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, f"{page}.md", "exec"), {"now": datetime.now(UTC)})
