"""Both engines side by side, question by question and turn by turn: how fast they are, and whether they agree.

The same messages go through the production path into a file and into a schema of a server that is made for it. What is
compared is measured in the same loop, because the machine may be busy with other things: read the ratios.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import BrokenBarrierError

from holdfast.errors import StoreError
from holdfast.log.messages import read_turn
from holdfast.memory import Memory
from holdfast.models.static import StaticEmbedder
from holdfast.probe.metrics import percentiles, ratio
from holdfast.settings import AdmitSettings, Settings, load_settings
from holdfast.store.open import open_store
from holdfast.text.time import utc_now
from holdfast.version import __version__
from holdfast_bench.chatter import Message, Session, chatter, first, questions, upto
from holdfast_bench.machine import Progress, Remembering, machine
from holdfast_bench.speed import sizes

# --- Writers in processes of their own, one connection each: how many single turns a second they have
# acknowledged.
#
# Each turn is durable before the writer's next. Two doors: `append` is what an ingest waits for (the turn is
# checked and handed to the store), `ingest` is the whole Memory, which derives and compacts beside it on the same
# processors. Only the time from the first turn to the last acknowledgement counts: processes are started, stores
# opened, rooms loaded and a first turn kept before it.


_START_S = 300.0  # for every process to load and open its store; a busy machine takes its time
_LONGEST_S = 1800.0

Put = Callable[[str], object]


@dataclass(frozen=True)
class Writing:
    """What the writers do at once; writer n writes to the namespace n."""

    place: str
    namespaces: tuple[str, ...]
    whole: bool
    """Through Memory, with all that it does in the background."""


def write_side_by_side(tasks: Sequence[Writing], settings: Settings, texts: Sequence[str]) -> list[int]:
    """Turns a second of each task, one task after the other, by the same processes."""
    [writers] = {len(task.namespaces) for task in tasks}
    context = multiprocessing.get_context("spawn")  # as a writer on another machine would be: nothing is shared
    ready, done = context.Barrier(writers + 1), context.Barrier(writers + 1)
    processes = [
        context.Process(target=_write, args=(number, tasks, settings, texts, ready, done), daemon=True)
        for number in range(writers)
    ]
    for process in processes:
        process.start()
    rates: list[int] = []
    try:
        for task in tasks:
            ready.wait(_START_S)
            start = time.perf_counter()
            done.wait(_LONGEST_S)
            seconds = time.perf_counter() - start
            _check(task, settings, len(texts))
            rates.append(round(writers * len(texts) / seconds))
    except BrokenBarrierError:
        raise StoreError("a writer of the measurement stopped early; its error is above") from None
    finally:
        if len(rates) < len(tasks):
            ready.abort()  # nobody waits for a task that does not come
            done.abort()
        for process in processes:
            process.join(_START_S)
    return rates


def _write(
    number: int, tasks: Sequence[Writing], settings: Settings, texts: Sequence[str], ready: Barrier, done: Barrier
) -> None:
    """The life of one writer."""
    try:
        for task in tasks:
            with _door(task, number, settings) as put:
                put("the first turn of this writer")
                ready.wait(_START_S)
                for text in texts:
                    put(text)
                done.wait(_LONGEST_S)
    except BaseException:
        ready.abort()  # nobody waits for one that is gone
        done.abort()
        raise


@contextmanager
def _door(task: Writing, number: int, settings: Settings) -> Iterator[Put]:
    namespace, session = task.namespaces[number], _session(number)
    if task.whole:
        with Memory(task.place, namespace, embedder="none", settings=settings) as memory:
            memory.ingest("what loads the rooms that derive", session=f"warm {number}")
            memory.flush()
            yield lambda text: memory.ingest(text, session=session)
        return
    with closing(open_store(task.place, settings.store)) as store:

        def append(text: str) -> object:
            now = utc_now()
            turn = read_turn(
                text, role="user", at=None, key=None, origin=None, stability=None, metadata=None, now=now,
                settings=settings.log,
            )  # fmt: skip
            return store.append(namespace, session, [turn], now)

        yield append


def _check(task: Writing, settings: Settings, expected: int) -> None:
    """What was counted is there."""
    with closing(open_store(task.place, settings.store)) as store:
        for number, namespace in enumerate(task.namespaces):
            with store.snapshot(namespace) as view:
                kept = view.last_index(_session(number))
            if kept != expected:  # the first turn, which is not counted, has the index 0
                raise StoreError(f"{namespace!r} holds {kept} of {expected} turns that were acknowledged")


def _session(number: int) -> str:
    return f"writer {number}"


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
    from holdfast.store.postgres.schema import throwaway_schema

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
        figures |= _engines_write(places, settings, first(sessions, plan.turns_a_writer), plan, tell)
        figures |= _fill(places, settings, sessions, records, embedder, plan, tell)
        figures |= _read(places, settings, records, asked, embedder, tell)
    return {
        **figures,
        "version": __version__,
        "machine": machine(),
        "seconds": round(time.perf_counter() - start, 1),
    }


# --- writing


def _engines_write(
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
