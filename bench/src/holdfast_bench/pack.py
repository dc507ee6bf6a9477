"""Packing benchmark: the share of evidence in contexts of 1,000, 2,000 and 4,000 tokens, next to the first hits.

A question counts if every evidence turn, or its record, is in the context completely; an excerpt does not count.
`top_k` takes the hits of the same search in order, as the same items in the same frame, until the next does not fit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.context.budget import Pieces
from holdfast.context.render import ContextFrame
from holdfast.context.tiers import ContextSizes, Conversation, TierCandidate, recalled
from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.model import Turn
from holdfast.models.embedder import Embedder
from holdfast.models.tokens import open_counter
from holdfast.probe.metrics import percentiles
from holdfast.results import Tier
from holdfast.settings import Settings, tuned
from holdfast_bench import beam, locomo, longmemeval
from holdfast_bench.ask import AskOptions, haystack_memory, settings_of
from holdfast_bench.data import Haystack, Question, sample
from holdfast_bench.machine import CachingEmbedder, Progress, run_info
from holdfast_bench.memories import bench_embedder

BUDGETS = {"1k": 1000, "2k": 2000, "4k": 4000}
_READERS: Mapping[str, Callable[[Sequence[Path]], list[Haystack]]] = {
    "locomo": locomo.read,
    "longmemeval": longmemeval.read,
    "beam": beam.read,
}
_SESSION = "the question"  # a separate session, without recent turns
_DIGITS = 4


@dataclass(frozen=True)
class _PackedQuestion:
    """Share of a question's evidence that is inside, by budget and method."""

    set: str
    inside: Mapping[str, Mapping[str, float]]
    context_ms: float
    search_ms: float


def run(data: Sequence[Path], options: AskOptions, progress: Progress | None = None) -> dict[str, object]:
    started = time.perf_counter()
    chosen = settings_of(options)
    # No deadline, so that a busy machine does not change the figures.
    settings = replace(chosen, context=replace(chosen.context, deadline_s=60.0, embedder_s=30.0))
    packed: list[_PackedQuestion] = []
    with closing(bench_embedder(settings)) as opened:
        embedder = CachingEmbedder(opened)
        for path in data:
            name, haystacks = _read(path)
            asked = sample(haystacks, options.limit)
            total = sum(len(one.questions) for one in asked)
            done = 0
            for haystack in asked:
                packed += _pack(name, haystack, settings, embedder)
                done += len(haystack.questions)
                if progress is not None:
                    progress(name, done, total)
    if not packed:
        raise InputError("no question has known evidence turns")
    sets = dict.fromkeys(one.set for one in packed)
    return {
        "set": "pack",
        "n": len(packed),
        **_figures(packed),
        "by_set": {name: _figures([one for one in packed if one.set == name], count=True) for name in sets},
        "context_ms": percentiles([one.context_ms for one in packed]),
        "search_ms": percentiles([one.search_ms for one in packed]),
        "sample": options.limit,
        **run_info(started, embedder),
    }


def _read(path: Path) -> tuple[str, list[Haystack]]:
    """Return the set of a file, recognised by its content, and its haystacks."""
    reasons = []
    for name, read in _READERS.items():
        try:
            return name, read([path])
        except InputError as error:
            reasons.append(str(error))
    raise InputError(f"{path} is none of {', '.join(_READERS)}: {'; '.join(reasons)}")


def _pack(name: str, haystack: Haystack, settings: Settings, embedder: Embedder) -> Iterator[_PackedQuestion]:
    with haystack_memory(haystack, settings, embedder) as (memory, clock, places):
        set_ids = {turn_id: set_id for turn_id, (set_id, _) in places.items()}
        turns = {turn.id: turn for session in haystack.sessions for turn in memory.thread(session.session)}
        for question in haystack.questions:
            if question.counts and question.turns:
                clock.now = question.at
                yield _ask(name, memory, question, set_ids, turns, settings)


def _ask(
    name: str,
    memory: Memory,
    question: Question,
    set_ids: Mapping[str, str],
    turns: Mapping[str, Turn],
    settings: Settings,
) -> _PackedQuestion:
    start = time.perf_counter()
    hits = memory.search(question.text, limit=tuned(settings, ContextSizes).candidates)
    search_ms = (time.perf_counter() - start) * 1000
    pieces = Pieces(ContextFrame.of(bytes(32), _SESSION, memory.namespace), open_counter(settings.tokens))
    ranked = recalled(hits, turns, Conversation([]), {})
    inside: dict[str, dict[str, float]] = {}
    spent: list[float] = []
    for label, budget in BUDGETS.items():
        start = time.perf_counter()
        made = memory.context([{"role": "user", "content": question.text}], _SESSION, budget=budget)
        spent.append((time.perf_counter() - start) * 1000)
        if made.degraded:
            raise InputError(f"the context of {question.id} is degraded, so it cannot be measured: {made.degraded}")
        complete = (one for one in made.receipt.candidates if one.included and not one.kind.startswith("excerpt"))
        inside[label] = {
            "ours": _share(question, {set_ids[turn] for one in complete for turn in one.turn_ids}),
            "top_k": _share(question, {set_ids[turn] for turn in _first_hits(ranked, budget, pieces)}),
        }
    return _PackedQuestion(name, inside, min(spent), search_ms)


def _first_hits(ranked: Sequence[TierCandidate], budget: int, pieces: Pieces) -> Iterator[str]:
    """Yield the turns of the first hits, as many as fit."""
    space = budget - pieces.frame_tokens - pieces.heading(Tier.RECALLED)
    for hit in ranked:
        space -= pieces.body(Tier.RECALLED, hit.item)
        if space < 0:
            return
        yield from hit.turn_ids


def _share(question: Question, inside: set[str]) -> float:
    return len(question.turns & inside) / len(question.turns)


def _figures(packed: Sequence[_PackedQuestion], count: bool = False) -> dict[str, object]:
    """Return the share of questions with all evidence inside; …_share is the mean share of the evidence."""
    figures: dict[str, object] = {"n": len(packed)} if count else {}
    for label in BUDGETS:
        here: dict[str, float] = {}
        for way in ("ours", "top_k"):
            shares = [one.inside[label][way] for one in packed]
            here[way] = round(sum(share == 1.0 for share in shares) / len(shares), _DIGITS)
            here[f"{way}_share"] = round(sum(shares) / len(shares), _DIGITS)
        figures[label] = here
    return figures
