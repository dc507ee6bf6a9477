"""README is true: its tour runs as printed, its figures are those of the pages it names, every link leads somewhere."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]

_ID = re.compile(r"\b[tr]-[0-9a-f]{20,21}\b")
_MINE = re.compile(
    r"\w{3} \d{1,2} (?!Sep)\w{3} \d{4} \d\d:\d\d"  # a time of the run; the sample month is a September
    r"|\d+\.\d+(?= s\b)"
    r"|(?<=score )\d+\.\d+"
    r"|(?<=memory )\w{12}(?= )"  # the mark of a frame
)


def section(name: str) -> str:
    return README.split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]


def tour() -> Iterator[tuple[str, list[str]]]:
    """Every command of the tour with the output that README shows."""
    said: list[str] = []
    command = ""
    for line in section("A tour").splitlines():
        if line.startswith("    $ "):
            if command:
                yield command, said
            command, said = line.removeprefix("    $ "), []
        elif line.startswith("    "):
            said.append(line.removeprefix("    ").rstrip())
    yield command, said


class Shell:
    """So much of a shell as the tour needs. Commands run in this process: starting Python for each takes longer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capfd = monkeypatch, capfd

    def run(self, command: str) -> str:
        words = shlex.split(command)
        if "|" in words:
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            env = {**os.environ, "PATH": path}
            return subprocess.run(command, shell=True, env=env, check=True, capture_output=True, text=True).stdout
        if words[0] == "echo":
            assert words[2] == ">"
            Path(words[3]).write_text(f"{words[1]}\n", encoding="utf-8")
        elif words[0] == "export":
            for name, value in (word.split("=", 1) for word in words[1:]):
                self._monkeypatch.setenv(name, value)
        else:
            assert words[0] == "holdfast"
            self._monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
            self._capfd.readouterr()
            assert main(words[1:]) == 0, self._capfd.readouterr().err
            return self._capfd.readouterr().out
        return ""


def agree(shown: list[str], said: list[str], ids: dict[str, str]) -> None:
    """Every line that README shows was said, in this order, without a gap but where it has `…`; learns the ids."""
    at, gap = 0, False
    for line in shown:
        if line.strip() == "…":
            gap = True
            continue
        found = [here for here in range(at, len(said)) if alike(line, said[here])]
        assert found and (gap or found[0] == at), f"README: {line!r}\nsaid: {said[at : at + 5]}"
        ids |= dict(zip(_ID.findall(line), _ID.findall(said[found[0]]), strict=True))
        at, gap = found[0] + 1, False
    assert gap or not any(said[at:]), f"README does not show {said[at:]}"


def alike(shown: str, said: str) -> bool:
    return _MINE.sub("#", _ID.sub("ID", shown)) == _MINE.sub("#", _ID.sub("ID", said.rstrip()))


def test_the_readme_tour_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    shell = Shell(monkeypatch, capfd)
    ids: dict[str, str] = {}
    commands = list(tour())
    assert len(commands) > 20
    for command, shown in commands:
        said = shell.run(_ID.sub(lambda found: ids[found[0]], command))
        agree(shown, said.splitlines(), ids)


def test_the_readme_figures_are_those_of_the_docs() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (?:.*?) \| \[\w+\]\((docs/\w+\.md)\)", section("Figures"), re.MULTILINE)
    assert len(rows) > 10
    for what, measured, page in rows:
        text = (ROOT / page).read_text(encoding="utf-8")
        missing = [figure for figure in re.findall(r"\.?\d[\d.,]*\d|\.?\d", measured) if figure not in text]
        assert missing == [], f"{what}: {missing} not in {page}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_the_docs_exists(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not link.startswith("https://") and not (page.parent / link).exists()] == []


def test_readme_links_to_every_page_of_docs() -> None:
    assert [page.name for page in PAGES[2:] if f"docs/{page.name}" not in README] == []
