"""Rule files (AGENTS.md, CLAUDE.md, …) as nodes: what always binds, what binds while there is room, and the rest.

Front matter and list items are hard, block quotes and paragraphs that oblige, forbid, permit or prescribe are soft,
everything else is variant (AUTH-1). The outermost block decides: a list inside a quotation is part of the quotation.
Every line with content belongs to exactly one node, and a node's text is its lines as they stand in the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

__all__ = ["Node", "NodeKind", "is_deontic", "nodes_of"]

_LINE_END = re.compile(r"\r\n|\n|\r")
"""What CommonMark calls a line ending. `splitlines` also cuts at form feeds and U+2028, and would count other lines."""
_FENCE_OF_FRONT_MATTER = "---"
_ENDS_OF_FRONT_MATTER = ("---", "...")  # YAML ends a document with either
_LISTS = ("bullet_list_open", "ordered_list_open")


class NodeKind(StrEnum):
    """How firmly a piece of a rule file binds."""

    HARD = "hard"
    SOFT = "soft"
    VARIANT = "variant"


@dataclass(frozen=True, slots=True)
class Node:
    """One block of a rule file."""

    text: str
    """Its lines as they stand in the file, joined by a line feed."""
    kind: NodeKind
    path: str
    line: int
    """The first line, counted from 1."""
    end_line: int
    """The last line, itself included."""
    heading: tuple[str, ...]
    """The headings it stands under, outermost first."""
    digest: str
    """sha256 of the text: the same rule in two files has the same digest."""


def is_deontic(text: str) -> bool:
    """Whether a paragraph obliges, forbids, permits or prescribes; the detector that compaction uses."""
    from holdfast.compact.deontic import norms

    return bool(norms(text, in_doubt=True))


def nodes_of(text: str, path: str, is_deontic: Callable[[str], bool] = is_deontic) -> tuple[Node, ...]:
    """The nodes of a rule file, in the order of the file.

    Total and disjoint: every line that is not blank is in exactly one of them. A heading is a variant node of its own,
    and is named by the nodes under it. A list item holds its nested items, so that no item loses what it depends on.
    """
    lines = _LINE_END.split(text.removeprefix("\ufeff"))
    body = _front_matter(lines)
    found: list[Node] = []

    def add(kind: NodeKind, start: int, stop: int, heading: tuple[str, ...]) -> None:
        while start < stop and not lines[start].strip():
            start += 1
        while start < stop and not lines[stop - 1].strip():
            stop -= 1
        if start < stop:
            content = "\n".join(lines[start:stop])
            digest = hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()
            found.append(Node(content, kind, path, start + 1, stop, heading, digest))

    add(NodeKind.HARD, 0, body, ())
    reached, under = body, _Headings()
    for block in _blocks("\n".join(lines[body:]), is_deontic):
        start, stop = body + block.start, body + block.stop
        add(NodeKind.VARIANT, reached, start, under.words)  # definitions of links make no block
        if block.level:
            under = under.above(block.level)
        add(block.kind, max(reached, start), stop, under.words)
        if block.level:
            under = under.then(block.level, block.words)
        reached = max(reached, stop)
    add(NodeKind.VARIANT, reached, len(lines), under.words)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Block:
    kind: NodeKind
    start: int
    stop: int
    level: int
    """1 to 6 for a heading, else 0."""
    words: str
    """What a heading or a paragraph says, in one line."""


@dataclass(frozen=True, slots=True)
class _Headings:
    """The headings that a place of the file stands under, outermost first."""

    levels: tuple[int, ...] = ()
    words: tuple[str, ...] = ()

    def above(self, level: int) -> _Headings:
        stay = next((at for at, one in enumerate(self.levels) if one >= level), len(self.levels))
        return _Headings(self.levels[:stay], self.words[:stay])

    def then(self, level: int, words: str) -> _Headings:
        return _Headings((*self.levels, level), (*self.words, words))


def _front_matter(lines: Sequence[str]) -> int:
    """How many lines the front matter has; 0 without one, or if it is never closed."""
    if lines[0].rstrip() != _FENCE_OF_FRONT_MATTER:
        return 0
    return next((at + 1 for at in range(1, len(lines)) if lines[at].rstrip() in _ENDS_OF_FRONT_MATTER), 0)


def _blocks(text: str, is_deontic: Callable[[str], bool]) -> Iterator[_Block]:
    """The outermost blocks; of a list, its items."""
    tokens = _parser().parse(text)
    for at, token in enumerate(tokens):
        item = token.type == "list_item_open" and token.level == 1  # level 0 is its list
        if token.map is None or token.type in _LISTS or (token.level and not item):
            continue
        kind, level, words = NodeKind.VARIANT, 0, ""
        if token.type in ("heading_open", "paragraph_open"):
            words = " ".join(tokens[at + 1].content.split())  # the token after it holds what is written in it
        if token.type == "heading_open":
            level = int(token.tag[1])
        elif item:
            kind = NodeKind.HARD
        elif token.type == "blockquote_open" or (words and is_deontic(_plain(words))):
            kind = NodeKind.SOFT
        yield _Block(kind, token.map[0], token.map[1], level, words)


def _plain(paragraph: str) -> str:
    """Without marks of emphasis, which authors put on the very words that oblige: **Never** push to main."""
    plain = paragraph.replace("*", "")
    return " ".join(word.strip("_") for word in plain.split(" ")) if "_" in plain else plain


@cache
def _parser() -> MarkdownIt:
    """CommonMark without what happens inside a line: only blocks matter here, and it spares a fifth of the time.

    Tables are no part of CommonMark: a table is a paragraph, so rules that stand in one are still seen.
    """
    from markdown_it import MarkdownIt  # here, because `import holdfast` and most verbs need none of it

    return MarkdownIt("commonmark").disable("inline")
