"""The server process: it ends in time, logs to stderr, and starts worker processes that answer on the same port.

One interpreter runs one thread at a time, so more cores need more processes. The kernel distributes connections among
them (SO_REUSEPORT, Linux). They share only the store. A worker that dies is restarted; all end with the first process.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

from holdfast.errors import HoldfastError
from holdfast.settings import ServeSettings


@dataclass(frozen=True)
class ServeLimits(ServeSettings):
    """The settings of the servers and their fixed limits (docs/evidence/performance.md)."""

    max_batch: int = 1000  # calls in one batch, as many as a search may have results
    slow_calls: int = 8  # slow calls of one connection at the same time; the next one waits
    lifecycle_s: float = 2.0  # wait of a host for bootstrap, ingest and compact, which then continue (SAFE-1)
    catch_up_s: float = 2.0  # wait of gating_scalar for the embeddings of the turns before it
    flush_s: float = 60.0  # longest wait of `flush`
    reads_at_once: int = 4  # reading calls over HTTP and MCP: 4 to 16 gave the same figures on two cores
    writes_at_once: int = 2
    """Writing calls: SQLite takes one after the other (during 8 searches an ingest took 6 ms with 1 thread, 18 with 2,
    59 with 8, p50), but a long history must not keep every other turn waiting."""
    switch_s: float = 0.0005  # interpreter switch interval (Python: .005): a search returns from the disk 40 times
    header_s: float = 30.0  # a connection that sends no request in this time is closed
    body_s: float = 30.0  # time for the body of a request: the largest (80 MB) needs 21 Mbit/s
    held_mb: int = 256  # bodies held in memory, all requests together: three of the largest
    stall_s: float = 30.0  # a client that reads nothing for so long is disconnected: an export holds a snapshot open
    calls_at_once: int = 2000  # burst of one credential's rate limit
    strangers_per_s: float = 20.0  # rate limit of all requests without a valid credential: a login page takes five
    strangers_at_once: int = 100  # burst of that limit
    stranger_kb: int = 64  # body of such a request: a token and its envelope
    janitor_look_s: float = 3600.0  # between two checks of whether the janitor is due


Stopping = Callable[[], None]
"""Called by a server, in any thread, when it begins to stop."""
Answer = Callable[[socket.socket, Callable[[], None]], None]
"""Serves on a bound socket until the process is stopped, and calls back once it listens. It must be picklable."""

_log = logging.getLogger("holdfast.serve")
_UNFINISHED = "holdfast: a call did not finish in time and was abandoned; everything acknowledged is stored\n"
_RESTART_S = 1.0  # before a worker is restarted: what killed it may last
_START_S = 60.0


def log_to_stderr() -> None:
    """Log with tracebacks, unlike other commands: the operator needs them, and no client sees them."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("holdfast: %(message)s"))
    for name in ("holdfast", "uvicorn.error"):
        log = logging.getLogger(name)
        if not log.handlers:
            log.addHandler(handler)
            log.propagate = False


def end_in_time(settings: ServeSettings, close: Callable[[], None]) -> Stopping:
    """Return a function after whose call the process ends within `stop_s`, because a busy thread cannot be stopped.

    Calls get `finish_s` of that; then `close` closes the stores under the remaining ones. Everything acknowledged is on
    disk, and the next process finds the store as after a crash, which is to say intact.
    """

    def end() -> None:
        time.sleep(settings.finish_s)
        threading.Thread(target=close, name="holdfast-closing", daemon=True).start()
        time.sleep(settings.stop_s - settings.finish_s)
        with contextlib.suppress(OSError, ValueError):  # past the logging module, whose locks a stuck thread may hold
            os.write(2, _UNFINISHED.encode())
            sys.stdout.flush()
        os._exit(0)  # a requested stop is no failure

    # A daemon: it must not keep alive a process that ends by itself.
    ending = threading.Thread(target=end, name="holdfast-stopping", daemon=True)

    def stopping() -> None:
        if ending.ident is None:
            ending.start()

    return stopping


class WorkerProcess:
    """A process that serves on the same port, restarted when it dies."""

    def __init__(
        self, answer: Answer, bind: Callable[[], socket.socket], ended: Callable[[int], None], stopping: threading.Event
    ) -> None:
        self._answer = answer
        self._bind = bind
        self._ended = ended
        self._stopping = stopping
        self._process: SpawnProcess | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._supervise, name="holdfast-worker", daemon=True)

    def start(self) -> Connection:
        """Start it; the connection closes once it listens, or when it dies before."""
        listens = self._start()
        self._thread.start()
        return listens

    def stop(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.terminate()

    def join(self, timeout: float) -> None:
        """Wait for it to end, then kill it."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            with self._lock:
                if self._process is not None:
                    self._process.kill()
            self._thread.join()

    def _start(self) -> Connection:
        spawn = multiprocessing.get_context("spawn")  # a fork would inherit locks that threads hold
        listens, ready = spawn.Pipe(duplex=False)
        # Our copies are closed: nobody here accepts from the socket, and the pipe must close with the worker.
        with contextlib.closing(self._bind()) as listening, contextlib.closing(ready):
            process = spawn.Process(
                target=_run_worker, args=(self._answer, listening, ready), name="holdfast-worker", daemon=True
            )
            process.start()
        with self._lock:
            self._process = process
        if self._stopping.is_set():
            process.terminate()
        return listens

    def _supervise(self) -> None:
        while True:
            assert self._process is not None and self._process.pid is not None
            self._process.join()
            self._ended(self._process.pid)
            if self._stopping.is_set():
                return
            _log.error("a worker process exited with %s and is restarted", self._process.exitcode)
            while not self._stopping.wait(_RESTART_S):
                try:
                    self._start()
                    break
                except (OSError, HoldfastError) as error:
                    _log.error("cannot start a worker process: %s", error)
            else:
                return


@contextlib.contextmanager
def worker_processes(
    count: int,
    answer: Answer,
    bind: Callable[[], socket.socket],
    stop_s: float,
    ended: Callable[[int], None] = lambda pid: None,
) -> Iterator[Stopping]:
    """Run worker processes during the block, listening from its beginning; yields a function that stops them.

    `ended` is called with the id of each process that has ended.
    """
    stopping = threading.Event()
    workers = [WorkerProcess(answer, bind, ended, stopping) for _ in range(count)]

    def stop() -> None:
        stopping.set()
        for worker in workers:
            worker.stop()

    try:
        for listens in [worker.start() for worker in workers]:
            multiprocessing.connection.wait([listens], _START_S)
        yield stop
    finally:
        stop()
        for worker in workers:
            worker.join(stop_s)


def _run_worker(answer: Answer, listening: socket.socket, ready: Connection) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, name="holdfast-following", daemon=True).start()
    answer(listening, ready.close)
