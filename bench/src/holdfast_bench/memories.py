"""Shared parts of the benchmarks of memory: temporary memories, alignment by words, and what a reader is shown."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

import Stemmer

from holdfast.admit.extract import AdmitWeights
from holdfast.compact.prepare import CompactSizes
from holdfast.context.tiers import ContextSizes
from holdfast.errors import InputError
from holdfast.index.blocks import IndexSizes
from holdfast.memory import Memory
from holdfast.model import Clock, Record, utc_now
from holdfast.models.embedder import GuardedEmbedder, open_embedder
from holdfast.results import Context, StandingSection
from holdfast.search.question import Ranking
from holdfast.settings import Settings, load_settings
from holdfast.text.words import FUNCTION_WORDS, fold
from holdfast_bench.data import read_shape, read_text

Mode = Literal["rank", "filter"]
MODES: tuple[Mode, ...] = ("rank", "filter")
"""The gate's modes (GATE-14): rank is the default, filter is the seed's rule."""
Words = frozenset[str]
Line = TypeVar("Line")

MIN_COVERAGE = 0.4
"""Share of a fact's content words that a text must contain to be aligned with it."""
HELD = 0.8
"""Share of a sentence's words that a record of its turn must hold to have kept it."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_DEADLINE_S = 20.0
"""Deadline of contexts: a busy machine must not turn a figure of quality into one of speed."""
_Z = 1.959964


_KINDS = {
    "admit": AdmitWeights,
    "compact": CompactSizes,
    "context": ContextSizes,
    "index": IndexSizes,
    "recall": Ranking,
}


def swept_settings() -> Settings:
    """Return the user's settings with the fixed weights that HOLDFAST_TUNING changes: "admit.worth=.6 index.tail=1"."""
    given: dict[str, dict[str, float]] = {}
    for one in os.environ.get("HOLDFAST_TUNING", "").split():
        name, _, value = one.partition("=")
        kind, _, weight = name.partition(".")
        try:
            whole = isinstance(getattr(_KINDS[kind], weight), int)
            given.setdefault(kind, {})[weight] = int(value) if whole else float(value)
        except (KeyError, AttributeError, ValueError) as error:
            raise InputError(f"HOLDFAST_TUNING: {one!r} is not SECTION.NAME=NUMBER of a weight") from error
    weights = tuple(_KINDS[kind](**changes) for kind, changes in given.items())
    return replace(load_settings(), _tuning=weights)


def bench_settings(mode: Mode = "rank", embedder: str | None = None) -> Settings:
    """Return the user's settings with admission on."""
    own = swept_settings()
    return replace(
        own,
        gate=replace(own.gate, conversation=mode),
        admit=replace(own.admit, enabled=True),
        store=replace(own.store, durable=False),  # the store is temporary
        context=replace(own.context, deadline_s=_DEADLINE_S, embedder_s=_DEADLINE_S),
        embedder=replace(own.embedder, profile=embedder or own.embedder.profile),
    )


def bench_embedder(settings: Settings) -> GuardedEmbedder:
    """Open one embedder for all memories of a run, because loading it takes longer than opening a memory."""
    opened = open_embedder(settings.embedder.profile, settings.embedder.timeout_s)
    if opened is None:
        raise InputError("this benchmark needs an embedder, and the profile is none: use --profile static")
    return opened


@contextmanager
def temporary_memories(
    settings: Settings, embedder: GuardedEmbedder, clock: Clock = utc_now
) -> Iterator[Callable[[str], Memory]]:
    """Yield a function that opens memories by namespace, all in one temporary store."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as home:
        store = Path(home) / "memory.db"
        yield lambda namespace: Memory(store, namespace=namespace, embedder=embedder, settings=settings, clock=clock)


def read_lines(shape: type[Line], path: Path, what: str) -> list[Line]:
    """Read a file of JSON lines, each of the given shape."""
    lines = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            try:
                lines.append(read_shape(shape, json.loads(line), path, what))
            except json.JSONDecodeError as error:
                raise InputError(f"{path}:{number}: not JSON: {error}") from error
    return lines


def share(part: float, whole: int) -> float | None:
    """Return part / whole, or None if there was nothing to measure."""
    return round(part / whole, 4) if whole else None


def wilson(part: int, whole: int) -> tuple[float, float] | None:
    """Return the 95 % bounds of a share (Wilson's score interval), or None if there was nothing to measure."""
    if not whole:
        return None
    rate, spread = part / whole, _Z**2 / whole
    middle = (rate + spread / 2) / (1 + spread)
    half = _Z * (rate * (1 - rate) / whole + spread / (4 * whole)) ** 0.5 / (1 + spread)
    return round(max(0.0, middle - half), 4), round(min(1.0, middle + half), 4)


def all_words(text: str) -> Words:
    """Return every word of a text, without regard to case."""
    return frozenset(_WORD.findall(fold(text)))


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


def display(record: Record) -> str:
    """Return a record as it is shown by itself: with its subject, speaker or lead where it has them."""
    shown = getattr(record, "display", None)
    return shown if isinstance(shown, str) and shown else record.text


@dataclass(frozen=True, slots=True)
class ShownItem:
    """One item of a context as a model reads it."""

    id: str
    text: str
    follow: bool
    """True if it stands in a part that the model is told to follow."""


def shown_items(made: Context | StandingSection) -> list[ShownItem]:
    """Return the items of a context from its receipt, as far as they are in the text that a model is given."""
    there = _unquoted(made.text)
    return [ShownItem(one.id, one.text, one.follow) for one in made.receipt.items if _unquoted(one.text)[:60] in there]


def _decoded(text: str) -> str:
    text = re.sub(r"&#x([0-9A-Fa-f]+);", lambda found: chr(int(found[1], 16)), text)
    return text.replace("&lt;", "<").replace("&amp;", "&")


def _unquoted(text: str) -> str:
    return " ".join(re.sub(r"^\| ?", "", _decoded(text), flags=re.MULTILINE).split())
