"""The tutorial runs as printed, and README's figures are those of the pages it names."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")

_ID = re.compile(r"\b[tr]-[0-9a-f]{20,21}\b")
_VARIES = re.compile(
    r"\w{3} \d{1,2} \w{3} (?!2026)\d{4} \d\d:\d\d|\w{3} \d{1,2} (?!Mar|Apr|May)\w{3} 2026 \d\d:\d\d"  # of the run
    r"|\d+\.\d+(?= s\b)"
    r"|(?<=score )\d+\.\d+"
    r"|(?<=memory )\w{12}(?= )"  # the mark of a frame
)


def tour() -> Iterator[tuple[str, list[str]]]:
    """Yield every command of the tutorial with the output that it shows."""
    shown: list[str] = []
    command = ""
    for line in TUTORIAL.splitlines():
        if line.startswith("    $ "):
            if command:
                yield command, shown
            command, shown = line.removeprefix("    $ "), []
        elif command and line.startswith("    "):
            shown.append(line.removeprefix("    ").rstrip())
    yield command, shown


class Shell:
    """Runs the commands of the tutorial, in this process where it can: starting Python for each takes longer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capfd = monkeypatch, capfd

    def run(self, command: str) -> str:
        words = shlex.split(command)
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


def compare(shown: list[str], printed: list[str], ids: dict[str, str]) -> None:
    """Check that every line of the tutorial was printed, in order, with gaps only where it has `…`; learn the ids."""
    at, gap = 0, False
    for line in shown:
        if line.strip() == "…":
            gap = True
            continue
        found = [here for here in range(at, len(printed)) if alike(line, printed[here])]
        assert found and (gap or found[0] == at), f"tutorial: {line!r}\nprinted: {printed[at : at + 5]}"
        ids |= dict(zip(_ID.findall(line), _ID.findall(printed[found[0]]), strict=True))
        at, gap = found[0] + 1, False
    assert gap or not any(printed[at:]), f"the tutorial does not show {printed[at:]}"


def alike(shown: str, printed: str) -> bool:
    return _VARIES.sub("#", _ID.sub("ID", shown)) == _VARIES.sub("#", _ID.sub("ID", printed.rstrip()))


def test_the_tutorial_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("conversations.json").write_text(TUTORIAL.split("```json\n", 1)[1].split("```", 1)[0], encoding="utf-8")
    shell = Shell(monkeypatch, capfd)
    ids: dict[str, str] = {}
    steps = list(tour())
    assert len(steps) > 10
    for command, shown in steps:
        printed = shell.run(_ID.sub(lambda found: ids[found[0]], command))
        compare(shown, printed.splitlines(), ids)


def test_the_readme_figures_are_those_of_the_docs() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \| *(.*?) *\| \[\w+\]\((docs/[\w/]+\.md)\)", README, re.MULTILINE)
    assert len(rows) >= 5
    for measure, ours, others, page in rows:
        text = (ROOT / page).read_text(encoding="utf-8")
        figures = re.findall(r"\.?\d[\d.,]*\d|\.?\d", f"{ours} {others}")
        assert [figure for figure in figures if figure not in text] == [], measure


def test_the_readme_is_for_a_visitor() -> None:
    assert 700 <= len(README.split()) <= 1100
    assert "make test" in README, "what .ci/run relies on"
