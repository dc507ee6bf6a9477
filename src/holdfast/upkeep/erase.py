"""Erasing: the log, every view, the bytes in the files, and a proof that nothing remains (KEEP-4).

The proof searches every byte of the store's files for strings that were distinctive of what was erased. They are
collected before the erase and kept only in memory. Strings that also occur in what remains, or in the program's own
texts, prove nothing; they are counted and left out.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import numpy as np

from holdfast.errors import InputError, StoreError
from holdfast.index.blocks import forget_read, quantise
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import EraseContent, Scope, Space
from holdfast.text.words import speaker_terms, term_counts
from holdfast.upkeep.results import EraseResult, Looked, Proof

MIN_PATTERN = 6
"""Bytes: the numbers in a large file contain shorter strings by chance (at 6, one of 1,000 strings in 30 GB)."""
MAX_PATTERN = 1024
"""Bytes: longer strings are cut, because chunks of a file overlap by this much."""
_PREFIX = 3  # bytes that are looked up in a table of 16 million entries
_WORD = re.compile(r"\w+")
_LETTER = re.compile(r"[^\W\d_]")
_LONG_NUMBER = 9  # digits: a telephone or account number; shorter ones are dates and counts
_BATCH = 2_000_000  # characters of remaining text that are searched together
_CHUNK = 4_000_000
_SLICE = 16  # bytes of a vector that no other vector has …
_DISTINCT_BYTES = 8  # … if at least this many of them differ
_ALL = 1_000_000_000

BareTurns = Mapping[str, tuple[str, ...]]
"""Turn ids by session whose summary was erased."""


def read_scope(session: str | None, namespace: bool, turn: str | None, record: str | None) -> tuple[Scope, str]:
    """Return the scope of an erase and the name or id; InputError unless exactly one is given."""
    given = {Scope.SESSION: session, Scope.TURN: turn, Scope.RECORD: record}
    named = {scope: name for scope, name in given.items() if name is not None}
    if not isinstance(namespace, bool) or len(named) + namespace != 1:
        raise InputError("give exactly one of session=NAME, turn=ID, record=ID or namespace=True")
    return next(iter(named.items()), (Scope.NAMESPACE, ""))


def erase(
    store: Store,
    namespace: str,
    scope: Scope,
    name: str,
    now: datetime,
    settle: Callable[[BareTurns], tuple[int, str | None]],
    with_proof: bool = False,
) -> EraseResult:
    """Erase a scope; `settle` rebuilds the views and returns (new summaries, what prevented more)."""
    start = time.perf_counter()
    copies = store.copies(namespace)
    traces = Traces(store.erase_content(namespace, scope, name)) if with_proof else None
    swept = store.erase(namespace, scope, name, now)
    forget_read()
    pending = _sweep(store)
    remade, degraded = settle(swept.bared)
    try:
        proof = None if traces is None else prove(store, namespace, traces, copies)
    except StoreError as error:
        raise type(error)(f"it was erased, but the proof failed: {error}") from error
    return EraseResult(
        namespace=namespace,
        scope=scope.value,
        turns=swept.turns,
        records=swept.records,
        acts=swept.acts,
        sessions=swept.sessions,
        digests=swept.digests,
        remade=remade,
        still_said=swept.still_said,
        copies=tuple(copies),
        pending=pending,
        degraded=degraded,
        at=now,
        seconds=round(time.perf_counter() - start, 3),
        proof=proof,
    )


def _sweep(store: Store) -> str | None:
    """Overwrite freed bytes; the erase is done by now, so a full disk must not look like a failed erase."""
    try:
        return store.sweep()
    except StoreError as error:
        return f"{error}. It is erased; the freed bytes are overwritten at the next open or erase"


class Traces:
    """Strings, index terms and vectors of what is erased, to be searched for afterwards."""

    def __init__(self, content: EraseContent) -> None:
        self.strings: dict[str, set[str]] = {}
        """The spellings as written, by their lower-case form."""
        short: set[str] = set()
        for string in (*_distinctive_strings(content.texts), *_words(content.made), *content.names):
            cut = string.encode()[:MAX_PATTERN].decode(errors="ignore")
            if len(cut.casefold().encode()) < MIN_PATTERN or len(cut.encode()) < MIN_PATTERN:
                short.add(cut.casefold())
            else:
                self.strings.setdefault(cut.casefold(), set()).update((cut, cut.casefold()))
        self.too_short = len(short)
        self.terms = {term for text in (*content.texts, *content.made) for term in term_counts(text)}
        self.vectors = [one for one in content.vectors if any(one)]


def _distinctive_strings(texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines, words and pairs of adjacent words."""
    for text in texts:
        yield from (line.strip() for line in text.splitlines() if _LETTER.search(line))  # a bare date may be anyone's
        yield from _words([text])
        for first, second in pairwise(_WORD.finditer(text)):
            if _LETTER.search(pair := text[first.start() : second.end()]):
                yield pair


def _words(texts: Iterable[str]) -> Iterator[str]:
    """Yield only words, for derived texts: the same lines may be derived again from what remains."""
    for text in texts:
        for word in _WORD.findall(text):
            if _LETTER.search(word) or len(word) >= _LONG_NUMBER:
                yield word


def prove(store: Store, namespace: str, traces: Traces, copies: Iterable[str]) -> Proof:
    """Search every file of the store, its vocabulary and its known copies after an erase."""
    strings = _distinctive(store, namespace, traces)
    live = set(store.live_vectors())  # two texts may have the same vector, which is then a trace of neither
    vectors = [vector for vector in traces.vectors if vector not in live]
    spellings = {spelling for forms in strings.values() for spelling in forms}
    patterns = {text.encode(encoding)[:MAX_PATTERN] for text in spellings for encoding in ("utf-8", "utf-16-le")}
    slices = {piece for vector in vectors for piece in _slices(vector)}
    search = ByteSearch(patterns | slices)
    files = tuple(_search_file(search, path, chunks) for path, chunks in store.files())
    with store.snapshot(namespace) as view:
        terms = traces.terms - _remaining_terms(view)
        in_vocabulary = _count_in_vocabulary(view, terms)
    return Proof(
        strings=len(strings),
        vectors=len(vectors),
        terms=len(terms),
        not_distinctive=len(traces.strings) - len(strings) + len(traces.vectors) - len(vectors),
        too_short=traces.too_short,
        files=files,
        bytes_read=sum(one.size_bytes for one in files),
        found=sum(one.found for one in files) + in_vocabulary,
        copies=tuple(_search_file(search, path, _chunks(Path(path))) for path in copies if Path(path).is_file()),
    )


def _distinctive(store: Store, namespace: str, traces: Traces) -> dict[str, set[str]]:
    """Return the strings that occur, in any case, neither in what remains nor in the program's own texts."""
    search = ByteSearch(spelling.encode() for spelling in traces.strings)
    common: set[bytes] = set()
    for batch in _batches(_remaining_texts(store, namespace)):
        common |= search.matches(batch.casefold().encode())
    return {spelling: forms for spelling, forms in traces.strings.items() if spelling.encode() not in common}


def _remaining_texts(store: Store, namespace: str) -> Iterator[str]:
    yield from store.live_texts(namespace)
    for path in sorted(Path(__file__).parent.parent.rglob("*.py")):
        yield path.read_text(encoding="utf-8")


def _batches(texts: Iterable[str]) -> Iterator[str]:
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= _BATCH:
            yield "\n".join(batch)
            batch, size = [], 0
    yield "\n".join(batch)


def _slices(vector: bytes) -> Iterator[bytes]:
    """Yield parts of a vector as rows and segments store it: in full and half precision, and quantised."""
    full = np.frombuffer(vector, "<f4")
    for form in (vector, full.astype("<f2").tobytes(), quantise(full[None])[0].tobytes()):
        for start in range(0, len(form) - _SLICE + 1, max(_SLICE, len(form) // 4)):
            piece = form[start : start + _SLICE]
            if len(set(piece)) >= _DISTINCT_BYTES:
                yield piece


def _remaining_terms(view: Snapshot) -> set[str]:
    left: set[str] = set()
    for space in (Space.TURN, Space.RECORD):
        for document in view.documents(space, 0, _ALL):
            left |= term_counts(document.text).keys()
            left.update(speaker_terms(document.speaker) if document.speaker else ())
    return left


def _count_in_vocabulary(view: Snapshot, terms: set[str]) -> int:
    spaces = (Space.TURN, Space.RECORD, Space.PASSAGE)
    return sum(bool(blocks) for space in spaces for blocks in view.postings(space, sorted(terms)).values())


def _search_file(search: ByteSearch, path: str, chunks: Iterable[bytes]) -> Looked:
    matches: set[bytes] = set()
    read = 0
    for chunk in chunks:
        matches |= search.matches(chunk)
        read += len(chunk)
    # Chunks of a file overlap, so its size is read from the file system; values of a server's table do not overlap.
    return Looked(path, Path(path).stat().st_size if Path(path).is_file() else read, len(matches))


def _chunks(path: Path) -> Iterator[bytes]:
    """Yield overlapping chunks of a copy."""
    with path.open("rb") as file:
        at = 0
        while chunk := file.read(_CHUNK + MAX_PATTERN):
            yield chunk
            at += _CHUNK
            file.seek(at)


class ByteSearch:
    """Multi-pattern search that reads its input once, however many patterns there are."""

    def __init__(self, strings: Iterable[bytes]) -> None:
        self._by_key: dict[int, list[bytes]] = defaultdict(list)
        for string in set(strings):
            assert MIN_PATTERN <= len(string) <= MAX_PATTERN
            self._by_key[int.from_bytes(string[:MIN_PATTERN], "big")].append(string)
        self._keys = np.array(sorted(self._by_key), np.uint64)
        self._heads = np.zeros(1 << 8 * _PREFIX, np.bool_)
        self._heads[(self._keys >> np.uint64(8 * (MIN_PATTERN - _PREFIX))).astype(np.int64)] = True

    def matches(self, chunk: bytes) -> set[bytes]:
        """Return the patterns that occur in the chunk."""
        if len(chunk) < MIN_PATTERN or not len(self._keys):
            return set()
        raw = np.frombuffer(chunk, np.uint8)
        count = len(raw) - MIN_PATTERN + 1
        heads = np.zeros(count, np.int32)
        for at in range(_PREFIX):
            heads = (heads << 8) | raw[at : at + count]
        places = np.flatnonzero(self._heads[heads])
        keys = heads[places].astype(np.uint64)
        for at in range(_PREFIX, MIN_PATTERN):
            keys = (keys << np.uint64(8)) | raw[places + at]
        slots = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        hit = self._keys[slots] == keys
        matches: set[bytes] = set()
        for place, key in zip(places[hit].tolist(), keys[hit].tolist(), strict=True):
            matches.update(one for one in self._by_key[key] if chunk.startswith(one, place))
        return matches
