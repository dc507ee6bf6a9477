"""What each verb is given, as every surface takes it: one frozen class a verb, its fields described where they stand.

The descriptions are part of the schemas that agents read. A number is a number: "3" and true are refused, not guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import islice
from typing import Annotated, ClassVar, TypeVar, cast

from pydantic import ConfigDict, Field, Strict, TypeAdapter, ValidationError

from holdfast.errors import InputError
from holdfast.memory import DEFAULT_SESSION

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


# --- Between JSON and the typed classes: what was given is checked, and each shape has a schema.


DIALECT = "https://json-schema.org/draft/2020-12/schema"

_Given = TypeVar("_Given")
_NAMED = 5
"""Unknown fields that an error names; a body has room for a million, and nobody reads them."""
_LONGEST_NAME = 60


def read_input(kind: type[_Given], payload: Mapping[str, object], what: str) -> _Given:
    """What was given as the class, or an InputError that names every field that is wrong, of unknown ones the first."""
    shape = _shape(kind)
    wrong: list[str] = []
    if not shape.names.issuperset(payload):
        wrong = [] if shape.passes_over_unknown else list(_unknown(shape.names, payload))
        payload = {name: value for name, value in payload.items() if name in shape.names}
    try:
        given = shape.adapter.validate_python(dict(payload))
    except ValidationError as error:
        told = (_told(dict(one)) for one in error.errors(include_url=False, include_context=False))
        raise InputError(f"{what}: {'; '.join([*told, *wrong])}") from error
    if wrong:
        raise InputError(f"{what}: {'; '.join(wrong)}")
    return cast("_Given", given)


def _unknown(known: frozenset[str], payload: Mapping[str, object]) -> Iterator[str]:
    for name in islice((name for name in payload if name not in known), _NAMED):
        yield f"there is no field {name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + '…'!r}"
    more = len(payload) - len(known.intersection(payload)) - _NAMED
    if more > 0:
        yield f"nor are there {more:,} others that were given"


def _told(error: Mapping[str, object]) -> str:
    place = error["loc"]
    assert isinstance(place, tuple)
    name = ".".join(str(part) for part in place)
    match error["type"]:
        case "missing":
            return f"{name} is missing"
        case "string_unicode":
            return f"{name} holds a lone surrogate, which no UTF-8 can keep"
    said = str(error["msg"])
    return f"{name}: {said[:1].lower()}{said[1:]}" if name else said


class _Shape:
    """What is known of a class of inputs; making one takes longer than a call."""

    def __init__(self, kind: type[object]) -> None:
        self.adapter: TypeAdapter[object] = TypeAdapter(kind)
        self.names = frozenset(field.name for field in fields(kind))  # type: ignore[arg-type]  # every one is a dataclass
        self.passes_over_unknown = getattr(kind, "__pydantic_config__", {}).get("extra") == "ignore"


_shapes: dict[type[object], _Shape] = {}


def _shape(kind: type[object]) -> _Shape:
    if kind not in _shapes:
        _shapes[kind] = _Shape(kind)
    return _shapes[kind]


def input_schema(kind: type[object]) -> dict[str, object]:
    """Of what a verb takes: defaults and descriptions included."""
    made = _shape(kind).adapter.json_schema(mode="validation")
    _without_titles(made)
    return {"$schema": DIALECT, **made}


def output_schema(form: object) -> dict[str, object]:
    """Of what a verb answers: every field is always written (wire.plain), and no other."""
    adapter: TypeAdapter[object] = TypeAdapter(form)  # type: ignore[arg-type]  # a union is a form, no class
    made = adapter.json_schema(mode="serialization")
    pin(made)
    return {"$schema": DIALECT, **made}


def pin(part: object, exact: bool = True) -> None:
    """Every field is required, and with `exact` there is no other: a new one changes the schema visibly."""
    if isinstance(part, list):
        for inner in part:
            pin(inner, exact)
    if not isinstance(part, dict):
        return
    part.pop("title", None)  # the field's name once more
    part.pop("default", None)
    fields = part.pop("properties", None)
    for inner in part.values():
        pin(inner, exact)
    if isinstance(fields, dict):
        for inner in fields.values():  # not the table itself: a field may be called "title"
            pin(inner, exact)
        part |= {"properties": fields, "required": list(fields), "additionalProperties": not exact}


def _without_titles(part: object) -> None:
    if isinstance(part, list):
        for inner in part:
            _without_titles(inner)
    if not isinstance(part, dict):
        return
    if isinstance(part.get("title"), str):
        del part["title"]
    for name, inner in part.items():
        for one in inner.values() if name == "properties" and isinstance(inner, dict) else (inner,):
            _without_titles(one)
