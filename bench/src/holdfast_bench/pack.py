"""How much of the evidence survives packing: contexts of 1,000, 2,000 and 4,000 tokens, beside the first hits.

A question counts where every evidence turn is inside, whole (or the record that was made of it); an excerpt does not
count. `top_k` takes the hits of the same search in their order, as the same items in the same frame and by the same
counter, until the next one does not fit.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.context.budget import Pieces
from holdfast.context.conversation import Conversation
from holdfast.context.render import Frame
from holdfast.context.tiers import Candidate, recalled
from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.model import Turn
from holdfast.models.breaker import open_embedder
from holdfast.models.embedder import Embedder
from holdfast.models.tokens import open_counter
from holdfast.probe.metrics import percentiles
from holdfast.results import Context, Tier
from holdfast.settings import Settings
from holdfast.testing import FixedClock
from holdfast.version import __version__
from holdfast_bench import beam, locomo, longmemeval
from holdfast_bench.ask import Progress, Remembering, Ways, message_of, settings_of
from holdfast_bench.data import Haystack, Question, sample

BUDGETS = {"1k": 1000, "2k": 2000, "4k": 4000}
_READERS: Mapping[str, Callable[[Sequence[Path]], list[Haystack]]] = {
    "locomo": locomo.read,
    "longmemeval": longmemeval.read,
    "beam": beam.read,
}
_ASKED_IN = "the question"  # a session of its own: nothing is recent there
_DIGITS = 4


@dataclass(frozen=True)
class _Packed:
    """One question: which share of its evidence is inside, by budget and by way."""

    set: str
    inside: Mapping[str, Mapping[str, float]]
    context_ms: float
    search_ms: float


def run(data: Sequence[Path], ways: Ways, progress: Progress | None = None) -> dict[str, object]:
    started = time.perf_counter()
    chosen = settings_of(ways)
    # What fits is measured here, not how long it takes: a busy machine must not change a figure.
    settings = replace(chosen, context=replace(chosen.context, deadline_s=60.0, embedder_s=30.0))
    opened = open_embedder(settings.embedder.profile, settings.embedder.timeout_s)
    if opened is None:
        raise InputError("this bench packs what search finds by words and meaning: use --profile static")
    packed: list[_Packed] = []
    with closing(opened):
        embedder = Remembering(opened)
        for path in data:
            name, haystacks = _read(path)
            asked = sample(haystacks, ways.limit)
            total = sum(len(one.questions) for one in asked)
            done = 0
            for haystack in asked:
                packed += _pack(name, haystack, settings, embedder)
                done += len(haystack.questions)
                if progress is not None:
                    progress(name, done, total)
    if not packed:
        raise InputError("none of the questions has evidence turns that are known")
    sets = dict.fromkeys(one.set for one in packed)
    return {
        "set": "pack",
        "n": len(packed),
        **_figures(packed),
        "by_set": {name: _with_count([one for one in packed if one.set == name]) for name in sets},
        "context_ms": percentiles([one.context_ms for one in packed]),
        "search_ms": percentiles([one.search_ms for one in packed]),
        "sample": ways.limit,
        "seconds": round(time.perf_counter() - started, 1),
        "embedder": embedder.profile.name,
        "version": __version__,
    }


def _read(path: Path) -> tuple[str, list[Haystack]]:
    """The set that a file holds, told by its content."""
    reasons = []
    for name, read in _READERS.items():
        try:
            return name, read([path])
        except InputError as error:
            reasons.append(str(error))
    raise InputError(f"{path} is none of {', '.join(_READERS)}: {'; '.join(reasons)}")


def _pack(name: str, haystack: Haystack, settings: Settings, embedder: Embedder) -> Iterator[_Packed]:
    clock = FixedClock()
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder,
        Memory(Path(folder) / "memory.db", haystack.name, embedder=embedder, settings=settings, clock=clock) as memory,
    ):
        said: dict[str, str] = {}
        turns: dict[str, Turn] = {}
        for sitting in haystack.sittings:
            clock.now = sitting.at
            kept = memory.ingest_many((message_of(turn, sitting.at) for turn in sitting.turns), session=sitting.session)
            said |= {new.id: turn.id for new, turn in zip(kept, sitting.turns, strict=True)}
            turns |= {new.id: new for new in kept}
        memory.flush()
        for question in haystack.questions:
            if question.counts and question.turns:
                clock.now = question.at
                yield _ask(name, memory, question, said, turns, settings)


def _ask(
    name: str,
    memory: Memory,
    question: Question,
    said: Mapping[str, str],
    turns: Mapping[str, Turn],
    settings: Settings,
) -> _Packed:
    start = time.perf_counter()
    hits = memory.search(question.text, limit=settings.context.candidates)
    search_ms = (time.perf_counter() - start) * 1000
    pieces = Pieces(Frame.of(bytes(32), _ASKED_IN, memory.namespace), open_counter(settings.tokens))
    ranked = recalled(hits, turns, Conversation([]))
    inside: dict[str, dict[str, float]] = {}
    spent: list[float] = []
    for label, budget in BUDGETS.items():
        start = time.perf_counter()
        made = memory.context([{"role": "user", "content": question.text}], _ASKED_IN, memory_budget=budget)
        spent.append((time.perf_counter() - start) * 1000)
        if made.degraded:
            raise InputError(
                f"the context of {question.id} is degraded, so its figure would be worth nothing: {made.degraded}"
            )
        inside[label] = {
            "ours": _share(question, {said[turn] for turn in _whole(made)}),
            "top_k": _share(question, {said[turn] for turn in _first_hits(ranked, budget, pieces)}),
        }
    return _Packed(name, inside, min(spent), search_ms)


def _whole(made: Context) -> Iterator[str]:
    for one in made.receipt.candidates:
        if one.included and not one.kind.startswith("excerpt"):
            yield from one.turn_ids


def _first_hits(ranked: Sequence[Candidate], budget: int, pieces: Pieces) -> Iterator[str]:
    """The turns of the longest run of first hits that fits."""
    room = budget - pieces.frame_tokens - pieces.heading(Tier.RECALLED)
    days: set[str] = set()
    for hit in ranked:
        day = pieces.day(hit.item)
        room -= pieces.body(hit.item) + (0 if day in days else pieces.day_tokens(hit.item))
        if room < 0:
            return
        days.add(day)
        yield from hit.turn_ids


def _share(question: Question, inside: set[str]) -> float:
    return len(question.turns & inside) / len(question.turns)


def _figures(packed: Sequence[_Packed]) -> dict[str, object]:
    """The share of questions all of whose evidence is inside; …_share: the mean share of the evidence."""
    figures: dict[str, object] = {}
    for label in BUDGETS:
        here: dict[str, float] = {}
        for way in ("ours", "top_k"):
            shares = [one.inside[label][way] for one in packed]
            here[way] = round(sum(share == 1.0 for share in shares) / len(shares), _DIGITS)
            here[f"{way}_share"] = round(sum(shares) / len(shares), _DIGITS)
        figures[label] = here
    return figures


def _with_count(packed: Sequence[_Packed]) -> dict[str, object]:
    return {"n": len(packed), **_figures(packed)}
