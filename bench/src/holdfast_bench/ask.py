"""Retrieval benchmarks on the production path: a real Memory ingests the sessions and is asked the questions.

any@k: one gold item is in the first k; all@k: every one is; recall@k: the share that is. MRR: one over the rank of the
first gold item, 0 beyond DEPTH. Means are over the questions that count. The baselines, plain BM25 and plain vectors,
share only the words and the embedder with the production search: no index, no fusion, no preferences.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.models.ask import open_models
from holdfast.models.embedder import Embedder
from holdfast.probe.metrics import DIGITS, bootstrap_counts, percentiles
from holdfast.settings import Settings
from holdfast.testing import FixedClock, temporary_memory
from holdfast.text.words import query_terms, terms
from holdfast_bench.data import Haystack, Question, SetTurn, sample
from holdfast_bench.machine import CachingEmbedder, Progress, run_info
from holdfast_bench.memories import bench_embedder, swept_settings

DEPTH = 50
"""Hits that are read: ten distinct sessions are hardly ever further down."""
LEVELS = ("turn", "session")
_CUTS = (5, 10)
MEASURES = (*(f"{measure}@{cut}" for cut in _CUTS for measure in ("any", "all", "recall")), "mrr")
_INTERVAL = (2.5, 97.5)
_K1, _B = 1.2, 0.75  # textbook values, not the production settings: a baseline must not change with what it judges
_MAX_TERMS = 64
_PROFILES = {"onnx": "onnx:bge-small"}  # a short name; other profiles are given in full

Scores = dict[str, float]
"""By MEASURES."""


@dataclass(frozen=True)
class AskOptions:
    """Options of a retrieval benchmark; None means as in the settings."""

    profile: str | None = None
    records: bool | None = None
    limit: int | None = None
    """Number of questions, for a quick look."""
    rerank: bool = False
    """Rerank the first hits with the cross-encoder of the ask models."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question with its ranking: distinct turns in order, distinct sessions by their first turn."""

    question: Question
    turns: Sequence[str]
    sessions: Sequence[str]
    ms: float = 0.0

    def scores(self, level: str) -> Scores:
        if level == "turn":
            return score(self.turns, self.question.turns)
        return score(self.sessions, self.question.sessions)


def measure(
    name: str, haystacks: Sequence[Haystack], options: AskOptions, progress: Progress | None = None
) -> dict[str, object]:
    """Return the figures of `holdfast bench NAME`, with the baselines in the same run."""
    started = time.perf_counter()
    chosen = sample(haystacks, options.limit)
    total = sum(len(haystack.questions) for haystack in chosen)
    if not total:
        raise InputError(f"the {name} files contain no questions")
    settings = settings_of(options)
    ours: list[Outcome] = []
    baselines: dict[str, list[Outcome]] = {"bm25": [], "vector": []}
    with closing(bench_embedder(settings)) as opened:
        embedder = CachingEmbedder(opened)
        for haystack in chosen:
            for outcome in ask(haystack, settings, embedder, rerank=options.rerank):
                ours.append(outcome)
                if progress is not None:
                    progress(haystack.name, len(ours), total)
            # With the speaker's name, without which a baseline would be weaker than necessary.
            turns = [turn for session in haystack.sessions for turn in session.turns]
            texts = [turn.text if turn.speaker is None else f"{turn.speaker}: {turn.text}" for turn in turns]
            baselines["bm25"] += _rank(haystack, Bm25Baseline(texts).rank)
            baselines["vector"] += _rank(haystack, VectorBaseline(texts, embedder).rank)
    questions = [outcome.question for outcome in ours]
    of = sum(len(one.questions) for one in haystacks)
    return {
        "set": name,
        "n": sum(question.counts for question in questions),
        **_levels(ours),
        "baselines": {baseline: _levels(outcomes) for baseline, outcomes in baselines.items()},
        "ci": {level: intervals(ours, level) for level in LEVELS},
        "abstention": abstention(ours),
        "left_out": {
            "unanswerable": sum(not question.answerable for question in questions),
            "without_gold": sum(question.answerable and not question.sessions for question in questions),
        },
        "sample": None if options.limit is None else {"asked": total, "of": of},
        "records": settings.admit.enabled,
        "ask": ask_model(),
        "rerank": options.rerank,
        "search_ms": percentiles([outcome.ms for outcome in ours]),
        **run_info(started, embedder),
    }


def ask_model() -> str:
    """Return the fingerprint of the ask model in use; empty if there is none."""
    models = open_models()
    return "" if models is None else models.encoder.profile.fingerprint


def settings_of(options: AskOptions) -> Settings:
    settings = swept_settings()
    profile = options.profile or settings.embedder.profile
    records = settings.admit.enabled if options.records is None else options.records
    return replace(
        settings,
        store=replace(settings.store, durable=False),  # the store is temporary
        embedder=replace(settings.embedder, profile=_PROFILES.get(profile, profile)),
        admit=replace(settings.admit, enabled=records),
    )


def ask(
    haystack: Haystack, settings: Settings, embedder: Embedder, store: str | None = None, rerank: bool = False
) -> Iterator[Outcome]:
    """Ingest the sessions at their dates, into a temporary file or a given store, and ask the questions at theirs."""
    with haystack_memory(haystack, settings, embedder, store) as (memory, clock, places):
        for question in haystack.questions:
            clock.now = question.at
            start = time.perf_counter()
            hits = memory.search(question.text, limit=DEPTH, rerank=rerank)
            ms = (time.perf_counter() - start) * 1000
            yield outcome_of(question, [places[turn] for hit in hits for turn in hit.turn_ids], ms)


@contextmanager
def haystack_memory(
    haystack: Haystack, settings: Settings, embedder: Embedder, store: str | None = None
) -> Iterator[tuple[Memory, FixedClock, dict[str, tuple[str, str]]]]:
    """Open a memory with the haystack's sessions in it; yields it, its clock and (turn, session) of each turn id."""
    clock = FixedClock()
    opened = (
        temporary_memory(haystack.name, embedder=embedder, settings=settings, clock=clock)
        if store is None
        else Memory(store, haystack.name, embedder=embedder, settings=settings, clock=clock)
    )
    with opened as memory:
        places: dict[str, tuple[str, str]] = {}
        for session in haystack.sessions:
            clock.now = session.at
            messages = (_message(turn, session.at) for turn in session.turns)
            kept = memory.ingest_many(messages, session=session.session)
            places |= {new.id: (turn.id, session.session) for new, turn in zip(kept, session.turns, strict=True)}
        memory.flush()
        yield memory, clock, places


def outcome_of(question: Question, found: Sequence[tuple[str, str]], ms: float = 0.0) -> Outcome:
    """Build an outcome from (turn, session) pairs; a repeated item counts at its first place."""
    turns = list(dict.fromkeys(turn for turn, _ in found))[:DEPTH]
    return Outcome(question, turns, list(dict.fromkeys(session for _, session in found)), ms)


def score(ranking: Sequence[str], gold: Collection[str]) -> Scores:
    """Score a ranking of distinct items against at least one gold item."""
    ranks = [rank for rank, item in enumerate(ranking[:DEPTH], 1) if item in gold]
    found: Scores = {}
    for cut in _CUTS:
        hits = sum(rank <= cut for rank in ranks)
        found |= {f"any@{cut}": float(hits > 0), f"all@{cut}": float(hits == len(gold))}
        found[f"recall@{cut}"] = hits / len(gold)
    return found | {"mrr": 1 / ranks[0] if ranks else 0.0}


def means(outcomes: Sequence[Outcome], level: str) -> Scores | None:
    """Return the mean of every measure; None if the set has no gold of that level."""
    table = _table(outcomes, level)
    return _named(table.mean(axis=0)) if len(table) else None


def by_category(outcomes: Sequence[Outcome]) -> dict[str, Mapping[str, object]]:
    parts: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.question.counts:
            parts.setdefault(outcome.question.category, []).append(outcome)
    return {
        category: {"n": len(part), **{level: means(part, level) for level in LEVELS}}
        for category, part in sorted(parts.items())
    }


def intervals(outcomes: Sequence[Outcome], level: str, seed: int = 0) -> dict[str, list[float]] | None:
    """Return the 95 % bootstrap interval of every mean, always the same for the same seed."""
    table = _table(outcomes, level)
    if not len(table):
        return None
    low, high = np.percentile(bootstrap_counts(len(table), seed) @ table / len(table), _INTERVAL, axis=0)
    lows, highs = _named(low), _named(high)
    return {measure: [lows[measure], highs[measure]] for measure in MEASURES}


def abstention(outcomes: Sequence[Outcome]) -> dict[str, float | int | None]:
    """Return how often search finds nothing: right for unanswerable questions, a loss for others."""
    unanswerable = [outcome for outcome in outcomes if not outcome.question.answerable]
    answerable = [outcome for outcome in outcomes if outcome.question.answerable]
    return {"unanswerable": len(unanswerable), "empty": _empty(unanswerable), "answerable_empty": _empty(answerable)}


class Bm25Baseline:
    """Okapi BM25 over whole turns, with Lucene's inverse document frequency, which is never negative.

    Words are stemmed and function words are not searched for: the best of the plain forms.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [_term_counts(text) for text in texts]
        lengths = [counts.total() for counts in self._counts]
        average = sum(lengths) / max(1, len(lengths)) or 1.0
        self._norms = [_K1 * (1 - _B + _B * length / average) for length in lengths]

    def rank(self, question: str) -> list[int]:
        """Return the texts that share a word with the question, best first; of equals the later."""
        scores = self.scores(question)
        return sorted(scores, key=lambda number: (-scores[number], -number))[:DEPTH]

    def scores(self, question: str) -> dict[int, float]:
        scores: dict[int, float] = {}
        for term in query_terms(question, _MAX_TERMS):
            postings = [(number, counts[term]) for number, counts in enumerate(self._counts) if term in counts]
            rarity = math.log(1 + (len(self._counts) - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, count in postings:
                gain = rarity * count * (_K1 + 1) / (count + self._norms[number])
                scores[number] = scores.get(number, 0.0) + gain
        return scores


class VectorBaseline:
    """Cosine of whole turns with the question."""

    def __init__(self, texts: Sequence[str], embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors = embedder.embed(texts)

    def rank(self, question: str) -> list[int]:
        cosines = self._vectors @ self._embedder.embed([question])[0]
        return [int(number) for number in np.lexsort((-np.arange(len(cosines)), -cosines))[:DEPTH]]


@lru_cache(maxsize=20_000)
def _term_counts(text: str) -> Counter[str]:
    """Count terms, cached because the same sessions are in many haystacks. Do not modify the result."""
    return Counter(terms(text))


def _message(turn: SetTurn, at: datetime) -> dict[str, object]:
    metadata = {} if turn.speaker is None else {"speaker": turn.speaker}
    return {"role": turn.role, "content": turn.text, "at": at, "key": turn.id, "metadata": metadata}


def _rank(haystack: Haystack, rank: Callable[[str], Sequence[int]]) -> Iterator[Outcome]:
    places = [(turn.id, session.session) for session in haystack.sessions for turn in session.turns]
    for question in haystack.questions:
        yield outcome_of(question, [places[number] for number in rank(question.text)])


def _levels(outcomes: Sequence[Outcome]) -> dict[str, object]:
    return {**{level: means(outcomes, level) for level in LEVELS}, "by_category": by_category(outcomes)}


def _empty(outcomes: Sequence[Outcome]) -> float | None:
    return round(sum(not outcome.turns for outcome in outcomes) / len(outcomes), DIGITS) if outcomes else None


def _table(outcomes: Sequence[Outcome], level: str) -> NDArray[np.float64]:
    """Return one row per question that counts at this level."""
    counted = [one for one in outcomes if one.question.counts and (level == "session" or one.question.turns)]
    rows = [[scores[measure] for measure in MEASURES] for scores in (one.scores(level) for one in counted)]
    return np.array(rows, dtype=np.float64).reshape(-1, len(MEASURES))


def _named(values: NDArray[np.float64]) -> Scores:
    return {measure: round(float(value), DIGITS) for measure, value in zip(MEASURES, values, strict=True)}
