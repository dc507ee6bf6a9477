"""Speed benchmark on the production path, each figure next to its lower bound on this machine.

Everything runs on one real store with many namespaces. Compared values are measured in the same loop, because the
machine may be busy: read the ratios before the milliseconds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from holdfast.index.blocks import BlockCache, IndexSizes
from holdfast.index.candidates import CandidateTables, read_table, side_by_side
from holdfast.index.vectors import exact, matrix
from holdfast.memory import Memory
from holdfast.models.embedder import Embedder, StaticEmbedder
from holdfast.probe.metrics import median, percentiles, ratio, top_share
from holdfast.search.question import Ranking
from holdfast.search.retrieve import scan, scan_tables, score_words
from holdfast.settings import Settings, load_settings, tuned
from holdfast.store.open import open_store
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import Space
from holdfast.text.words import query_terms
from holdfast_bench.chatter import Message, Session, chatter, first, questions, read_messages, upto
from holdfast_bench.machine import (
    Progress,
    QuestionCache,
    Times,
    cold_search_ms,
    import_ms,
    machine,
    resident_mb,
    run_info,
    timed,
)

_SIZES = (1_000, 10_000, 100_000)
_ASKED = 120
_WARM_UP = 10
QUESTIONS = 2 * _ASKED + _WARM_UP
"""Number of questions: to warm up, with a cached vector, and to be embedded as part of the search."""
_TOP = 10
_RULE_NODES = 2_000
_READING = Space.STATEMENT
"""The vectors whose scan is compared with its lower bound; a search scans as many codes again for windows."""

_NEIGHBOURS = 40
_NEIGHBOUR_TURNS = 200
_ACKS = 300
_WAL_PAGES = 1_500  # more than the 1,000 pages after which SQLite checkpoints and restarts the WAL
_RESIDENT_QUESTIONS = 20
_STARTS = 7
_COLD_STARTS = 5


def run(
    records: int = 100_000,
    progress: Progress | None = None,
    seed: int = 0,
    folder: Path | None = None,
    data: Path | None = None,
) -> dict[str, object]:
    """Measure `records` turns in a temporary store (inside `folder`), of synthetic chat or of the chat in `data`."""
    if records < 100:
        raise ValueError(f"the speed benchmark needs at least 100 records, not {records}")
    start = time.perf_counter()
    report = progress or (lambda step, done, total: None)
    sessions = list(chatter(records, seed) if data is None else read_messages(data, records))
    asked = questions(sessions, QUESTIONS, seed)
    embedder = QuestionCache(StaticEmbedder())
    with tempfile.TemporaryDirectory(prefix="holdfast-speed-", dir=folder) as home:
        store = Path(home) / "memory.db"
        neighbour = first(sessions, min(_NEIGHBOUR_TURNS, records // _NEIGHBOURS))
        fill_neighbours(store, neighbour, _NEIGHBOURS, embedder, load_settings(), report)
        result: dict[str, object] = {
            "set": "speed",
            "n": records,
            "data": "chatter" if data is None else data.name,
            **_bulk(store, sessions, records, embedder, report),
            **_acknowledge(store, Path(home), sessions, embedder, report),
            **measure_reading(store, sessions, records, asked, embedder, report),
            **_fresh_processes(store, str(records), asked, report),
            "store_mb": round(store.stat().st_size / 1e6, 1),
        }
    return {**result, "machine": machine(), **run_info(start, embedder)}


def sizes(records: int) -> list[int]:
    """Return the sizes at which reads are measured: the usual ones below the number of records, and that number."""
    return [*(size for size in _SIZES if size < records), records]


def measure_reading(
    store: Path,
    sessions: Sequence[Session],
    records: int,
    asked: Sequence[str],
    embedder: QuestionCache,
    report: Progress,
) -> dict[str, object]:
    """Measure every kind of read at every size, question by question."""
    places = [_SizedNamespace(store, size, sessions, size < records, embedder, report) for size in sizes(records)]
    try:
        warm_up, known, fresh = asked[:_WARM_UP], asked[_WARM_UP : _WARM_UP + _ASKED], asked[-_ASKED:]
        embedder.warm([*warm_up, *known])
        for place in places:
            for question in warm_up:
                place.measure(question, question)
            place.reset()
        for number, (question, other) in enumerate(zip(known, fresh, strict=True)):
            for place in places:
                place.measure(question, other)
            report("search", number + 1, _ASKED)
    finally:
        for place in places:
            place.close()
    return _figures(places)


def _figures(places: Sequence[_SizedNamespace]) -> dict[str, object]:
    figures: dict[str, object] = {}
    for name in (
        "search", "search_with_embedding", "context", "context_with_rules", "vector", "read_floor", "lexical",
        "meaning", "pool", "recent", "thread",
    ):  # fmt: skip
        figures[f"{name}_ms"] = {place.name: percentiles(place.times[name]) for place in places}
    figures["stages_ms"] = {
        place.name: {stage: percentiles(times) for stage, times in place.stages_of_every_search().items()}
        for place in places
    }
    figures["contexts_late"] = {place.name: place.late for place in places}
    figures["vector_over_floor"] = {
        place.name: ratio(median(place.times["vector"]), median(place.times["read_floor"]), 2) for place in places
    }
    shares = {place.name: round(place.recall(), 4) for place in places}
    figures["recall_vs_exact"] = shares[places[-1].name]
    figures["recall_vs_exact_at"] = shares
    return figures


class _SizedNamespace:
    """A namespace of one size, with its own view of the store, so that each retriever can be measured alone."""

    def __init__(
        self, store: Path, size: int, sessions: Sequence[Session], fill: bool, embedder: Embedder, report: Progress
    ) -> None:
        self.name = str(size)
        self.times: Times = {}
        self.stages: Times = {}
        self._found: list[tuple[NDArray[np.float32], list[int]]] = []
        self.late = 0
        """Contexts without memory, because they took too long."""
        self._rules = _rule_file(store.parent)
        self._embedder = embedder
        self._fingerprint = embedder.profile.fingerprint
        self._memory = Memory(store, namespace=self.name, embedder=embedder)
        if fill:
            for session, messages in upto(sessions, size):
                self._memory.ingest_many(messages, session=session)
            self._memory.flush(progress=lambda done, total: report(f"fill {size}", done, total))
        self._sessions = [session for session, _ in upto(sessions, size)]
        self._settings: Settings = load_settings()
        self._store = open_store(store, self._settings.store)
        self._cache = BlockCache(self._settings.store.cache_mb * 1_000_000)
        with self._store.snapshot(self.name) as view:
            stored = view.vectors_between(_READING, self._fingerprint, 0, view.end())
        self._vectors = matrix(stored)
        self._nums = np.array([num for num, _ in stored], np.int64)
        self._codes = np.rint(self._vectors * 127).astype(np.int8)  # as many bytes as the index has codes

    def measure(self, question: str, other: str) -> None:
        """Measure all reads; `question` has a cached vector, `other` is embedded as part of the search."""
        times, memory = self.times, self._memory
        timed(times, "search", lambda: memory.search(question))
        hits = timed(times, "search_with_embedding", lambda: memory.search(other))
        for stage in hits.receipt.stages:
            self.stages.setdefault(stage.name, []).append(stage.ms)
        self._measure_contexts(other)
        timed(times, "recent", lambda: memory.recent(limit=20))
        session = self._sessions[len(times["recent"]) % len(self._sessions)]
        timed(times, "thread", lambda: memory.thread(session))
        vector = self._embedder.embed([question])[0]
        with self._store.snapshot(self.name) as view:
            tables = timed(times, "pool", lambda: self._tables(view))
            terms = query_terms(question, tuned(self._settings, Ranking).question_terms)
            timed(times, "lexical", lambda: score_words(tables, terms, tuned(self._settings, Ranking)))
            timed(times, "meaning", lambda: scan_tables(tables, self._fingerprint, vector, self._cache))
            found = timed(times, "vector", lambda: self._nearest(view, tables.parts[0].pool.size, vector))
        # numpy's fastest full read of bytes: max over int8 (1.9 ms for 25.6 MB; a sum over int64 takes 2.8).
        timed(times, "read_floor", lambda: self._codes.max())
        self._found.append((vector, found))

    def _measure_contexts(self, question: str) -> None:
        """Measure contexts without and with rules; late ones are counted and timed too."""
        asked = [{"role": "user", "content": question}]
        for name, rules in (("context", []), ("context_with_rules", [self._rules])):
            made = timed(self.times, name, partial(self._memory.context, asked, "asking", rules=rules))
            self.late += made.degraded is not None

    def stages_of_every_search(self) -> Times:
        """A search without a stage spent no time on it."""
        count = len(self.times["search_with_embedding"])
        return {stage: times + [0.0] * (count - len(times)) for stage, times in self.stages.items()}

    def reset(self) -> None:
        self.times.clear()
        self.stages.clear()
        self._found.clear()
        self.late = 0

    def _tables(self, view: Snapshot) -> CandidateTables:
        most = tuned(self._settings, IndexSizes).max_chars
        tables = [read_table(view, self.name, space, self._cache, most) for space in (Space.TURN, Space.RECORD)]
        return side_by_side(tables, self._cache, tuned(self._settings, Ranking).answer_words)

    def _nearest(self, view: Snapshot, size: int, vector: NDArray[np.float32]) -> list[int]:
        """Search one kind of vectors as production does: scan the codes, rescore the best in full precision."""
        cosines, embedded = scan(view, self.name, _READING, size, self._fingerprint, vector, self._cache)
        count = min(tuned(self._settings, Ranking).rescore, len(cosines))
        best = np.argpartition(np.where(embedded, cosines, -np.inf), -count)[-count:]
        full = exact(view, _READING, self._fingerprint, vector, best.tolist())
        return sorted(full, key=lambda num: -full[num])[:_TOP]

    def recall(self) -> float:
        """Return the share of the exact nearest, computed over every stored vector, that the index found."""
        shares = [
            top_share(self._vectors @ vector, np.searchsorted(self._nums, found).tolist(), _TOP)
            for vector, found in self._found
            if vector.any()
        ]
        return float(np.mean(shares)) if shares else 1.0

    def close(self) -> None:
        self._store.close()
        self._memory.close()


def _rule_file(folder: Path) -> Path:
    """Write 2,000 rules, one in two hundred of them hard: more hard ones would fill a budget of 1,000 tokens."""
    path = folder / "RULES.md"
    hard, soft = "- Never open gate {0}.\n", "> The key of gate {0} hangs in hall {0}.\n"
    lines = ((soft if number % 200 else hard).format(number) for number in range(_RULE_NODES))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def fill_neighbours(
    store: Path | str, messages: Sequence[Message], count: int, embedder: Embedder, settings: Settings, report: Progress
) -> None:
    """Fill other namespaces of the store, on which the cost of one must not depend (INV-4)."""
    for number in range(count):
        with Memory(store, namespace=f"neighbour {number}", embedder=embedder, settings=settings) as memory:
            memory.ingest_many(messages, session="s")
            memory.flush()
        report("neighbours", number + 1, count)


def _bulk(
    store: Path, sessions: Sequence[Session], records: int, embedder: Embedder, report: Progress
) -> dict[str, object]:
    """Import a whole history, and return how fast it is acknowledged and derived."""
    with Memory(store, namespace=str(records), embedder=embedder) as memory:
        start, done = time.perf_counter(), 0
        for session, messages in sessions:
            done += len(memory.ingest_many(messages, session=session))
            report("ingest", done, records)
        acknowledged = time.perf_counter() - start
        memory.flush(progress=lambda done, total: report("derive", done, total))
        derived = time.perf_counter() - start
    return {"ingest_per_s": round(done / acknowledged), "derived_per_s": round(done / derived)}


def _acknowledge(
    store: Path, home: Path, sessions: Sequence[Session], embedder: Embedder, report: Progress
) -> dict[str, object]:
    """Measure single turns, each next to a bare commit of the same bytes into another file of the same folder.

    First as in a conversation: derived work is done before the next turn. Then in a burst, so that the worker competes
    with the next turn (and with the bare commit). There are no pauses: after one, a busy machine gives the processor
    away, and the measurement would include the time until it is back.
    """
    texts = [str(message["content"]) for message in first(sessions, _ACKS)]
    bare, other = _bare_store(home / "bare.db"), _bare_store(home / "other.db")
    times: Times = {}
    with Memory(store, namespace="acknowledge", embedder=embedder) as memory:
        memory.ingest(texts[0], session="s")
        for number, text in enumerate(texts):
            for name, work in (
                ("ack", partial(memory.ingest, text, session="s")),
                ("bare", partial(_commit, bare, text)),
            ):
                memory.flush()
                _commit(other, text)  # both sides start with a warm disk and processor
                timed(times, name, work)
            report("acknowledge", number + 1, len(texts))
        for number, text in enumerate(texts):
            timed(times, "burst", partial(memory.ingest, text, session="burst"))
            timed(times, "bare burst", partial(_commit, bare, text))
            report("burst", number + 1, len(texts))
    bare.close()
    other.close()
    ack, floor, burst, floor_burst = (percentiles(times[name]) for name in ("ack", "bare", "burst", "bare burst"))
    return {
        "ack_ms": ack,
        "bare_commit_ms": floor,
        "ack_ratio": ratio(ack["p50"], floor["p50"]),
        "ack_burst_ms": burst,
        "ack_burst_ratio": ratio(burst["p50"], floor_burst["p50"]),
    }


def _bare_store(path: Path) -> apsw.Connection:
    """Open a database of one table whose WAL has its full size, like that of a store in use.

    While the file grows, each fsync also writes new blocks, which would raise the lower bound two or three times.
    """
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "WAL")
    connection.pragma("synchronous", "FULL")
    connection.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO bare (text) VALUES (?)", [("x" * 4000,)] * _WAL_PAGES)
    connection.execute("COMMIT")
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    return connection


def _commit(connection: apsw.Connection, text: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO bare (text) VALUES (?)", (text,))
    connection.execute("COMMIT")


def _fresh_processes(store: Path, namespace: str, asked: Sequence[str], report: Progress) -> dict[str, object]:
    report("fresh processes", 0, 3)
    now, peak = resident_mb(store, namespace, asked[:_RESIDENT_QUESTIONS])
    report("fresh processes", 1, 3)
    figures: dict[str, object] = {"rss_mb": now, "rss_peak_mb": peak, **import_ms(_STARTS)}
    report("fresh processes", 2, 3)
    cold = cold_search_ms(store, namespace, asked[:_COLD_STARTS])
    if cold is not None:
        figures["search_cold_ms"] = cold
    report("fresh processes", 3, 3)
    return figures
