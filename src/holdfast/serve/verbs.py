"""Every verb that servers offer, defined once: the function it calls, its answer and its danger.

JSON-RPC, HTTP and MCP are generated from this table. Parameters come from the signature of the function, their help
texts from reference.py. A surface needs `call_verb` alone, which returns a value that jsonio.encode can write.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from inspect import signature
from typing import Any, Generic, TypeVar

from holdfast.context.profile import ProfilePage
from holdfast.errors import Refused
from holdfast.gate.score import Signals
from holdfast.insight.history import IN_PLACE
from holdfast.insight.lookup import RecordPage, find
from holdfast.memory import Memory
from holdfast.model import Decision, Origin, Record, SearchAnswer, Turn, Why
from holdfast.results import (
    ActiveView,
    Calibration,
    Compaction,
    ContextAnswer,
    FlushResult,
    History,
    IngestedTurn,
    IngestedTurns,
    RecentAnswer,
    RecentTurns,
    StandingSection,
    Stats,
    StatusAnswer,
    ThemesAnswer,
    ThreadAnswer,
    recent_answer,
)
from holdfast.serve.errors import redact_answer
from holdfast.serve.inputs import ID, field_names, input_class, input_schema, output_schema, read_arguments
from holdfast.serve.process import ServeLimits
from holdfast.serve.reference import ABOUT, PARAMETERS
from holdfast.serve.tracing import traced
from holdfast.settings import tuned
from holdfast.upkeep.findings import Diagnosis
from holdfast.upkeep.results import EraseResult, JanitorResult

Arguments = Mapping[str, Any]


class Danger(StrEnum):
    """Effect of a verb on a memory."""

    READS = "reads"
    WRITES = "writes"
    """Adds data, or changes what can be changed back."""
    DESTROYS = "destroys"


@dataclass(frozen=True)
class CallContext:
    """Values that a server adds to every call."""

    rules: tuple[str, ...] = ()
    """Rule files for `context`. Only the operator names them: a caller who could would read any file of the server."""
    confined: bool = False
    """The caller may use one memory only, so answers reveal neither other memories nor the location of the store."""
    places: tuple[str, ...] = ()
    """Paths and addresses that a confined caller must not learn."""
    agent: bool = False
    """A model calls, which writes as itself and not as the user (TRUST-2)."""


@dataclass(frozen=True)
class Verb:
    name: str
    danger: Danger
    call: Callable[..., Any]
    """A method of Memory, or a function whose first parameter is one. It defines the verb's parameters."""
    answers: object
    """Type of the answer, as `--json` prints it."""
    answer: Callable[[Any, Arguments], object] = lambda result, given: result
    """Makes the answer from the result and the arguments."""
    slow: bool = False
    """It may take seconds, so a connection does not make other calls wait for it."""

    @property
    def about(self) -> str:
        return ABOUT[self.name]

    @cached_property
    def takes(self) -> type[object]:
        return input_class(self.name, self.call, PARAMETERS[self.name])

    @property
    def fields(self) -> tuple[str, ...]:
        return field_names(self.takes)

    @cached_property
    def server_side(self) -> frozenset[str]:
        """Parameters that the server fills in, not the caller."""
        return frozenset(signature(self.call).parameters) & {"rules", "alone"}


def _status(memory: Memory, check: bool = False) -> StatusAnswer:
    return StatusAnswer.of(memory.status(), tuple(memory.check()) if check else None)


def _flush(memory: Memory, timeout: float = 30.0) -> FlushResult:
    memory.flush(min(timeout, tuned(memory.settings, ServeLimits).flush_s))
    return FlushResult(memory.status().behind)


_READS, _WRITES, _DESTROYS = Danger.READS, Danger.WRITES, Danger.DESTROYS

VERBS: Mapping[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("ingest", _WRITES, Memory.ingest, IngestedTurn, lambda turn, _: IngestedTurn(turn)),
        Verb("ingest_many", _WRITES, Memory.ingest_many, IngestedTurns, lambda turns, _: IngestedTurns(tuple(turns))),
        Verb("search", _READS, Memory.search, SearchAnswer, lambda hits, _: SearchAnswer.of(hits)),
        Verb("recent", _READS, Memory.recent, RecentAnswer, lambda found, given: recent_answer(found, given["kind"])),
        Verb(
            "thread", _READS, Memory.thread, ThreadAnswer,
            lambda turns, given: ThreadAnswer(given["session"], tuple(turns)),
        ),
        Verb("themes", _READS, Memory.themes, ThemesAnswer, lambda found, _: ThemesAnswer.of(found), slow=True),
        Verb("context", _READS, Memory.context, ContextAnswer, lambda made, _: ContextAnswer.of(made)),
        Verb("standing", _READS, Memory.standing, StandingSection),
        Verb("profile", _READS, Memory.profile, ProfilePage),
        Verb("get", _READS, Memory.get, Turn | Record),
        Verb(
            "records", _READS, Memory.records, RecordPage,
            lambda found, given: RecordPage.of(found, given["limit"]),
        ),
        Verb("update", _WRITES, Memory.update, Record),
        Verb("gating", _READS, Memory.gating_scalar, Signals),
        Verb("compact", _WRITES, Memory.compact, Compaction, slow=True),
        Verb("expand", _READS, Memory.expand, RecentTurns, lambda turns, _: RecentTurns(tuple(turns))),
        Verb("active", _READS, Memory.active, ActiveView),
        Verb("remember", _WRITES, Memory.remember, Record),
        Verb("forget", _WRITES, Memory.forget, Decision),
        Verb("erase", _DESTROYS, Memory.erase, EraseResult, slow=True),
        Verb("why", _READS, Memory.why, Why),
        Verb("history", _READS, Memory.history, History),
        Verb("status", _READS, _status, StatusAnswer),
        Verb("stats", _READS, Memory.stats, Stats),
        Verb("calibrate", _WRITES, Memory.calibrate, Calibration),
        Verb("janitor", _WRITES, Memory.janitor, JanitorResult, slow=True),
        Verb("doctor", _WRITES, Memory.doctor, Diagnosis, slow=True),
        Verb("flush", _READS, _flush, FlushResult, slow=True),
    )
}  # fmt: skip
"""By name, in the order in which documents list them."""

_OPERATOR_ONLY = {
    ("status", "check"): "a check reads the whole store, including other memories, and this connection may use only "
    "one; leave it out, or ask the operator to run `holdfast status --check`",
    ("erase", "prove"): "a proof scans every byte of the store, including other memories, and this connection may use "
    "only one; erase without it, or ask the operator to run `holdfast erase --prove`",
}
"""Arguments that a confined caller may not set: their answers depend on other memories."""


def _as_agent(verb: str, memory: Memory, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call as they hold for a model: what it writes is its own."""
    if verb == "remember":
        return given | {"origin": Origin.AGENT.value, "metadata": _without(given["metadata"], IN_PLACE)}
    if verb == "ingest":
        key = given["key"] and f"agent:{given['key']}"  # it must not take the place of a message of the host's
        origin = None if str(given["role"]).strip().lower() in _TOOL else Origin.AGENT.value
        return given | {"origin": origin, "key": key, "stability": None}
    if verb == "update":
        given |= {"origin": Origin.AGENT.value}
    if verb in ("forget", "update"):
        with memory.view as view:
            found = find(view, given[ID])
        own = found.metadata.get("by") if isinstance(found, Record) else found.origin
        if own != Origin.AGENT or (isinstance(found, Record) and found.evidence_count > 1):
            raise Refused(
                f"{found.id} is not an agent's note: what the user said is changed at the user's word, with "
                f"`holdfast {verb} {found.id}`, in the inspector, or through a server that runs with --trust-roles"
            )
    return given


_TOOL = ("tool", "function")
"""A tool's words rank below an agent's: a model may store them as what they are."""


def _without(metadata: Mapping[str, object] | None, names: Container[str]) -> Mapping[str, object] | None:
    return None if metadata is None else {name: value for name, value in metadata.items() if name not in names}


def call_verb(verb: Verb, memory: Memory, payload: Mapping[str, object], context: CallContext | None = None) -> object:
    """Check the payload, call the verb and return its answer; raises errors of holdfast.errors."""
    context = context or CallContext()
    with traced(verb.name, memory.namespace, payload) as span:
        given = read_arguments(verb.takes, payload, verb.name)
        if "id" in given:
            given[ID] = given.pop("id")
        if context.confined:
            for (name, argument), reason in _OPERATOR_ONLY.items():
                if name == verb.name and given[argument]:
                    raise Refused(reason)
        if context.agent:
            given = _as_agent(verb.name, memory, given)
        added = {"rules": context.rules, "alone": context.confined}
        made = verb.call(memory, **given, **{name: added[name] for name in verb.server_side})
        answer = verb.answer(made, given)
        span.record_answer(answer)
        return redact_answer(answer, (*context.places, *context.rules)) if context.confined else answer


@dataclass(frozen=True)
class Schemas:
    input: Mapping[str, object]
    output: Mapping[str, object]


@cache
def schema(name: str) -> Schemas:
    """Return the JSON Schemas (draft 2020-12) of a verb's input and answer."""
    verb = VERBS[name]
    return Schemas(input_schema(verb.takes), output_schema(verb.answers))


# --- concurrency

_Limit = TypeVar("_Limit")


@dataclass(frozen=True)
class ConcurrencyLimits(Generic[_Limit]):
    """Separate limits for readers, writers and slow calls: no quick call waits for a slow one or for the disk."""

    reads: _Limit
    writes: _Limit
    slow: _Limit

    @classmethod
    def of(cls, settings: ServeLimits, make: Callable[[int], _Limit]) -> ConcurrencyLimits[_Limit]:
        """Call `make` with the maximum number of concurrent calls of each kind."""
        return cls(make(settings.reads_at_once), make(settings.writes_at_once), make(settings.slow_calls))

    def for_verb(self, verb: Verb) -> _Limit:
        if verb.slow:
            return self.slow
        return self.reads if verb.danger is Danger.READS else self.writes
