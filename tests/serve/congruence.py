"""The same calls for every surface: what a filled memory is asked, and how two answers are compared.

A surface is proven to agree by running `CALLS` against a copy of one store and comparing each answer with the one in
process (tests/serve/test_congruence.py). A verb without a call here fails the suite.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from holdfast.memory import Memory
from holdfast.serve.verbs import VERBS
from holdfast.settings import ContextSettings
from tests.serve.in_process import call
from tests.support.memories import QUICK, assistant, user

Payload = Mapping[str, object]
Surface = Callable[[str, Payload], object]
"""Calls a verb by its name; gives its answer as JSON values."""

_SETTLED: dict[str, object] = {"ms": 0.0, "seconds": 0.0, "size_bytes": 0, "store": "", "source": "", "behind": 0}
# Counted off the hot path, so whether a recall is counted already is a matter of moments.
_SETTLED |= {"retrieval_count": 0, "last_retrieved_at": None}
_ID = re.compile(r"\b[trk]-[0-9a-f]{20,21}\b")
_NOW = re.compile(r"\b20\d\d-\d\d-\d\dT[0-9:.]+Z")


SETTINGS = replace(
    QUICK, context=ContextSettings(deadline_s=30.0, embedder_s=10.0), janitor=replace(QUICK.janitor, count=True)
)
"""A busy machine must not make another answer, and the janitor needs the counters."""


def fill(path: Path) -> dict[str, str]:
    """A small store, and the ids that calls need."""
    with Memory(path, "ana", embedder="static", settings=SETTINGS) as memory:
        memory.ingest_many(
            [
                user("I moved to Lisbon in May", at="2026-05-03T18:00:00Z", key="m-1"),
                assistant("Noted: Lisbon.", at="2026-05-03T18:00:05Z", key="m-2"),
                user("Always write dates in ISO format, please.", at="2026-05-03T18:01:00Z"),
                *(user(f"Boat {n} came in at noon with the tide", at=f"2026-05-04T09:{n:02}:00Z") for n in range(12)),
            ],
            session="s1",
        )
        memory.ingest_many([user("slipway listens on port 9417", at="2026-05-05T09:00:00Z")], session="s2")
        memory.remember("The spare key is with Zofia", key="k1", metadata={"shelf": 3})
        memory.flush()
        summary = memory.compact("s1", force=True).summaries[0]
        memory.flush()
        (turn,) = memory.thread("s2")
        record = memory.remember("The spare key is with Zofia", key="k1")
    return {"turn": turn.id, "record": record.id, "summary": summary}


def calls(known: Mapping[str, str]) -> list[tuple[str, Payload]]:
    """Every verb at least once; what changes something comes after what only reads, what destroys comes last."""
    asked = [user("where is the spare key?")]
    return [
        ("search", {"query": "where did I move to?"}),
        ("search", {"query": "slipway", "limit": 1, "kind": "turn", "session": "s2", "since": "2026-05-01"}),
        ("search", {"query": "nothing of the kind: zzz"}),
        ("recent", {}),
        ("recent", {"kind": "exchange", "limit": 3, "until": "2026-05-04"}),
        ("recent", {"kind": "record"}),
        ("thread", {"session": "s1"}),
        ("thread", {"session": "there is none"}),
        ("themes", {"since": None, "limit": 3}),
        ("context", {"messages": asked, "session": "s2", "budget": 4000}),
        ("context", {"messages": [], "memory_budget": 500}),
        ("standing", {}),
        ("profile", {"tokens": 300, "sensitive": False}),
        ("get", {"id": known["record"]}),
        ("get", {"id": known["turn"]}),
        ("records", {"kind": "fact", "limit": 1}),
        ("records", {"about": "Zofia", "query": "key"}),
        ("gating", {"text": "We decided to deploy on Fridays"}),
        ("expand", {"id": known["summary"]}),
        ("active", {"session": "s1"}),
        ("why", {"id": known["turn"]}),
        ("history", {"id": known["record"]}),
        ("status", {"check": True}),
        ("stats", {"since": "2026-01-01"}),
        ("flush", {"timeout": 30.0}),
        ("ingest", {"text": "I bought a bell for the boat", "session": "s2", "key": "b", "at": "2026-05-06T09:00:00Z"}),
        ("ingest", {"text": "beat", "heartbeat": True}),
        ("flush", {"timeout": 30.0}),  # a repeated key answers with the turn as it is by then, gate signals and all
        (
            "ingest_many",
            {"messages": [user("I bought a bell for the boat", key="b"), user("and a rope")], "session": "s2"},
        ),
        ("remember", {"text": "Deploys happen on Fridays", "kind": "decision", "key": "k2", "metadata": {"a": [1]}}),
        ("remember", {"text": "another text", "key": "k1"}),
        ("forget", {"id": known["record"]}),
        ("forget", {"id": known["record"], "undo": True}),
        ("update", {"id": known["record"], "text": "The spare key is with Ana"}),
        ("remember", {"text": "yet another text", "key": "k1", "upsert": True}),
        ("compact", {"session": "s2"}),
        ("flush", {"timeout": 30.0}),  # what these look at is made and counted off the caller's path
        ("calibrate", {"labels": [{"g": 0.2, "useful": False}, {"g": 0.6, "useful": True}]}),
        ("calibrate", {}),
        ("janitor", {"dry_run": True}),
        ("doctor", {}),
        ("erase", {"session": "s2", "last": True}),
        ("erase", {"turn": known["turn"]}),
        ("erase", {"namespace": True}),
    ]


def bad_calls(known: Mapping[str, str]) -> list[tuple[str, Payload, str]]:
    """Calls that every surface refuses, and the name of the error."""
    return [
        ("search", {}, "InputError"),
        ("search", {"query": "x", "limit": 0}, "InputError"),
        ("search", {"query": "x", "limit": "3"}, "InputError"),
        ("search", {"query": "x", "where": "there"}, "InputError"),
        ("search", {"query": "x", "since": "some day"}, "BadTime"),
        ("recent", {"kind": "dream"}, "InputError"),
        ("ingest", {"text": "x", "role": "god"}, "BadMessage"),
        ("ingest", {"text": "x", "session": ""}, "BadText"),
        ("ingest", {"text": "x", "metadata": 5}, "InputError"),
        ("ingest_many", {"messages": [{"content": "x"}]}, "BadMessage"),
        ("why", {"id": "t-0"}, "NotFound"),
        ("forget", {"id": "r-0"}, "NotFound"),
        ("update", {"id": "r-0", "text": "x"}, "NotFound"),
        ("get", {"id": "r-0"}, "NotFound"),
        ("compact", {"session": "there is none"}, "NotFound"),
        ("remember", {"text": " "}, "BadText"),
        ("erase", {}, "InputError"),
        ("erase", {"session": "s1", "namespace": True}, "InputError"),
    ]


def twins(folder: Path) -> tuple[Path, Path, dict[str, str]]:
    """Two stores with the same bytes."""
    one, other = folder / "one.db", folder / "other.db"
    known = fill(one)
    shutil.copy(one, other)
    return one, other, known


def in_process(memory: Memory) -> Surface:
    return lambda verb, payload: call(VERBS[verb], memory, payload)


def settled(answer: object) -> object:
    """Without what differs from run to run: new ids are numbered, new times masked, durations and sizes dropped."""
    names: dict[str, str] = {}
    text = _ID.sub(lambda found: names.setdefault(found[0], f"{found[0][:2]}{len(names)}"), json.dumps(answer))
    return _without_durations(json.loads(_NOW.sub(_masked, text)))


def _masked(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith("2026-05-0") else "now"


def _without_durations(value: object) -> object:
    if isinstance(value, dict):
        return {name: _SETTLED.get(name, _without_durations(inner)) for name, inner in value.items()}
    return [_without_durations(inner) for inner in value] if isinstance(value, list) else value


def differences(one: Surface, other: Surface, known: Mapping[str, str]) -> Iterator[tuple[str, object, object]]:
    """Each call that two surfaces answer differently."""
    for verb, payload in calls(known):
        first, second = settled(one(verb, payload)), settled(other(verb, payload))
        if first != second:
            yield verb, first, second
