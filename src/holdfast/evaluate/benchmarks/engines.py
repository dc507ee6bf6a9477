"""Both engines side by side, question by question and turn by turn: how fast they are, and whether they agree.

The same messages go through the production path into a file and into a schema of a server that is made for it. What is
compared is measured in the same loop, because the machine may be busy with other things: read the ratios.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from holdfast.evaluate.benchmarks.writers import Writing, write_side_by_side
from holdfast.evaluate.chatter import Message, Session, chatter, first, questions, upto
from holdfast.evaluate.machine import machine
from holdfast.evaluate.metrics import percentiles, ratio
from holdfast.evaluate.reading_speed import sizes
from holdfast.evaluate.timing import Progress, Remembering
from holdfast.memory import Memory
from holdfast.models.static import StaticEmbedder
from holdfast.settings import AdmitSettings, Settings, load_settings
from holdfast.version import __version__

__all__ = ["Plan", "run"]

_WARM_UP = 10
_TOP = 10
_BOTH = ("sqlite", "postgres")


@dataclass(frozen=True)
class Plan:
    """How much of each is measured."""

    neighbours: int = 40
    """Other namespaces in the same store: one namespace's cost must not depend on them (INV-4)."""
    neighbour_turns: int = 200
    questions: int = 60
    writers: int = 8  # the bar of H
    turns_a_writer: int = 400


def run(
    server: str,
    records: int = 10_000,
    admit: bool = True,
    progress: Progress | None = None,
    seed: int = 0,
    plan: Plan | None = None,
) -> dict[str, object]:
    """Measure a temporary file and a temporary schema of the server; `admit` makes records too."""
    from holdfast.store.postgres.throwaway import throwaway_schema

    start = time.perf_counter()
    tell = progress or (lambda step, done, total: None)
    plan = plan or Plan()
    settings = load_settings()
    if not admit:
        settings = replace(settings, admit=AdmitSettings(enabled=False))
    sessions = list(chatter(records, seed))
    asked = questions(sessions, plan.questions + _WARM_UP, seed)
    embedder = Remembering(StaticEmbedder())
    embedder.warm(asked)
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-engines-"))
        places = {
            "sqlite": str(Path(home) / "memory.db"),
            "postgres": stack.enter_context(throwaway_schema(server)),
        }
        figures: dict[str, object] = {"set": "engines", "n": records, "records": admit}
        figures |= _write(places, settings, first(sessions, plan.turns_a_writer), plan, tell)
        figures |= _fill(places, settings, sessions, records, embedder, plan, tell)
        figures |= _read(places, settings, records, asked, embedder, tell)
    return {
        **figures,
        "version": __version__,
        "machine": machine(),
        "seconds": round(time.perf_counter() - start, 1),
    }


# --- writing


def _write(
    places: dict[str, str], settings: Settings, messages: Sequence[Message], plan: Plan, tell: Progress
) -> dict[str, object]:
    """Single turns of several writers at once: each in a namespace of its own, all in one, and with derived work."""
    texts = [str(message["content"]) for message in messages]
    each = range(plan.writers)
    namespaces = {
        "durable_per_s": tuple(f"writer {number}" for number in each),
        "durable_per_s_one_namespace": tuple("all writers" for _ in each),
        "durable_per_s_deriving": tuple(f"deriving {number}" for number in each),
    }
    figures: dict[str, dict[str, int]] = {name: {} for name in namespaces}
    for engine in _BOTH:
        tell(f"writing, {engine}", 0, 1)
        tasks = [Writing(places[engine], names, name.endswith("deriving")) for name, names in namespaces.items()]
        for name, rate in zip(namespaces, write_side_by_side(tasks, settings, texts), strict=True):
            figures[name][engine] = rate
    return dict(figures)


def _fill(
    places: dict[str, str],
    settings: Settings,
    sessions: Sequence[Session],
    records: int,
    embedder: Remembering,
    plan: Plan,
    tell: Progress,
) -> dict[str, object]:
    """The neighbours and one namespace of each size; how fast the largest was acknowledged and derived."""
    figures: dict[str, dict[str, int]] = {"ingest_per_s": {}, "derived_per_s": {}}
    neighbour = first(sessions, min(plan.neighbour_turns, records // 2))
    for engine in _BOTH:
        for number in range(plan.neighbours):
            with Memory(places[engine], f"neighbour {number}", embedder=embedder, settings=settings) as memory:
                memory.ingest_many(neighbour, session="s")
                memory.flush()
            tell(f"neighbours, {engine}", number + 1, plan.neighbours)
        for size in sizes(records):
            start = time.perf_counter()
            with Memory(places[engine], str(size), embedder=embedder, settings=settings) as memory:
                for session, messages in upto(sessions, size):
                    memory.ingest_many(messages, session=session)
                acknowledged = time.perf_counter() - start
                memory.flush(progress=partial(tell, f"{size}, {engine}"))
            figures["ingest_per_s"][engine] = round(size / acknowledged)
            figures["derived_per_s"][engine] = round(size / (time.perf_counter() - start))
    return dict(figures)


# --- reading


def _read(
    places: dict[str, str],
    settings: Settings,
    records: int,
    asked: Sequence[str],
    embedder: Remembering,
    tell: Progress,
) -> dict[str, object]:
    figures: dict[str, object] = {}
    verbs = ("search", "recent", "thread")
    times = {(verb, engine, size): list[float]() for verb in verbs for engine in _BOTH for size in sizes(records)}
    agreed: list[bool] = []
    with ExitStack() as stack:
        memories = {
            (engine, size): stack.enter_context(Memory(places[engine], str(size), embedder=embedder, settings=settings))
            for engine in _BOTH
            for size in sizes(records)
        }
        for number, question in enumerate(asked):
            for size in sizes(records):
                found = []
                for engine in _BOTH if number % 2 else _BOTH[::-1]:
                    memory = memories[engine, size]
                    begun = time.perf_counter()
                    hits = memory.search(question, limit=_TOP)
                    searched = time.perf_counter()
                    recent = memory.recent(limit=20)
                    looked = time.perf_counter()
                    memory.thread(recent[0].session)
                    found.append([hit.text for hit in hits])
                    if number >= _WARM_UP:
                        times["search", engine, size].append((searched - begun) * 1000)
                        times["recent", engine, size].append((looked - searched) * 1000)
                        times["thread", engine, size].append((time.perf_counter() - looked) * 1000)
                agreed.append(found[0] == found[1])
            tell("search", number + 1, len(asked))
    for verb in verbs:
        took = {
            engine: {str(size): percentiles(times[verb, engine, size]) for size in sizes(records)} for engine in _BOTH
        }
        figures[f"{verb}_ms"] = took
        figures[f"{verb}_ratio"] = {
            size: ratio(one["p50"], took["sqlite"][size]["p50"]) for size, one in took["postgres"].items()
        }
    figures["top_10_agree"] = round(sum(agreed) / len(agreed), 4)
    return figures
