"""The types that the store takes and returns, and the protocol of a transaction, which both engines implement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from functools import partial
from typing import Any, Protocol

from holdfast.log.acts import Marker
from holdfast.model import Decision, Kind, Provenance, Record

COMPACTION = "compaction"
"""The key in the metadata of a record that a compaction made; its value is the compaction's id."""

ADMIT_STAGE = "admit"
"""The cursor of admission: user turns up to it were judged. A rebuild notes in the log how far it had come: no model is
asked later about turns up to there (INV-3)."""
BLOCK = 4096
"""Documents per block: small enough to rewrite, large enough that 100k documents are 25 reads."""
GLOBAL = "global"
"""The namespace that the operator writes and every other may read (INV-4)."""
EPOCH_STAGE = "epoch"
"""Not a cursor, but a random number that changes whenever the views are dropped: caches of them are then stale."""
PASSAGES_STAGE = "passages"
"""The cursor of cutting long turns. It stays when views are dropped, as the passages do."""
CLAIMS_PER_TURN = 64
"""Numbers for the vectors of the claims of a turn: those of turn n are n·64 to n·64 + 63."""
AS_TURN = b""
"""Stored for a turn whose statements have the same vector as the whole turn; it is read as that vector."""


class Space(IntEnum):
    """Kinds of documents, each with its own numbers in a namespace. The names are part of stored cursors."""

    TURN = 0
    """Numbered by place in the log."""
    RECORD = 1
    """Numbered in the order of their creation."""
    PASSAGE = 2
    """Parts of long turns, in the order of their turns. They are never shown: they find their turn."""
    STATEMENT = 3
    """The statements of a turn, without its questions and thanks: a vector with the number of the turn."""
    WINDOW = 4
    """A turn together with those before it: a vector with the number of the turn."""
    CLAIM = 5
    """Claims of a turn from admission (admit/proposals.py): vectors for a rebuild, which no search reads."""

    @property
    def reading(self) -> bool:
        """Return whether it is another reading of turns by meaning: with vectors, but without documents and words."""
        return self in (Space.STATEMENT, Space.WINDOW)


@dataclass(frozen=True)
class Document:
    """A turn, record or passage, as the indexes need it."""

    num: int
    text: str
    at: int
    session: int
    index: int
    """Its place in the session (turns), or the number of the turn that it comes from (passages, records)."""
    sort: int
    """Its role (turns) or kind (records), as a small number: see index/blocks.py."""
    speaker: str = ""
    """The speaker, if the host names speakers (metadata "speaker", or "name" as in chat messages)."""
    space: Space = Space.TURN
    provenance: Provenance | None = None
    """This and the next: of a record."""
    confidence: float = 1.0


@dataclass(frozen=True)
class BlockRef:
    """A stored block and its version, so that a cache knows when it is stale."""

    block: int
    version: int


@dataclass
class Heads:
    """All cursors of a namespace, read in one statement, because a search needs all of them."""

    ends: dict[str, int] = field(default_factory=partial(defaultdict, int))
    """The highest number in use, of turns, records and passages."""
    cursors: dict[str, int] = field(default_factory=dict)
    """All but those of compactions."""
    documents: dict[int, list[BlockRef]] = field(default_factory=partial(defaultdict, list))
    """By space."""
    segments: dict[tuple[int, int], list[BlockRef]] = field(default_factory=partial(defaultdict, list))
    """By space and slot."""
    slots: dict[str, int] = field(default_factory=dict)
    """By the fingerprint of the model."""
    some: set[str] = field(default_factory=set)
    """Those of hidden, gone and retired that are not empty."""


@dataclass(frozen=True)
class Move:
    """A step of a cursor. It is taken only if the cursor is still at `after`: work is never done twice."""

    stage: str
    after: int
    upto: int


@dataclass(frozen=True)
class Passage:
    """A part of a long turn: characters `start` to `stop` of its text."""

    num: int
    turn: int
    start: int
    stop: int


@dataclass(frozen=True)
class NewRecord:
    """A record that derived work created, with its line in the log and the turns that it comes from."""

    record: Record
    born: int
    sources: tuple[int, ...]
    vector: bytes | None


@dataclass(frozen=True)
class RecordMerge:
    """A record that another statement was merged into; a changed text makes it a new document with the same id."""

    record: Record
    sources: tuple[int, ...]
    """Turns that are linked additionally."""
    vector: bytes | None = None
    """Given when the text changed."""


@dataclass(frozen=True)
class RecordRetirement:
    """A record that another one superseded, from a moment and a line of the log on."""

    record_id: str
    by: str
    at: datetime
    seq: int


@dataclass
class Changes:
    """Rows of the views that are written together with a step of a cursor."""

    postings: list[tuple[Space, str, int, bytes]] = field(default_factory=list)
    """(space, term, block, bytes to append)"""
    documents: list[tuple[Space, int, bytes]] = field(default_factory=list)
    """(space, block, bytes to append)"""
    passages: list[Passage] = field(default_factory=list)
    fingerprint: str = ""
    vectors: list[tuple[Space, int, bytes]] = field(default_factory=list)
    """(space, document, float32 vector)"""
    segments: list[tuple[Space, int, bytes]] = field(default_factory=list)
    """(space, block, bytes that replace the segment)"""
    receipts: list[tuple[str, Decision]] = field(default_factory=list)
    """(id of the turn or record, what was decided)"""
    records: list[NewRecord | RecordMerge | RecordRetirement] = field(default_factory=list)
    """In the order they happened."""
    signals: list[tuple[int, Mapping[str, float]]] = field(default_factory=list)
    """(place of the turn, signals of the gate)"""
    counters: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(day, name) → how often"""


@dataclass(frozen=True)
class RecordState:
    """A record as admission needs it: with its lifetime in the log and its vector."""

    record: Record
    born: int
    retired: int | None
    vector: bytes


@dataclass(frozen=True, slots=True)
class IdleRecord:
    """A record that was never retrieved, as the janitor needs it. Times are microseconds, for there are many."""

    id: str
    kind: Kind
    text: str
    provenance: Provenance
    confidence: float
    said: int
    """The latest time of its turns."""
    came: int
    """Time the line that created it was recorded."""
    tended: int
    """Time the janitor last lowered it, or that was last undone; 0 if never."""
    explicit: bool
    """True if the operator remembered it explicitly."""


@dataclass(frozen=True)
class Counts:
    sessions: int
    turns: int
    records: int
    summaries: int
    """This and the next: made by compactions."""
    guidance: int
    hidden: int


@dataclass(frozen=True)
class SessionSpan:
    """A session in a list of sessions."""

    name: str
    turns: int
    first: datetime | None
    """The time of its first turn, and of its last; None without turns."""
    last: datetime | None


@dataclass(frozen=True)
class ImportCounts:
    """The result of an import."""

    turns: int
    acts: int
    known: int
    """Lines that the log contained already."""
    left_out: int
    """Acts about places in the other log, which mean nothing here."""
    erased: int = 0
    """Lines of what was erased here, which do not come back."""


@dataclass(frozen=True)
class StoreCounts:
    """The contents of a copy of a store."""

    namespaces: int
    turns: int
    lines: int
    schema: int


@dataclass(frozen=True)
class Server:
    """A server that a store is on."""

    version: str
    role: str
    """The role that the store connects as."""
    schema: str
    """The schema of its tables."""
    citus: str | None
    """The version of Citus, which distributes tables over nodes; None if it is not installed."""
    nodes: int | None
    """The number of nodes that the tables are distributed over; None if they are not."""


class Scope(StrEnum):
    """The kinds of things that can be erased."""

    NAMESPACE = "namespace"
    SESSION = "session"
    TURN = "turn"
    RECORD = "record"


@dataclass(frozen=True)
class EraseCounts:
    """The result of an erase: what was removed from the log and from everything derived from it."""

    turns: int
    records: int
    acts: int
    sessions: int
    digests: int
    """Summaries and guidance of compactions that were removed with their turns."""
    bared: Mapping[str, tuple[str, ...]]
    """By session, turns that stay but whose digest was removed: they are in the active view again."""
    still_said: tuple[str, ...]
    """The turns that an erased record comes from: they stay."""


@dataclass(frozen=True)
class EraseContent:
    """The content that is about to be erased, for the proof; it stays in memory."""

    texts: tuple[str, ...]
    """Texts and metadata of turns."""
    made: tuple[str, ...]
    """Texts derived from them: records, digests, proposals of a model."""
    names: tuple[str, ...]
    """Ids, keys, names of sessions and of the namespace."""
    vectors: tuple[bytes, ...]
    """As float32."""


# --- Transactions.

Row = tuple[Any, ...]


@dataclass(frozen=True)
class WrittenLine:
    """The line of the log that a transaction wrote last: enough to find out whether it was committed."""

    seq: int
    id: str
    text: str


class Transaction(Protocol):
    """One namespace inside one database transaction.

    Statements are written once for both engines, in the common subset of their SQL. Values are named (`:id`), and `:ns`
    is always bound. `column IN :ids` takes a list; with an empty list a statement is not run and returns no rows.
    Lines of the log are identified by (ns, seq), records and passages by (ns, num), vectors by (ns, slot, space, num):
    columns of these tables are qualified (`log.seq`), `x.ns = :ns` comes directly before the rest of a key, and every
    table is restricted to `:ns`, so that a sharded server can send the statement to one node.
    """

    engine: str
    namespace: str
    """Its name; empty for one that was erased."""
    wrote: WrittenLine | None
    session_end: tuple[int, int, int] | None
    """(number of the session, last place of the log, last index of the session) that an append begins with, if known.
    Only for a namespace from which nothing was erased."""
    conflict: type[Exception]
    """Raised when a row breaks a unique key."""

    @property
    def marker(self) -> Marker: ...

    def rows(self, sql: str, **values: object) -> list[Row]: ...
    def kept(self, sql: str, by: str = "", column: int = 0, /, **values: object) -> list[Row]:
        """Return rows that may be known from before, for each member (this column) of the list that `by` names."""
        ...

    def row(self, sql: str, **values: object) -> Row | None: ...
    def one(self, sql: str, **values: object) -> Any:
        """Return the first value of the first row, or None without rows."""
        ...

    def execute(self, sql: str, **values: object) -> None: ...
    def stream(self, sql: str, **values: object) -> Iterator[Row]:
        """Return rows as they are read: there may be more than fit into memory. The statement must have no LIMIT."""
        ...

    def many(self, sql: str, values: Iterable[Mapping[str, object]]) -> None:
        """Run a statement once per set of values."""
        ...

    def insert(self, table: str, columns: str, rows: Iterable[Sequence[object]], conflict: str = "") -> None:
        """Insert rows; `columns` are all but `ns`, the rest of the key first. No key may occur twice in `rows`."""
        ...

    def every(self) -> Sequence[Transaction]:
        """Return a transaction per namespace, also for erased ones, and for the rows that belong to none."""
        ...

    def whole_store(self) -> Transaction:
        """Return a transaction for the rows that belong to no namespace."""
        ...

    def stored_vectors(self) -> Iterator[tuple[Space, int, bytes]]:
        """Return (space, number, stored bytes) of every vector of the namespace."""
        ...

    def hold_log(self) -> int:
        """Return the last place of the log, which no other writer moves until the end of the transaction.

        Creates the namespace if necessary. An erased one gets its name back, and so its tombstones.
        """
        ...

    def move_end(self, seq: int) -> None:
        """Note that the log now ends at this place."""
        ...

    def hold_views(self, change: bool = True) -> None:
        """Let no other writer change the views until the end of the transaction; `change`: this one does."""
        ...

    def beginnings(self, chars: Mapping[int, int]) -> dict[int, str]:
        """Return the beginnings of texts by the place of their lines, for each the number of characters it asks for."""
        ...

    def ending(self, seq: int, chars: int) -> tuple[str, int]:
        """Return the end of the text of a line and its size in bytes."""
        ...

    def is_named(self) -> bool:
        """Return whether the namespace exists and was not erased."""
        ...

    def is_missing(self) -> bool:
        """Return whether there is nothing to read. Where that costs as much as reading, the answer is no."""
        ...

    def drop_name(self) -> None:
        """Forget the name of the namespace, as the last step of erasing it."""
        ...

    def note_unswept(self) -> None:
        """Note that bytes of erased rows may be left in the files of the store."""
        ...
