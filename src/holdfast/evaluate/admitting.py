"""A throw-away memory that makes records, and what became of each turn in it: what the benches of admission share."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.model import Record
from holdfast.models.breaker import GuardedEmbedder
from holdfast.models.open import open_embedder
from holdfast.settings import Settings, load_settings

__all__ = ["MODES", "Became", "Mode", "Progress", "admitting", "became", "bench_embedder", "bench_settings", "share"]

Mode = Literal["rank", "filter"]
MODES: tuple[Mode, ...] = ("rank", "filter")
"""The gate's two modes (GATE-14): rank is what ships, filter is the seed's rule."""

Progress = Callable[[str, int, int], None]
"""Called with (step, done, total)."""


def bench_settings(mode: Mode = "rank", embedder: str | None = None) -> Settings:
    """The user's own settings (so that a threshold can be tried by HOLDFAST_ADMIT__…), with admission on."""
    own = load_settings()
    return replace(
        own,
        gate=replace(own.gate, conversation=mode),
        admit=replace(own.admit, enabled=True),
        store=replace(own.store, durable=False),  # thrown away afterwards: no power cut matters
        embedder=replace(own.embedder, profile=embedder or own.embedder.profile),
    )


def bench_embedder(settings: Settings) -> GuardedEmbedder:
    """One embedder for all memories of a run: loading it costs more than opening a memory."""
    opened = open_embedder(settings.embedder.profile, settings.embedder.timeout_s)
    if opened is None:
        raise InputError("records are made of embedded turns: this bench needs an embedder profile other than none")
    return opened


@contextmanager
def admitting(settings: Settings, embedder: GuardedEmbedder) -> Iterator[Callable[[str], Memory]]:
    """Opens memories by namespace, all in one throw-away store."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as home:
        yield lambda namespace: Memory(
            Path(home) / "memory.db", namespace=namespace, embedder=embedder, settings=settings
        )


@dataclass(frozen=True, slots=True)
class Became:
    """What a turn became: the records that come from it, live or not, its own or one that it was merged with."""

    records: tuple[Record, ...]

    @property
    def yielded(self) -> bool:
        return bool(self.records)


def became(memory: Memory, turn_id: str) -> Became:
    return Became(memory.why(turn_id).records)


def share(part: int, whole: int) -> float | None:
    """None, not 0, where there was nothing to measure."""
    return round(part / whole, 4) if whole else None
