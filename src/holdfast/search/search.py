"""Search: words and meaning over turns and records, weighed, filtered, and explained."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from holdfast.index.blocks import BlockCache, wanted_marks
from holdfast.index.candidates import Columns, Shelves, read_shelf, side_by_side
from holdfast.insight.lookup import recent_turns
from holdfast.model import Hit, Hits, Kind, Provenance, Receipt, Stage, Turn
from holdfast.models.embedder import Embedder
from holdfast.search.floor import above_floor
from holdfast.search.hits import Found, current_first, held_words, provenance_of, read_nouns
from holdfast.search.question import asks_for_replies, identifiers, named_speaker, named_terms, read_question
from holdfast.search.rank import echo, preference, seed_scores, wishes, with_context
from holdfast.search.retrieve import Answer, Cosines, Legs, Query, barred
from holdfast.search.when import Asked, Recency, Window
from holdfast.settings import Settings
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import Space

GLOBAL = "global"
"""The namespace that the operator writes and every other may read (INV-4)."""

Scores = NDArray[np.float32]

_MOST_ASKED = 4  # sides and parts of one question that are asked on their own


class _Stopwatch:
    """Times of the stages, for the receipt."""

    def __init__(self) -> None:
        self.start = self._last = time.perf_counter()
        self.stages: list[Stage] = []

    def stage(self, name: str, count: int, note: str = "") -> None:
        now = time.perf_counter()
        self.stages.append(Stage(name, count, round((now - self._last) * 1000, 3), note))
        self._last = now

    def receipt(self, reason: str, degraded: str | None) -> Receipt:
        total = (time.perf_counter() - self.start) * 1000
        return Receipt("search", reason, tuple(self.stages), round(total, 3), degraded)


def search(
    views: Sequence[tuple[str, Snapshot]],
    query: Query,
    embedder: Embedder | None,
    cache: BlockCache,
    settings: Settings,
    now: datetime,
    read: dict[str, Turn] | None = None,
) -> Hits:
    """`views` are the namespace asked and, behind it, `global`. `read` is given the turns of the hits, by id."""
    watch = _Stopwatch()
    asked = read_question(query.text[: settings.recall.question_chars], now)
    if asked.recency is Recency.ALONE and query.kind in (None, Kind.TURN):
        return _lately(views[0][1], query, asked, watch, read)
    shelves = _read_shelves(views, query, cache, settings)
    speaker = named_speaker(shelves.parts[0], query.text, settings.recall)
    replies = asks_for_replies(query.text)
    legs = Legs(shelves, embedder, cache, settings.recall, speaker, replies)
    watch.stage("shelves", shelves.count, "turns and records that may be found")
    answer = legs.ask(query.text, watch.stage)
    windows = _windows(legs, asked, now)
    out = barred(shelves, query)
    count = max(settings.recall.rescore, 4 * query.limit)
    note, preferred = "", np.float32(0)
    if settings.recall.ranker == "seed":
        fused = seed_scores(shelves, answer.meaning, query.session is not None, now, settings.recall)
        best = _candidates(fused, out, count, shelves.columns)
        vectors = legs.vectors(answer, best)
    else:
        answering, note = _with_sides(legs, answer, asked)
        preferred = preference(shelves, replies, settings.recall)
        own = answering + shelves.columns.own * preferred
        wanted = wishes(shelves, wanted_marks(query.text), windows, settings.recall)
        if wanted is not None:
            own += wanted
        for shelf, start in zip(shelves.parts, shelves.starts, strict=True):
            for nums, _ in shelf.holders.of(identifiers(answer.question.terms)):
                own[start + nums] += np.float32(settings.recall.identifier_preference)
        spoken = None if speaker is None else speaker.turns
        fused = with_context(shelves, own, spoken, settings.recall)
        best = _candidates(fused, out, count + settings.recall.echo_among, shelves.columns)
        vectors = legs.vectors(answer, best)
        if answer.meaning is not None and vectors is not None:
            if spoken is not None:
                own[spoken] += np.float32(settings.recall.speaker_preference)
            near = _top(best, fused, settings.recall.echo_among, shelves.columns)
            first = _in_order(near, own, shelves.columns)  # by what they say, not by where they stand
            fused[near] += echo(shelves, answer.meaning, vectors, first, near, settings.recall)
        best = _top(best, fused, count, shelves.columns)  # none of the others was raised
    watch.stage("weighed", len(windows), note or "times that the question names")
    best = _in_order(best, fused, shelves.columns)
    cosines = legs.cosines(answer)
    cosines.expect(best[: _read_at_once(query)].tolist())
    order = best[above_floor(legs, answer, best, cosines, vectors, windows, fused)].tolist()
    watch.stage("floor", len(order), "candidates above the floor")
    found = Found(query.limit, read)
    # Who asks about a time wants what held then; else what holds now comes before what it replaced.
    compared = 1 if windows or query.as_of is not None else settings.recall.compared
    tables = _Tables(fused, shelves.columns.own, preferred, answer.words.scores, cosines)
    _read(found, shelves, order, query, answer.question.terms, compared, tables)
    watch.stage("read", len(found.hits))
    return Hits(found.hits, watch.receipt(_reason(answer, found.hits), answer.question.degraded))


# --- what is looked through


def _read_shelves(
    views: Sequence[tuple[str, Snapshot]], query: Query, cache: BlockCache, settings: Settings
) -> Shelves:
    if query.kind is None:
        spaces = [Space.TURN, Space.RECORD]
    else:
        spaces = [Space.TURN] if query.kind is Kind.TURN else [Space.RECORD]
    shelves = [
        read_shelf(
            view,
            namespace,
            space,
            cache,
            settings.index.max_chars,
            common=number > 0,
            digests=query.kind is Kind.SUMMARY,
        )
        for number, (namespace, view) in enumerate(views)
        for space in spaces
    ]
    filled = [shelves[0], *(shelf for shelf in shelves[1:] if shelf.pool.count)]
    return side_by_side(filled, cache, settings.recall.answer_words)


# --- what the question asks for besides its words


def _with_sides(legs: Legs, answer: Answer, asked: Asked) -> tuple[Scores, str]:
    """A comparison needs both events, a question of several parts each part: what answers one answers the whole."""
    others = (asked.sides or asked.parts)[:_MOST_ASKED]
    if not others:
        return answer.raw, ""
    best: Scores = np.maximum.reduce([legs.ask(text).raw for text in others])
    if asked.sides:  # the question as a whole counts as much as its better side
        return ((answer.raw + best) / np.float32(np.sqrt(2.0))).astype(np.float32), "both sides of a comparison asked"
    return np.maximum(answer.raw, best), "each part asked on its own"


def _windows(legs: Legs, asked: Asked, now: datetime) -> list[Window]:
    """The times that are asked for; an event that one is told by ("before the move") is looked up first."""
    if asked.ahead:  # what is planned was said before its time
        return []
    windows = list(asked.windows)
    for anchor in asked.anchors[:_MOST_ASKED]:
        event = legs.ask(anchor.words)
        if not len(event.raw):
            continue
        at = int(event.raw.argmax())
        best = np.array([at])
        if above_floor(legs, event, best, legs.cosines(event), legs.vectors(event, best))[0]:
            (noun,) = read_nouns(legs.shelves, [at]).values()
            windows.append(anchor.window(noun.at, now))
    return windows


def _lately(view: Snapshot, query: Query, asked: Asked, watch: _Stopwatch, read: dict[str, Turn] | None = None) -> Hits:
    """A question for the recent as such has no topic to look for: the newest turns answer it (RECALL-7)."""
    since, until = query.since, query.until
    if asked.windows:
        since = max([one for one in (since, min(window.start for window in asked.windows)) if one is not None])
        until = min([one for one in (until, max(window.end for window in asked.windows)) if one is not None])
    if query.as_of is not None:
        until = query.as_of if until is None else min(until, query.as_of)
    turns = recent_turns(view, query.limit, since, until, query.session)
    found = Found(query.limit, read)
    for turn in turns:
        found.add(turn, {"score": 0.0, "raw": 0.0, "lexical": 0.0, "semantic": 0.0}, (), None)
    watch.stage("recent", len(turns), ", ".join(window.phrase for window in asked.windows))
    return Hits(found.hits, watch.receipt("asked for the recent as such: the newest turns, newest first", None))


# --- from scores to hits


def _candidates(fused: Scores, out: NDArray[np.int64], count: int, columns: Columns) -> NDArray[np.int64]:
    """Positions worth a closer look, in no order; none of those that are out."""
    scores = fused
    if len(out):
        scores = fused.copy()
        scores[out] = -np.inf
    few = np.arange(len(scores))
    if len(scores) > 64 * count:  # a sample says where the best begin, and only those are sorted out
        likely = np.flatnonzero(scores >= np.partition(scores[::16], -count // 4)[-count // 4])
        few = likely if len(likely) >= count else few
    best = _top(few, scores, count, columns)
    kept: NDArray[np.int64] = best[scores[best] > -np.inf]
    return kept


def _top(positions: NDArray[np.int64], scores: Scores, count: int, columns: Columns) -> NDArray[np.int64]:
    """The best so many of these positions, in no order; of equals the later line of the log, then a record.

    Not as they happen to lie: records have other positions after a rebuild, and equals must be chosen alike.
    """
    if len(positions) <= count:
        return positions
    own = scores[positions]
    bar = np.partition(own, -count)[-count]
    above, level = positions[own > bar], positions[own == bar]
    if len(level) > (left := count - len(above)):
        level = level[np.argpartition((columns.line[level] << 32) + level, -left)[-left:]]
    top: NDArray[np.int64] = np.concatenate([above, level])
    return top


def _in_order(best: NDArray[np.int64], fused: Scores, columns: Columns) -> NDArray[np.int64]:
    """Best first; of equals the one said later, then the later line of the log, then a record before its turn."""
    order: NDArray[np.int64] = best[np.lexsort((-best, -columns.line[best], -columns.at[best], -fused[best]))]
    return order


def _read_at_once(query: Query) -> int:
    """More than are shown: a record and its turn are one hit."""
    return query.limit + query.limit // 2 + 1


@dataclass(frozen=True)
class _Tables:
    fused: Scores
    own: Scores
    preferred: np.float32
    words: Scores
    cosines: Cosines

    def at(self, position: int, cosine: float) -> dict[str, float]:
        return {
            "score": float(self.fused[position]),
            "raw": float(self.fused[position] - self.own[position] * self.preferred),
            "lexical": float(self.words[position]),
            "semantic": cosine,
        }


def _read(
    found: Found,
    shelves: Shelves,
    order: list[int],
    query: Query,
    terms: Sequence[str],
    compared: int,
    tables: _Tables,
) -> None:
    """Read the hits; the first few beside each other, so that none is served before what replaced it."""
    most = max(_read_at_once(query), compared)
    nouns, cosines = read_nouns(shelves, order[:most]), tables.cosines.exactly(order[:most])
    first = {at: nouns[at] for at in order[:compared] if at in nouns}
    outdated: dict[int, int] = {}
    if len(first) > 1:
        links = _links(shelves, order)
        told_by = {at: provenance_of(noun) for at, noun in first.items()}
        ranked, outdated = current_first(
            list(first), first, links, told_by, tables.words, cosines, named_terms(query.text)
        )
        # What an agent noted comes after what the user said (TRUST-2).
        order = sorted(ranked, key=lambda at: told_by[at] is Provenance.AGENT_NOTED) + order[compared:]
    # Who asks with the very words of a turn means that turn.
    order = sorted(order, key=lambda at: at not in first or first[at].text.strip() != query.text.strip())
    rest = order
    while rest and not found.full:
        part, rest = rest[:most], rest[most:]
        unread = [at for at in part if at not in nouns]
        if unread:
            nouns, cosines = read_nouns(shelves, unread) | nouns, tables.cosines.exactly(part)
        words = held_words(shelves, terms, part)
        for at in part:
            newer = first.get(outdated.get(at, -1))
            found.add(nouns[at], tables.at(at, cosines.get(at, 0.0)), words[at], None if newer is None else newer.id)


def _links(shelves: Shelves, order: Sequence[int]) -> list[tuple[int, int]]:
    """(older, newer) by admission's links, as positions; the turns of the namespace are the first shelf."""
    turns = shelves.parts[0]
    if turns.space is not Space.TURN:
        return []
    own = [at for at in order if at < turns.pool.size]
    return sorted(turns.view.successors(own)) if own else []  # in which order rows come is the engine's to choose


def _reason(answer: Answer, hits: Sequence[Hit]) -> str:
    if not answer.question.terms and answer.meaning is None:
        return "the question holds no word to look for"
    legs = "words and meaning" if answer.meaning is not None else "words"
    return f"looked by {legs}; {len(hits)} found" if hits else f"looked by {legs}; nothing is close enough"
