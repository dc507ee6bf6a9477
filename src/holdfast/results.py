"""Results of the verbs as frozen values, in the form that every surface prints.

A verb with a single turn, record or decision as its result returns that class of model.py. contract/ has JSON schemas
of all results, generated from here. No slots: a result is made once per command, and slots double the time it takes to
define a class at start-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Self

from holdfast.model import Context as Context  # contexts are there, for a hook has no time for all of this module
from holdfast.model import ContextReceipt as ContextReceipt
from holdfast.model import Decision, Exchange, Kind, Receipt, Record, Status, Turn
from holdfast.model import Message as Message
from holdfast.model import StandingSection as StandingSection
from holdfast.model import Tier as Tier
from holdfast.store.types import Server

# History, statistics and calibration


@dataclass(frozen=True)
class Version:
    """One record in a chain of records that replaced each other."""

    record: Record
    live: bool
    """True if it was neither replaced nor forgotten."""
    sources: tuple[Turn, ...]
    reasons: tuple[Decision, ...]
    """Decisions about it, in order."""


@dataclass(frozen=True)
class History:
    """Versions of a record, oldest first, or of every record that a turn made or strengthened."""

    id: str
    kind: Kind
    versions: tuple[Version, ...]


@dataclass(frozen=True)
class Admitted:
    """Counters of the gates for the user's turns."""

    turns: int = 0
    """Turns judged. Each is one of the next four, or it gave candidates."""
    others_words: int = 0
    """Pasted or imported turns: not the user's own words."""
    not_salient: int = 0
    below_threshold: int = 0
    """Only in mode `filter`."""
    nothing_durable: int = 0
    candidates: int = 0
    """Statements found. Each is added, supersedes, is merged, is dropped or is refused."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """By reason."""
    triggers: int = 0
    """Candidates with a record at or above the similarity threshold."""
    merged: int = 0
    dropped: int = 0
    superseded: int = 0
    """Candidates that became a record and retired another."""
    added: int = 0
    redundant_adds: int = 0
    """Added records that had a similar record with a differing word: an upper limit for duplicates."""


@dataclass(frozen=True)
class DayStats(Admitted):
    """Counters of one day."""

    day: str = ""
    """By the event time of the turns, in UTC."""


@dataclass(frozen=True)
class Stats:
    """Counters of the gates per day and in total."""

    days: tuple[DayStats, ...]
    total: Admitted
    records_per_turn: float
    """New records (added or superseding) per judged turn."""
    repeated: float
    """Share of candidates that memory already had (merged or dropped)."""
    redundant_adds_per_week: float
    """Over the time from the first day to the last."""


@dataclass(frozen=True)
class Bin:
    """One bar of the score distribution: scores from `low` up to the next bar."""

    low: float
    turns: int
    """Turns of the namespace."""
    useful: int = 0
    useless: int = 0
    """Labelled turns."""


@dataclass(frozen=True)
class Step:
    """A step of the calibration curve: the probability that a turn is useful, from this G on."""

    g: float
    p: float
    labels: int
    """Number of labels behind it."""


@dataclass(frozen=True)
class Operating:
    """Precision and recall of a threshold on the labelled turns."""

    threshold: float
    precision: float
    """Share of useful turns among those at or above it; 0 if there are none."""
    recall: float
    """Share of the useful turns that are at or above it."""


@dataclass(frozen=True)
class Calibration:
    """P(useful | G) from labels, and the score distribution. Without labels: the stored calibration, if any."""

    turns: int
    """Judged turns of the namespace, which are in the distribution."""
    distribution: tuple[Bin, ...]
    labels: int
    useful: int
    curve: tuple[Step, ...]
    """Rising; below the first step its probability applies."""
    suggested: Operating | None
    """The lowest G from which a turn is probably useful; None if there is none."""
    current: Operating | None
    """The threshold of the settings, on the same labels."""
    at: datetime | None
    """Time of storing."""


@dataclass(frozen=True)
class Pair:
    """Two statements that the similarity gate compares, for a person to judge."""

    new: str
    old: str
    cosine: float
    of: str
    """Either "record" (a candidate and its nearest record) or "turn" (a turn and its nearest earlier turn)."""
    merges: bool
    """False if the value guard stops it."""
    reason: str
    same: bool | None = None
    """The judgement: True if both say the same, so that one may replace the other."""


@dataclass(frozen=True)
class ThresholdFigures:
    """Effect of one similarity threshold."""

    threshold: float
    compared: int
    triggers: int
    """Pairs at or above it."""
    trigger_rate: float
    copies: int
    """Triggers with the same words."""
    merges: int
    """Triggers in other words without a differing value."""
    stopped: int
    """Triggers that the value guard stops."""
    judged: int
    """Merges in other words that a person judged."""
    false_merges: int
    false_merge_rate: float | None
    """None if nothing was judged."""
    missed: int
    """Pairs that the guard stops although they were judged to be the same."""


@dataclass(frozen=True)
class Tuning:
    """The similarity threshold on the operator's own data."""

    threshold: float
    """In use: merge.same, or the embedder's."""
    records: tuple[ThresholdFigures, ...]
    """For candidates that admission compared with records."""
    turns: tuple[ThresholdFigures, ...]
    """For user turns and their nearest earlier turn: more pairs if there are few records."""
    sample: tuple[Pair, ...]


# Themes


@dataclass(frozen=True)
class Theme:
    """One theme of a period."""

    label: str
    """The words in one line."""
    words: tuple[str, ...]
    """Words that distinguish its turns from others, best first."""
    turns: int
    """Number of its turns among those read; `share` is their part."""
    share: float
    sessions: int
    first: datetime
    last: datetime
    examples: tuple[Turn, ...]
    """Central turns, in order of time."""
    title: str | None = None
    """Title and summary by a chat model, if one is configured and answered."""
    summary: str | None = None


class Themes(list[Theme]):
    """The themes of a period, largest first, with a receipt and, from a chat model, a digest of all of them."""

    def __init__(
        self,
        themes: Iterable[Theme],
        since: datetime | None,
        until: datetime | None,
        receipt: Receipt,
        digest: str | None = None,
    ) -> None:
        super().__init__(themes)
        self.since = since
        self.until = until
        self.receipt = receipt
        self.digest = digest


# Compaction


@dataclass(frozen=True)
class Compaction:
    """Result of compacting a session (COMP-8)."""

    session: str
    did_compact: bool
    clusters_formed: int
    turns_removed: int
    """Removed from the active view; the log keeps them."""
    summary_method: str
    """extractive, abstractive, mixed, or none."""
    mean_confidence: float
    """Of the summaries."""
    protected: int
    """Turns whose guidance is kept verbatim."""
    reason: str
    tokens_before: int = 0
    tokens_after: int = 0
    """Tokens of the turns that were read, and of what replaces them."""
    summaries: tuple[str, ...] = ()
    guidance: tuple[str, ...] = ()
    """Ids of the new records."""
    notes: tuple[str, ...] = ()
    """Problems: a model that failed, turns that stay unchanged."""
    ms: float = 0.0


@dataclass(frozen=True)
class ActiveView:
    """The active view of a session: its summaries and guidance, then the turns that they do not replace."""

    session: str
    summaries: tuple[Record, ...]
    guidance: tuple[Record, ...]
    turns: tuple[Turn, ...]
    tokens: int


# Upkeep


@dataclass(frozen=True)
class ImportResult:
    """Result of an import."""

    path: str
    namespace: str
    exported_from: str
    """Namespace of the export."""
    turns: int
    acts: int
    known: int
    """Lines that were in the log already."""
    left_out: int
    """Acts without meaning in a log that was not empty (docs/how-to/transfer.md)."""
    seconds: float
    erased: int = 0
    """Lines that were erased here before; they are not imported."""


# Envelopes: a list or an optional value cannot get another field later, an object can.


@dataclass(frozen=True)
class IngestAnswer:
    """Result of ingesting messages."""

    added: int
    known: int
    """Messages that were in the log already."""
    heartbeats: int
    skipped: int
    """Messages that could not be read; 0 unless skipping was requested."""
    sessions: int
    seconds: float
    degraded: str | None = None
    """Reason why the new turns cannot be embedded; they are stored and found by words."""


@dataclass(frozen=True)
class RecentTurns:
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class RecentExchanges:
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True)
class RecentRecords:
    records: tuple[Record, ...]


RecentAnswer = RecentTurns | RecentExchanges | RecentRecords


def recent_answer(found: Sequence[Turn] | Sequence[Exchange] | Sequence[Record], kind: str) -> RecentAnswer:
    """Wrap a list, which may be empty, in the class for its kind."""
    if kind == "turn":
        return RecentTurns(tuple(one for one in found if isinstance(one, Turn)))
    if kind == "exchange":
        return RecentExchanges(tuple(one for one in found if isinstance(one, Exchange)))
    return RecentRecords(tuple(one for one in found if isinstance(one, Record)))


@dataclass(frozen=True)
class ThreadAnswer:
    session: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class ThemesAnswer:
    themes: tuple[Theme, ...]
    since: datetime | None
    until: datetime | None
    digest: str | None
    receipt: Receipt

    @classmethod
    def of(cls, themes: Themes) -> Self:
        return cls(tuple(themes), themes.since, themes.until, themes.digest, themes.receipt)


@dataclass(frozen=True)
class ContextAnswer:
    messages: tuple[Mapping[str, object], ...]
    """The given messages and one more system message with the text."""
    text: str
    tokens: int
    degraded: str | None
    receipt: ContextReceipt

    @classmethod
    def of(cls, made: Context) -> Self:
        return cls(tuple(made.messages), made.text, made.tokens, made.degraded, made.receipt)


@dataclass(frozen=True)
class StatusAnswer(Status):
    problems: tuple[str, ...] | None = None
    """Findings of the integrity check; None if it was not requested."""

    @classmethod
    def of(cls, status: Status, problems: tuple[str, ...] | None) -> Self:
        return cls(**{field.name: getattr(status, field.name) for field in fields(Status)}, problems=problems)


@dataclass(frozen=True)
class ImportAnswer(ImportResult):
    degraded: str | None = None
    """Reason why the new turns cannot be embedded; they are stored and found by words."""

    @classmethod
    def of(cls, made: ImportResult, degraded: str | None) -> Self:
        return cls(**{field.name: getattr(made, field.name) for field in fields(ImportResult)}, degraded=degraded)


@dataclass(frozen=True)
class RebuildAnswer:
    namespace: str
    turns: int
    records: int
    seconds: float


@dataclass(frozen=True)
class StoreAnswer:
    """A whole store and its location."""

    store: str
    engine: str
    schema: int
    namespaces: int
    size_bytes: int
    server: Server | None
    """None for a file."""


@dataclass(frozen=True)
class DraftsAnswer:
    """Result of `eval init`."""

    file: str
    probes: int
    hash: str


@dataclass(frozen=True)
class Problem:
    type: str
    message: str


@dataclass(frozen=True)
class ErrorAnswer:
    """Printed on stderr by a failing verb with --json."""

    error: Problem


@dataclass(frozen=True)
class IngestedTurn:
    """The stored turn of one message."""

    turn: Turn | None
    """None for a heartbeat."""


@dataclass(frozen=True)
class IngestedTurns:
    """One turn per message, new or known."""

    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class FlushResult:
    """State of derived work after a flush."""

    behind: int
    """Log lines that were added in the meantime."""
