"""A throw-away memory that makes records, and what became of each turn in it: what the benches of admission share."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import Stemmer

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.model import Record
from holdfast.models.breaker import GuardedEmbedder, open_embedder
from holdfast.settings import Settings, load_settings
from holdfast.text.words import FUNCTION_WORDS, fold

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


# --- Which text tells of a gold point: the share of the point's content words that it covers.


Words = frozenset[str]

ALIGNED = 0.4
"""A point aligns with the turn that covers this share of its content words (DESIGN, "What the benches mean")."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def content_words(text: str) -> Words:
    """The stems of the words that say what a text is about; not the index's terms, whose rules change with recall."""
    words = [word.removesuffix("'s") for word in _WORD.findall(fold(text))]
    return frozenset(Stemmer.Stemmer("english").stemWords([word for word in words if word not in FUNCTION_WORDS]))


def coverage(point: Words, text: Words) -> float:
    """The share of the point's words that the text has too; a point without words is covered by nothing."""
    return len(point & text) / len(point) if point else 0.0


def best_cover(point: Words, texts: Sequence[Words], least: float = ALIGNED) -> int | None:
    """The number of the text that covers most of the point, the first of equals; None if none covers enough."""
    best = max(range(len(texts)), key=lambda number: (coverage(point, texts[number]), -number), default=None)
    return best if best is not None and coverage(point, texts[best]) >= least else None
