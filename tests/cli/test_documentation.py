"""The documentation is true: references come from the code, examples run, links and paths lead somewhere."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast_bench.reference import BEGIN, PAGES, commands, generated

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WRITTEN = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(
    DOCS.rglob("*.md")
)
LONG_LINES = {"requirements.md"}  # a table whose cells are whole requirements
MAX_LINES, MAX_CHARS = 200, 160
OLD_WORDS = re.compile(
    r"\b(anew|so many|is no [a-z]+ of|stands? (?:for|in|beside|under)|lies? (?:in|on|beside)|for ever|hark|doomed)\b"
)
RUN = [
    "README", "docs/reference/content", "docs/reference/python", "docs/how-to/compact", "docs/how-to/models",
    "docs/how-to/rule-files", "docs/how-to/themes", "docs/how-to/transfer", "docs/how-to/use-in-an-agent",
    "docs/design/admission", "docs/design/time",
]  # fmt: skip


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES)
def test_the_reference_is_the_one_the_code_gives(page: str) -> None:
    text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    assert BEGIN in text
    assert text == generated(page, text), "run `make reference` and look at the difference"


def test_the_reference_has_every_command() -> None:
    paths = [path for path, _ in commands()]
    assert len(paths) > 50
    text = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    assert [path for path in paths if f"## `{path}" not in text] == []


class OpenAI:
    """Stands in for the SDK of the README's example: answers with the number of messages it was given."""

    def __init__(self) -> None:
        self.chat = SimpleNamespace(completions=self)

    def create(self, model: str, messages: list[dict[str, str]]) -> SimpleNamespace:
        assert model and {"role", "content"} <= messages[0].keys()
        message = SimpleNamespace(content=f"{len(messages)} messages")
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])


@pytest.mark.parametrize("page", RUN)
def test_the_python_of_the_docs_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "openai", SimpleNamespace(OpenAI=OpenAI))
    Path("AGENTS.md").write_text("- Never push to main.\n", encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, f"{page}.md", "exec"), {"now": datetime.now(UTC)})


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_pages_are_short_and_in_plain_words(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").split(BEGIN)[0].splitlines()
    assert len(lines) <= MAX_LINES or page.name == "requirements.md"  # a list, one line for each requirement
    if page.name not in LONG_LINES:
        assert [line for line in lines if len(line) > MAX_CHARS] == []
        assert [found[0] for line in lines if (found := OLD_WORDS.search(line))] == []


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_every_link_of_the_docs_exists(page: Path) -> None:
    for link, anchor in re.findall(r"\]\(([^)#\s]*)(#[\w-]+)?\)", page.read_text(encoding="utf-8")):
        if link.startswith("https://"):
            continue
        target = page if not link else page.parent / link
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor.removeprefix("#") in slugs, f"{link}{anchor}"


def test_the_index_links_to_every_page() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    pages = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if page != DOCS / "README.md"]
    assert [page for page in pages if f"({page})" not in index] == []


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8").split(BEGIN)[0]
    named = re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|md|json|jsonl|sql|yml|txt))", text)
    places = [ROOT, ROOT / "src" / "holdfast", ROOT / "bench" / "src", ROOT / "src" / "holdfast" / "serve" / "http"]
    assert [path for path in named if not any((place / path).exists() for place in places)] == []


def test_every_page_that_the_code_names_exists() -> None:
    files = subprocess.run(
        ["git", "ls-files", "src", "tests", "bench", "training", "Makefile", "pyproject.toml"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    text = [(ROOT / path) for path in files if path.endswith((".py", ".toml", ".html", "file"))]
    named = {
        page for path in text if path.exists() for page in re.findall(r"docs/[\w/-]+\.md", path.read_text("utf-8"))
    }
    invented = {"docs/adr/0009-device-clocks.md", "docs/AGENTS.md", "docs/style.md"}
    assert sorted(page for page in named - invented if not (ROOT / page).exists()) == []
