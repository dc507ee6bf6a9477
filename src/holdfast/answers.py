"""What the verbs answer, as every surface prints it: the nouns of model.py in small envelopes.

A verb whose answer is one noun answers with that noun: remember with a Record, forget with a Decision, why with a Why.
The shapes are pinned in contract/, which is generated from here (holdfast.contract). No slots: an answer is made once a
command, and slots double what it costs to define a class at start-up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Self

from holdfast.context.result import Context, ContextReceipt
from holdfast.found import SearchAnswer
from holdfast.insight import History, Stats, Theme, Themes
from holdfast.model import Exchange, Hit, Receipt, Record, Status, Turn
from holdfast.store.nouns import Server
from holdfast.upkeep.reports import Imported

__all__ = [
    "Asked",
    "ContextAnswer",
    "DemoAnswer",
    "DraftsAnswer",
    "ErrorAnswer",
    "ImportAnswer",
    "IngestAnswer",
    "Problem",
    "RebuildAnswer",
    "RecentAnswer",
    "RecentExchanges",
    "RecentRecords",
    "RecentTurns",
    "SearchAnswer",
    "StatusAnswer",
    "StoreAnswer",
    "ThemesAnswer",
    "ThreadAnswer",
    "recent_answer",
]


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
class ImportAnswer(Imported):
    degraded: str | None = None
    """What keeps the new turns from being found by meaning; they are kept, and found by words."""

    @classmethod
    def of(cls, made: Imported, degraded: str | None) -> Self:
        return cls(**{field.name: getattr(made, field.name) for field in fields(Imported)}, degraded=degraded)


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
