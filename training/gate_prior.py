"""What the gating scalar G would do as a prior (GATE-14): in ranking, and where a context's budget must choose.

Nothing is fitted. Each set is taken in as `holdfast bench` does it; then its questions are asked with G in several
places, and every answer is compared with the one that is given today. G is that of the turn, in standard deviations over
the user's turns; a record has its turn's. What G does as such is told by the controls: the same with every G the same,
and with the G of another turn.

    python training/gate_prior.py --data locomo_dev.json.gz --data beam_100k_dev.json.gz
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

import holdfast.search.retrieve as retrieve
import holdfast.search.rank as rank
from holdfast.context.budget import Packing
from holdfast_bench.ask import AskOptions, haystack_memory, score, settings_of
from holdfast_bench.machine import CachingEmbedder
from holdfast_bench.pack import _read
from holdfast.memory import Memory
from holdfast.models.embedder import open_embedder
from holdfast.model import Role

RANKED = (  # (where G stands, its weight in standard deviations)
    ("as it is", 0.0),
    ("no prior", 0.0),
    ("instead of the learned prior", 0.2),
    ("beside it", 0.1),
    ("beside it, all G the same", 0.1),
    ("beside it, G of another turn", 0.1),
    ("an offset", 0.05),
    ("an offset", 0.1),
    ("an offset", 0.2),
)
PACKED = (0.0, 0.05, 0.1, 0.2)
BUDGETS = (500, 1000)
RANKING = ("recall@10", "all@10", "mrr")
RESAMPLES = 2000


class Given:
    """G of the turns of the memory in question, and where it counts now."""

    def __init__(self) -> None:
        self.where, self.weight, self.packed = "as it is", 0.0, 0.0
        self.turns: dict[str, float] = {}
        self.by_place = np.zeros(0, np.float32)
        self.mean, self.spread = 0.0, 1.0

    def take(self, memory: Memory, sessions: list[str]) -> None:
        said = [turn for session in sessions for turn in memory.thread(session)]
        self.turns = {turn.id: float(turn.signals["g"]) for turn in said if turn.role is Role.USER}
        self.mean, self.spread = float(np.mean([*self.turns.values()])), float(np.std([*self.turns.values()]))
        self.by_place = np.full(max(turn.seq for turn in said) + 1, np.nan, np.float32)
        for turn in said:
            self.by_place[turn.seq] = self.turns.get(turn.id, np.nan)

    def column(self, columns) -> np.ndarray:
        """Of each document; nan where there is none: an assistant's turn has no G."""
        column = np.full(columns.size, np.nan, np.float32)
        size = min(columns._pools[0].size, len(self.by_place))
        column[:size] = self.by_place[:size]
        if self.where.endswith("all G the same"):
            column[~np.isnan(column)] = self.mean
        elif self.where.endswith("G of another turn"):
            places = np.flatnonzero(~np.isnan(column))
            column[places] = column[np.random.default_rng(0).permutation(places)]
        records, turns = columns.record_turns
        column[records] = column[turns]
        return column


GIVEN = Given()
_answering, _worth_in_pack = rank.fuse, Packing._worth


class _With:
    """The same, but for what is named."""

    def __init__(self, inner, **named) -> None:
        self._inner = inner
        self.__dict__.update(named)

    def __getattr__(self, name: str):
        return getattr(self._inner, name)


def answering(tables, words, meaning, replies, settings):
    if GIVEN.where == "as it is" or meaning is None or replies:
        return _answering(tables, words, meaning, replies, settings)
    if GIVEN.where == "no prior":
        return _answering(tables, words, meaning, replies, replace(settings, worth=0.0))
    columns = tables.columns
    column = GIVEN.column(columns)
    prior = np.nan_to_num(column, nan=0.0)
    if GIVEN.where.startswith("instead"):
        other = _With(tables, columns=_With(columns, prior=prior))
        return _answering(other, words, meaning, replies, replace(settings, worth=GIVEN.weight))
    answer = _answering(tables, words, meaning, replies, settings)
    if GIVEN.where == "an offset":
        more = np.nan_to_num((column - GIVEN.mean) / GIVEN.spread, nan=0.0) * GIVEN.weight * rank._crowd(tables)
    else:
        silent, among = meaning.coverage.uncovered, rank._turns(tables)
        told = rank._scale(meaning.statement, silent, among)
        weighed = replace(settings, worth=GIVEN.weight)
        more = rank._worth(meaning, told, _With(columns, prior=prior), among, weighed).of(told.of(meaning.statement) * prior)
        more[silent] = 0
    more[columns.absent] = 0
    return (answer + more).astype(np.float32)


def worth_in_pack(self, candidate, pieces):
    g = max((GIVEN.turns[one] for one in candidate.turn_ids if one in GIVEN.turns), default=GIVEN.mean)
    return _worth_in_pack(self, candidate, pieces) + GIVEN.packed * (g - GIVEN.mean) / GIVEN.spread


def ask(haystack, settings, embedder, found) -> None:
    with haystack_memory(haystack, settings, embedder) as (memory, clock, places):
        said = {turn_id: set_id for turn_id, (set_id, _) in places.items()}
        GIVEN.take(memory, [session.session for session in haystack.sessions])
        for question in haystack.questions:
            if not (question.counts and question.turns):
                continue
            clock.now = question.at
            for GIVEN.where, GIVEN.weight in RANKED:
                hits = memory.search(question.text, limit=50)
                turns = list(dict.fromkeys(said[turn] for hit in hits for turn in hit.turn_ids))
                scores = score(turns, question.turns)
                found[GIVEN.where, GIVEN.weight].append([scores[name] for name in RANKING])
            GIVEN.where = "as it is"
            for GIVEN.packed in PACKED:
                found["packing", GIVEN.packed].append([_inside(memory, question, said, size) for size in BUDGETS])
            GIVEN.packed = 0.0


def _inside(memory, question, said, budget: int) -> float:
    made = memory.context([{"role": "user", "content": question.text}], "the question", memory_budget=budget)
    shown = (one for one in made.receipt.candidates if one.included and not one.kind.startswith("excerpt"))
    inside = {said[turn] for one in shown for turn in one.turn_ids}
    return len(question.turns & inside) / len(question.turns)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    given.add_argument("--data", action="append", type=Path, required=True)
    chosen = settings_of(AskOptions())
    settings = replace(
        chosen,
        context=replace(chosen.context, deadline_s=60.0, embedder_s=30.0),
        compact=replace(chosen.compact, automatic=False),  # when it runs is chance, and it adds records
    )
    retrieve.fuse, Packing._worth = answering, worth_in_pack
    embedder = CachingEmbedder(open_embedder("static", 10.0))
    for path in given.parse_args().data:
        name, haystacks = _read(path)
        found: dict[tuple[str, float], list[list[float]]] = defaultdict(list)
        for haystack in haystacks:
            ask(haystack, settings, embedder, found)
            print(name, haystack.name, len(found["packing", 0.0]), "questions so far", flush=True)
        for (where, weight), rows in found.items():
            today = np.array(found["packing", 0.0] if where == "packing" else found["as it is", 0.0])
            here = np.array(rows)
            draws = np.random.default_rng(0).integers(0, len(here), (RESAMPLES, len(here)))
            low, high = np.percentile((here - today)[draws].mean(axis=1), (2.5, 97.5), axis=0)
            told = "; ".join(
                f"{mean:.3f} ({mean - was:+.3f}, {a:+.3f} to {b:+.3f})"
                for mean, was, a, b in zip(here.mean(axis=0), today.mean(axis=0), low, high, strict=True)
            )
            print(f"{name} n={len(here)} {where} {weight:g}: {told}", flush=True)


if __name__ == "__main__":
    main()
