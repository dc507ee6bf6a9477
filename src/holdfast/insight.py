"""What a memory can say about itself: what replaced what, what the gates did, and how their thresholds lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.model import Decision, Kind, Receipt, Record, Turn

__all__ = [
    "Active",
    "Admitted",
    "Bin",
    "Calibration",
    "Compaction",
    "DayStats",
    "History",
    "Operating",
    "Pair",
    "StandingSection",
    "Stats",
    "Step",
    "Theme",
    "Themes",
    "ThresholdFigures",
    "Tuning",
    "Version",
]


@dataclass(frozen=True)
class Version:
    """One member of a chain of records that replaced each other."""

    record: Record
    live: bool
    """Neither replaced nor forgotten."""
    sources: tuple[Turn, ...]
    reasons: tuple[Decision, ...]
    """What was decided about it, in the order it happened."""


@dataclass(frozen=True)
class History:
    """What replaced what, oldest first: of one record, or of every record a turn made or strengthened."""

    id: str
    kind: Kind
    versions: tuple[Version, ...]


@dataclass(frozen=True)
class Admitted:
    """What the gates did with the user's turns."""

    turns: int = 0
    """Judged. Each is one of the next four, or it gave candidates."""
    others_words: int = 0
    """Pasted or imported: not the user's own words."""
    not_salient: int = 0
    below_threshold: int = 0
    """Only in mode `filter`."""
    nothing_durable: int = 0
    candidates: int = 0
    """Statements found. Each is added, replaces, is merged, is dropped or is refused."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """By reason."""
    triggers: int = 0
    """Candidates that had a record at or above the similarity threshold."""
    merged: int = 0
    dropped: int = 0
    superseded: int = 0
    """Candidates that became a record and retired another."""
    added: int = 0
    redundant_adds: int = 0
    """Of those added, how many had a record above the threshold and a word that differs: at most so many copies."""


@dataclass(frozen=True)
class DayStats(Admitted):
    day: str = ""
    """By the time the turns were said, in UTC."""


@dataclass(frozen=True)
class Stats:
    days: tuple[DayStats, ...]
    total: Admitted
    records_per_turn: float
    """New records (added or replacing) for each turn judged."""
    repeated: float
    """Share of the candidates that memory knew already (merged or dropped)."""
    redundant_adds_per_week: float
    """Over the time from the first day to the last."""


@dataclass(frozen=True)
class Bin:
    """One bar of the score distribution: scores from `low` up to the next bar."""

    low: float
    turns: int
    """Of the namespace."""
    useful: int = 0
    """Labelled so; likewise the next."""
    useless: int = 0


@dataclass(frozen=True)
class Step:
    """From this G on, a turn is useful with this probability, as so many labels say."""

    g: float
    p: float
    labels: int


@dataclass(frozen=True)
class Operating:
    """What a threshold would do to the labelled turns."""

    threshold: float
    precision: float
    """Of those at or above it, the share that is useful; 0 where there are none."""
    recall: float
    """Of the useful ones, the share at or above it."""


@dataclass(frozen=True)
class Calibration:
    """P(useful | G) from labels, and how the scores lie. Without labels: what was stored last, if anything."""

    turns: int
    """Judged ones of the namespace: those in the distribution."""
    distribution: tuple[Bin, ...]
    labels: int
    useful: int
    curve: tuple[Step, ...]
    """Rising; below its first step the first step's probability holds."""
    suggested: Operating | None
    """The lowest G from which a turn is useful more often than not; None where none is."""
    current: Operating | None
    """The threshold in the settings, on the same labels."""
    at: datetime | None
    """When it was stored."""


@dataclass(frozen=True)
class Pair:
    """Two statements the similarity gate compares, to be judged by a person."""

    new: str
    old: str
    cosine: float
    of: str
    """What it is about: a "record" (a candidate and what was nearest to it), or a "turn" (and the nearest earlier)."""
    merges: bool
    """False: the value guard stops it."""
    reason: str
    same: bool | None = None
    """The judgement: whether both say the same, so that one may stand for the other."""


@dataclass(frozen=True)
class ThresholdFigures:
    """What the similarity gate would do at one threshold."""

    threshold: float
    compared: int
    triggers: int
    """At or above it."""
    trigger_rate: float
    copies: int
    """Of the triggers: word for word the same."""
    merges: int
    """In other words, and nothing that decides differs."""
    stopped: int
    """By the value guard."""
    judged: int
    """Merges in other words that a person judged; likewise the next two."""
    false_merges: int
    false_merge_rate: float | None
    """None where nothing was judged."""
    missed: int
    """Pairs the guard stops although they were judged to be the same."""


@dataclass(frozen=True)
class Tuning:
    """The similarity threshold on one's own data."""

    threshold: float
    """In use: merge.same, or without it the embedder's."""
    records: tuple[ThresholdFigures, ...]
    """Of the candidates that admission compared with records."""
    turns: tuple[ThresholdFigures, ...]
    """Of the user's turns, each with the nearest earlier one: more pairs where there are few records."""
    sample: tuple[Pair, ...]


@dataclass(frozen=True)
class Theme:
    """One thing that a time was about."""

    label: str
    """The words, for a line."""
    words: tuple[str, ...]
    """What tells its turns from the others, best first."""
    turns: int
    """Of those that were read; share is their part of them."""
    share: float
    sessions: int
    first: datetime
    last: datetime
    examples: tuple[Turn, ...]
    """Turns from its middle, in the order they were said."""
    title: str | None = None
    """By a chat model, where one is configured and answered; likewise the next."""
    summary: str | None = None


class Themes(list[Theme]):
    """The themes of a time, the largest first, with how they were found."""

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
        """What a chat model says of all of them together; None without one."""


@dataclass(frozen=True)
class Compaction:
    """What compacting a session did (COMP-8)."""

    session: str
    did_compact: bool
    clusters_formed: int
    turns_removed: int
    """From the active view; the log keeps them."""
    summary_method: str
    """extractive, abstractive, mixed, or none."""
    mean_confidence: float
    """Of the summaries."""
    protected: int
    """Turns whose guidance is kept word for word."""
    reason: str
    tokens_before: int = 0
    tokens_after: int = 0
    """Of the turns looked at, and of what stands for them now."""
    summaries: tuple[str, ...] = ()
    guidance: tuple[str, ...] = ()
    """Ids of the records that were made."""
    notes: tuple[str, ...] = ()
    """What did not go as well as it could have: a model that failed, turns that stay as they are."""
    ms: float = 0.0


@dataclass(frozen=True)
class Active:
    """What stands for a conversation: its digests and its guidance, then the turns as they were said."""

    session: str
    summaries: tuple[Record, ...]
    guidance: tuple[Record, ...]
    turns: tuple[Turn, ...]
    tokens: int


@dataclass(frozen=True)
class StandingSection:
    """What stands about a namespace, framed for a prompt, without a question."""

    text: str
    """Empty when there is nothing to say."""
    tokens: int
    records: tuple[Record, ...]
