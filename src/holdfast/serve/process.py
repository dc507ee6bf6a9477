"""A stop ends in time: a thread of Python that computes cannot be ended, but the process can."""

from __future__ import annotations

import contextlib
import hmac
import logging
import multiprocessing
import multiprocessing.connection
import os
import secrets
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Self

from holdfast.errors import HoldfastError, InputError
from holdfast.memory import Memory
from holdfast.model import Entry
from holdfast.serve.memories import Memories
from holdfast.settings import ServeSettings
from holdfast.text.time import Clock, utc_now

Stopping = Callable[[], None]
"""Told by a server, in whatever thread, when it begins to stop."""

_TOLD = "holdfast: a call did not come to its end in time and was left undone; what was acknowledged is kept\n"


def end_in_time(settings: ServeSettings, close: Callable[[], None]) -> Stopping:
    """For a process that is nothing but a server: once it stops, it has `stop_s` to come to its end by itself.

    Calls get `finish_s` of that; then `close` lets go of the stores under those that are left. Whatever was
    acknowledged is on disk, and the next process finds the store as after a crash, which is to say whole.
    """

    def end() -> None:
        time.sleep(settings.finish_s)
        closing = threading.Thread(target=close, name="holdfast-closing", daemon=True)
        closing.start()
        time.sleep(settings.stop_s - settings.finish_s)
        _tell()
        os._exit(0)  # a stop that was asked for is no failure

    # A daemon: it must not keep a process that ends by itself.
    return partial(_once, threading.Thread(target=end, name="holdfast-stopping", daemon=True))


def _once(ending: threading.Thread) -> None:
    if ending.ident is None:
        ending.start()


def _tell() -> None:
    """Past the logging module, whose locks a thread that hangs may hold."""
    try:
        os.write(2, _TOLD.encode())
        sys.stdout.flush()
    except (OSError, ValueError):  # whoever read them has left
        return


# --- Further processes of one server that answer on the same port: one interpreter runs one thread at a time,
# whatever the machine has.
#
# The kernel deals connections out among them (SO_REUSEPORT, Linux). They share nothing but the store, which any
# number of processes may use. One that dies is started again; all of them end with the first, however it ends.


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


# --- The janitor while a server runs: once a week for each memory in use, by itself (KEEP-2).


_weekly_log = logging.getLogger("holdfast")


class Weekly:
    """A thread that looks every hour whose last run is a week ago; it runs while this is entered."""

    def __init__(self, memories: Memories, clock: Clock = utc_now) -> None:
        self._memories = memories
        self._clock = clock
        self._ended = threading.Event()
        self._looked: dict[str, datetime] = {}
        """When a memory's turn was last; a run that found nothing to do leaves no line in the log."""
        self._thread = threading.Thread(target=self._run, name="holdfast-weekly", daemon=True)

    def start(self) -> None:
        settings = self._memories.settings
        if settings.serve.janitor and settings.janitor.count:
            self._thread.start()

    def stop(self) -> None:
        """A run that goes on comes to its end."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def look(self) -> list[str]:
        """Run it wherever it is due; for which memories it ran."""
        ran = []
        for name in self._memories.opened():
            if self._memories.bound and name != self._memories.namespace:  # it was only read
                continue
            try:
                with self._memories.lend(name) as memory:
                    if self._is_due(memory):
                        told = memory.janitor()
                        self._looked[name] = self._clock()
                        ran.append(name)
                        _weekly_log.info("the janitor's weekly run for %r: %s", name, told.did)
            except HoldfastError as error:  # the next look tries again
                _weekly_log.warning("the janitor's weekly run for %r failed: %s", name, error)
        return ran

    def _is_due(self, memory: Memory) -> bool:
        """A memory without a run is due a week after its first line: its owner had that long to ask for things."""
        with memory.view as view:
            runs = [act.at for act in view.acts_of_kind(Entry.JANITOR)]
            first = next(view.lines(), None)
        if first is None:
            return False
        last = max([first.recorded_at, self._looked.get(memory.namespace, first.recorded_at), *runs])
        return self._clock() - last >= timedelta(days=self._memories.settings.serve.janitor_days)

    def _run(self) -> None:
        self.look()
        while not self._ended.wait(self._memories.settings.serve.janitor_look_s):
            self.look()


# --- Where a server tells of what goes wrong.


def log_to_stderr() -> None:
    """With tracebacks, unlike other verbs: whoever looks after a server needs them, and no peer sees them."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("holdfast: %(message)s"))
    for name in ("holdfast", "uvicorn.error"):
        log = logging.getLogger(name)
        if not log.handlers:
            log.addHandler(handler)
            log.propagate = False


# --- The token of this user's servers: made once, kept in a file that only they can read, compared in constant
# time.


_BYTES = 32
_OTHERS = 0o077


def token_path() -> Path:
    """HOLDFAST_TOKEN_FILE, or `token` in the user's data folder."""
    from platformdirs import user_data_path

    named = os.environ.get("HOLDFAST_TOKEN_FILE")
    return Path(named) if named else user_data_path("holdfast", appauthor=False) / "token"


def read_token(path: Path) -> str:
    """The token in a file, made at the first start (0600, in a folder of 0700)."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return _known(path)
        token = secrets.token_urlsafe(_BYTES)
        with open(handle, "w", encoding="ascii") as file:
            file.write(token + "\n")
    except OSError as error:
        raise InputError(f"cannot read the token in {path}, nor make it: {error}; name another file") from error
    return token


def _known(path: Path) -> str:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe must not make it wait
    try:
        _check(path, os.fstat(handle))
    except InputError:
        os.close(handle)
        raise
    with open(handle, encoding="utf-8", errors="replace") as file:
        token = file.read().strip()
    if len(token) < _BYTES:
        raise InputError(
            f"the token in {path} is too short: it takes {_BYTES} characters or more. Without the file one is made, on "
            "loopback"
        )
    return token


def _check(path: Path, found: os.stat_result) -> None:
    """Of the file that was opened, wherever a link led: who made it, or may read it, knows the token."""
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is no plain file; name another one for the token")
    if os.name != "posix":
        return
    if found.st_uid != os.geteuid():
        raise InputError(f"the token in {path} belongs to another user, who would be let in; name a file of your own")
    if stat.S_IMODE(found.st_mode) & _OTHERS:
        raise InputError(f"others may read the token in {path}: run `chmod 600 {path}`, or delete it to make a new one")


def matches(token: str, given: object) -> bool:
    """Whether this is the token; how long it takes says nothing about how much of it was right."""
    return isinstance(given, str) and hmac.compare_digest(token.encode(), given.encode("utf-8", "surrogatepass"))
