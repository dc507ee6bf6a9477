"""Themes: what a time was about, as groups of turns with words that name them and turns that show them (RECALL-8).

Nothing is stored: groups are made of the log and its vectors whenever they are asked for, the same from the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from holdfast.insight import Theme, Themes
from holdfast.model import Receipt, Role, Stage, Turn
from holdfast.moments import to_micros
from holdfast.recall.cache import BlockCache
from holdfast.recall.clusters import Clusters, cluster, in_context
from holdfast.recall.company import by_company
from holdfast.recall.pool import Pool, read_pool
from holdfast.recall.theme_words import Worded, label, read_words
from holdfast.settings import Settings, ThemeSettings
from holdfast.store.codes import role_number
from holdfast.store.nouns import Space
from holdfast.store.protocol import Snapshot

__all__ = ["Period", "find_themes"]

Numbers = NDArray[np.int64]
Vectors = NDArray[np.float32]

_SPOKEN = (Role.USER, Role.ASSISTANT)
"""What tools print and systems prompt is no theme of a conversation."""
_RUN = 32  # turns in a row that are read or left out together, so that neighbours stay neighbours
_NEIGHBOUR = 4  # places in a session that two turns may lie apart and still be about the same
_MEANT = 0.5  # share of the turns that must have a vector, else words alone group them
_SPREAD = 2654435761  # Knuth's multiplier: neighbouring numbers land far apart, on every machine alike


@dataclass(frozen=True)
class Period:
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True)
class _Said:
    """The turns that are grouped, a row each."""

    turns: Sequence[Turn]
    words: Sequence[Worded]
    weights: Vectors
    before: Numbers


def find_themes(
    view: Snapshot,
    namespace: str,
    period: Period,
    limit: int,
    fingerprint: str | None,
    cache: BlockCache,
    settings: Settings,
) -> Themes:
    """The largest groups of what was said in a period, at most `limit`."""
    watch = _Watch()
    pool = read_pool(view, namespace, Space.TURN, cache, settings.index.max_chars)
    there = _spoken(view, pool, period)
    watch.stage("turns", len(there), "said in this time by the user or the assistant")
    said = _read(view, _even_part(there, settings.themes.turns), settings.themes)
    watch.stage("read", len(said.turns), "" if len(there) == len(said.turns) else "an even part of them")
    vectors, reason = _vectors(view, said, fingerprint, settings.themes)
    groups = cluster(in_context(vectors, said.weights, said.before, settings.themes.context), settings.themes)
    watch.stage("groups", len(groups.centres), f"{int(np.count_nonzero(groups.of < 0))} turns are in none")
    found = _describe(said, groups, limit, settings.themes)
    watch.stage("named", len(found))
    told = f"grouped by {reason}; {len(found)} themes" if len(there) else "nothing was said in this time"
    return Themes(found, period.since, period.until, watch.receipt(told))


class _Watch:
    """Times of the stages, for the receipt."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._stages: list[Stage] = []

    def stage(self, name: str, count: int, note: str = "") -> None:
        now = time.perf_counter()
        self._stages.append(Stage(name, count, round((now - self._last) * 1000, 3), note))
        self._last = now

    def receipt(self, reason: str) -> Receipt:
        total = (time.perf_counter() - self._start) * 1000
        return Receipt("themes", reason, tuple(self._stages), round(total, 3))


def _spoken(view: Snapshot, pool: Pool, period: Period) -> Numbers:
    there = pool.exists & np.isin(pool.sort, [role_number(role) for role in _SPOKEN])
    if period.since is not None:
        there &= pool.at >= to_micros(period.since)
    if period.until is not None:
        there &= pool.at < to_micros(period.until)
    hidden = view.hidden(Space.TURN)
    if hidden:
        there[hidden] = False
    return np.flatnonzero(there)


def _even_part(nums: Numbers, most: int) -> Numbers:
    """At most so many, in runs; a few more turns change few of them."""
    if len(nums) <= most:
        return nums
    lots = (nums // _RUN * _SPREAD) % 2**32
    order = np.argsort(lots, kind="stable")
    return np.sort(nums[order[:most]])


def _read(view: Snapshot, nums: Numbers, settings: ThemeSettings) -> _Said:
    read = view.turns([int(num) for num in nums])
    kept = [int(num) for num in nums if int(num) in read]
    turns = [read[num] for num in kept]
    words = [read_words(turn.text[: settings.chars]) for turn in turns]
    weights = np.array([min(1.0, len(one.terms) / settings.telling) for one in words], np.float32)
    before = np.full(len(turns), -1, np.int64)
    last: dict[str, int] = {}
    for row, turn in enumerate(turns):
        former = last.get(turn.session)
        if former is not None and turn.index - turns[former].index <= _NEIGHBOUR:
            before[row] = former
        last[turn.session] = row
    return _Said(turns, words, weights, before)


def _vectors(view: Snapshot, said: _Said, fingerprint: str | None, settings: ThemeSettings) -> tuple[Vectors, str]:
    """What each turn tells, by meaning; by words where there is no embedder, or not for most of what was said."""
    if fingerprint is not None and said.turns:
        stored = dict(view.vectors(Space.TOLD, fingerprint, [turn.seq for turn in said.turns]))
        if stored:
            none = bytes(len(next(iter(stored.values()))))
            rows = b"".join(stored.get(turn.seq, none) for turn in said.turns)
            vectors = np.frombuffer(rows, "<f4").reshape(len(said.turns), -1)
            if np.count_nonzero(vectors.any(axis=1)) >= _MEANT * len(said.turns):
                return vectors, "meaning"
    return by_company(said.words, settings), "words"


def _describe(said: _Said, groups: Clusters, limit: int, settings: ThemeSettings) -> list[Theme]:
    rows = [np.flatnonzero(groups.of == number) for number in range(len(groups.centres))]
    alone = np.flatnonzero(groups.of < 0)
    labels = label([_words(said, members) for members in rows], _words(said, alone), settings.words)
    found: list[Theme] = []
    for members, words in zip(rows, labels, strict=True):
        if words and len(found) < limit:  # turns without a word in common are no theme
            found.append(_theme(said, members, words, groups.nearness, settings.examples))
    return found


def _words(said: _Said, rows: Numbers) -> list[Worded]:
    return [said.words[int(row)] for row in rows]


def _theme(said: _Said, members: Numbers, words: tuple[str, ...], nearness: Vectors, examples: int) -> Theme:
    turns = [said.turns[int(row)] for row in members]
    times = [turn.at for turn in turns]
    return Theme(
        label=", ".join(words),
        words=words,
        turns=len(turns),
        share=round(len(turns) / len(said.turns), 4),
        sessions=len({turn.session for turn in turns}),
        first=min(times),
        last=max(times),
        examples=_examples(said, members, nearness, examples),
    )


def _examples(said: _Said, members: Numbers, nearness: Vectors, most: int) -> tuple[Turn, ...]:
    """The turns nearest the centre that say something, in the order they were said; no text twice."""
    order = members[np.lexsort((members, -np.round(nearness[members] * said.weights[members], 4)))]
    chosen: dict[str, Turn] = {}
    for row in order.tolist():
        chosen.setdefault(said.turns[row].text.strip().lower(), said.turns[row])
        if len(chosen) == most:
            break
    return tuple(sorted(chosen.values(), key=lambda turn: (turn.at, turn.seq)))
