"""The layout of the word index's and the vector index's stored bytes.

Blocks grow by appending, so adding documents never rewrites what is there:
  documents   one row a document: offset in the block, length in terms, session, index, role or kind, marks, prior, time
  postings    three bytes a document that holds the term: offset in the block, how often (at most 255)
  segments    offsets, then one scale a vector, then int8 codes: a vector is its codes times its scale
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import IntFlag
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.model import Provenance, Role
from holdfast.store.rows import role_number
from holdfast.store.store import Store
from holdfast.store.types import BLOCK, PASSAGES_STAGE, Changes, Document, Move, Passage, Space
from holdfast.text.words import speaker_terms, split_passages, term_counts

if TYPE_CHECKING:
    from holdfast.gate.durability import Weighed


@dataclass(frozen=True)
class IndexSizes:
    """Sizes of the index and of its batches."""

    tail: int = 128  # turns that may wait outside the word index: search scans them, at about 20 µs each
    tail_chars: int = 200_000  # characters that may wait there: one long paste is indexed at once
    vector_tail: int = 256  # vectors that may wait outside a quantized segment
    batch: int = 1000  # turns per transaction of derived work; with 2,000 it takes a tenth longer (memory)
    gather_s: float = 0.05  # wait of the first turn after a pause for others to share its batch
    gather_most_s: float = 1.0
    """The wait doubles up to this while turns keep coming: 50 turns a second take half the processor in batches of a
    second of what they take in batches of .1 s (docs/evidence/performance.md). `flush` does not wait."""
    passage_words: int = 60  # length of the passages that a long turn is cut into, at the ends of sentences
    passages_from: int = 90  # length from which a turn is cut: one passage and a half
    window_turns: int = 2  # turns before a turn that it is read together with (DESIGN)
    statement_floor: float = (
        0.3  # added to the chance that a sentence is worth keeping: .1 to .3 were alike on three sets
    )
    max_chars: int = 1_000_000  # words beyond this are kept but not indexed: a 10 MB paste must not cost minutes


def words_stage(space: Space) -> str:
    """The cursor of the word index of a space."""
    return f"words:{space.name.lower()}"


# --- Decoded blocks kept in memory, newest use last, up to a number of bytes.
#
# A block is known by its version, so a process sees what others wrote: a stale one is simply not found.


Value = TypeVar("Value")


class BlockCache:
    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._held = 0
        self._entries: OrderedDict[Hashable, tuple[Hashable, object, int]] = OrderedDict()
        self._gate = threading.Lock()

    def get(self, key: Hashable, version: Hashable, load: Callable[[], tuple[Value, int]]) -> Value:
        """The value of this key at this version, from memory or from `load` (value, bytes)."""
        with self._gate:
            entry = self._entries.get(key)
            if entry is not None and entry[0] == version:
                self._entries.move_to_end(key)
                return entry[1]  # type: ignore[return-value]
        value, size = load()
        self.keep(key, version, value, size)
        return value

    def last(self, key: Hashable) -> object | None:
        """The value of this key at whatever version it has; who asks knows what of it still holds."""
        with self._gate:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[1]

    def clear(self) -> None:
        """After an erase: nothing of it may stay, not even in memory."""
        with self._gate:
            self._entries.clear()
            self._held = 0

    def holds(self, key: Hashable) -> bool:
        return key in self._entries

    def keep(self, key: Hashable, version: Hashable, value: object, size: int) -> None:
        """Store a value under a key and version; it is evicted when there is no room."""
        with self._gate:
            old = self._entries.pop(key, None)
            self._held += size - (old[2] if old else 0)
            self._entries[key] = (version, value, size)
            while self._held > self._most and len(self._entries) > 1:
                _, (_, _, gone) = self._entries.popitem(last=False)
                self._held -= gone


# --- What a turn holds that a kind of question asks for: a number, a time, a standing wish. One bit each.
#
# "How many …?" is answered by a turn with a number in it, "when …?" by one that tells a time; which number or time
# is for the words and the meaning to say. English words; digits in any script. A list of words each, so reading is
# linear.


_READ_CHARS = 20_000
"""A longer text is a paste: its beginning says what it is about."""


WEIGHTS = {
    Provenance.AUTHORED: 1.0,
    Provenance.USER_STATED: 1.0,
    Provenance.IMPORTED: 0.9,
    Provenance.EPISODE_SUMMARY: 0.85,
    Provenance.AGENT_NOTED: 0.75,
    Provenance.ASSISTANT_DERIVED: 0.7,
    Provenance.TOOL_DERIVED: 0.7,
}
"""The seed's weights, all at most 1: they only ever lower (RECALL-2)."""


class Mark(IntFlag):
    NUMBER = 1
    TIME = 2
    WISH = 4
    """A standing wish of the user's ("always …", "I prefer …"): it bears on every request for help or advice."""
    QUESTION = 8
    """It ends in a question: the answer is likely the turn after it."""


# These two and the wish are looked for in lower case: three times as quick as ignoring the case of each letter.
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|hundred"
    r"|thousand|million|half|twice|couple|several)\b"
)
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|recently|weekends?|earlier|since|a few"
    r"|(?:last|next|this) (?:night|week|month|year|summer|fall|autumn|spring|winter|weekend|morning|afternoon|past"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|[a-z]+ (?:days?|weeks?|months?|years?) ago"
    r"|january|february|april|june|july|august|september|october|november|december|(?:mar|march|may) \d"
    r"|(?:jan|feb|apr|jun|jul|aug|sep|sept|oct|nov|dec) \d"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|(?:19|20)\d\d)\b"
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|old|long|often|far|tall|big|fast|heavy)\b|\bwhat (?:time|percentage|number|amount|price|age)\b"
    r"|\btotal\b|\bcosts?\b",
    re.IGNORECASE,
)
_ASKS_TIME = re.compile(
    r"\bwhen\b|\bwhat (?:date|day|month|year|time)\b|\bhow (?:long|recently)\b|\border\b"
    r"|\bwhich\b.{1,60}\b(?:first|last|recently|earlier|later)\b"
    r"|\b(?:days?|weeks?|months?|years?) (?:ago|before|after|passed|between|since|did|have|had|were)\b",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"(?:^|[.!?\n]\s*|\b(?:please|so|and|also),? )(?:always|never|from now on|in (?:the )?future|whenever"
    r"|make sure (?:to|you)|don['’]?t ever|remember to)\b"
    r"|\bi(?:['’]d| would| do|['’]ve always)? (?:really |always |generally |usually |still )?prefer\b"
    r"|\bwhen(?:ever)? i ask\b"
)
_WISH_HAS = ("ever", "prefer", "always", "make sure", "from now on", "future", "remember to", "i ask")
"""No wish is without one of these, and most turns are."""
_WISH_CHARS = 2000
_ASKS_HELP = re.compile(
    r"\b(?:how (?:do|can|should|would|could|might) (?:i|we|you)|what (?:should|would|could|are|is|kind|type)|can you"
    r"|could you|would you|any (?:tips|advice|ideas|suggestions|recommendations)|suggest|recommend|help me"
    r"|where (?:should|do you|can)|which .{0,40}should|should i|i['’]m (?:planning|about|trying|thinking))\b",
    re.IGNORECASE,
)
_ASKS_PAST = re.compile(
    r"\b(?:did|was|were|had|i['’]ve|have (?:i|we|you)|has|previous(?:ly)?|before|ago|last|earlier|remind|mentioned"
    r"|told|said|discussed|so far|currently|in total|how many|how much|summar\w*|order in which)\b",
    re.IGNORECASE,
)
_USER = role_number(Role.USER)
_kept = BlockCache(8_000_000)  # the user turns of a batch twice over, at about 3 KB each


def marks_of(text: str) -> Mark:
    text = text[:_READ_CHARS].lower()
    found = Mark(0)
    if _NUMBER.search(text):
        found |= Mark.NUMBER
    if _TIME.search(text):
        found |= Mark.TIME
    head = text[:_WISH_CHARS]
    if any(word in head for word in _WISH_HAS) and _WISH.search(head):
        found |= Mark.WISH
    if text.rstrip("\"'”’) \n").endswith("?"):
        found |= Mark.QUESTION
    return found


def prior_of(document: Document) -> int:
    """Return the probability that its best sentence is worth keeping (gate/durability.py), as a share of 255.

    A record counts by who vouches for it and how surely; of a turn only the user's own words count.
    """
    if document.provenance is not None:
        return round(255 * WEIGHTS[document.provenance] * document.confidence)
    if document.space is Space.PASSAGE or document.sort != _USER:
        return 0
    return round(255 * max(statements(document.text).each, default=0.0))


def statements(text: str) -> Weighed:
    """A turn's sentences, with the chance that each is worth keeping; kept, for the index and the vectors both ask."""
    from holdfast.gate.durability import weigh  # its patterns take long to load: who only searches never needs them

    text = text[:_READ_CHARS]
    return _kept.get(text, None, lambda: _with_size(text, weigh(text, False)))


def read_ahead(documents: Sequence[Document]) -> None:
    """Read the statements of a whole batch at once; asking for them one by one afterwards costs nothing."""
    from holdfast.gate.durability import weigh_apart

    said = (one.text[:_READ_CHARS] for one in documents if one.space is Space.TURN and one.sort == _USER)
    texts = [text for text in dict.fromkeys(said) if not _kept.holds(text)]
    for text, weighed in zip(texts, weigh_apart(texts), strict=True):
        _kept.keep(text, None, *_with_size(text, weighed))


def forget_read() -> None:
    """After an erase: what was read ahead is read again when it is needed."""
    _kept.clear()


def _with_size(text: str, weighed: Weighed) -> tuple[Weighed, int]:
    return weighed, 500 + 2 * len(text) + weighed.vectors.nbytes


def wanted_marks(question: str) -> Mark:
    """Return the marks that an answer to this question is likely to have."""
    question = question[:_READ_CHARS]
    wanted = Mark(0)
    if _ASKS_NUMBER.search(question):
        wanted |= Mark.NUMBER
    if _ASKS_TIME.search(question):
        wanted |= Mark.TIME
    if _ASKS_HELP.search(question) and not _ASKS_PAST.search(question):
        wanted |= Mark.WISH
    return wanted


DOCUMENT = np.dtype(
    [
        ("offset", "<u2"),
        ("length", "<u4"),
        ("session", "<u4"),
        ("index", "<u4"),
        ("sort", "u1"),
        ("marks", "u1"),
        ("prior", "u1"),
        ("at", "<i8"),
    ]
)
_COUNTS = [bytes([count]) for count in range(256)]
POSTING = np.dtype([("offset", "<u2"), ("count", "u1")])


@dataclass(frozen=True)
class Segment:
    """The vectors of one block: codes[i] · scales[i] is the vector of document nums[i]."""

    nums: NDArray[np.int64] | slice
    """A slice when no number is missing, which is the common case and six times as quick to write to."""
    scales: NDArray[np.float32]
    codes: NDArray[np.int8]

    @property
    def nbytes(self) -> int:
        """Size in bytes, including `total`, which is computed on demand."""
        dims: int = self.codes.shape[1]
        return self.codes.nbytes + self.scales.nbytes + dims * np.dtype(np.float64).itemsize

    @property
    def first(self) -> int:
        """The first of its documents; who asks knows that it has one."""
        return int(self.nums.start) if isinstance(self.nums, slice) else int(self.nums[0])

    def rows(self, nums: NDArray[np.int64]) -> tuple[NDArray[np.int64] | slice, NDArray[np.int64]]:
        """Return which of these sorted documents it contains, as places in `nums`, and the rows of their codes."""
        if isinstance(self.nums, slice):
            first, last = int(self.nums.start), int(self.nums.stop)
            whole = not len(nums) or (nums[0] >= first and nums[-1] < last)
            there = slice(0, len(nums)) if whole else slice(*np.searchsorted(nums, [first, last]).tolist())
            return there, nums[there] - first
        rows = np.minimum(np.searchsorted(self.nums, nums), len(self.nums) - 1)
        found = np.flatnonzero(self.nums[rows] == nums) if len(self.nums) else np.empty(0, np.int64)
        return found, rows[found]

    def part(self, rows: NDArray[np.int64]) -> Segment:
        """Some of its vectors, known by their places in `rows`."""
        return Segment(np.arange(len(rows)), self.scales[rows], self.codes[rows])

    @cached_property
    def total(self) -> NDArray[np.float64]:
        """The sum of its vectors. Not by `@`, which holds all codes as floats first: 8 MB, and six times as long."""
        scales = self.scales.astype(np.float64)
        total: NDArray[np.float64] = np.einsum("i,ij->j", scales, self.codes, dtype=np.float64)
        return total


def pack_documents(documents: Sequence[Document], lengths: Sequence[int]) -> bytes:
    """Rows of documents of one block; `prior` is a share of 255."""
    rows = [
        (
            document.num % BLOCK,
            length,
            document.session,
            document.index,
            document.sort,
            marks_of(document.text),
            prior_of(document),
            document.at,
        )
        for document, length in zip(documents, lengths, strict=True)
    ]
    return np.array(rows, DOCUMENT).tobytes()


def read_documents(data: bytes) -> NDArray[np.void]:
    return np.frombuffer(data, DOCUMENT)


def pack_posting(offset: int, count: int) -> bytes:
    """One document of a term's postings: its offset in the block, and how often it contains the term."""
    return offset.to_bytes(2, "little") + _COUNTS[min(count, 255)]


def read_postings(blocks: Sequence[tuple[int, bytes]]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Document numbers and counts of a term over all its blocks."""
    rows = np.frombuffer(b"".join(data for _, data in blocks), POSTING)
    sizes = [len(data) // POSTING.itemsize for _, data in blocks]
    bases = np.repeat(np.array([block * BLOCK for block, _ in blocks], np.int64), sizes)
    return bases + rows["offset"], rows["count"].astype(np.float32)


def quantise(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """int8 codes and one scale a vector; the largest component becomes ±127."""
    scales = np.abs(vectors).max(axis=1) / 127.0
    divisors = np.where(scales > 0, scales, 1.0).astype(np.float32)
    return np.rint(vectors / divisors[:, None]).astype(np.int8), scales.astype(np.float32)


def pack_segment(nums: Sequence[int], vectors: NDArray[np.float32]) -> bytes:
    codes, scales = quantise(vectors)
    offsets = (np.array(nums, np.int64) % BLOCK).astype("<u2")
    return np.uint32(len(nums)).tobytes() + offsets.tobytes() + scales.astype("<f4").tobytes() + codes.tobytes()


def read_segment(block: int, data: bytes) -> Segment:
    count = int(np.frombuffer(data, "<u4", 1)[0])
    offsets = np.frombuffer(data, "<u2", count, 4)
    scales = np.frombuffer(data, "<f4", count, 4 + 2 * count)
    codes = np.frombuffer(data, np.int8, -1, 4 + 6 * count).reshape(count, -1)
    return Segment(as_slice(block * BLOCK + offsets.astype(np.int64)), scales, codes)


def as_slice(nums: NDArray[np.int64]) -> NDArray[np.int64] | slice:
    """Rising numbers as a slice if none is missing between them."""
    if len(nums) and nums[-1] - nums[0] == len(nums) - 1:
        return slice(int(nums[0]), int(nums[-1]) + 1)
    return nums


# --- Derived work: put waiting documents into the word index.

_AT_ONCE_CHARS = 20_000  # about 5 ms


def index_words(
    store: Store, namespace: str, space: Space, settings: IndexSizes, step_aside: Callable[[], None] = lambda: None
) -> int:
    """Index one batch, if enough is waiting; how many documents were indexed. `step_aside` is called now and then.

    A short tail stays out on purpose: search reads it as it is, and writing blocks for every turn would cost more.
    """
    stage = words_stage(space)
    with store.snapshot(namespace) as view:
        done, unchanged = view.cursor(stage), view.unchanged()
        # A smaller batch than what may wait would never be enough, and flush would wait for it forever.
        documents = view.documents(space, done, max(settings.batch, settings.tail), settings.max_chars)
    heavy = sum(len(document.text) for document in documents) > settings.tail_chars
    if not documents or (len(documents) < settings.tail and not heavy):
        return 0
    for start in range(0, len(documents), 64):  # about 15 ms
        read_ahead(documents[start : start + 64])
        step_aside()
    changes = index_changes(space, documents, settings.max_chars, step_aside)
    moved = store.advance(namespace, [unchanged, Move(stage, done, documents[-1].num)], changes)
    return len(documents) if moved else 0


def index_changes(
    space: Space, documents: Sequence[Document], max_chars: int, step_aside: Callable[[], None] = lambda: None
) -> Changes:
    """The postings and document rows of a batch."""
    read = 0
    postings: dict[int, dict[str, bytearray]] = defaultdict(lambda: defaultdict(bytearray))
    rows: dict[int, list[tuple[Document, int]]] = defaultdict(list)
    for document in documents:
        block, offset = divmod(document.num, BLOCK)
        counts = term_counts(document.text[:max_chars], step_aside)
        read += len(document.text)
        if read > _AT_ONCE_CHARS:
            step_aside()
            read = 0
        rows[block].append((document, counts.total()))
        of_block = postings[block]
        once = pack_posting(offset, 1)
        for term, count in counts.items():
            of_block[term] += once if count == 1 else pack_posting(offset, count)
        for term in speaker_terms(document.speaker) if document.speaker else ():
            of_block[term] += once
    return Changes(
        # In the order of the key, so that neighbouring pages are written once.
        postings=[
            (space, term, block, bytes(packed))
            for block in postings
            for term, packed in sorted(postings[block].items())
        ],
        documents=[
            (space, block, pack_documents([document for document, _ in part], [length for _, length in part]))
            for block, part in rows.items()
        ],
    )


# --- Derived work: cut long turns into passages, which are indexed and embedded like turns.


def cut_turns(store: Store, namespace: str, settings: IndexSizes, step_aside: Callable[[], None] = lambda: None) -> int:
    """Cut one batch of turns; how many turns were looked at. `step_aside` is called now and then."""
    with store.snapshot(namespace) as view:
        done, unchanged = view.cursor(PASSAGES_STAGE), view.unchanged()
        turns = view.documents(Space.TURN, done, settings.batch, settings.max_chars)
        number = view.end(Space.PASSAGE)
    if not turns:
        return 0
    changes = Changes()
    for turn in turns:
        text = turn.text[: settings.max_chars]
        for start, stop in split_passages(text, settings.passage_words, settings.passages_from, step_aside):
            number += 1
            changes.passages.append(Passage(number, turn.num, start, stop))
    moves = [unchanged, Move(PASSAGES_STAGE, done, turns[-1].num)]
    return len(turns) if store.advance(namespace, moves, changes) else 0
