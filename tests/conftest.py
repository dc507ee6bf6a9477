"""What every test may use: a memory on a throw-away file, closed when the test ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Memory, Settings
from holdfast.models.embedder import Embedder
from holdfast.models.static import StaticEmbedder
from holdfast.moments import Clock, utc_now
from holdfast.testing import HashEmbedder

sys.path.insert(0, str(Path(__file__).parent / "data"))  # hostile_texts, scripts: the project's own sample data

from memories import QUICK, OpenMemory


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
