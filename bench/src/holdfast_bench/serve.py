"""Server benchmark: many concurrent clients that ingest and search, and the cost of each surface over a plain call.

The servers are separate processes on a real store with durable commits; the clients are threads with one connection
each. There are two loads: paced (each client ingests and searches once in `pace` seconds, as agents do), and flat out
(each sends its next call when it has the answer; latency is then the number of clients divided by the throughput).
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
from holdfast_bench.machine import Progress, machine

_TIMEOUT_S = 120.0
Payload = Mapping[str, object]
Answer = dict[str, object]
_NAMESPACE = "ana"
_WARM_UP = 20
_OVERHEAD_CALLS = 300
_QUESTIONS = 400


@dataclass
class _LoadResult:
    """Answers to the clients of one load; appending to lists is thread-safe."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    """Texts by turn id."""
    ingest_ms: list[float] = field(default_factory=list)
    search_ms: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Client(Protocol):
    def call(self, verb: str, payload: Payload) -> Answer:
        """Return the answer of a verb; raises on any error."""
        ...

    def close(self) -> None: ...


@contextmanager
def server(verb: str, store: Path, namespace: str, *options: str) -> Iterator[Mapping[str, str]]:
    """Run `holdfast rpc` or `holdfast serve` and yield the endpoint that it prints; stop it at the end."""
    command = [sys.executable, "-m", "holdfast.cli", verb, "--store", str(store), "-n", namespace, "--json", *options]
    environ = os.environ | {"HOLDFAST_TOKEN_FILE": str(store.parent / "secret" / "token")}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environ)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"holdfast {verb} did not start; see its stderr")
        yield json.loads(line)
        process.send_signal(signal.SIGTERM)
        if code := process.wait(_TIMEOUT_S):
            raise RuntimeError(f"holdfast {verb} ended with {code}")
    finally:
        process.kill()
        process.communicate()


class HttpClient:
    def __init__(self, endpoint: Mapping[str, str]) -> None:
        token = Path(endpoint["token_file"]).read_text(encoding="ascii").strip()
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        self._link = http.client.HTTPConnection(endpoint["url"].removeprefix("http://"), timeout=_TIMEOUT_S)
        self._link.connect()
        assert self._link.sock is not None
        # The body is a separate packet, which must not wait for the acknowledgement of the head.
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
    def __init__(self, endpoint: Mapping[str, str]) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_TIMEOUT_S)
        self._socket.connect(endpoint["endpoint"].removeprefix("unix:"))
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


def run(
    seconds: float = 60.0,
    clients: int = 50,
    records: int = 10_000,
    pace: float = 1.0,
    processes: int = 1,
    progress: Progress | None = None,
    folder: Path | None = None,
) -> dict[str, object]:
    """Measure each load for `seconds`, on a store with `records` turns."""
    start = time.perf_counter()
    report = progress or (lambda step, done, total: None)
    sessions = list(chatter(records, 0))
    asked = questions(sessions, _QUESTIONS, 0)
    with tempfile.TemporaryDirectory(prefix="holdfast-serve-", dir=folder) as home:
        store = Path(home) / "memory.db"
        _fill(store, sessions, report)
        overhead = _overhead(store, asked, report)
        with server("serve", store, _NAMESPACE, "--port", "0", "--processes", str(processes)) as endpoint:

            def connect() -> Client:
                return HttpClient(endpoint)

            paced = _load(connect, asked, clients, seconds, pace, report, "at a pace")
            flat = _load(connect, asked, clients, seconds, 0.0, report, "flat out")
        stored = _stored(store, paced, flat)
        return {
            "set": "serve",
            "n": records,
            "clients": clients,
            "pace_s": pace,
            "processes": processes,
            "paced": _figures(paced, seconds, stored),
            "flat_out": _figures(flat, seconds, stored),
            **overhead,
            "version": __version__,
            "machine": machine(),
            "seconds": round(time.perf_counter() - start, 1),
        }


def _fill(store: Path, sessions: Sequence[Session], report: Progress) -> None:
    with Memory(store, _NAMESPACE) as memory:
        for number, (name, messages) in enumerate(sessions):
            report("filling the store", number, len(sessions))
            memory.ingest_many(messages, session=name)
        memory.flush(progress=lambda done, total: report("deriving", done, total))


def _overhead(store: Path, asked: Sequence[str], report: Progress) -> dict[str, object]:
    """Time the same searches in process, over RPC and over HTTP, in turn, so that a busy moment affects all."""
    ways = ("in_process", "rpc", "http")
    taken: dict[str, list[float]] = {way: [] for way in ways}
    with ExitStack() as stack:
        memory = stack.enter_context(Memory(store, _NAMESPACE))
        listening = stack.enter_context(server("rpc", store, _NAMESPACE, "--listen", "unix"))
        serving = stack.enter_context(server("serve", store, _NAMESPACE, "--port", "0"))
        rpc = stack.enter_context(closing(RpcClient(listening)))
        http = stack.enter_context(closing(HttpClient(serving)))
        calls: dict[str, Callable[[str], object]] = {
            "in_process": memory.search,
            "rpc": lambda question: rpc.call("search", {"query": question}),
            "http": lambda question: http.call("search", {"query": question}),
        }
        for number in range(_WARM_UP + _OVERHEAD_CALLS):
            report("asking each surface", number, _WARM_UP + _OVERHEAD_CALLS)
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
    report: Progress,
    step: str,
) -> _LoadResult:
    result = _LoadResult()
    end = time.monotonic() + seconds

    def run_client(who: int) -> None:
        client = connect()
        due = time.monotonic() + pace * who / clients  # spread over the interval
        number = 0
        while (now := time.monotonic()) < end:
            if now < due:
                time.sleep(min(due, end) - now)
                continue
            due += pace
            number += 1
            try:
                _ingest_and_search(client, result, f"{step} {who}", number, asked[(who * 31 + number) % len(asked)])
            except Exception as error:  # counted
                result.errors.append(str(error))
                client.close()
                client = connect()
        client.close()

    threads = [threading.Thread(target=run_client, args=(who,)) for who in range(clients)]
    for thread in threads:
        thread.start()
    for done, thread in enumerate(threads):
        report(step, done, clients)
        thread.join()
    return result


def _ingest_and_search(client: Client, result: _LoadResult, session: str, number: int, question: str) -> None:
    text = f"Note {number} of {session}: {question}"
    before = time.perf_counter()
    kept = client.call("ingest", {"text": text, "session": session})["turn"]
    between = time.perf_counter()
    client.call("search", {"query": question})
    after = time.perf_counter()
    assert isinstance(kept, dict)
    result.acknowledged[kept["id"]] = text
    result.ingest_ms.append((between - before) * 1000)
    result.search_ms.append((after - between) * 1000)


def _stored(store: Path, *loads: _LoadResult) -> dict[str, str]:
    """Return the acknowledged turns that are in the store, read by this process."""
    names = [turn for load in loads for turn in load.acknowledged]
    with Memory(store, _NAMESPACE, embedder="none") as memory, memory.view as view:
        return {name: turn.text for name, turn in view.turns_by_id(names).items()}


def _figures(result: _LoadResult, seconds: float, stored: dict[str, str]) -> dict[str, object]:
    return {
        "turns": len(result.acknowledged),
        "calls_per_s": round(2 * len(result.acknowledged) / seconds, 1),
        "errors": len(result.errors),
        "first_error": result.errors[0] if result.errors else None,
        "lost": sum(stored.get(name) != text for name, text in result.acknowledged.items()),
        "search_ms": _percentiles(result.search_ms),
        "ingest_ms": _percentiles(result.ingest_ms),
    }


def _percentiles(taken: Sequence[float]) -> dict[str, float]:
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    return {name: round(percentile(taken, share), 2) if taken else 0.0 for name, share in shares.items()}
