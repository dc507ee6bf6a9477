"""Runs a retrieval set on the production path: a real Memory takes the sessions in, catches up, and is asked."""

from __future__ import annotations

import math
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.models.breaker import open_embedder
from holdfast.models.embedder import Embedder, Profile
from holdfast.probe.metrics import bootstrap_counts, percentiles
from holdfast.settings import Settings, load_settings
from holdfast.testing import FixedClock
from holdfast.text.words import query_terms, terms
from holdfast.version import __version__
from holdfast_bench.data import Haystack, Question, Said, sample, without_gold

# --- Scores of a ranking against its gold: any, all, recall and MRR, for turns and for sessions.
#
# any@k: one gold item is among the first k; all@k: every one is; recall@k: which share of them is. MRR: one over the
# rank of the first gold item, 0 when it is not among the first DEPTH. A mean is over the questions that count.


DEPTH = 50
"""Hits that are looked at: ten distinct sessions are hardly ever farther, and MRR hardly sees what is."""
_CUTS = (5, 10)
MEASURES = (*(f"{measure}@{cut}" for cut in _CUTS for measure in ("any", "all", "recall")), "mrr")
_INTERVAL = (2.5, 97.5)
_DIGITS = 4

Scores = dict[str, float]
"""By MEASURES."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question with what a search put first: distinct turns in order, distinct sessions by their first turn."""

    question: Question
    turns: Sequence[str]
    sessions: Sequence[str]
    ms: float = 0.0

    def scores(self, level: str) -> Scores:
        if level == "turn":
            return score(self.turns, self.question.turns)
        return score(self.sessions, self.question.sessions)


def score(ranking: Sequence[str], gold: Collection[str]) -> Scores:
    """A ranking of distinct items against at least one gold item."""
    ranks = [rank for rank, item in enumerate(ranking[:DEPTH], 1) if item in gold]
    found: Scores = {}
    for cut in _CUTS:
        held = sum(rank <= cut for rank in ranks)
        found |= {f"any@{cut}": float(held > 0), f"all@{cut}": float(held == len(gold))}
        found[f"recall@{cut}"] = held / len(gold)
    return found | {"mrr": 1 / ranks[0] if ranks else 0.0}


def means(outcomes: Sequence[Outcome], level: str) -> Scores | None:
    """The mean of every measure; None where the set has no gold of that level."""
    table = _table(outcomes, level)
    return _named(table.mean(axis=0)) if len(table) else None


def by_category(outcomes: Sequence[Outcome]) -> dict[str, Mapping[str, object]]:
    parts: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.question.counts:
            parts.setdefault(outcome.question.category, []).append(outcome)
    return {
        category: {"n": len(part), "turn": means(part, "turn"), "session": means(part, "session")}
        for category, part in sorted(parts.items())
    }


def intervals(outcomes: Sequence[Outcome], level: str, seed: int = 0) -> dict[str, list[float]] | None:
    """95 % bootstrap interval of every mean, over questions; always the same for the same seed."""
    table = _table(outcomes, level)
    if not len(table):
        return None
    low, high = np.percentile(bootstrap_counts(len(table), seed) @ table / len(table), _INTERVAL, axis=0)
    lows, highs = _named(low), _named(high)
    return {measure: [lows[measure], highs[measure]] for measure in MEASURES}


def abstention(outcomes: Sequence[Outcome]) -> dict[str, float | int | None]:
    """How often search returns nothing: right where there is no answer, a loss where there is one."""
    without = [outcome for outcome in outcomes if not outcome.question.answerable]
    answerable = [outcome for outcome in outcomes if outcome.question.answerable]
    return {"unanswerable": len(without), "empty": _empty(without), "answerable_empty": _empty(answerable)}


def _empty(outcomes: Sequence[Outcome]) -> float | None:
    nothing = sum(not outcome.turns for outcome in outcomes)
    return round(nothing / len(outcomes), _DIGITS) if outcomes else None


def _table(outcomes: Sequence[Outcome], level: str) -> NDArray[np.float64]:
    """A row for each question that counts at this level."""
    counted = [one for one in outcomes if one.question.counts and (level == "session" or one.question.turns)]
    rows = [[scores[measure] for measure in MEASURES] for scores in (one.scores(level) for one in counted)]
    return np.array(rows, dtype=np.float64).reshape(-1, len(MEASURES))


def _named(values: NDArray[np.float64]) -> Scores:
    return {measure: round(float(value), _DIGITS) for measure, value in zip(MEASURES, values, strict=True)}


# --- What search is compared with, on the same turns and questions: plain BM25 and plain vectors.
#
# They share nothing with the production search but the words and the embedder: no index, no mixing, no preferences.


_K1, _B = 1.2, 0.75  # the textbook's, not the production settings: a baseline must not move with what it judges
_MOST_TERMS = 64


@lru_cache(maxsize=20_000)
def _counts(text: str) -> Counter[str]:
    """Read only. Remembered because the same sessions lie in many haystacks."""
    return Counter(terms(text))


class Bm25:
    """Okapi BM25 over whole turns, with the inverse document frequency that is never negative (Lucene's).

    Words are stemmed and function words are not asked for: the best of the plain forms, so that beating it counts.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [_counts(text) for text in texts]
        lengths = [counts.total() for counts in self._counts]
        average = sum(lengths) / max(1, len(lengths)) or 1.0
        self._norms = [_K1 * (1 - _B + _B * length / average) for length in lengths]

    def rank(self, question: str) -> list[int]:
        """The texts that share a word with the question, best first; of equals the later."""
        scores = self.scores(question)
        return sorted(scores, key=lambda number: (-scores[number], -number))[:DEPTH]

    def scores(self, question: str) -> dict[int, float]:
        scores: dict[int, float] = {}
        for term in query_terms(question, _MOST_TERMS):
            held = [(number, counts[term]) for number, counts in enumerate(self._counts) if term in counts]
            rarity = math.log(1 + (len(self._counts) - len(held) + 0.5) / (len(held) + 0.5))
            for number, often in held:
                gain = rarity * often * (_K1 + 1) / (often + self._norms[number])
                scores[number] = scores.get(number, 0.0) + gain
        return scores


class Vectors:
    """The cosine of whole turns with the question."""

    def __init__(self, texts: Sequence[str], embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors = embedder.embed(texts)

    def rank(self, question: str) -> list[int]:
        cosines = self._vectors @ self._embedder.embed([question])[0]
        return [int(number) for number in np.lexsort((-np.arange(len(cosines)), -cosines))[:DEPTH]]


Progress = Callable[[str, int, int], None]
"""Called with (step, done, total)."""
_PROFILES = {"onnx": "onnx:bge-small"}  # the shipped short name; any other profile is given in full


@dataclass(frozen=True)
class Ways:
    """How a set is run; what is None is as the settings say."""

    profile: str | None = None
    records: bool | None = None
    limit: int | None = None
    """Questions for a quick look."""


def measure(
    name: str, haystacks: Sequence[Haystack], ways: Ways, progress: Progress | None = None
) -> dict[str, object]:
    """The figures of `holdfast bench NAME`, the baselines in the same run."""
    started = time.perf_counter()
    asked = sample(haystacks, ways.limit)
    total = sum(len(haystack.questions) for haystack in asked)
    if not total:
        raise InputError(f"there is no question to ask in what was given as {name}")
    settings = settings_of(ways)
    opened = open_embedder(settings.embedder.profile, settings.embedder.timeout_s)
    if opened is None:
        raise InputError("the benches compare with plain vectors, so they need an embedder: use --profile static")
    ours: list[Outcome] = []
    baselines: dict[str, list[Outcome]] = {"bm25": [], "vector": []}
    with closing(opened):
        embedder = Remembering(opened)
        for haystack in asked:
            for outcome in ask(haystack, settings, embedder):
                ours.append(outcome)
                if progress is not None:
                    progress(haystack.name, len(ours), total)
            texts = [_line(turn) for sitting in haystack.sittings for turn in sitting.turns]
            baselines["bm25"] += _rank(haystack, Bm25(texts).rank)
            baselines["vector"] += _rank(haystack, Vectors(texts, embedder).rank)
    questions = [outcome.question for outcome in ours]
    return {
        "set": name,
        "n": sum(question.counts for question in questions),
        **_levels(ours),
        "baselines": {baseline: _levels(outcomes) for baseline, outcomes in baselines.items()},
        "ci": {level: intervals(ours, level) for level in ("turn", "session")},
        "abstention": abstention(ours),
        "left_out": {
            "unanswerable": sum(not question.answerable for question in questions),
            "without_gold": without_gold(questions),
        },
        "sample": None if ways.limit is None else {"asked": total, "of": sum(len(one.questions) for one in haystacks)},
        "records": settings.admit.enabled,
        "search_ms": percentiles([outcome.ms for outcome in ours]),
        "seconds": round(time.perf_counter() - started, 1),
        "embedder": embedder.profile.name,
        "version": __version__,
    }


def settings_of(ways: Ways) -> Settings:
    settings = load_settings()
    profile = ways.profile or settings.embedder.profile
    records = settings.admit.enabled if ways.records is None else ways.records
    return replace(
        settings,
        store=replace(settings.store, durable=False),  # the store goes away with the run
        embedder=replace(settings.embedder, profile=_PROFILES.get(profile, profile)),
        admit=replace(settings.admit, enabled=records),
    )


def _levels(outcomes: Sequence[Outcome]) -> dict[str, object]:
    return {
        "turn": means(outcomes, "turn"),
        "session": means(outcomes, "session"),
        "by_category": by_category(outcomes),
    }


def ask(haystack: Haystack, settings: Settings, embedder: Embedder, store: str | None = None) -> Iterator[Outcome]:
    """Everything is taken in at its own date; then each question is asked at its date.

    It goes into a file of its own, or into a namespace of the store.
    """
    clock = FixedClock()
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder,
        Memory(
            store or Path(folder) / "memory.db", haystack.name, embedder=embedder, settings=settings, clock=clock
        ) as memory,
    ):
        places: dict[str, tuple[str, str]] = {}
        for sitting in haystack.sittings:
            clock.now = sitting.at
            kept = memory.ingest_many((message_of(turn, sitting.at) for turn in sitting.turns), session=sitting.session)
            places |= {new.id: (said.id, sitting.session) for new, said in zip(kept, sitting.turns, strict=True)}
        memory.flush()
        for question in haystack.questions:
            clock.now = question.at
            start = time.perf_counter()
            hits = memory.search(question.text, limit=DEPTH)
            ms = (time.perf_counter() - start) * 1000
            yield _outcome(question, [places[turn] for hit in hits for turn in hit.turn_ids], ms)


def message_of(turn: Said, at: datetime) -> dict[str, object]:
    metadata = {} if turn.speaker is None else {"speaker": turn.speaker}
    return {"role": turn.role, "content": turn.text, "at": at, "key": turn.id, "metadata": metadata}


def _line(turn: Said) -> str:
    """What a plain store would index: without the speaker's name a baseline would look weaker than it is."""
    return turn.text if turn.speaker is None else f"{turn.speaker}: {turn.text}"


def _rank(haystack: Haystack, rank: Callable[[str], Sequence[int]]) -> Iterator[Outcome]:
    places = [(turn.id, sitting.session) for sitting in haystack.sittings for turn in sitting.turns]
    for question in haystack.questions:
        yield _outcome(question, [places[number] for number in rank(question.text)])


def _outcome(question: Question, found: Sequence[tuple[str, str]], ms: float = 0.0) -> Outcome:
    """A record stands for its turns, in their order; what is named twice counts where it comes first."""
    turns = list(dict.fromkeys(turn for turn, _ in found))[:DEPTH]
    sessions = list(dict.fromkeys(session for _, session in found))
    return Outcome(question, turns, sessions, ms)


@dataclass
class Remembering:
    """An embedder that embeds a text once: sessions lie in many haystacks, and the same text has the same vector."""

    embedder: Embedder
    known: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    @property
    def profile(self) -> Profile:
        return self.embedder.profile

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        fresh = list(dict.fromkeys(text for text in texts if text not in self.known))
        if fresh:
            self.known |= dict(zip(fresh, self.embedder.embed(fresh), strict=True))
        if not texts:
            return self.embedder.embed(texts)
        return np.stack([self.known[text] for text in texts])
