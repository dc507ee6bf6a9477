"""The nouns of memory: turns, records, hits and receipts. Frozen values, no behaviour beyond reading them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Self

Metadata = Mapping[str, object]
"""JSON values only; checked at the door (log/messages.py)."""

SIGNALS = ("g", "t", "h", "r", "d", "p", "a", "dtech", "gconv", "gtech", "input_freq", "mem_saturation")
"""What the gate stores on every user turn (GATE-11); gate/score.py says what each means."""


def _no_signals() -> dict[str, float]:
    return dict.fromkeys(SIGNALS, 0.0)


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Origin(StrEnum):
    """By which channel a turn came in. Set at write, never raised later (LOG-2)."""

    USER = "user"
    USER_PASTED = "user_pasted"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"
    IMPORTED = "imported"


class Kind(StrEnum):
    """What a hit or a record is."""

    TURN = "turn"
    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    GUIDANCE = "guidance"
    SUMMARY = "summary"
    EPISODE = "episode"


class Provenance(StrEnum):
    """Who vouches for a record, best first (MERGE-2)."""

    AUTHORED = "authored"
    USER_STATED = "user_stated"
    EPISODE_SUMMARY = "episode_summary"
    ASSISTANT_DERIVED = "assistant_derived"
    TOOL_DERIVED = "tool_derived"


@dataclass(frozen=True)
class NewTurn:
    """A turn that has been checked at the door and is ready for the log."""

    role: Role
    origin: Origin
    text: str
    at: datetime
    at_given: bool
    stability: float
    key: str | None
    metadata: Metadata


@dataclass(frozen=True)
class Turn:
    """One message of a session, as it was said."""

    id: str
    namespace: str
    session: str
    index: int
    role: Role
    origin: Origin
    text: str
    at: datetime
    recorded_at: datetime
    stability: float
    seq: int
    """Its place in the namespace's log."""
    key: str | None = None
    metadata: Metadata = field(default_factory=dict)
    signals: Mapping[str, float] = field(default_factory=_no_signals, compare=False)
    """The gate's, under the names of SIGNALS; 0 for what was not computed (yet), which makes no other turn of it."""


@dataclass(frozen=True)
class Record:
    """One durable memory, with its lineage to turns."""

    id: str
    namespace: str
    kind: Kind
    text: str
    provenance: Provenance
    confidence: float
    evidence_count: int
    at: datetime
    valid_from: datetime
    valid_to: datetime | None = None
    superseded_by: str | None = None
    turn_ids: tuple[str, ...] = ()
    retrieval_count: int = field(default=0, compare=False)
    last_retrieved_at: datetime | None = field(default=None, compare=False)
    """How often it was found, and when last (KEEP-1), which makes no other record of it."""
    metadata: Metadata = field(default_factory=dict)


class Entry(StrEnum):
    """What one line of the log says: a turn was said, the operator did something, or a model answered."""

    TURN = "turn"
    REMEMBER = "remember"
    FORGET = "forget"
    UNFORGET = "unforget"
    PROPOSE = "propose"
    """What a chat model proposed for a turn, as code let it through, or why it proposed nothing."""
    REBUILD = "rebuild"
    """The views were dropped; the subject is the stage whose way through the log decides what a model is asked."""
    CALIBRATE = "calibrate"
    COMPACT = "compact"
    """Turns of a session left its active view: their summaries and the guidance in them, as they were made then."""
    ERASE = "erase"
    """A turn or record stood here and was erased (log/acts.py), or what an erase did; no content."""
    JANITOR = "janitor"
    """A run of the janitor; the subject is its name, the week it ran in."""
    JANITOR_UNDO = "janitor_undo"
    """… and that it was taken back."""


@dataclass(frozen=True)
class Action:
    """An operator's act or a model's output as the log keeps it; replaying it gives the same views (INV-3)."""

    entry: Entry
    subject: str
    """The record or turn it is about."""
    at: datetime
    payload: Metadata = field(default_factory=dict)


@dataclass(frozen=True)
class Exchange:
    """A question with its answer."""

    question: Turn
    answer: Turn | None
    at: datetime


@dataclass(frozen=True)
class Session:
    """One conversation and how far it has come."""

    namespace: str
    session: str
    turns: int


@dataclass(frozen=True)
class Stage:
    """One step of a recall: how many came out, how long it took, and what it says of itself."""

    name: str
    count: int
    ms: float
    note: str = ""


@dataclass(frozen=True)
class Receipt:
    """Why a recall gave what it gave."""

    verb: str
    reason: str
    stages: tuple[Stage, ...] = ()
    ms: float = 0.0
    degraded: str | None = None
    """None, or what was missing (an embedder that is down) and what that cost."""


@dataclass(frozen=True)
class Hit:
    """One thing found: a turn or a record, with its score and the reasons for it."""

    id: str
    kind: Kind
    text: str
    score: float
    raw: float
    at: datetime
    session: str | None
    turn_ids: tuple[str, ...]
    provenance: Provenance
    confidence: float
    role: Role | None = None
    words: tuple[str, ...] = ()
    """The words of the question it shares, as the index knows them."""
    lexical: float = 0.0
    """BM25 of the words."""
    semantic: float = 0.0
    """Cosine with the question; 0 when the semantic leg was silent."""
    namespace: str = ""
    """Whose it is: the namespace that was asked, or `global`."""
    outdated_by: str | None = None
    """The hit that says what holds now, if this one was replaced by it."""


class Hits(list[Hit]):
    """A list of hits that can say why it holds them."""

    def __init__(self, hits: Iterable[Hit], receipt: Receipt) -> None:
        super().__init__(hits)
        self.receipt = receipt


@dataclass(frozen=True)
class Decision:
    """One stored or derivable reason: what was decided about a turn or record, when, and why."""

    what: str
    reason: str
    at: datetime | None = None
    details: Metadata = field(default_factory=dict)


@dataclass(frozen=True)
class Why:
    """Everything Holdfast can say about one id."""

    id: str
    kind: Kind
    text: str
    session: str | None
    decisions: tuple[Decision, ...]
    records: tuple[Record, ...] = ()
    """The records derived from it (for a turn)."""
    turns: tuple[Turn, ...] = ()
    """The turns it came from (for a record)."""


@dataclass(frozen=True)
class Status:
    """The state of a namespace and of the store it lies in."""

    store: str
    engine: str
    schema: int
    namespace: str
    sessions: int
    turns: int
    records: int
    summaries: int
    """Of the records: digests that compactions made; likewise the next, turns whose rules they kept word for word."""
    guidance: int
    hidden: int
    log_end: int
    words_done: int
    """Turns up to this place in the log are in the word index; later ones are scanned as they are."""
    vectors_done: int
    """Turns up to this place are embedded."""
    embedder: str
    fingerprint: str
    degraded: str | None
    size_bytes: int
    version: str
    behind: int = 0
    """What derived work has yet to read, of the view that is furthest behind: lines of the log, or documents that are
    embedded anew after a change of the model. 0: everything is found by words and by meaning."""
    erased: int = 0
    """Turns and records that were erased here."""
    erased_at: datetime | None = None
    """When something was erased last."""


@dataclass(frozen=True)
class SearchAnswer:
    hits: tuple[Hit, ...]
    receipt: Receipt

    @classmethod
    def of(cls, hits: Hits) -> Self:
        return cls(tuple(hits), hits.receipt)
