"""The memories that a server holds open, one per namespace on one store, and the weekly janitor runs over them."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta
from typing import Self

from holdfast.errors import Closed, HoldfastError, InputError, ModelError, NamespaceRequired, Refused
from holdfast.memory import Memory, warm_up
from holdfast.model import Clock, Entry, utc_now
from holdfast.models.embedder import Embedder
from holdfast.serve.errors import redact_errors, redact_places
from holdfast.serve.process import ServeLimits
from holdfast.settings import Settings, load_settings, tuned
from holdfast.store.open import default_location
from holdfast.store.types import GLOBAL

_log = logging.getLogger("holdfast")


class Memories:
    """Lends memories by namespace. Safe to share between threads.

    `namespace` is used where a call names none. With `bound` no other can be reached, except that `global` may be read,
    as from every namespace (INV-4).
    """

    def __init__(
        self,
        location: str | os.PathLike[str] | None = None,
        namespace: str | None = None,
        *,
        embedder: Embedder | str | None = None,
        settings: Settings | None = None,
        bound: bool = False,
    ) -> None:
        self.settings = settings or load_settings()
        self.namespace = namespace or self.settings.namespace
        self.bound = bound
        self.location = default_location() if location is None else os.fspath(location)
        self.places = _places(self.location, self.settings)
        """Paths and addresses that a caller of one memory must not learn."""
        if bound and self.namespace is None:
            raise NamespaceRequired("a server that is bound to one memory needs its namespace: give --namespace NAME")
        self._embedder = embedder
        self._lock = threading.Lock()
        self._root_memory: Memory | None = None
        self._closed = False
        self._used: dict[str, None] = {}
        if self.namespace is not None:  # a store that cannot be opened should fail at the start
            self._used[self.namespace] = None
            try:
                warm_up(self._root())
            except ModelError as error:  # a model that does not answer yet
                _log.warning("warming up: %s", error)

    @contextmanager
    def lend(self, namespace: str | None = None, *, reads: bool = False, confined: bool = False) -> Iterator[Memory]:
        """Yield the memory of a namespace. With `confined` errors do not reveal paths and addresses."""
        with redact_errors(self.places) if confined or self.bound else nullcontext():
            name = self._resolve(namespace, reads)
            with self._root().of(name) as memory:
                self._used[name] = None
                yield memory

    def check_owner(self, what: str, params: Mapping[str, object], owner: str | None = None) -> None:
        """Refuse a call of the compat methods whose `namespace` contradicts its `userId` or collection (`owner`).

        Unknown fields are ignored there, but one that names another memory must not be.
        """
        named = params.get("namespace")
        meant = owner or params.get("userId") or self.namespace
        if named is None or named == meant:
            return
        message = f"{what}: namespace is {named!r:.80}, but this call is about the memory of {meant!r}"
        if self.bound:
            raise Refused(f"{message}, which this connection is bound to")
        raise InputError(f"{message}; name the memory with userId")

    def redact(self, text: str, places: Sequence[str] = ()) -> str:
        """Remove paths and addresses from a text if the callers of this server must not learn them."""
        return redact_places(text, (*self.places, *places)) if self.bound else text

    def used(self) -> list[str]:
        """Return the namespaces that were used since the start."""
        return list(self._used)

    def close(self) -> None:
        """Close the store; everything acknowledged is on disk already."""
        with self._lock:
            self._closed = True
            if self._root_memory is not None:
                self._root_memory.close()

    def _root(self) -> Memory:
        """Return the memory that keeps the store open."""
        with self._lock:
            if self._closed:
                raise Closed("the server is stopping")
            if self._root_memory is None:
                name = self.namespace or GLOBAL
                self._root_memory = Memory(self.location, name, embedder=self._embedder, settings=self.settings)
            return self._root_memory

    def _resolve(self, namespace: str | None, reads: bool) -> str:
        name = self.namespace if namespace is None else namespace
        if name is None:
            raise NamespaceRequired("the call names no namespace, and the server has none of its own")
        if self.bound and name != self.namespace and not (name == GLOBAL and reads):
            raise Refused(f"this connection is bound to namespace {self.namespace!r} and cannot use another")
        return name


def _places(location: str, settings: Settings) -> tuple[str, ...]:
    whole = os.path.abspath(location)
    models = settings.embedder.profile.partition(":")[2], settings.chat.model.partition("#")[0]
    known = (location, whole, os.path.dirname(whole), *models)
    return tuple(place for place in known if "/" in place or os.sep in place or place == location)


class JanitorSchedule:
    """Runs the janitor once a week for each memory in use (KEEP-2), in a thread, while it is entered."""

    def __init__(self, memories: Memories, clock: Clock = utc_now) -> None:
        self._memories = memories
        self._clock = clock
        self._stopping = threading.Event()
        self._last_run: dict[str, datetime] = {}
        """By namespace; a run with nothing to do leaves no line in the log."""
        self._thread = threading.Thread(target=self._run, name="holdfast-janitor", daemon=True)

    def __enter__(self) -> Self:
        settings = self._memories.settings
        if settings.serve.janitor and settings.janitor.count:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Let a run in progress finish."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def run_due(self) -> list[str]:
        """Run the janitor wherever it is due; return the namespaces where it ran."""
        ran = []
        for name in self._memories.used():
            if self._memories.bound and name != self._memories.namespace:  # it was only read
                continue
            try:
                with self._memories.lend(name) as memory:
                    if self._is_due(memory):
                        made = memory.janitor()
                        self._last_run[name] = self._clock()
                        ran.append(name)
                        _log.info("weekly janitor run for %r: %s", name, made.did)
            except HoldfastError as error:  # the next look tries again
                _log.warning("the weekly janitor run for %r failed: %s", name, error)
        return ran

    def _is_due(self, memory: Memory) -> bool:
        """Return whether the last run, or else the first line of the log, is a week old."""
        with memory.view as view:
            runs = [act.at for act in view.acts_of_kind(Entry.JANITOR)]
            first = next(view.lines(), None)
        if first is None:
            return False
        last = max([first.recorded_at, self._last_run.get(memory.namespace, first.recorded_at), *runs])
        return self._clock() - last >= timedelta(days=self._memories.settings.serve.janitor_days)

    def _run(self) -> None:
        self.run_due()
        while not self._stopping.wait(tuned(self._memories.settings, ServeLimits).janitor_look_s):
            self.run_due()
