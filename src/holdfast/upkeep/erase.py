"""Erasing with everything that follows from it: the log, the views, the bytes in the files, and the proof."""

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
from holdfast.results import Erased, Looked, Proof
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import EraseContent, Scope, Space
from holdfast.text.words import speaker_terms, term_counts

# --- Many byte strings looked for at once: whatever their number, a file is read once.


LEAST = 6
"""Bytes: numbers of a large file spell shorter strings by chance (at 6, one of 1,000 strings in 30 GB)."""
MOST = 1024
"""Longer ones are cut: a piece of a file overlaps the next by more."""
_HEAD = 3  # bytes that a table of 16 million places tells at once


class ByteSearch:
    def __init__(self, strings: Iterable[bytes]) -> None:
        self._by_key: dict[int, list[bytes]] = defaultdict(list)
        for string in set(strings):
            assert LEAST <= len(string) <= MOST
            self._by_key[int.from_bytes(string[:LEAST], "big")].append(string)
        self._keys = np.array(sorted(self._by_key), np.uint64)
        self._heads = np.zeros(1 << 8 * _HEAD, np.bool_)
        self._heads[(self._keys >> np.uint64(8 * (LEAST - _HEAD))).astype(np.int64)] = True

    def found(self, piece: bytes) -> set[bytes]:
        """Those of the strings that stand in a piece."""
        if len(piece) < LEAST or not len(self._keys):
            return set()
        raw = np.frombuffer(piece, np.uint8)
        count = len(raw) - LEAST + 1
        heads = np.zeros(count, np.int32)
        for at in range(_HEAD):
            heads = (heads << 8) | raw[at : at + count]
        places = np.flatnonzero(self._heads[heads])
        keys = heads[places].astype(np.uint64)
        for at in range(_HEAD, LEAST):
            keys = (keys << np.uint64(8)) | raw[places + at]
        slots = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        hit = self._keys[slots] == keys
        found: set[bytes] = set()
        for place, key in zip(places[hit].tolist(), keys[hit].tolist(), strict=True):
            found.update(one for one in self._by_key[key] if piece.startswith(one, place))
        return found


# --- The proof of an erase: everything that was distinctive of it is looked for in every byte of the store's
# files.
#
# Collected before the erase and kept in memory alone. What also stands in what remains proves nothing, and is left out
# and counted: the words of other turns, and those the program itself writes into its receipts.


_WORD = re.compile(r"\w+")
_LETTER = re.compile(r"[^\W\d_]")
_LONG_NUMBER = 9  # digits: a telephone or account; shorter ones are dates and counts that anything may hold
_BATCH = 2_000_000  # characters of what remains that are searched together
_PIECE = 4_000_000
_SLICE = 16  # bytes of a vector that no other has, if they are not all alike
_VARIED = 8
_ALL = 1_000_000_000


class Traces:
    """What is looked for: strings by their spelling without capitals, terms of the index, and vectors."""

    def __init__(self, content: EraseContent) -> None:
        self.strings: dict[str, set[str]] = {}
        """By spelling without capitals, as they were written."""
        self.too_short = 0
        short: set[str] = set()
        for string in (*_telling(content.texts), *_words(content.made), *content.names):
            cut = string.encode()[:MOST].decode(errors="ignore")
            if len(cut.casefold().encode()) < LEAST or len(cut.encode()) < LEAST:
                short.add(cut.casefold())
            else:
                self.strings.setdefault(cut.casefold(), set()).update((cut, cut.casefold()))
        self.too_short = len(short)
        self.terms = {term for text in (*content.texts, *content.made) for term in term_counts(text)}
        self.vectors = [one for one in content.vectors if any(one)]


def _telling(texts: Iterable[str]) -> Iterator[str]:
    """Lines, words, and pairs of words as they stand beside each other."""
    for text in texts:
        yield from (line.strip() for line in text.splitlines() if _LETTER.search(line))  # a bare date is anybody's
        yield from _words([text])
        for first, second in pairwise(_WORD.finditer(text)):
            if _LETTER.search(pair := text[first.start() : second.end()]):
                yield pair


def _words(texts: Iterable[str]) -> Iterator[str]:
    """Of what was made of texts only the words: it may be made again, in the same order, of what is left."""
    for text in texts:
        for word in _WORD.findall(text):
            if _LETTER.search(word) or len(word) >= _LONG_NUMBER:
                yield word


def prove(store: Store, namespace: str, traces: Traces, copies: Iterable[str]) -> Proof:
    """After the erase: search every file of the store, its vocabulary, and the copies it knows of."""
    strings = _distinctive(store, namespace, traces)
    vectors = _unlike(traces.vectors, store.live_vectors())
    patterns = {one for spellings in strings.values() for spelling in spellings for one in _encoded(spelling)}
    slices = {piece for vector in vectors for piece in _slices(vector)}
    search = ByteSearch(patterns | slices)
    files = tuple(_look(search, path, pieces) for path, pieces in store.files())
    with store.snapshot(namespace) as view:
        terms = traces.terms - _terms_left(view)
        spelled = sum(_in_vocabulary(view, terms))
    lost = len(traces.strings) - len(strings) + len(traces.vectors) - len(vectors)
    return Proof(
        strings=len(strings),
        vectors=len(vectors),
        terms=len(terms),
        not_distinctive=lost,
        too_short=traces.too_short,
        files=files,
        bytes_read=sum(one.size_bytes for one in files),
        found=sum(one.found for one in files) + spelled,
        copies=tuple(_look(search, path, _pieces(Path(path))) for path in copies if Path(path).is_file()),
    )


def _distinctive(store: Store, namespace: str, traces: Traces) -> dict[str, set[str]]:
    """The strings that neither what remains nor the program's own text has, whatever the capitals."""
    search = ByteSearch(spelling.encode() for spelling in traces.strings)
    common: set[bytes] = set()
    for batch in _batches(_remaining(store, namespace)):
        common |= search.found(batch.casefold().encode())
    return {spelling: forms for spelling, forms in traces.strings.items() if spelling.encode() not in common}


def _remaining(store: Store, namespace: str) -> Iterator[str]:
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


def _encoded(text: str) -> Iterator[bytes]:
    for encoding in ("utf-8", "utf-16-le"):
        yield text.encode(encoding)[:MOST]


def _unlike(vectors: Iterable[bytes], live: Iterable[bytes]) -> list[bytes]:
    """Two texts may have one vector: then it is no trace of either."""
    there = set(live)
    return [one for one in vectors if one not in there]


def _slices(vector: bytes) -> Iterator[bytes]:
    """Parts of a vector as rows and segments hold it: in full and in half precision, and as codes."""
    full = np.frombuffer(vector, "<f4")
    for form in (vector, full.astype("<f2").tobytes(), quantise(full[None])[0].tobytes()):
        for start in range(0, len(form) - _SLICE + 1, max(_SLICE, len(form) // 4)):
            piece = form[start : start + _SLICE]
            if len(set(piece)) >= _VARIED:
                yield piece


def _terms_left(view: Snapshot) -> set[str]:
    left: set[str] = set()
    for space in (Space.TURN, Space.RECORD):
        for document in view.documents(space, 0, _ALL):
            left |= term_counts(document.text).keys()
            left.update(speaker_terms(document.speaker) if document.speaker else ())
    return left


def _in_vocabulary(view: Snapshot, terms: set[str]) -> Iterator[int]:
    for space in (Space.TURN, Space.RECORD, Space.PASSAGE):
        yield sum(bool(blocks) for blocks in view.postings(space, sorted(terms)).values())


def _look(search: ByteSearch, path: str, pieces: Iterable[bytes]) -> Looked:
    found: set[bytes] = set()
    read = 0
    for piece in pieces:
        found |= search.found(piece)
        read += len(piece)
    # Pieces of a file overlap; the values of a server's table, which is no file here, do not.
    return Looked(path, Path(path).stat().st_size if Path(path).is_file() else read, len(found))


def _pieces(path: Path) -> Iterator[bytes]:
    """Of a copy, which no store has open."""
    with path.open("rb") as file:
        at = 0
        while piece := file.read(_PIECE + MOST):
            yield piece
            at += _PIECE
            file.seek(at)


Bared = Mapping[str, tuple[str, ...]]
"""By session, turns that lost their digest."""


def read_scope(session: str | None, namespace: bool, turn: str | None, record: str | None) -> tuple[Scope, str]:
    """What is to go and its exact name; InputError unless it is exactly one thing."""
    given = {Scope.SESSION: session, Scope.TURN: turn, Scope.RECORD: record}
    named = {scope: noun for scope, noun in given.items() if noun is not None}
    if len(named) + namespace != 1:
        raise InputError("erase one thing: session=NAME, turn=ID, record=ID, or namespace=True for all of it")
    return next(iter(named.items()), (Scope.NAMESPACE, ""))


def erase(
    store: Store,
    namespace: str,
    scope: Scope,
    noun: str,
    now: datetime,
    settle: Callable[[Bared], tuple[int, str | None]],
    with_proof: bool = False,
) -> Erased:
    """Destroy it. `settle` derives anew what is left: how many digests it made, and what kept it from more."""
    start = time.perf_counter()
    copies = store.copies(namespace)
    traces = Traces(store.erase_content(namespace, scope, noun)) if with_proof else None
    swept = store.erase(namespace, scope, noun, now)
    forget_read()
    pending = _sweep(store)
    remade, degraded = settle(swept.bared)
    try:
        proof = None if traces is None else prove(store, namespace, traces, copies)
    except StoreError as error:
        raise type(error)(f"it is erased, but the proof was not made: {error}") from error
    return Erased(
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
    """It is erased by now, and a full disk must not look as if it were not."""
    try:
        return store.sweep()
    except StoreError as error:
        return f"{error}. It is erased; the file is swept when the store is opened or erased from again"
