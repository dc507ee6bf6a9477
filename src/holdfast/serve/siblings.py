"""Further processes of one server that answer on the same port: one interpreter runs one thread at a time, whatever the
machine has.

The kernel deals connections out among them (SO_REUSEPORT, Linux). They share nothing but the store, which any number of
processes may use. One that dies is started again; all of them end with the first, however it ends.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

from holdfast.errors import HoldfastError

__all__ = ["Answer", "siblings"]

Answer = Callable[[socket.socket, Callable[[], None]], None]
"""Answers on a bound socket until the process is told to stop; it calls back once it listens. It must be picklable."""

_log = logging.getLogger("holdfast.serve")
_AGAIN_S = 1.0  # before one that died is started again: it may die of something that lasts
_START_S = 60.0


class _Sibling:
    def __init__(self, answer: Answer, bind: Callable[[], socket.socket], stopping: threading.Event) -> None:
        self._answer = answer
        self._bind = bind
        self._stopping = stopping
        self._process: SpawnProcess | None = None
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._keep, name="holdfast-sibling", daemon=True)

    def start(self) -> Connection:
        """Start it; the connection ends once it listens, or when it dies before."""
        listens = self._start()
        self._thread.start()
        return listens

    def stop(self) -> None:
        with self._gate:
            if self._process is not None:
                self._process.terminate()

    def join(self, most_s: float) -> None:
        """Wait for it to end by itself; then end it."""
        self._thread.join(most_s)
        if self._thread.is_alive():
            with self._gate:
                if self._process is not None:
                    self._process.kill()
            self._thread.join()

    def _start(self) -> Connection:
        spawning = multiprocessing.get_context("spawn")  # a fork would take over locks that threads hold
        listens, telling = spawning.Pipe(duplex=False)
        # Ours are closed: nobody here would ever accept from the one, and the other must end with the process.
        with contextlib.closing(self._bind()) as listening, contextlib.closing(telling):
            process = spawning.Process(
                target=_live, args=(self._answer, listening, telling), name="holdfast-sibling", daemon=True
            )
            process.start()
        with self._gate:
            self._process = process
        if self._stopping.is_set():
            process.terminate()
        return listens

    def _keep(self) -> None:
        while True:
            assert self._process is not None
            self._process.join()
            if self._stopping.is_set():
                return
            _log.error("a process of the server ended with %s; it is started again", self._process.exitcode)
            while not self._stopping.wait(_AGAIN_S):
                try:
                    self._start()
                    break
                except (OSError, HoldfastError) as error:
                    _log.error("a process of the server cannot be started: %s", error)
            else:
                return


@contextlib.contextmanager
def siblings(
    count: int, answer: Answer, bind: Callable[[], socket.socket], stop_s: float
) -> Iterator[Callable[[], None]]:
    """So many further processes, listening when the block begins and gone at its end; the call tells them to stop."""
    stopping = threading.Event()
    kept = [_Sibling(answer, bind, stopping) for _ in range(count)]

    def stop() -> None:
        stopping.set()
        for one in kept:
            one.stop()

    try:
        for listens in [one.start() for one in kept]:
            multiprocessing.connection.wait([listens], _START_S)
        yield stop
    finally:
        stop()
        for one in kept:
            one.join(stop_s)


def _live(answer: Answer, listening: socket.socket, telling: Connection) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, name="holdfast-following", daemon=True).start()
    answer(listening, telling.close)
