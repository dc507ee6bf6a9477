"""The types that the store takes and returns, and the protocol of a transaction, which both engines implement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any, Protocol

from holdfast.log.acts import Marker
from holdfast.model import Decision, Kind, Provenance, Record

COMPACTION = "compaction"
"""The key in the metadata of a record that a compaction made; its value is the compaction's id."""

ADMIT_STAGE = "admit"
"""The cursor of admission: user turns up to it were judged. A rebuild notes in the log how far it had come: turns up to
there for which no model was asked are not asked for later (INV-3)."""
BLOCK = 4096
"""Documents a block: small enough to rewrite, large enough that 100k documents are 25 reads."""

EPOCH_STAGE = "epoch"
"""No cursor, but drawn anew whenever the views are dropped: who kept something of them knows that it is of others."""
PASSAGES_STAGE = "passages"
"""The cursor of cutting long turns. It stays when views are dropped, as the passages do."""


CLAIMS_A_TURN = 64
"""Numbers that a turn has for the vectors of its claims: those of turn n are n·64 to n·64 + 63."""

AS_TURN = b""
"""Written as the vector of what a turn tells: the turn's own. It is read as that."""


class Space(IntEnum):
    """Kinds of documents that are searched, each numbered on its own inside a namespace."""

    TURN = 0
    """Numbered by place in the log."""
    RECORD = 1
    """Numbered in the order they were made."""
    PASSAGE = 2
    """Parts of long turns, in the order of their turns. They are never shown: they find their turn."""
    TOLD = 3
    """What a turn tells, its statements before its questions and thanks: a vector under the turn's number."""
    WINDOW = 4
    """A turn together with those before it: a vector under the turn's number."""
    CLAIM = 5
    """What admission read out of a turn (admit/proposals.py): vectors that no search looks at, kept for a rebuild."""

    @property
    def reading(self) -> bool:
        """A further reading of turns by meaning: it has vectors, but no documents and no words of its own."""
        return self in (Space.TOLD, Space.WINDOW)


@dataclass(frozen=True)
class Document:
    """What the indexes need to know of a turn, record or passage."""

    num: int
    text: str
    at: int
    session: int
    index: int
    """Its place in the session (turns), or the number of the turn it came from (passages, records)."""
    sort: int
    """Its role (turns) or kind (records), as a small number: see index/blocks.py."""
    speaker: str = ""
    """Who said it, where the host names its speakers (metadata "speaker", or "name" as chat messages have it)."""
    space: Space = Space.TURN
    provenance: Provenance | None = None
    """Of a record, with its confidence."""
    confidence: float = 1.0


@dataclass(frozen=True)
class BlockRef:
    """A stored block and the version of it, so that a cache knows when it is stale."""

    block: int
    version: int


@dataclass
class Heads:
    """How far everything of a namespace has come, read in one statement: a search needs all of it, piece by piece."""

    ends: dict[str, int] = field(default_factory=dict)
    """The highest number in use, of turns, records and passages."""
    cursors: dict[str, int] = field(default_factory=dict)
    """All but those of compactions."""
    documents: dict[int, list[BlockRef]] = field(default_factory=lambda: defaultdict(list))
    """By space."""
    segments: dict[tuple[int, int], list[BlockRef]] = field(default_factory=lambda: defaultdict(list))
    """By space and slot."""
    slots: dict[str, int] = field(default_factory=dict)
    """By the fingerprint of the model."""
    some: set[str] = field(default_factory=set)
    """Those of hidden, gone and retired that are not empty."""


@dataclass(frozen=True)
class Move:
    """A cursor's step. It is taken only if the cursor still stands at `after`: work is never done twice."""

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
    """A record that derived work made, with the line of the log it was made at and the turns it came from."""

    record: Record
    born: int
    sources: tuple[int, ...]
    vector: bytes | None


@dataclass(frozen=True)
class Merged:
    """A record that took in another statement of the same; a changed text makes it a new document of the same id."""

    record: Record
    sources: tuple[int, ...]
    """Turns that are linked in addition."""
    vector: bytes | None = None
    """Given when the text changed."""


@dataclass(frozen=True)
class Retired:
    """A record that another one replaced, from a moment and a line of the log on."""

    record_id: str
    by: str
    at: datetime
    seq: int


@dataclass
class Changes:
    """Rows of the views that are written together with a cursor's step."""

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
    records: list[NewRecord | Merged | Retired] = field(default_factory=list)
    """In the order they happened."""
    signals: list[tuple[int, Mapping[str, float]]] = field(default_factory=list)
    """(place of the turn, the gate's signals)"""
    counters: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(day, name) → how often"""


@dataclass(frozen=True)
class Standing:
    """A record as admission sees it: when in the log it was live, and where it lies in the space of meaning."""

    record: Record
    born: int
    retired: int | None
    vector: bytes


@dataclass(frozen=True, slots=True)
class Idle:
    """A record that nobody ever found, and what the janitor asks of it; times are microseconds, for there are many."""

    id: str
    kind: Kind
    text: str
    provenance: Provenance
    confidence: float
    said: int
    """When it was last said, by the time its turns were said at."""
    came: int
    """When the log got the line that made it."""
    tended: int
    """When the janitor last lowered it, or that was last undone; 0 if never."""
    explicit: bool
    """The operator had it remembered."""


@dataclass(frozen=True)
class Counts:
    sessions: int
    turns: int
    records: int
    summaries: int
    """What compactions made; likewise the next."""
    guidance: int
    hidden: int


@dataclass(frozen=True)
class SessionSpan:
    """One conversation in a list of them."""

    name: str
    turns: int
    first: datetime | None
    """When its first turn was said; None without turns. Likewise the next."""
    last: datetime | None


@dataclass(frozen=True)
class ImportCounts:
    """What became of the lines of another log."""

    turns: int
    acts: int
    known: int
    """Lines that were in the log already."""
    left_out: int
    """Acts that mean nothing in a log that goes on from another place."""
    erased: int = 0
    """Lines of what was erased here: they do not come back."""


@dataclass(frozen=True)
class Held:
    """What a whole store holds, as a copy of it was counted."""

    namespaces: int
    turns: int
    lines: int
    schema: int


@dataclass(frozen=True)
class Server:
    """The server that a store is on."""

    version: str
    role: str
    """Whom the store is to it."""
    schema: str
    """The schema its tables lie in."""
    citus: str | None
    """The version of Citus, which spreads tables over nodes; None if it is not there."""
    nodes: int | None
    """How many nodes the store is spread over; None if it is not."""


class Scope(StrEnum):
    """What an erase is about."""

    NAMESPACE = "namespace"
    SESSION = "session"
    TURN = "turn"
    RECORD = "record"


@dataclass(frozen=True)
class Swept:
    """What an erase took out of the log and out of everything made of it."""

    turns: int
    records: int
    acts: int
    sessions: int
    digests: int
    """Summaries and guidance of compactions that went with their turns."""
    bared: Mapping[str, tuple[str, ...]]
    """By session, turns that stay and whose digest is gone: they are in the active view again."""
    still_said: tuple[str, ...]
    """Of an erased record, the turns it was read out of: they stay."""


@dataclass(frozen=True)
class Content:
    """What is about to be erased, for a proof; kept in memory alone."""

    texts: tuple[str, ...]
    """As they were said."""
    made: tuple[str, ...]
    """What was made of them: records, digests, a model's proposals."""
    names: tuple[str, ...]
    """Ids, keys, names of sessions and of the namespace."""
    vectors: tuple[bytes, ...]
    """float32, as they came."""


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

    def hold_views(self) -> None:
        """Let no other writer change the views of the namespace until the end of the transaction."""
        ...

    def is_named(self) -> bool:
        """Tell whether the namespace exists and was not erased."""
        ...

    def drop_name(self) -> None:
        """Forget the name of the namespace, as the last step of erasing it."""
        ...

    def note_unswept(self) -> None:
        """Note that bytes of erased rows may be left in the files of the store."""
        ...
