"""What a memory can say about itself: what replaced what, what the gates did, and how their thresholds lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import Enum
from typing import Self

from holdfast.model import Decision, Exchange, Hit, Kind, Provenance, Receipt, Record, Status, Turn
from holdfast.store.types import Server


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
class ActiveView:
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


# --- What a search answers, apart from the other answers: a hook that asks one question loads nothing of them (30
# ms).


# --- What the verbs of upkeep report: frozen values, as every surface prints them.


@dataclass(frozen=True)
class ExportResult:
    """An export that is on disk, whole."""

    path: str
    namespace: str
    turns: int
    acts: int
    sha256: str
    """Of the lines of the log: the same for every export of the same log."""
    size_bytes: int
    seconds: float


@dataclass(frozen=True)
class ImportResult:
    """What an import did with the lines of a file."""

    path: str
    namespace: str
    exported_from: str
    """The namespace that the file was made of."""
    turns: int
    acts: int
    known: int
    """Lines that were in the log already."""
    left_out: int
    """Acts that mean nothing in a log that held something before: see docs/transfer.md."""
    seconds: float
    erased: int = 0
    """Lines of what was erased here before: they do not come back."""


@dataclass(frozen=True)
class CopiedNamespace:
    """What became of one namespace in a copy of a store."""

    namespace: str
    turns: int
    acts: int
    known: int
    """Lines that were there already."""
    left_out: int
    """Acts that mean nothing in a log that held something before: see docs/transfer.md."""
    erased: int
    """Lines of what was erased there before: they do not come back."""


@dataclass(frozen=True)
class CopyResult:
    """Namespaces that were copied from one store into another."""

    source: str
    target: str
    namespaces: tuple[CopiedNamespace, ...]
    seconds: float


@dataclass(frozen=True)
class Looked:
    """A file that was searched, byte by byte."""

    path: str
    size_bytes: int
    found: int
    """Strings of what was erased that it still holds."""


@dataclass(frozen=True)
class Proof:
    """What was looked for after an erase, where, and what of it was found."""

    strings: int
    """Words, pairs of words, lines, names and ids that nothing else in the store has."""
    vectors: int
    terms: int
    """Words as the index spells them, looked up in its vocabulary."""
    not_distinctive: int
    """Strings and vectors that what remains, or the program itself, has too: they prove nothing."""
    too_short: int
    """Strings of fewer bytes than chance puts into a file of numbers."""
    files: tuple[Looked, ...]
    bytes_read: int
    found: int
    """In the files of the store and in its vocabulary. 0 is the proof."""
    copies: tuple[Looked, ...]
    """Backups and exports that are still there, and how much of it they hold; an erase does not reach them."""


@dataclass(frozen=True)
class EraseResult:
    """What an erase destroyed."""

    namespace: str
    scope: str
    """namespace, session, turn or record."""
    turns: int
    records: int
    """Records that were made of it, with its turns or by themselves; what other turns say is read out of those anew."""
    acts: int
    """Lines of the log about it: proposals of a model, forgets, what was remembered."""
    sessions: int
    """Of which no turn is left."""
    digests: int
    """Summaries and guidance that went because a turn of theirs did."""
    remade: int
    """Of these, made anew of the turns that stay."""
    still_said: tuple[str, ...]
    """Of a record, the turns it was read out of: they stay, and still say it. To destroy it, erase them."""
    copies: tuple[str, ...]
    """Backups and exports made earlier. They are not touched."""
    pending: str | None
    """What keeps the last bytes from being overwritten, if anything does."""
    degraded: str | None
    """What keeps the views from being derived anew, if anything does."""
    at: datetime
    seconds: float
    proof: Proof | None = None


@dataclass(frozen=True)
class BackupResult:
    """A backup that was made and checked."""

    path: str
    store: str
    namespaces: int
    turns: int
    lines: int
    """Of every log, the operator's acts among them."""
    schema: int
    size_bytes: int
    seconds: float


@dataclass(frozen=True)
class RestoreResult:
    """A store that was put in place from a backup."""

    store: str
    backup: str
    kept_aside: str | None
    """Where the store is now that was there before."""
    namespaces: int
    turns: int
    lines: int
    schema: int
    size_bytes: int
    seconds: float


@dataclass(frozen=True)
class Tended:
    """A record that the janitor lowers, or culls, and why."""

    id: str
    kind: Kind
    text: str
    why: str
    provenance: Provenance
    confidence: float
    """As they were before."""
    new_provenance: Provenance | None
    new_confidence: float | None
    """None: it is culled."""


@dataclass(frozen=True)
class JanitorResult:
    """What a run of the janitor did, or would do."""

    run: str
    """Its name, for `undo`: the week."""
    namespace: str
    did: str
    """`tidied`, `dry run`, `nothing to do`, `done before` (this week's run was, and there is one a week), `undone`,
    `undone before`."""
    demoted: int
    culled: int
    spared: Mapping[str, int]
    """Records that were never found and are left alone all the same, by the reason."""
    records: tuple[Tended, ...]
    seconds: float


# --- What assembling gives: the messages, the frame's text, and a receipt that names every candidate (CTX-8).


class Tier(Enum):
    """The parts of the context in the order they are shown (CTX-1); the value is the name the model reads."""

    HARD = "rules"
    TAIL = "recent"
    SOFT = "guidelines"
    ELEVATED = "guidance"
    RECALLED = "recalled"


_RECALLED = Tier.RECALLED.value
Message = Mapping[str, object]
"""A chat message as the host has it: role, content, and whatever else it carries."""


@dataclass(frozen=True)
class Considered:
    """One candidate: which tier it would stand in, what it costs, whether it is in, and why."""

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
    """Of the search, for recalled ones."""
    similarity: float = 0.0
    """Cosine with the question; 0 where meaning is silent."""
    turn_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class TierUse:
    """What one tier was given and what it took."""

    tier: str
    candidates: int
    included: int
    tokens: int
    limit: int | None
    """None: never cut."""


@dataclass(frozen=True)
class ContextReceipt(Receipt):
    """Why a context holds what it holds."""

    budget: int = 0
    """τ: tokens for everything that is added."""
    tokens: int = 0
    frame_tokens: int = 0
    """Of the frame's own words and lines."""
    counter: str = ""
    query: str = ""
    """What was looked for."""
    tiers: tuple[TierUse, ...] = ()
    candidates: tuple[Considered, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Context:
    """The host's messages with what memory adds to them."""

    messages: Sequence[Message]
    """The input unchanged plus one system message that holds the frame; on a failure the very list that was given."""
    text: str
    """The frame alone; empty when there is nothing to add."""
    tokens: int
    receipt: ContextReceipt

    @property
    def recalled(self) -> list[str]:
        """What was found for these messages and is in: it is counted as retrieved (KEEP-1)."""
        return [one.id for one in self.receipt.candidates if one.included and one.tier == _RECALLED]

    @property
    def degraded(self) -> str | None:
        """None, or what was missing and what that cost."""
        return self.receipt.degraded


# --- What the verbs answer, as every surface prints it: the nouns of model.py in small envelopes.
#
# A verb whose answer is one noun answers with that noun: remember with a Record, forget with a Decision, why with a
# Why. The shapes are pinned in contract/, which is generated from here. No slots: an answer is
# made once a command, and slots double what it costs to define a class at start-up.


@dataclass(frozen=True)
class IngestAnswer:
    """What an ingest did with the messages it was given."""

    added: int
    known: int
    """Messages that were in the log already."""
    heartbeats: int
    skipped: int
    """Messages that could not be read; always 0 unless skipping them was asked for."""
    sessions: int
    seconds: float
    degraded: str | None = None
    """What keeps the new turns from being found by meaning; they are kept, and found by words."""


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
    """The list under the name of what it holds, also when it holds nothing."""
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
    """Those that were given, with one system message more that holds the text."""
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
    """What the integrity check found; None when it was not asked for."""

    @classmethod
    def of(cls, status: Status, problems: tuple[str, ...] | None) -> Self:
        return cls(**{field.name: getattr(status, field.name) for field in fields(Status)}, problems=problems)


@dataclass(frozen=True)
class ImportAnswer(ImportResult):
    degraded: str | None = None
    """What keeps the new turns from being found by meaning; they are kept, and found by words."""

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
    """A whole store, and where it is."""

    store: str
    engine: str
    schema: int
    namespaces: int
    size_bytes: int
    server: Server | None
    """None for a file."""


@dataclass(frozen=True)
class Asked:
    """One question of the demo, with what search really found."""

    question: str
    answer: str
    """What the sample month says, in our words."""
    found_at: int | None
    """The rank of the first hit that holds the answer, among those shown."""
    hits: tuple[Hit, ...]
    ms: float


@dataclass(frozen=True)
class DemoAnswer:
    store: str
    namespace: str
    ingest: IngestAnswer
    kept: tuple[Record, ...]
    """What the first conversation left, in the order it was said."""
    changed: History
    """The longest chain of records that replaced each other."""
    stats: Stats
    asked: tuple[Asked, ...]


@dataclass(frozen=True)
class DraftsAnswer:
    """What `eval init` wrote."""

    file: str
    probes: int
    hash: str


@dataclass(frozen=True)
class Problem:
    type: str
    message: str


@dataclass(frozen=True)
class ErrorAnswer:
    """What a verb prints on stderr, with --json, when it fails."""

    error: Problem


# --- Answers that only the surfaces need: a list or a maybe cannot grow a field later, an object can.


@dataclass(frozen=True)
class Kept:
    """What an ingest kept."""

    turn: Turn | None
    """None for a heartbeat."""


@dataclass(frozen=True)
class KeptMany:
    """One turn for each message, new or known."""

    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Flushed:
    """Derived work has caught up with the log."""

    behind: int
    """Lines that came meanwhile."""
