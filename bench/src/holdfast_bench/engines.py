"""SQLite and PostgreSQL compared: the speed of writes and reads, and whether they give the same answers.

The same messages go through the production path into a file and into a temporary schema of a server. Compared values
are measured in the same loop, because the machine may be busy: read the ratios.

Writers are separate processes with one connection each, and each turn is durable before the writer's next. `append` is
what an ingest waits for (the turn is validated and passed to the store); `deriving` is a whole Memory with its
background work on the same processors. Only the time from the first turn to the last acknowledgement counts.
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
from holdfast.model import utc_now
from holdfast.models.embedder import StaticEmbedder
from holdfast.probe.metrics import percentiles, ratio
from holdfast.settings import AdmitSettings, Settings, StoreSettings, load_settings
from holdfast.store.open import open_store
from holdfast.version import __version__
from holdfast_bench.ask import LEVELS, AskOptions, Outcome, ask, means, settings_of
from holdfast_bench.chatter import Message, Session, chatter, first, questions, upto
from holdfast_bench.data import sample
from holdfast_bench.locomo import read
from holdfast_bench.machine import CachingEmbedder, Progress, QuestionCache, machine
from holdfast_bench.memories import bench_embedder
from holdfast_bench.speed import fill_neighbours, sizes

_START_S = 300.0  # for every process to open its store; a busy machine is slow
_MAX_S = 1800.0
_WARM_UP = 10
_TOP = 10
_ENGINES = ("sqlite", "postgres")
_AGAINST = ("postgres", "citus")

Put = Callable[[str], object]


@dataclass(frozen=True)
class WriteTask:
    """Work of all writers at the same time; writer n writes to the n-th namespace."""

    place: str
    namespaces: tuple[str, ...]
    whole: bool
    """True for a whole Memory with its background work."""


@dataclass(frozen=True)
class Plan:
    """Amounts that are measured."""

    neighbours: int = 40
    neighbour_turns: int = 200
    questions: int = 60
    writers: int = 8
    turns_per_writer: int = 400


def run(
    server: str,
    records: int = 10_000,
    admit: bool = True,
    progress: Progress | None = None,
    seed: int = 0,
    plan: Plan | None = None,
    against: str | None = None,
) -> dict[str, object]:
    """Measure a temporary file and a temporary schema of the server; with `admit` records are made too.

    With `against`, a schema of that server stands in place of the file, to compare Citus with plain PostgreSQL.
    """
    start = time.perf_counter()
    report = progress or (lambda step, done, total: None)
    plan = plan or Plan()
    settings = load_settings()
    if not admit:
        settings = replace(settings, admit=AdmitSettings(enabled=False))
    sessions = list(chatter(records, seed))
    asked = questions(sessions, plan.questions + _WARM_UP, seed)
    embedder = QuestionCache(StaticEmbedder())
    embedder.warm(asked)
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-engines-"))
        first_place = stack.enter_context(_schema(against)) if against else str(Path(home) / "memory.db")
        pair = (first_place, stack.enter_context(_schema(server)))
        places = dict(zip(_AGAINST if against else _ENGINES, pair, strict=True))
        figures: dict[str, object] = {"set": "engines", "n": records, "records": admit}
        figures |= _measure_writers(places, settings, first(sessions, plan.turns_per_writer), plan, report)
        figures |= _fill(places, settings, sessions, records, embedder, plan, report)
        figures |= _measure_reads(places, settings, records, asked, embedder, report)
    seconds = round(time.perf_counter() - start, 1)
    return {**figures, "version": __version__, "machine": machine(), "seconds": seconds}


@contextmanager
def _schema(server: str) -> Iterator[str]:
    """Return the address of a temporary schema of the server; on Citus it is sharded."""
    from holdfast.store.postgres.schema import throwaway_schema

    with throwaway_schema(server) as place:
        with closing(open_store(place, StoreSettings())) as store:
            found = store.server()
            if found is not None and found.citus is not None:
                store.shard()
        yield place


def compare_hits(
    server: str, data: Sequence[Path], options: AskOptions, progress: Progress | None = None
) -> dict[str, object]:
    """Ask the questions of LoCoMo on a file and on a temporary schema of the server, and compare the hits."""
    started = time.perf_counter()
    haystacks = sample(read(data), options.limit)
    total = sum(len(haystack.questions) for haystack in haystacks)
    settings = settings_of(options)
    here: list[Outcome] = []
    there: list[Outcome] = []
    with closing(bench_embedder(settings)) as opened, _schema(server) as place:
        embedder = CachingEmbedder(opened)
        for haystack in haystacks:
            here += ask(haystack, settings, embedder)
            there += ask(haystack, settings, embedder, place)
            if progress is not None:
                progress(haystack.name, len(there), total)
    same = sum(one.turns[:_TOP] == other.turns[:_TOP] for one, other in zip(here, there, strict=True))
    sqlite, postgres = ({level: means(found, level) for level in LEVELS} for found in (here, there))
    differences = [
        abs(value - (postgres[level] or {})[name]) * 100
        for level in LEVELS
        for name, value in (sqlite[level] or {}).items()
    ]
    return {
        "set": "engines-locomo",
        "n": total,
        "top_10_agree": round(same / len(here), 4) if here else 1.0,
        "sqlite": sqlite,
        "postgres": postgres,
        "farthest": round(max(differences, default=0.0), 2),
        "search_ms": {
            engine: percentiles([one.ms for one in found])
            for engine, found in zip(_ENGINES, (here, there), strict=True)
        },
        "records": settings.admit.enabled,
        "seconds": round(time.perf_counter() - started, 1),
        "version": __version__,
    }


def write_in_processes(tasks: Sequence[WriteTask], settings: Settings, texts: Sequence[str]) -> list[int]:
    """Return the turns per second of each task, run one after the other by the same processes."""
    [writers] = {len(task.namespaces) for task in tasks}
    context = multiprocessing.get_context("spawn")  # like writers on other machines, which share nothing
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
            done.wait(_MAX_S)
            seconds = time.perf_counter() - start
            _check(task, settings, len(texts))
            rates.append(round(writers * len(texts) / seconds))
    except BrokenBarrierError:
        raise StoreError("a writer of the measurement stopped early; its error is above") from None
    finally:
        if len(rates) < len(tasks):
            ready.abort()  # releases writers that wait for the next task
            done.abort()
        for process in processes:
            process.join(_START_S)
    return rates


def _write(
    number: int, tasks: Sequence[WriteTask], settings: Settings, texts: Sequence[str], ready: Barrier, done: Barrier
) -> None:
    """Run one writer."""
    try:
        for task in tasks:
            with _open_writer(task, number, settings) as put:
                put("the first turn of this writer")
                ready.wait(_START_S)
                for text in texts:
                    put(text)
                done.wait(_MAX_S)
    except BaseException:
        ready.abort()  # releases the others
        done.abort()
        raise


@contextmanager
def _open_writer(task: WriteTask, number: int, settings: Settings) -> Iterator[Put]:
    namespace, session = task.namespaces[number], f"writer {number}"
    if task.whole:
        with Memory(task.place, namespace, embedder="none", settings=settings) as memory:
            memory.ingest("a turn that loads the pipeline", session=f"warm {number}")
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


def _check(task: WriteTask, settings: Settings, expected: int) -> None:
    """Raise StoreError unless every acknowledged turn is in the store."""
    with closing(open_store(task.place, settings.store)) as store:
        for number, namespace in enumerate(task.namespaces):
            with store.snapshot(namespace) as view:
                kept = view.last_index(f"writer {number}")
            if kept != expected:  # the first turn, which is not counted, has index 0
                raise StoreError(f"{namespace!r} has {kept} of {expected} turns that were acknowledged")


def _measure_writers(
    places: dict[str, str], settings: Settings, messages: Sequence[Message], plan: Plan, report: Progress
) -> dict[str, object]:
    """Measure concurrent writers: with a namespace each, all in one namespace, and with derived work."""
    texts = [str(message["content"]) for message in messages]
    each = range(plan.writers)
    namespaces = {
        "durable_per_s": tuple(f"writer {number}" for number in each),
        "durable_per_s_one_namespace": tuple("all writers" for _ in each),
        "durable_per_s_deriving": tuple(f"deriving {number}" for number in each),
    }
    figures: dict[str, dict[str, int]] = {name: {} for name in namespaces}
    for engine in places:
        report(f"writing, {engine}", 0, 1)
        tasks = [WriteTask(places[engine], names, name.endswith("deriving")) for name, names in namespaces.items()]
        for name, rate in zip(namespaces, write_in_processes(tasks, settings, texts), strict=True):
            figures[name][engine] = rate
    return dict(figures)


def _fill(
    places: dict[str, str],
    settings: Settings,
    sessions: Sequence[Session],
    records: int,
    embedder: QuestionCache,
    plan: Plan,
    report: Progress,
) -> dict[str, object]:
    """Fill the neighbours and one namespace of each size; return the rates of the largest."""
    figures: dict[str, dict[str, int]] = {"ingest_per_s": {}, "derived_per_s": {}}
    neighbour = first(sessions, min(plan.neighbour_turns, records // 2))
    for engine in places:
        fill_neighbours(places[engine], neighbour, plan.neighbours, embedder, settings, report)
        for size in sizes(records):
            start = time.perf_counter()
            with Memory(places[engine], str(size), embedder=embedder, settings=settings) as memory:
                for session, messages in upto(sessions, size):
                    memory.ingest_many(messages, session=session)
                acknowledged = time.perf_counter() - start
                memory.flush(progress=partial(report, f"{size}, {engine}"))
            figures["ingest_per_s"][engine] = round(size / acknowledged)
            figures["derived_per_s"][engine] = round(size / (time.perf_counter() - start))
    return dict(figures)


def _measure_reads(
    places: dict[str, str],
    settings: Settings,
    records: int,
    asked: Sequence[str],
    embedder: QuestionCache,
    report: Progress,
) -> dict[str, object]:
    figures: dict[str, object] = {}
    verbs = ("search", "recent", "thread")
    engines = tuple(places)
    times = {(verb, engine, size): list[float]() for verb in verbs for engine in engines for size in sizes(records)}
    agreed: list[bool] = []
    with ExitStack() as stack:
        memories = {
            (engine, size): stack.enter_context(Memory(places[engine], str(size), embedder=embedder, settings=settings))
            for engine in engines
            for size in sizes(records)
        }
        for number, question in enumerate(asked):
            for size in sizes(records):
                found = []
                for engine in engines if number % 2 else engines[::-1]:
                    memory = memories[engine, size]
                    moments = [time.perf_counter()]
                    hits = memory.search(question, limit=_TOP)
                    moments.append(time.perf_counter())
                    recent = memory.recent(limit=20)
                    moments.append(time.perf_counter())
                    memory.thread(recent[0].session)
                    moments.append(time.perf_counter())
                    found.append([hit.text for hit in hits])
                    if number >= _WARM_UP:
                        for verb, start, end in zip(verbs, moments, moments[1:], strict=False):
                            times[verb, engine, size].append((end - start) * 1000)
                agreed.append(found[0] == found[1])
            report("search", number + 1, len(asked))
    for verb in verbs:
        taken = {
            engine: {str(size): percentiles(times[verb, engine, size]) for size in sizes(records)} for engine in engines
        }
        figures[f"{verb}_ms"] = taken
        figures[f"{verb}_ratio"] = {
            size: ratio(one["p50"], taken[engines[0]][size]["p50"]) for size, one in taken[engines[1]].items()
        }
    figures["top_10_agree"] = round(sum(agreed) / len(agreed), 4)
    return figures
