"""Fit the floor of search (search/search.py, Ranking.floor_*) to the questions in training/floor/talks.json.

Eight talks of our own, each with questions that it answers, questions that come near (about what was said, but nobody
said that) and questions far off. Each is asked in stores of several sizes: half a talk, a talk, two, all of them, and all
among the labelled talk of training/labels; for among many turns one lies near any question by accident. The floor that
turns away most of what has no answer is taken, of those that lose at most LOST of what has one. Judged on the talks left
out of it, one by one.

    python training/floor.py --crowd 900
"""

from __future__ import annotations

from holdfast.search.question import Ranking

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import holdfast.search.search as searching
from holdfast.memory import Memory
from holdfast.models.embedder import THRESHOLDS, shipped_embedder
from holdfast.search.search import evidence, floor_among
from holdfast.settings import Settings
from holdfast.testing import FixedClock

HOME = Path(__file__).parent
LOST = 0.02
"""Of the answerable questions, how many may be answered with nothing, in the stores of each size."""
START = datetime(2025, 3, 3, 9, tzinfo=UTC)
MEANING = (0.15, 0.225, 0.3, 0.375, 0.45)  # more, and a rare word that is held would count for next to nothing
EVEN = (4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0, 40.0, 50.0, 64.0)
RISE = tuple(round(0.02 + 0.005 * step, 4) for step in range(41))
CROWDS = ("friends", "assistant", "catching_up", "everyday", "persona", "errands", "warm", "confiding")

Line = tuple[str, str]
"""Who says what."""


@dataclass(frozen=True)
class Asked:
    store: str
    talk: str
    question: str
    kind: str
    """answerable, near or far."""
    count: int
    shares: NDArray[np.float32]
    cosines: NDArray[np.float32]

    def passes(self, settings: Ranking) -> bool:
        held = evidence(self.shares, self.cosines, THRESHOLDS, settings)
        return bool(len(held)) and float(held.max()) >= floor_among(self.count, settings)


@dataclass(frozen=True)
class Store:
    name: str
    sessions: Sequence[Sequence[Line]]
    questions: Sequence[tuple[str, str, str]]
    """(talk, question, kind)"""


def stores(crowd: int) -> Iterator[Store]:
    talks = json.loads((HOME / "floor" / "talks.json").read_text(encoding="utf-8"))
    asked = {name: list(_questions(name, talk)) for name, talk in talks.items()}
    for name, talk in talks.items():
        middle = len(talk["turns"]) // 2
        for half, first in zip(_sessions(talk), (True, False), strict=True):
            there = {question for question, gold in talk["answerable"] if any((at < middle) == first for at in gold)}
            told = [(name, one, "near" if kind == "answerable" and one not in there else kind) for _, one, kind in asked[name]]
            yield Store("half a talk", [half], told)
        yield Store("a talk", _sessions(talk), asked[name])
    for (first, one), (second, other) in list(pairwise(talks.items()))[::2]:
        yield Store("two talks", _sessions(one) + _sessions(other), asked[first] + asked[second])
    everything = [session for talk in talks.values() for session in _sessions(talk)]
    questions = [one for some in asked.values() for one in some]
    yield Store("all talks", everything, questions)
    if crowd:
        yield Store("all in a crowd", [*_crowd(crowd), *everything], questions)


def _questions(name: str, talk: dict[str, list]) -> Iterator[tuple[str, str, str]]:
    yield from ((name, question, "answerable") for question, _ in talk["answerable"])
    yield from ((name, question, kind) for kind in ("near", "far") for question in talk[kind])


def _sessions(talk: dict[str, list]) -> list[Sequence[Line]]:
    middle = len(talk["turns"]) // 2
    return [talk["turns"][:middle], talk["turns"][middle:]]


def _crowd(turns: int) -> Iterator[Sequence[Line]]:
    """Other people's talk, as much as is wanted."""
    dialogues: dict[str, list[Line]] = {}
    for name in CROWDS:
        for line in (HOME / "labels" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            dialogues.setdefault(row["dialogue"], []).append(("assistant" if row["speaker"] == "assistant" else "user", row["text"]))
    for name in np.random.default_rng(0).permutation(sorted(dialogues)):
        if turns <= 0:
            return
        turns -= len(dialogues[name])
        yield dialogues[name]


def ask(store: Store) -> Iterator[Asked]:
    """On the production path, with a floor that lets everything through and writes down what it saw."""
    seen: list[tuple[int, NDArray[np.float32], NDArray[np.float32]]] = []

    def look(retriever, answer, best, cosines, vectors, windows=(), fused=None):  # noqa: ANN001, ANN202
        if fused is not None:  # not the look-up of an event that the question is told by
            exactly = cosines.exactly(best.tolist())
            near = np.array([exactly.get(int(at), 0.0) for at in best], np.float32)
            seen.append((answer.meaning.coverage.count, answer.words.shares(best), near))
        return np.ones(len(best), np.bool_)

    searching.above_floor, kept = look, searching.above_floor
    settings = Settings()
    settings = replace(settings, store=replace(settings.store, durable=False))
    clock = FixedClock()
    with tempfile.TemporaryDirectory() as folder, Memory(
        Path(folder) / "memory.db", "talk", embedder=shipped_embedder(), settings=settings, clock=clock
    ) as memory:
        for number, session in enumerate(store.sessions):
            clock.now = START + timedelta(days=number)
            memory.ingest_many([_message(who, text) for who, text in session], session=f"s{number}")
        memory.flush()
        clock.now = START + timedelta(days=len(store.sessions) + 30)
        for talk, question, kind in store.questions:
            seen.clear()
            memory.search(question)
            if seen:
                yield Asked(store.name, talk, question, kind, *seen[-1])
    searching.above_floor = kept


def _message(who: str, text: str) -> dict[str, object]:
    plain = who in ("user", "assistant")
    return {"role": who if plain else "user", "content": text, "metadata": {} if plain else {"speaker": who}}


def fit(asked: Sequence[Asked]) -> Ranking:
    answerable = np.array([one.kind == "answerable" for one in asked])
    names = sorted({one.store for one in asked})
    place = np.array([names.index(one.store) for one in asked])
    counts = np.log(np.array([max(one.count, 1) for one in asked]))
    best, chosen = -1.0, Ranking()
    for meaning in MEANING:
        weighed = replace(Ranking(), floor_meaning=meaning)
        held = np.array([evidence(one.shares, one.cosines, THRESHOLDS, weighed).max(initial=-9) for one in asked])
        for even, rise in product(EVEN, RISE):
            empty = held < rise * (counts - np.log(even))
            if any(empty[answerable & (place == number)].mean() > LOST for number in range(len(names))):
                continue
            turned_away = float(np.mean([empty[~answerable & (place == number)].mean() for number in range(len(names))]))
            if turned_away > best:
                best, chosen = turned_away, replace(weighed, floor_even=even, floor_rise=rise)
    return chosen


def table(asked: Sequence[Asked], settings: Ranking) -> dict[str, dict[str, float]]:
    """By store: the share of each kind that is answered with nothing."""
    rows: dict[str, dict[str, list[bool]]] = {}
    for one in asked:
        rows.setdefault(one.store, {}).setdefault(one.kind, []).append(not one.passes(settings))
    return {
        store: {kind: round(float(np.mean(kinds[kind])), 3) for kind in ("answerable", "near", "far") if kind in kinds}
        for store, kinds in rows.items()
    }


def left_out(asked: Sequence[Asked]) -> dict[str, dict[str, float]]:
    """The same for every talk, with a floor fitted without it."""
    judged: dict[str, dict[str, list[bool]]] = {}
    for talk in sorted({one.talk for one in asked}):
        settings = fit([one for one in asked if one.talk != talk])
        for one in asked:
            if one.talk == talk:
                judged.setdefault(one.store, {}).setdefault(one.kind, []).append(not one.passes(settings))
    return {s: {kind: round(float(np.mean(found)), 3) for kind, found in sorted(kinds.items())} for s, kinds in judged.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crowd", type=int, default=900, help="Turns of other talk around all talks; 0 leaves that out.")
    args = parser.parse_args()
    asked = [one for store in stores(args.crowd) for one in ask(store)]
    found = fit(asked)
    print(json.dumps({"asked": len(asked), "questions": len({(one.talk, one.question) for one in asked}),
        "floor_meaning": found.floor_meaning, "floor_even": found.floor_even, "floor_rise": found.floor_rise,
        "empty": table(asked, found), "empty_left_out": left_out(asked), "empty_as_set": table(asked, Ranking())}, indent=1))


if __name__ == "__main__":
    main()
