"""PostgreSQL instead of files, for tests that open paths."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

import pytest

import holdfast.engine
import holdfast.memory
import holdfast.store.open
from holdfast.settings import StoreSettings
from holdfast.store.store import Store
from tests.support.postgres_server import Cluster, Databases, Throwaway, the_server
from tests.support.postgres_statements import Statements, administrator, crossing

__all__ = ["Engine"]


class Engine:
    """Opens a separate PostgreSQL database for each path that a test opens."""

    def __init__(self) -> None:
        self.server = the_server()
        self._databases = Databases(self.server, _shard_store if isinstance(self.server, Cluster) else _make_store)
        self._urls: dict[Path, str] = {}
        self._gate = threading.Lock()
        self._sent: Statements | None = None
        """What the engine sends while it is watched; not the statements of the tests themselves."""

    @contextmanager
    def in_place_of_files(self, patch: pytest.MonkeyPatch) -> Iterator[None]:
        for module in (holdfast.engine, holdfast.memory, holdfast.store.open):
            patch.setattr(module, "open_store", self.open)
        try:
            with nullcontext() if self._sent is None else self._sent.collected():
                yield
        finally:
            self._let_go(list(self._urls))

    @contextmanager
    def lent(self, path: Path) -> Iterator[str]:
        """Return the address of an empty store, for tests of PostgreSQL."""
        yield self.url_of(path)
        self._let_go([path])

    def open(self, location: str | os.PathLike[str], settings: StoreSettings) -> Store:
        name = os.fspath(location)
        return _open_store(name if "://" in name or not name else self.url_of(Path(name)), settings)

    def url_of(self, path: Path) -> str:
        """Return the address of the database for a path."""
        with self._gate:
            if path not in self._urls:
                self._let_go([one for one in self._urls if not one.parent.exists()])  # folders that hypothesis made
                self._urls[path] = self._databases.take()
            return self._urls[path]

    def _let_go(self, paths: list[Path]) -> None:
        for path in paths:
            self._databases.give_back(self._urls.pop(path))

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Check with the planner that everything that is sent in the block can be sent to one node."""
        self._sent = Statements()
        yield
        statements, self._sent = self._sent, None
        url = self._databases.take()
        with administrator(self.server, url) as admin:
            assert crossing(statements.of_tables(), admin) == []
        self._databases.give_back(url)

    def close(self) -> None:
        self._databases.close()
        if isinstance(self.server, Throwaway):
            self.server.stop()


_open_store = holdfast.store.open.open_store


def _shard_store(url: str) -> None:
    with closing(_open_store(url, StoreSettings())) as store:
        store.shard()


def _make_store(url: str) -> None:
    with closing(_open_store(url, StoreSettings())):
        pass
