"""What each verb is given, as every surface takes it: one frozen class a verb, its fields described where they stand.

The descriptions are part of the schemas that agents read. A number is a number: "3" and true are refused, not guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, Strict

from holdfast.memory import DEFAULT_SESSION

__all__ = [
    "Calibrate",
    "Compact",
    "ContextAsked",
    "Doctor",
    "Erase",
    "Flush",
    "Forget",
    "Ingest",
    "IngestMany",
    "Input",
    "Janitor",
    "Nothing",
    "Noun",
    "Recent",
    "Remember",
    "Search",
    "SessionNamed",
    "Since",
    "Stand",
    "StatusAsked",
    "ThemesAsked",
]

Count = Annotated[int, Strict()]
Number = Annotated[float, Strict()]
Flag = Annotated[bool, Strict()]
Names = Annotated[list[str], Field(fail_fast=True)]
Objects = Annotated[list[Mapping[str, object]], Field(fail_fast=True)]
"""The first that is wrong is told: a list may hold a million of them."""


class Input:
    """What a verb is given; a field that it does not have is refused, so that no wish is dropped in silence."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", use_attribute_docstrings=True)


@dataclass(frozen=True)
class Nothing(Input):
    """The verb needs nothing."""


@dataclass(frozen=True)
class Ingest(Input):
    """One turn of a conversation."""

    text: str
    """The words, exactly as they were said."""
    role: str = "user"
    """user, assistant, system or tool."""
    session: str = DEFAULT_SESSION
    """The conversation it belongs to."""
    at: str | None = None
    """When it was said: ISO 8601 or relative ("2 hours ago"); now, if it is left out."""
    key: str | None = None
    """An idempotency key: the same key in the same session stores nothing twice."""
    origin: str | None = None
    """By which channel it came: user, user_pasted, assistant, tool, system or imported."""
    stability: Number | None = None
    """How lasting its words are, from 0 to 1; the role decides, if it is left out."""
    heartbeat: Flag = False
    """A sign of life: it is not kept."""
    metadata: Mapping[str, object] | None = None
    """JSON values of your own, kept with the turn."""


@dataclass(frozen=True)
class IngestMany(Input):
    """A conversation, or the same one again: only what is new is added."""

    messages: Objects
    """Each {"role", "content"} and, where you have them, "at", "key", "origin", "stability", "metadata"."""
    session: str = DEFAULT_SESSION
    """The conversation they belong to."""


@dataclass(frozen=True)
class Search(Input):
    """A question."""

    query: str
    """In your own words, or an exact identifier."""
    limit: Count = 10
    """At most so many hits."""
    kind: str | None = None
    """Only turn, fact, preference, decision, guidance, summary or episode."""
    session: str | None = None
    """Only turns of this conversation."""
    since: str | None = None
    """Said at or after: ISO 8601 or relative ("7 days ago")."""
    until: str | None = None
    """Said before."""
    as_of: str | None = None
    """As it was known at that time."""


@dataclass(frozen=True)
class Recent(Input):
    """The newest of something."""

    limit: Count = 20
    """At most so many."""
    kind: str = "turn"
    """turn, exchange (a question with its answer), record, or one kind of record."""
    since: str | None = None
    """Said at or after: ISO 8601 or relative ("7 days ago")."""
    until: str | None = None
    """Said before."""
    session: str | None = None
    """Only of this conversation."""


@dataclass(frozen=True)
class SessionNamed(Input):
    """One conversation."""

    session: str
    """Its name, as search and recent give it."""


@dataclass(frozen=True)
class ThemesAsked(Input):
    """A time."""

    since: str | None = "30 days ago"
    """From when on: ISO 8601 or relative; null: from the beginning."""
    until: str | None = None
    """Until when; now, if it is left out."""
    limit: Count = 8
    """At most so many themes."""
    digest: Flag | None = None
    """Whether a chat model tells them in sentences; where one is configured, if it is left out."""


@dataclass(frozen=True)
class ContextAsked(Input):
    """The messages a model is about to be given."""

    messages: Objects
    """Each {"role", "content"}, the newest last; they come back unchanged."""
    session: str = DEFAULT_SESSION
    """The conversation they belong to."""
    budget: Count = 4000
    """The tokens of the whole prompt: memory takes a quarter of them."""
    memory_budget: Count | None = None
    """Or the tokens that memory may take."""


@dataclass(frozen=True)
class Compact(Input):
    """One conversation to be shortened."""

    session: str
    """Its name."""
    force: Flag = False
    """Also when its budget is not passed."""


@dataclass(frozen=True)
class Remember(Input):
    """An explicit memory."""

    text: str
    """One statement that stands by itself."""
    kind: str = "fact"
    """fact, preference, decision, guidance, summary or episode."""
    key: str | None = None
    """An idempotency key: the same key again keeps the first."""
    metadata: Mapping[str, object] | None = None
    """JSON values of your own, kept with the record."""


@dataclass(frozen=True)
class Forget(Input):
    """Something to be hidden from recall, or brought back."""

    id: str
    """Of a turn or record."""
    undo: Flag = False
    """Bring it back."""


@dataclass(frozen=True)
class Erase(Input):
    """What is to be destroyed: exactly one of these."""

    session: str | None = None
    """A whole conversation."""
    turn: str | None = None
    """One turn, by its id."""
    record: str | None = None
    """One record, by its id."""
    namespace: Flag = False
    """Everything of this namespace."""
    prove: Flag = False
    """Look through the files' bytes for what was erased, and say what was found."""


@dataclass(frozen=True)
class Noun(Input):
    """A turn or a record."""

    id: str
    """As search and recent give it."""


@dataclass(frozen=True)
class Since(Input):
    """A time from which on."""

    since: str | None = None
    """ISO 8601 or relative; everything, if it is left out."""


@dataclass(frozen=True)
class StatusAsked(Input):
    """How much the status is to say."""

    check: Flag = False
    """Check the store's integrity too; that reads all of it."""


@dataclass(frozen=True)
class Stand(Input):
    """How long the section may be."""

    tokens: Count | None = None
    """At most so many tokens; the setting context.standing_tokens, if it is left out."""


@dataclass(frozen=True)
class Flush(Input):
    """How long to wait."""

    timeout: Number = 30.0
    """Seconds; after them the work goes on by itself."""


@dataclass(frozen=True)
class Janitor(Input):
    """One run of the janitor."""

    dry_run: Flag = False
    """Only list what it would do, and why."""
    cull: Flag = False
    """Hide what is not the user's own word instead of trusting it less; it can be undone."""
    undo: str | None = None
    """The id of a run to take back."""


@dataclass(frozen=True)
class Doctor(Input):
    """One examination."""

    fix: Flag = False
    """Derive anew what does not fit the log; no turn and no act is touched."""


@dataclass(frozen=True)
class Calibrate(Input):
    """Labels, or nothing: then what is stored."""

    labels: Objects | None = None
    """Each {"turn": ID, "useful": true} or {"g": SCORE, "useful": false}."""
