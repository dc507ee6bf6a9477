"""What every test may use: a memory on a throw-away file, closed when the test ends."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as laws

from holdfast.memory import Memory
from holdfast.model import Clock, utc_now
from holdfast.models.embedder import Embedder, StaticEmbedder
from holdfast.settings import Settings
from holdfast.testing import HashEmbedder
from tests.support.engines import chosen, default_engine, engines_of
from tests.support.memories import QUICK, OpenMemory

if TYPE_CHECKING:
    from tests.support.postgres_engine import Engine

os.environ["HOLDFAST_MODELS"] = "none"  # tests of the ask models say so themselves

# Others use the machine too: a law is not broken because its examples took long to make or to try.
laws.register_profile("at any pace", deadline=None, suppress_health_check=[HealthCheck.too_slow])
laws.register_profile("quick", parent=laws.get_profile("at any pace"), max_examples=10)  # make quick
laws.load_profile("at any pace")

os.environ["TZ"] = "UTC"  # people read local times
time.tzset()
os.environ.pop("XDG_CONFIG_HOME", None)
os.environ["HOME"] = tempfile.mkdtemp(prefix="holdfast-home-")  # no test reads the settings of whoever runs it


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if engines := engines_of(Path(metafunc.module.__file__ or ""), metafunc.function.__name__):
        metafunc.parametrize("_engine", engines, indirect=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Engine]:
    """A real server, started when the first test needs it."""
    from tests.support.postgres_engine import Engine

    with closing(Engine()) as engine, engine.watched() if chosen() == "postgres" else nullcontext():
        yield engine


@pytest.fixture
def url(postgres: Engine, tmp_path: Path) -> Iterator[str]:
    """The address of an empty store on it, for a plain role."""
    with postgres.lent(tmp_path / "memory.db") as address:
        yield address


@pytest.fixture(autouse=True)
def _engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The engine that a test's paths are opened with (engines.py)."""
    engine = getattr(request, "param", None) or default_engine(request.path, request.node.originalname or "")
    if engine == "sqlite":
        yield
        return
    with request.getfixturevalue("postgres").in_place_of_files(monkeypatch):
        yield


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test must not depend on the variables of whoever runs it."""
    for name in ("HOLDFAST_NAMESPACE", "HOLDFAST_STORE", "HOLDFAST_CONFIG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def open_memory(tmp_path: Path) -> Iterator[OpenMemory]:
    """Opens memories on one file (or more); the same call again opens the same file again."""
    opened: list[Memory] = []

    def open_one(
        namespace: str = "ana",
        *,
        file: str = "memory.db",
        embedder: Embedder | str | None = None,
        settings: Settings = QUICK,
        clock: Clock = utc_now,
    ) -> Memory:
        memory = Memory(
            tmp_path / file,
            namespace,
            embedder=HashEmbedder() if embedder is None else embedder,
            settings=settings,
            clock=clock,
        )
        opened.append(memory)
        return memory

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: OpenMemory) -> Memory:
    """An empty memory of the namespace `ana`, with the embedder of the tests."""
    return open_memory()


@pytest.fixture(scope="session")
def static_embedder() -> StaticEmbedder:
    """The real default model; loading it costs more than using it."""
    return StaticEmbedder()
