"""The core data types: turns, records, acts, hits, contexts and receipts, as frozen values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum, StrEnum
from typing import Self

Clock = Callable[[], datetime]
"""Returns the current time; tests pass their own."""

Metadata = Mapping[str, object]
"""JSON values only; validated in log/messages.py."""

Message = Mapping[str, object]
"""A chat message of the host: role, content, and any other fields."""

SIGNALS = ("g", "t", "h", "r", "d", "p", "a", "dtech", "gconv", "gtech", "input_freq", "mem_saturation")
"""Signals that the gate stores on every user turn (GATE-11); gate/score.py defines them."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def utc_now() -> datetime:
    return datetime.now(UTC)


def to_micros(at: datetime) -> int:
    """Return microseconds since 1970 in UTC, exact for the whole calendar."""
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Origin(StrEnum):
    """Channel by which a turn came in. Set at write, never raised later (LOG-2)."""

    USER = "user"
    USER_PASTED = "user_pasted"
    ASSISTANT = "assistant"
    AGENT = "agent"
    """A model wrote it through a tool call (TRUST-2)."""
    TOOL = "tool"
    SYSTEM = "system"
    IMPORTED = "imported"


class Kind(StrEnum):
    """Kind of a hit or record."""

    TURN = "turn"
    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    GUIDANCE = "guidance"
    SUMMARY = "summary"
    EPISODE = "episode"


class Provenance(StrEnum):
    """Source of a record, most trusted first (MERGE-2)."""

    AUTHORED = "authored"
    USER_STATED = "user_stated"
    IMPORTED = "imported"
    """Another product extracted it."""
    EPISODE_SUMMARY = "episode_summary"
    AGENT_NOTED = "agent_noted"
    """A model wrote it down, and nothing that the user said bears it out (TRUST-2)."""
    ASSISTANT_DERIVED = "assistant_derived"
    TOOL_DERIVED = "tool_derived"


@dataclass(frozen=True)
class NewTurn:
    """A validated turn that is ready for the log."""

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
    """One message of a session."""

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
    """Position in the namespace's log."""
    key: str | None = None
    metadata: Metadata = field(default_factory=dict)
    signals: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(SIGNALS, 0.0), compare=False)
    """Values of SIGNALS; 0 if not computed (yet). They do not take part in comparisons."""


@dataclass(frozen=True)
class Record:
    """One durable memory with its source turns."""

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
    """Number and time of retrievals (KEEP-1). They do not take part in comparisons."""
    metadata: Metadata = field(default_factory=dict)

    @property
    def display(self) -> str:
        """The text as it can be understood alone: with its speaker and the sentence before it, where it needs them."""
        lead, speaker = self.metadata.get("lead"), self.metadata.get("speaker")
        text = f"{lead} {self.text}" if lead else self.text
        return f"{speaker}: {text}" if speaker else text


class Entry(StrEnum):
    """Kind of a log line: a turn, an act of the operator, or the output of a model."""

    TURN = "turn"
    REMEMBER = "remember"
    FORGET = "forget"
    UNFORGET = "unforget"
    PROPOSE = "propose"
    """Validated proposals of a chat model for a turn, or why it proposed nothing."""
    REBUILD = "rebuild"
    """The views were dropped; the subject is the stage whose cursor decides what a model is asked again."""
    CALIBRATE = "calibrate"
    COMPACT = "compact"
    """Turns of a session left its active view: the summaries and guidance that replace them."""
    ERASE = "erase"
    """Tombstone of an erased turn or record (log/acts.py), or the result of an erase; without content."""
    JANITOR = "janitor"
    """A run of the janitor; the subject is its week …"""
    JANITOR_UNDO = "janitor_undo"
    """… and the undo of one."""


@dataclass(frozen=True)
class Action:
    """An operator's act or a model's output in the log; replaying it gives the same views (INV-3)."""

    entry: Entry
    subject: str
    """Id of the record or turn it is about."""
    at: datetime
    payload: Metadata = field(default_factory=dict)


@dataclass(frozen=True)
class Exchange:
    """A question and its answer."""

    question: Turn
    answer: Turn | None
    at: datetime


@dataclass(frozen=True)
class Session:
    """One conversation and its number of turns."""

    namespace: str
    session: str
    turns: int


@dataclass(frozen=True)
class Stage:
    """One step of a recall: number of results, duration and a note."""

    name: str
    count: int
    ms: float
    note: str = ""


@dataclass(frozen=True)
class Receipt:
    """Explanation of a recall."""

    verb: str
    reason: str
    stages: tuple[Stage, ...] = ()
    ms: float = 0.0
    degraded: str | None = None
    """None, or what was missing (an embedder that is down) and what that cost."""


@dataclass(frozen=True)
class Hit:
    """A turn or record that was found, with its score and the reasons for it."""

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
    """Index terms that it shares with the question."""
    lexical: float = 0.0
    """BM25 score."""
    semantic: float = 0.0
    """Cosine with the question; 0 without vectors."""
    namespace: str = ""
    """The namespace that was searched, or `global`."""
    outdated_by: str | None = None
    """Id of the hit that replaced it, if any."""
    speaker: str = ""
    """Name of the speaker, where one is known."""
    lead: str = ""
    """The sentence before a record's text, where the text needs it to be understood."""


class Hits(list[Hit]):
    """A list of hits with its receipt."""

    def __init__(self, hits: Iterable[Hit], receipt: Receipt) -> None:
        super().__init__(hits)
        self.receipt = receipt


@dataclass(frozen=True)
class Decision:
    """One decision about a turn or record, with its time and reason."""

    what: str
    reason: str
    at: datetime | None = None
    details: Metadata = field(default_factory=dict)


@dataclass(frozen=True)
class Why:
    """All decisions about one turn or record."""

    id: str
    kind: Kind
    text: str
    session: str | None
    decisions: tuple[Decision, ...]
    records: tuple[Record, ...] = ()
    """Records derived from it, if it is a turn."""
    turns: tuple[Turn, ...] = ()
    """Source turns, if it is a record."""


@dataclass(frozen=True)
class Status:
    """State of a namespace and its store."""

    store: str
    engine: str
    schema: int
    namespace: str
    sessions: int
    turns: int
    records: int
    summaries: int
    """Summaries among the records …"""
    guidance: int
    """… and guidance that compactions kept verbatim."""
    hidden: int
    log_end: int
    words_done: int
    """Turns up to this position in the log are in the word index; later ones are scanned."""
    vectors_done: int
    """Turns up to this position are embedded."""
    embedder: str
    fingerprint: str
    degraded: str | None
    size_bytes: int
    version: str
    behind: int = 0
    """Log lines, or documents to embed again after a change of the model, that the slowest view has not processed."""
    erased: int = 0
    """Number of erased turns and records."""
    erased_at: datetime | None = None
    """Time of the last erase."""
    ask: str = ""
    """Fingerprint of the ask model; empty if it is not installed."""
    ask_behind: int = 0
    """Turns, passages and records that the ask model has yet to read; search uses what it has read."""


@dataclass(frozen=True)
class SearchAnswer:
    hits: tuple[Hit, ...]
    receipt: Receipt

    @classmethod
    def of(cls, hits: Hits) -> Self:
        return cls(tuple(hits), hits.receipt)


# --- contexts


class Tier(Enum):
    """The parts of a context in their order (CTX-1); the value names them in receipts."""

    HARD = "rules"
    TAIL = "recent"
    SOFT = "guidelines"
    ELEVATED = "guidance"
    PROFILE = "profile"
    RECALLED = "recalled"


@dataclass(frozen=True)
class Considered:
    """A candidate for the context: its tier, its cost, and why it is in or out."""

    id: str
    tier: str
    kind: str
    origin: str
    text: str
    """Its beginning."""
    tokens: int
    included: bool
    reason: str
    at: datetime | None = None
    score: float = 0.0
    """Score of the search, for recalled ones."""
    similarity: float = 0.0
    """Cosine with the question; 0 without vectors."""
    turn_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class TierUse:
    """Budget and use of one tier."""

    tier: str
    candidates: int
    included: int
    tokens: int
    limit: int | None
    """None if the tier is never cut."""


@dataclass(frozen=True)
class ContextItem:
    """One item that a context shows."""

    ref: str
    """A short reference within this context: m1, m2, …"""
    id: str
    tier: str
    follow: bool
    """True if the frame tells the model to follow it."""
    text: str
    tokens: int


@dataclass(frozen=True)
class ContextReceipt(Receipt):
    """Why a context contains what it contains, with every candidate (CTX-8)."""

    budget: int = 0
    """τ: tokens for everything that is added."""
    tokens: int = 0
    frame_tokens: int = 0
    """Tokens of the frame's own words and lines."""
    counter: str = ""
    query: str = ""
    """The search query."""
    tiers: tuple[TierUse, ...] = ()
    candidates: tuple[Considered, ...] = ()
    notices: tuple[str, ...] = ()
    items: tuple[ContextItem, ...] = ()
    """The items of the context, in its order."""


@dataclass(frozen=True)
class Context:
    """The host's messages and what memory adds to them."""

    messages: Sequence[Message]
    """The input plus one system message with the frame; after a failure the input list itself."""
    text: str
    """The frame alone; empty if there is nothing to add."""
    tokens: int
    receipt: ContextReceipt

    @property
    def recalled(self) -> list[str]:
        """Ids of included items that were found by search; they are counted as retrieved (KEEP-1)."""
        return [one.id for one in self.receipt.candidates if one.included and one.tier == Tier.RECALLED.value]

    @property
    def degraded(self) -> str | None:
        """None, or what was missing and what that cost."""
        return self.receipt.degraded


@dataclass(frozen=True)
class StandingSection:
    """The standing records of a namespace, framed for a prompt, without a question."""

    text: str
    """Empty if there are none."""
    tokens: int
    records: tuple[Record, ...]
    receipt: ContextReceipt
