"""How fast it is, on the production path, each figure beside the floor it is measured against.

Everything runs on one real store with many namespaces. What is compared is measured in the same loop, turn by turn,
because the machine may be busy with other things: read the ratios before the milliseconds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import apsw

from holdfast.evaluate.chatter import Session, chatter, first, questions, read_messages
from holdfast.evaluate.machine import machine
from holdfast.evaluate.metrics import percentiles, ratio
from holdfast.evaluate.processes import cold_search_ms, import_ms, resident_mb
from holdfast.evaluate.reading_speed import QUESTIONS, measure_reading
from holdfast.evaluate.timing import Progress, Remembering, Times, timed
from holdfast.memory import Memory
from holdfast.models.embedder import Embedder
from holdfast.models.static import StaticEmbedder
from holdfast.version import __version__

__all__ = ["run"]

_NEIGHBOURS = 40
"""Other namespaces in the same file: one namespace's cost must not depend on them (INV-4)."""
_NEIGHBOUR_TURNS = 200
_ACKS = 300
_WAL_PAGES = 1_500
"""More than the 1,000 pages at which SQLite writes the WAL back and begins it anew."""
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
    """Measure on `records` turns in a temporary store (inside `folder`), of made-up chat or of the chat in `data`."""
    if records < 100:
        raise ValueError(f"speed needs at least 100 records to say anything, not {records}")
    start = time.perf_counter()
    tell = progress or (lambda step, done, total: None)
    sessions = list(chatter(records, seed) if data is None else read_messages(data, records))
    asked = questions(sessions, QUESTIONS, seed)
    embedder = Remembering(StaticEmbedder())
    with tempfile.TemporaryDirectory(prefix="holdfast-speed-", dir=folder) as home:
        store = Path(home) / "memory.db"
        _fill_neighbours(store, sessions, embedder, tell)
        result: dict[str, object] = {
            "set": "speed",
            "n": records,
            "data": "chatter" if data is None else data.name,
            **_bulk(store, sessions, records, embedder, tell),
            **_acknowledge(store, Path(home), sessions, embedder, tell),
            **measure_reading(store, sessions, records, asked, embedder, tell),
            **_fresh_processes(store, str(records), asked, tell),
            "store_mb": round(store.stat().st_size / 1e6, 1),
        }
    profile = embedder.profile
    return {
        **result,
        "embedder": profile.name,
        "version": __version__,
        "machine": machine(),
        "seconds": round(time.perf_counter() - start, 1),
    }


def _fill_neighbours(store: Path, sessions: Sequence[Session], embedder: Embedder, tell: Progress) -> None:
    most = sum(len(messages) for _, messages in sessions) // _NEIGHBOURS
    messages = first(sessions, min(_NEIGHBOUR_TURNS, most))
    for number in range(_NEIGHBOURS):
        with Memory(store, namespace=f"neighbour {number}", embedder=embedder) as memory:
            memory.ingest_many(messages, session="s")
            memory.flush()
        tell("neighbours", number + 1, _NEIGHBOURS)


def _bulk(
    store: Path, sessions: Sequence[Session], records: int, embedder: Embedder, tell: Progress
) -> dict[str, object]:
    """Import a whole history: how fast it is acknowledged, with the worker at it, and how fast it is derived."""
    with Memory(store, namespace=str(records), embedder=embedder) as memory:
        start, done = time.perf_counter(), 0
        for session, messages in sessions:
            done += len(memory.ingest_many(messages, session=session))
            tell("ingest", done, records)
        acknowledged = time.perf_counter() - start
        memory.flush(progress=lambda done, total: tell("derive", done, total))
        derived = time.perf_counter() - start
    return {"ingest_per_s": round(done / acknowledged), "derived_per_s": round(done / derived)}


def _acknowledge(
    store: Path, home: Path, sessions: Sequence[Session], embedder: Embedder, tell: Progress
) -> dict[str, object]:
    """Single turns, each beside a bare commit of the same bytes into another file of the same folder.

    First as in a conversation: derived work is done before the next turn comes. Then in a burst, turn after turn, so
    that the worker of the last one is in the way of the next (and of the bare commit). No pauses: after one, a busy
    machine gives the processor away, and what is measured is when it comes back.
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
                _commit(other, text)  # both sides start from a disk and a processor that are awake
                timed(times, name, work)
            tell("acknowledge", number + 1, len(texts))
        for number, text in enumerate(texts):
            timed(times, "burst", partial(memory.ingest, text, session="burst"))
            timed(times, "bare burst", partial(_commit, bare, text))
            tell("burst", number + 1, len(texts))
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
    """A store of one table, in its steady state: a WAL that has its full size, as a store in use has.

    While the file still grows, each fsync pays for its new blocks too: the floor would seem two to three times as high.
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


def _fresh_processes(store: Path, namespace: str, asked: Sequence[str], tell: Progress) -> dict[str, object]:
    tell("fresh processes", 0, 3)
    now, peak = resident_mb(store, namespace, asked[:_RESIDENT_QUESTIONS])
    tell("fresh processes", 1, 3)
    figures: dict[str, object] = {"rss_mb": now, "rss_peak_mb": peak, **import_ms(_STARTS)}
    tell("fresh processes", 2, 3)
    cold = cold_search_ms(store, namespace, asked[:_COLD_STARTS])
    if cold is not None:
        figures["search_cold_ms"] = cold
    tell("fresh processes", 3, 3)
    return figures
