"""The words of the code, its help and its docs are those of the field, in plain English (STYLE, rules 7 and 8)."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "bench" / "src").rglob("*.py")])
DOCS = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"])
MAX_NAME = 80
MAX_RELATIVE = 0.02  # share of docstrings that begin with a relative clause

# Participles as nouns and household words for which the field has a term.
_OLD = """courtesy desk discreet doomed glance halved handed heard hurried legs patience placing ruled shelf shelves
taking tended tending told tombs worded"""
OLD_NAMES = frozenset(_OLD.split())
STORED = frozenset({"told", "tended", "updates_told"})  # fields of the log, of the store and of figures
OLD_PHRASES = re.compile(r"\b(?:anew|beside|for ever|so many|whoever|at most so)\b", re.IGNORECASE)
RELATIVE = re.compile(r"(?:What|Whatever|Whether|Who|Whoever|Whose|How|Which|When|Where)\b")


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield every docstring, those of attributes included."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else ():
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
                yield one.lineno, one.value.value


def tokens(path: Path) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)


def test_no_identifier_uses_the_old_vocabulary() -> None:
    found = [
        f"{path.name}:{token.start[0]}: {token.string}"
        for path in SOURCES
        for token in tokens(path)
        if token.type == tokenize.NAME and token.string not in STORED
        if OLD_NAMES & {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", token.string)}
    ]
    assert found == []


def test_docstrings_comments_and_docs_avoid_old_phrases() -> None:
    found = []
    for path in SOURCES:
        comments = ((token.start[0], token.string) for token in tokens(path) if token.type == tokenize.COMMENT)
        texts = [*comments, *docstrings(ast.parse(path.read_text(encoding="utf-8")))]
        found += [f"{path.name}:{line}: {text}" for line, text in texts if OLD_PHRASES.search(text)]
    for path in DOCS:
        lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        found += [f"{path.name}:{number}: {text}" for number, text in lines if OLD_PHRASES.search(text)]
    assert found == []


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    texts = [text for path in SOURCES for _, text in docstrings(ast.parse(path.read_text(encoding="utf-8")))]
    relative = [text.strip() for text in texts if RELATIVE.match(text.strip())]
    assert len(texts) > 1000
    assert len(relative) <= MAX_RELATIVE * len(texts), relative


def test_test_names_are_short() -> None:
    names = [
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert [name for name in names if len(name) > MAX_NAME] == []
