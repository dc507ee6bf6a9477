"""Every verb that the surfaces offer, defined once: what it is called, takes, answers, and how dangerous it is.

JSON-RPC, HTTP and MCP are generated from this list, so they cannot drift apart. `answer` is the whole of a surface's
work: a mapping in, a noun out that json_text.encode writes, errors of one tree (faults.py says how each is told).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from typing import ClassVar, Generic, TypeVar

from pydantic import ConfigDict

from holdfast.errors import Refused
from holdfast.memory import Memory
from holdfast.model import Decision, Record, SearchAnswer, Why
from holdfast.results import (
    ActiveView,
    Calibration,
    Compaction,
    ContextAnswer,
    EraseResult,
    FlushResult,
    History,
    IngestedTurn,
    IngestedTurns,
    JanitorResult,
    RecentAnswer,
    RecentTurns,
    StandingSection,
    Stats,
    StatusAnswer,
    ThemesAnswer,
    ThreadAnswer,
)
from holdfast.results import recent_answer as as_recent
from holdfast.serve import inputs
from holdfast.serve.errors import discreet_answer
from holdfast.serve.inputs import input_schema, output_schema, read_input
from holdfast.serve.tracing import traced
from holdfast.upkeep.findings import Diagnosis

_Given = TypeVar("_Given", bound=inputs.Input)


class Danger(StrEnum):
    """What a verb may do to a memory."""

    READS = "reads"
    WRITES = "writes"
    """It adds, or changes what can be changed back."""
    DESTROYS = "destroys"


@dataclass(frozen=True)
class Surroundings:
    """What a server brings along to every call."""

    rules: tuple[str, ...] = ()
    """Rule files for `context`. The operator names them: a caller who could would read any file of the server."""
    confined: bool = False
    """The caller reaches one memory alone, so nothing is told that depends on others in the same store, or on where it
    lies (discreet.py)."""
    places: tuple[str, ...] = ()
    """Where things lie here."""


@dataclass(frozen=True)
class Verb(Generic[_Given]):
    name: str
    about: str
    """One sentence for people and agents."""
    danger: Danger
    takes: type[_Given]
    answers: object
    """The type of the answer, as `--json` prints it."""
    run: Callable[[Memory, _Given, Surroundings], object]
    slow: bool = False
    """It may take seconds: a connection does not let other calls wait for it."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of what it takes, in order."""
        return tuple(field.name for field in fields(self.takes))  # type: ignore[arg-type]  # every Input is a dataclass


def _ingest(memory: Memory, given: inputs.Ingest, _: Surroundings) -> IngestedTurn:
    return IngestedTurn(memory.ingest(
        given.text, given.role, given.session, given.at, given.key, given.origin, given.stability, given.heartbeat,
        given.metadata,
    ))  # fmt: skip


def _search(memory: Memory, given: inputs.Search, _: Surroundings) -> SearchAnswer:
    return SearchAnswer.of(
        memory.search(given.query, given.limit, given.kind, given.session, given.since, given.until, given.as_of)
    )


def _recent(memory: Memory, given: inputs.Recent, _: Surroundings) -> RecentAnswer:
    return as_recent(memory.recent(given.limit, given.kind, given.since, given.until, given.session), given.kind)


def _context(memory: Memory, given: inputs.ContextAsked, around: Surroundings) -> ContextAnswer:
    return ContextAnswer.of(
        memory.context(given.messages, given.session, given.budget, around.rules, given.memory_budget)
    )


def _status(memory: Memory, given: inputs.StatusAsked, around: Surroundings) -> StatusAnswer:
    if given.check and around.confined:
        raise Refused(
            "a check reads all of the store, other memories too, and this connection reaches one; ask without it, or "
            "let the operator run `holdfast status --check`"
        )
    return StatusAnswer.of(memory.status(), tuple(memory.check()) if given.check else None)


def _erase(memory: Memory, given: inputs.Erase, around: Surroundings) -> EraseResult:
    if given.prove and around.confined:  # its counts say whether other memories hold the same words
        raise Refused(
            "a proof looks through all bytes of the store, those of other memories too, and this connection reaches "
            "one; erase without it, or let the operator run `holdfast erase --prove`"
        )
    return memory.erase(given.session, given.namespace, given.turn, given.record, given.prove)


def _flush(memory: Memory, given: inputs.Flush, _: Surroundings) -> FlushResult:
    memory.flush(min(given.timeout, memory.settings.serve.flush_s))
    return FlushResult(memory.status().behind)


_READS, _WRITES, _DESTROYS = Danger.READS, Danger.WRITES, Danger.DESTROYS

_ALL = (
    Verb("ingest", "Keep one turn of a conversation, word for word.", _WRITES, inputs.Ingest, IngestedTurn, _ingest),
    Verb(
        "ingest_many", "Keep a conversation, or the same one again: only what is new is added.", _WRITES,
        inputs.IngestMany, IngestedTurns,
        lambda memory, given, _: IngestedTurns(tuple(memory.ingest_many(given.messages, given.session))),
    ),
    Verb("search", "Find what was said about something, best first, with reasons; it is history, not instructions.",
         _READS, inputs.Search, SearchAnswer, _search),
    Verb("recent", "List the newest turns, exchanges or records: for questions about recently, lately or this week.",
         _READS, inputs.Recent, RecentAnswer, _recent),
    Verb("thread", "Read one conversation in order.", _READS, inputs.SessionNamed, ThreadAnswer,
         lambda memory, given, _: ThreadAnswer(given.session, tuple(memory.thread(given.session)))),
    Verb("themes", "Say what a time was about: groups of turns with words that name them.", _READS,
         inputs.ThemesAsked, ThemesAnswer,
         lambda memory, given, _: ThemesAnswer.of(memory.themes(given.since, given.until, given.limit, given.digest)),
         slow=True),
    Verb("context", "Add to messages what a model should know for them, within a budget of tokens.", _READS,
         inputs.ContextAsked, ContextAnswer, _context),
    Verb("standing", "Give a short section on what stands about this memory's owner, without a question.", _READS,
         inputs.Stand, StandingSection, lambda memory, given, _: memory.standing(given.tokens)),
    Verb("compact", "Put digests in place of a conversation's old turns; rules stay word for word, the log keeps all.",
         _WRITES, inputs.Compact, Compaction, lambda memory, given, _: memory.compact(given.session, given.force),
         slow=True),
    Verb("expand", "Give back the turns that a summary, or any other record, was made of.", _READS, inputs.Noun,
         RecentTurns, lambda memory, given, _: RecentTurns(tuple(memory.expand(given.id)))),
    Verb("active", "Show what stands for a conversation now: digests and guidance, then the turns.", _READS,
         inputs.SessionNamed, ActiveView, lambda memory, given, _: memory.active(given.session)),
    Verb("remember", "Keep an explicit memory that no gate judges.", _WRITES, inputs.Remember, Record,
         lambda memory, given, _: memory.remember(given.text, given.kind, given.key, given.metadata)),
    Verb("forget", "Hide a turn or record from recall; it can be undone, and the log keeps it.", _WRITES,
         inputs.Forget, Decision, lambda memory, given, _: memory.forget(given.id, given.undo)),
    Verb("erase", "Destroy a session, a turn, a record or everything, with all that was derived from it, for good.",
         _DESTROYS, inputs.Erase, EraseResult, _erase, slow=True),
    Verb("why", "Say everything that was decided about a turn or record, and why.", _READS, inputs.Noun, Why,
         lambda memory, given, _: memory.why(given.id)),
    Verb("history", "Say what a record replaced and what replaced it, oldest first.", _READS, inputs.Noun, History,
         lambda memory, given, _: memory.history(given.id)),
    Verb("status", "Say how much is kept, how far derived work has come, and what is degraded.", _READS,
         inputs.StatusAsked, StatusAnswer, _status),
    Verb("stats", "Say what the gates did with the user's turns, day by day.", _READS, inputs.Since, Stats,
         lambda memory, given, _: memory.stats(given.since)),
    Verb("calibrate", "Learn from labels how useful turns are at each score; without labels, show what is stored.",
         _WRITES, inputs.Calibrate, Calibration, lambda memory, given, _: memory.calibrate(given.labels)),
    Verb("janitor", "Trust less what nobody ever found; a run can be undone, and a dry run changes nothing.",
         _WRITES, inputs.Janitor, JanitorResult,
         lambda memory, given, _: memory.janitor(given.dry_run, given.cull, given.undo), slow=True),
    Verb("doctor", "Examine the memory: copies, junk, stale and broken things, with rates and examples; fix heals.",
         _WRITES, inputs.Doctor, Diagnosis,
         lambda memory, given, around: memory.doctor(given.fix, alone=around.confined), slow=True),
    Verb("flush", "Wait until everything that was ingested is found by meaning too.", _READS, inputs.Flush, FlushResult,
         _flush, slow=True),
)  # fmt: skip

VERBS: Mapping[str, Verb[inputs.Input]] = {verb.name: verb for verb in _ALL}  # type: ignore[misc]  # each reads its own
"""By name, in the order in which they are told of."""


def answer(
    verb: Verb[inputs.Input], memory: Memory, payload: Mapping[str, object], around: Surroundings | None = None
) -> object:
    """Check what was given, do it, and give the answer as the value it is; raises errors of holdfast.errors."""
    with traced(verb.name, memory.namespace, payload) as seen:
        given = read_input(verb.takes, payload, verb.name)
        around = around or Surroundings()
        made = verb.run(memory, given, around)
        seen.answered(made)
        return discreet_answer(made, (*around.places, *around.rules)) if around.confined else made


@dataclass(frozen=True)
class Schemas:
    input: Mapping[str, object]
    output: Mapping[str, object]


@cache
def schema(name: str) -> Schemas:
    """JSON Schemas (draft 2020-12) of what a verb takes and answers."""
    verb = VERBS[name]
    return Schemas(input_schema(verb.takes), output_schema(verb.answers))


# --- A method as JSON-RPC sees it, whoever defined it.


Params = Mapping[str, object]
_SeedInput = TypeVar("_SeedInput")


@dataclass(frozen=True)
class Method:
    call: Callable[[Params], object]
    """Gives what json_text.encode can write; what it raises is told by faults.py."""
    fields: tuple[str, ...] = ()
    """Names of the parameters, for callers who give them by position."""
    slow: bool = False
    """Other calls of the connection do not wait for it."""


class SeedInput:
    """What one of the seed's methods is given, in its own spelling. Fields of later hosts are passed over."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="ignore")


def seed_method(name: str, takes: type[_SeedInput], run: Callable[[_SeedInput], object], slow: bool = False) -> Method:
    names = tuple(field.name for field in fields(takes))  # type: ignore[arg-type]  # every input is a dataclass
    return Method(lambda params: run(read_input(takes, params, name)), names, slow)
