"""Rule files (AGENTS.md, CLAUDE.md, …) as nodes: what always binds, what binds while there is room, and the rest.

Front matter and list items are hard, block quotes and paragraphs that oblige, forbid, permit or prescribe are soft,
everything else is variant (AUTH-1). The outermost block decides: a list inside a quotation is part of the quotation.
Every line with content belongs to exactly one node, and a node's text is its lines as they are in the file.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import BadText, InputError, MissingExtra

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MAX_FILE_BYTES = 16 * 1024 * 1024  # hard rules are never cut, and no model reads a hundredth of this at once
_SETTLE_S = 2.0
"""A file that changed more recently is compared by its hash: times of files are up to 2 s coarse (FAT), so a second
change may leave them as they are. git knows the same as "racily clean"."""
_ATTEMPTS = 5  # to read a file that is being written, before its last nodes are kept; one takes a millisecond
_GATHER_MS = 50  # changes so close together are reported at once: saving a file is several. watchfiles' own step

_LINE_END = re.compile(r"\r\n|\n|\r")
"""Line endings of CommonMark. `splitlines` also cuts at form feeds and U+2028, and would count other lines."""
_FENCE_OF_FRONT_MATTER = "---"
_ENDS_OF_FRONT_MATTER = ("---", "...")  # YAML ends a document with either
_LISTS = ("bullet_list_open", "ordered_list_open")


class NodeKind(StrEnum):
    """Binding force of a piece of a rule file."""

    HARD = "hard"
    SOFT = "soft"
    VARIANT = "variant"


@dataclass(frozen=True, slots=True)
class Node:
    """One block of a rule file."""

    text: str
    """Its lines as they are in the file, joined by a line feed."""
    kind: NodeKind
    path: str
    line: int
    """The first line, counted from 1."""
    end_line: int
    """The last line, itself included."""
    heading: tuple[str, ...]
    """The headings above it, outermost first."""
    digest: str
    """sha256 of the text: the same rule in two files has the same digest."""


def is_deontic(text: str) -> bool:
    """Return True if a paragraph obliges, forbids, permits or prescribes; compaction uses the same detector."""
    from holdfast.rules.detect import norms

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
    """The text of a heading or a paragraph, in one line."""


@dataclass(frozen=True, slots=True)
class _Headings:
    """The headings above a place of the file, outermost first."""

    levels: tuple[int, ...] = ()
    words: tuple[str, ...] = ()

    def above(self, level: int) -> _Headings:
        stay = next((at for at, one in enumerate(self.levels) if one >= level), len(self.levels))
        return _Headings(self.levels[:stay], self.words[:stay])

    def then(self, level: int, words: str) -> _Headings:
        return _Headings((*self.levels, level), (*self.words, words))


def _front_matter(lines: Sequence[str]) -> int:
    """Count the lines of the front matter; 0 without one, or if it is never closed."""
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

    CommonMark has no tables: a table is a paragraph, so rules inside of one are still found.
    """
    from markdown_it import MarkdownIt  # here, because `import holdfast` and most verbs need none of it

    return MarkdownIt("commonmark").disable("inline")


# --- The rule files of a process, read again only when they change.
#
# The nodes of a file are replaced in one step: the file is read whole and parsed, then the old nodes are exchanged for
# the new ones. Nothing of them is kept in the store: they are the operator's files, not anybody's memory.


_GIGA = 1_000_000_000


class Nodes(list[Node]):
    """A list of nodes that can say what was wrong with their files."""

    def __init__(self, nodes: Iterable[Node] = (), notices: Iterable[str] = ()) -> None:
        super().__init__(nodes)
        self.notices = tuple(notices)


class Rules:
    """Reads rule files and remembers their nodes while the files stay as they are.

    A file that cannot be used the first time is an error. Later, a file that was deleted loses its rules, and one that
    cannot be read for a while keeps those of its last reading; both are said in `notices`, at every reading.
    """

    def __init__(
        self, *, nodes_of: Callable[[str, str], tuple[Node, ...]] = nodes_of, now_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._nodes_of = nodes_of
        self._now_ns = now_ns
        self._readings: dict[str, _Reading] = {}
        self._changing = threading.Lock()

    def read(self, paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str]) -> Nodes:
        """The nodes of these files as they are now, in the order given; a file that is named twice counts once."""
        named = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        readings = list(dict.fromkeys(self._reading(os.fspath(path)) for path in named))
        seen: set[tuple[int, int]] = set()
        nodes: list[Node] = []
        for reading in readings:
            if reading.seen is None or reading.seen.file not in seen:  # CLAUDE.md is often a link to AGENTS.md
                nodes += reading.nodes
            if reading.seen is not None:
                seen.add(reading.seen.file)
        return Nodes(nodes, (reading.notice for reading in readings if reading.notice))

    def held(self, kind: NodeKind | None = None) -> list[Node]:
        """The nodes of every file read so far, as they were then: no file is touched."""
        return [
            node for reading in list(self._readings.values()) for node in reading.nodes if kind in (None, node.kind)
        ]

    def _reading(self, path: str) -> _Reading:
        place = os.path.abspath(os.path.expanduser(path))
        last = self._readings.get(place)
        if last is not None and last.settled and last.seen == _look(place):
            return last
        with self._changing:  # one thread reads, the others find what it read
            last = self._readings.get(place)
            if last is None or not last.settled or last.seen != _look(place):
                last = self._readings[place] = self._read_again(path, place, last)
            return last

    def _read_again(self, path: str, place: str, last: _Reading | None) -> _Reading:
        try:
            content, seen = _take(place)
            text = _decoded(content)
        except (FileNotFoundError, NotADirectoryError) as error:
            if last is None:
                raise InputError(
                    f"there is no rule file {path!r} (looked for {place}). Check the path or leave it out of the rules."
                ) from error
            return last if last.gone else _Reading(notice=f"the rule file {path} is gone: its rules no longer apply")
        except (OSError, ValueError) as error:  # InputError and BadText are ValueErrors, and so is a NUL in the path
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            if last is None:
                kind = BadText if isinstance(error, BadText) else InputError
                raise kind(f"the rule file {path!r} cannot be read: {reason}") from error
            notice = f"the rule file {path} cannot be read now, its rules are those of the last reading: {reason}"
            return replace(last, notice=notice, settled=False)
        digest = hashlib.sha256(content).hexdigest()
        nodes = last.nodes if last is not None and last.digest == digest else self._nodes_of(text, path)
        return _Reading(nodes, digest, seen, settled=self._now_ns() - seen.changed_ns > _SETTLE_S * _GIGA)


class _FileStamp(NamedTuple):
    """Metadata that shows, without reading a file, whether it changed."""

    file: tuple[int, int]
    """Device and inode."""
    size: int
    modified_ns: int
    status_ns: int
    """Time its status changed: it moves even when the other time is set back."""

    @property
    def changed_ns(self) -> int:
        return max(self.modified_ns, self.status_ns)


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """Known state of one file. It is never changed, only replaced."""

    nodes: tuple[Node, ...] = ()
    digest: str = ""
    seen: _FileStamp | None = None
    notice: str = ""
    settled: bool = False
    """True if a change after this reading is sure to show in `seen`."""

    @property
    def gone(self) -> bool:
        return self.seen is None


def _seen(status: os.stat_result) -> _FileStamp:
    return _FileStamp((status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _look(place: str) -> _FileStamp | None:
    try:
        return _seen(os.stat(place))
    except (OSError, ValueError):  # reading it will say what is wrong
        return None


def _take(place: str) -> tuple[bytes, _FileStamp]:
    """The whole file, as it was at one moment."""
    mode = os.stat(place).st_mode
    if stat.S_ISDIR(mode):
        raise InputError("it is a directory. Name the file in it, for instance its AGENTS.md.")
    if not stat.S_ISREG(mode):  # opening a pipe would block until a writer opens it
        raise InputError("it is not a regular file.")
    for _ in range(_ATTEMPTS):
        with open(place, "rb") as file:
            before = _seen(os.fstat(file.fileno()))
            if before.size > MAX_FILE_BYTES:
                raise InputError(f"it has {before.size:,} bytes, the maximum is {MAX_FILE_BYTES:,}. Split it.")
            content = file.read(before.size + 1)
            if _seen(os.fstat(file.fileno())) == before and len(content) == before.size:
                return content, before
    raise InputError(f"it is being written: it changed during each of {_ATTEMPTS} readings. Try again.")


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadText(
            f"it is not UTF-8 (byte 0x{content[error.start]:02x} in line {line}). Save it in UTF-8."
        ) from error


# --- Tells when rule files change, with the extra `watch` (watchfiles).


def watch(
    paths: Iterable[str | os.PathLike[str]], on_change: Callable[[list[Path]], None], stop: threading.Event
) -> None:
    """Calls `on_change` with the files of `paths` that were written, replaced, made or deleted, until `stop` is set.

    It blocks: give it a thread of its own. What `on_change` raises ends it. `Rules.read` notices changes by itself, so
    a change in the moment before the watch begins is not lost; the watch is for who wants to know without asking.
    """
    named = [Path(os.path.abspath(os.path.expanduser(path))) for path in paths]
    while not stop.is_set():
        targets = _targets(named)
        for changed in _changes({*targets, *targets.values()}, stop):
            if seen := [path for path, target in targets.items() if path in changed or target in changed]:
                on_change(seen)
            if _targets(named) != targets:  # a link points elsewhere now
                break


def _targets(named: Iterable[Path]) -> dict[Path, Path]:
    """Every file and, where it is a link, what it points at; else itself."""
    targets = {path: _target(path) for path in named}
    for path, target in targets.items():
        for place in (path.parent, target.parent):
            if not place.is_dir():
                raise InputError(f"cannot watch {str(path)!r}: there is no directory {str(place)!r}. Make it first.")
    return targets


def _target(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except FileNotFoundError:  # the link was taken away between being seen and being read
        return path


def _changes(watched: Set[Path], stop: threading.Event) -> Iterator[Set[Path]]:
    """The places that changed, none when a while passed without a change, until `stop` is set."""
    try:
        from watchfiles import watch as changes_in
    except ImportError as error:
        raise MissingExtra("watching rule files", "watch") from error

    for changes in changes_in(
        *{place.parent for place in watched},  # a file that is replaced by renaming is another file afterwards
        watch_filter=lambda _, place: Path(place) in watched,
        stop_event=stop,
        debounce=_GATHER_MS * 10,
        step=_GATHER_MS,
        recursive=False,
        yield_on_timeout=True,
    ):
        yield {Path(place) for _, place in changes}
