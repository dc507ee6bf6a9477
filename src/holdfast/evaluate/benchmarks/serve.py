"""What a server stands: many clients that ingest and search at once, and what each surface costs beside a plain call.

The servers are processes of their own, on a real store with durable commits; the clients are threads here, each with
one connection. Twice: at a pace (each client ingests and searches once in `pace` seconds, as agents do), and flat out
(each sends its next call as soon as it has the answer): then latency is the clients divided by what the machine does.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.evaluate.chatter import Session, chatter, questions
from holdfast.evaluate.machine import machine
from holdfast.evaluate.metrics import median, percentile
from holdfast.evaluate.serving import Client, HttpClient, RpcClient, server
from holdfast.memory import Memory
from holdfast.version import __version__

__all__ = ["Progress", "run"]

Progress = Callable[[str, int, int], None]
_NAMESPACE = "ana"
_WARM_UP = 20
_OVERHEAD_CALLS = 300
_QUESTIONS = 400


@dataclass
class _Heard:
    """What the clients of one load were answered; lists grow from many threads, which is safe."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    """Turn ids with their texts."""
    ingest_ms: list[float] = field(default_factory=list)
    search_ms: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def run(
    seconds: float = 60.0,
    clients: int = 50,
    records: int = 10_000,
    pace: float = 1.0,
    processes: int = 1,
    progress: Progress | None = None,
    folder: Path | None = None,
) -> dict[str, object]:
    """Measure for `seconds` at a pace and for as long flat out, on a store that holds `records` turns already."""
    start = time.perf_counter()
    tell = progress or (lambda step, done, total: None)
    sessions = list(chatter(records, 0))
    asked = questions(sessions, _QUESTIONS, 0)
    with tempfile.TemporaryDirectory(prefix="holdfast-serve-", dir=folder) as home:
        store = Path(home) / "memory.db"
        _fill(store, sessions, tell)
        overhead = _overhead(store, asked, tell)
        with server("serve", store, _NAMESPACE, "--port", "0", "--processes", str(processes)) as told:

            def connect() -> Client:
                return HttpClient(told)

            paced = _load(connect, asked, clients, seconds, pace, tell, "at a pace")
            flat = _load(connect, asked, clients, seconds, 0.0, tell, "flat out")
        kept = _kept(store, paced, flat)
        return {
            "set": "serve",
            "n": records,
            "clients": clients,
            "pace_s": pace,
            "processes": processes,
            "paced": _figures(paced, seconds, kept),
            "flat_out": _figures(flat, seconds, kept),
            **overhead,
            "version": __version__,
            "machine": machine(),
            "seconds": round(time.perf_counter() - start, 1),
        }


def _fill(store: Path, sessions: Sequence[Session], tell: Progress) -> None:
    with Memory(store, _NAMESPACE) as memory:
        for number, (name, messages) in enumerate(sessions):
            tell("filling the store", number, len(sessions))
            memory.ingest_many(messages, session=name)
        memory.flush(progress=lambda done, total: tell("deriving", done, total))


def _overhead(store: Path, asked: Sequence[str], tell: Progress) -> dict[str, object]:
    """The same search by each way in turn, question by question: a busy moment of the machine meets all of them."""
    ways = ("in_process", "rpc", "http")
    taken: dict[str, list[float]] = {way: [] for way in ways}
    with ExitStack() as ends:
        memory = ends.enter_context(Memory(store, _NAMESPACE))
        rpc = ends.enter_context(
            closing(RpcClient(ends.enter_context(server("rpc", store, _NAMESPACE, "--listen", "unix"))))
        )
        http = ends.enter_context(
            closing(HttpClient(ends.enter_context(server("serve", store, _NAMESPACE, "--port", "0"))))
        )
        calls: dict[str, Callable[[str], object]] = {
            "in_process": memory.search,
            "rpc": lambda question: rpc.call("search", {"query": question}),
            "http": lambda question: http.call("search", {"query": question}),
        }
        for number in range(_WARM_UP + _OVERHEAD_CALLS):
            tell("asking each way", number, _WARM_UP + _OVERHEAD_CALLS)
            question = asked[number % len(asked)]
            for way in ways[number % 3 :] + ways[: number % 3]:
                before = time.perf_counter()
                calls[way](question)
                taken[way].append((time.perf_counter() - before) * 1000)
    times = {way: round(median(taken[way][_WARM_UP:]), 3) for way in ways}
    return {
        "search_p50_ms": times,
        "rpc_overhead_ms": round(times["rpc"] - times["in_process"], 3),
        "http_overhead_ms": round(times["http"] - times["in_process"], 3),
    }


def _load(
    connect: Callable[[], Client],
    asked: Sequence[str],
    clients: int,
    seconds: float,
    pace: float,
    tell: Progress,
    step: str,
) -> _Heard:
    heard = _Heard()
    end = time.monotonic() + seconds

    def live(who: int) -> None:
        client = connect()
        due = time.monotonic() + pace * who / clients  # not all at the same moment of each second
        number = 0
        while (now := time.monotonic()) < end:
            if now < due:
                time.sleep(min(due, end) - now)
                continue
            due += pace
            number += 1
            try:
                _talk(client, heard, f"{step} {who}", number, asked[(who * 31 + number) % len(asked)])
            except Exception as error:  # counted: one is too many
                heard.errors.append(str(error))
                client.close()
                client = connect()
        client.close()

    threads = [threading.Thread(target=live, args=(who,)) for who in range(clients)]
    for thread in threads:
        thread.start()
    for done, thread in enumerate(threads):
        tell(step, done, clients)
        thread.join()
    return heard


def _talk(client: Client, heard: _Heard, session: str, number: int, question: str) -> None:
    """One turn to keep, one question."""
    text = f"Note {number} of {session}: {question}"
    before = time.perf_counter()
    kept = client.call("ingest", {"text": text, "session": session})["turn"]
    between = time.perf_counter()
    client.call("search", {"query": question})
    after = time.perf_counter()
    assert isinstance(kept, dict)
    heard.acknowledged[kept["id"]] = text
    heard.ingest_ms.append((between - before) * 1000)
    heard.search_ms.append((after - between) * 1000)


def _kept(store: Path, *loads: _Heard) -> dict[str, str]:
    """Those of the acknowledged turns that the store holds, read by a process that had no part in it."""
    names = [turn for load in loads for turn in load.acknowledged]
    with Memory(store, _NAMESPACE, embedder="none") as memory, memory.view as view:
        return {name: turn.text for name, turn in view.turns_named(names).items()}


def _figures(heard: _Heard, seconds: float, kept: dict[str, str]) -> dict[str, object]:
    return {
        "turns": len(heard.acknowledged),
        "calls_per_s": round(2 * len(heard.acknowledged) / seconds, 1),
        "errors": len(heard.errors),
        "first_error": heard.errors[0] if heard.errors else None,
        "lost": sum(kept.get(name) != text for name, text in heard.acknowledged.items()),
        "search_ms": _spread(heard.search_ms),
        "ingest_ms": _spread(heard.ingest_ms),
    }


def _spread(taken: Sequence[float]) -> dict[str, float]:
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    return {name: round(percentile(taken, share), 2) if taken else 0.0 for name, share in shares.items()}
