"""The memories that a server holds open: one for each namespace in use, on one store, with one embedder."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

from holdfast.errors import Closed, InputError, NamespaceRequired, Refused
from holdfast.memory import Memory
from holdfast.models.embedder import Embedder
from holdfast.search.search import GLOBAL
from holdfast.serve.errors import discreet, discreet_errors
from holdfast.settings import Settings, load_settings
from holdfast.store.open import default_location

_ANOTHER_WORD = "namespace"
"""What callers say who know our verbs better than the seed's."""


class Memories:
    """Lends memories by namespace. Safe to share between threads.

    `namespace` is the connection's: it answers where a call names none. With `bound` no other can be reached, but that
    `global` may be read, as every namespace may (INV-4).
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
        self._location = default_location() if location is None else os.fspath(location)
        self.places = _places(self._location, self.settings)
        """Where things lie; who reaches one memory alone is not told."""
        if bound and self.namespace is None:
            raise NamespaceRequired("a server that is bound to one memory needs its name: give --namespace NAME")
        self._embedder = embedder
        self._gate = threading.Lock()
        self._opened: Memory | None = None
        self._closed = False
        self._used: dict[str, None] = {}
        if self.namespace is not None:  # a store that cannot be opened should be heard of at the start
            self._root()
            self._used[self.namespace] = None

    @contextmanager
    def lend(self, namespace: str | None = None, *, reads: bool = False, confined: bool = False) -> Iterator[Memory]:
        """The memory of a namespace, open as long as it is used. `confined`: for a caller who reaches no other, and is
        told no more of the machine than that (serve/errors.py).
        """
        with discreet_errors(self.places) if confined or self.bound else nullcontext():
            name = self._resolved(namespace, reads)
            with self._root().of(name) as memory:
                self._used[name] = None
                yield memory

    def check_owner(self, what: str, params: Mapping[str, object], owner: str | None = None) -> None:
        """A call of the seed's says whose memory it means with `userId` or by its collection (`owner`). Fields that
        are unknown are passed over, but not one that names another memory: its wish would be dropped in silence.
        """
        named = params.get(_ANOTHER_WORD)
        meant = owner or params.get("userId") or self.namespace
        if named is None or named == meant:
            return
        message = f"{what}: {_ANOTHER_WORD} is {named!r:.80}, and this call is about the memory of {meant!r}"
        if self.bound:
            raise Refused(f"{message}, which this connection is bound to")
        raise InputError(f"{message}; userId says whose is meant")

    def told(self, text: str, further: Sequence[str] = ()) -> str:
        """A sentence as the callers of this server may read it; `further` places are known to whoever asks."""
        return discreet(text, (*self.places, *further)) if self.bound else text

    def opened(self) -> list[str]:
        """Return the namespaces that were used since the start."""
        return list(self._used)

    def close(self) -> None:
        """Close the store; what was acknowledged is on disk already."""
        with self._gate:
            self._closed = True
            if self._opened is not None:
                self._opened.close()

    def _root(self) -> Memory:
        """Return the memory that keeps the store open."""
        with self._gate:
            if self._closed:
                raise Closed("the server is stopping")
            if self._opened is None:
                name = self.namespace or GLOBAL
                self._opened = Memory(self._location, name, embedder=self._embedder, settings=self.settings)
            return self._opened

    def _resolved(self, namespace: str | None, reads: bool) -> str:
        name = self.namespace if namespace is None else namespace
        if name is None:
            raise NamespaceRequired("whose memory is it? The call names nobody, and the server has no namespace")
        if self.bound and name != self.namespace and not (name == GLOBAL and reads):
            raise Refused(f"this connection is bound to the memory of {self.namespace!r} and reaches no other")
        return name


def _places(location: str, settings: Settings) -> tuple[str, ...]:
    whole = os.path.abspath(location)
    models = settings.embedder.profile.partition(":")[2], settings.chat.model.partition("#")[0]
    known = (location, whole, os.path.dirname(whole), *models)
    return tuple(place for place in known if "/" in place or os.sep in place or place == location)
