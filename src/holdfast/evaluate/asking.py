"""Runs a retrieval set on the production path: a real Memory takes the sessions in, catches up, and is asked."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InputError
from holdfast.evaluate.baselines import Bm25, Vectors
from holdfast.evaluate.haystack import Haystack, Question, Said, sample, without_gold
from holdfast.evaluate.metrics import percentiles
from holdfast.evaluate.retrieval import DEPTH, Outcome, abstention, by_category, intervals, means
from holdfast.memory import Memory
from holdfast.models.embedder import Embedder, Profile
from holdfast.models.open import open_embedder
from holdfast.settings import Settings, load_settings
from holdfast.testing import FixedClock
from holdfast.version import __version__

__all__ = ["Progress", "Remembering", "Ways", "ask", "measure", "message_of", "settings_of"]

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
