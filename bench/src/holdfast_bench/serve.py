"""What a server stands: many clients that ingest and search at once, and what each surface costs beside a plain call.

The servers are processes of their own, on a real store with durable commits; the clients are threads here, each with
one connection. Twice: at a pace (each client ingests and searches once in `pace` seconds, as agents do), and flat out
(each sends its next call as soon as it has the answer): then latency is the clients divided by what the machine does.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from holdfast.memory import Memory
from holdfast.probe.metrics import median, percentile
from holdfast.version import __version__
from holdfast_bench.chatter import Session, chatter, questions
from holdfast_bench.machine import machine

# --- Servers as processes of their own, and clients that speak with them over one kept connection each.


_TIMEOUT_S = 120.0
Payload = Mapping[str, object]
Answer = dict[str, object]


class Client(Protocol):
    def call(self, verb: str, payload: Payload) -> Answer:
        """A verb's answer; whatever goes wrong is raised."""
        ...

    def close(self) -> None: ...


@contextmanager
def server(verb: str, store: Path, namespace: str, *options: str) -> Iterator[Mapping[str, str]]:
    """`holdfast rpc` or `holdfast serve` on a store: what it told at its start. At the end it is asked to stop."""
    command = [sys.executable, "-m", "holdfast.cli", verb, "--store", str(store), "-n", namespace, "--json", *options]
    around = os.environ | {"HOLDFAST_TOKEN_FILE": str(store.parent / "secret" / "token")}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=around)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"holdfast {verb} did not start; it said why on stderr")
        yield json.loads(line)
        process.send_signal(signal.SIGTERM)
        if code := process.wait(_TIMEOUT_S):
            raise RuntimeError(f"holdfast {verb} ended with {code}")
    finally:
        process.kill()
        process.communicate()


class HttpClient:
    def __init__(self, told: Mapping[str, str]) -> None:
        token = Path(told["token_file"]).read_text(encoding="ascii").strip()
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        self._link = http.client.HTTPConnection(told["url"].removeprefix("http://"), timeout=_TIMEOUT_S)
        self._link.connect()
        assert self._link.sock is not None
        # The body follows its head in a packet of its own, which must not wait for the head's receipt.
        self._link.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, verb: str, payload: Payload) -> Answer:
        self._link.request("POST", f"/v1/{verb}", json.dumps(payload), self._headers)
        answer = self._link.getresponse()
        said = json.loads(answer.read())
        if answer.status != 200:
            raise RuntimeError(f"{verb}: {answer.status} {said.get('detail')}")
        return cast("Answer", said)

    def close(self) -> None:
        self._link.close()


class RpcClient:
    def __init__(self, told: Mapping[str, str]) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_TIMEOUT_S)
        self._socket.connect(told["endpoint"].removeprefix("unix:"))
        self._lines = self._socket.makefile("rb")

    def call(self, verb: str, payload: Payload) -> Answer:
        asked = {"jsonrpc": "2.0", "method": f"memory.{verb}", "params": payload, "id": 1}
        self._socket.sendall(json.dumps(asked).encode() + b"\n")
        said = json.loads(self._lines.readline())
        if "result" not in said:
            raise RuntimeError(f"{verb}: {said.get('error')}")
        return cast("Answer", said["result"])

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


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
