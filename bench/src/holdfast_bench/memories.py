"""Shared parts of the admission benchmarks: temporary memories that make records, and alignment of facts by words."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import Stemmer

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.models.breaker import GuardedEmbedder, open_embedder
from holdfast.settings import Settings, load_settings
from holdfast.text.words import FUNCTION_WORDS, fold

Mode = Literal["rank", "filter"]
MODES: tuple[Mode, ...] = ("rank", "filter")
"""The gate's modes (GATE-14): rank is the default, filter is the seed's rule."""
Words = frozenset[str]

MIN_COVERAGE = 0.4
"""Share of a fact's content words that a text must contain to be aligned with it."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def bench_settings(mode: Mode = "rank", embedder: str | None = None) -> Settings:
    """Return the user's settings, so that HOLDFAST_ADMIT__… can be tried, with admission on."""
    own = load_settings()
    return replace(
        own,
        gate=replace(own.gate, conversation=mode),
        admit=replace(own.admit, enabled=True),
        store=replace(own.store, durable=False),  # the store is temporary
        embedder=replace(own.embedder, profile=embedder or own.embedder.profile),
    )


def bench_embedder(settings: Settings) -> GuardedEmbedder:
    """Open one embedder for all memories of a run, because loading it takes longer than opening a memory."""
    opened = open_embedder(settings.embedder.profile, settings.embedder.timeout_s)
    if opened is None:
        raise InputError("this benchmark needs an embedder, and the profile is none: use --profile static")
    return opened


@contextmanager
def temporary_memories(settings: Settings, embedder: GuardedEmbedder) -> Iterator[Callable[[str], Memory]]:
    """Yield a function that opens memories by namespace, all in one temporary store."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as home:
        store = Path(home) / "memory.db"
        yield lambda namespace: Memory(store, namespace=namespace, embedder=embedder, settings=settings)


def share(part: int, whole: int) -> float | None:
    """Return part / whole, or None if there was nothing to measure."""
    return round(part / whole, 4) if whole else None


def content_words(text: str) -> Words:
    """Return the stems of content words; not the index's terms, whose rules change with recall."""
    words = [word.removesuffix("'s") for word in _WORD.findall(fold(text))]
    return frozenset(Stemmer.Stemmer("english").stemWords([word for word in words if word not in FUNCTION_WORDS]))


def coverage(fact: Words, text: Words) -> float:
    """Return the share of the fact's words that the text contains; 0 for a fact without words."""
    return len(fact & text) / len(fact) if fact else 0.0


def best_cover(fact: Words, texts: Sequence[Words], least: float = MIN_COVERAGE) -> int | None:
    """Return the number of the text that covers most of the fact, the first of equals; None below `least`."""
    best = max(range(len(texts)), key=lambda number: (coverage(fact, texts[number]), -number), default=None)
    return best if best is not None and coverage(fact, texts[best]) >= least else None
