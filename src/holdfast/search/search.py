"""Search: words and meaning over turns and records, weighed, filtered, and explained."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.index.blocks import BlockCache, IndexSizes, Mark, wanted_marks
from holdfast.index.candidates import CandidateTables, Columns, read_table, side_by_side
from holdfast.model import Hit, Hits, Kind, Origin, Provenance, Receipt, Record, Role, Stage, Turn
from holdfast.models.embedder import Embedder, Thresholds
from holdfast.search.question import (
    GATHER_WEIGHTS,
    Ranking,
    asks_for_own_words,
    asks_for_replies,
    identifiers,
    named_speaker,
    named_terms,
    read_question,
    topic_of,
)
from holdfast.search.rank import (
    boosts,
    feedback,
    preference,
    said_in,
    spread_of,
    with_session_prior,
)
from holdfast.search.retrieve import Cosines, GatheredVectors, Query, RetrievalScores, Retriever, barred
from holdfast.search.when import Intent, ParsedQuestion, Window
from holdfast.settings import Settings, tuned
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import Space
from holdfast.text.words import folded, terms

if TYPE_CHECKING:
    from holdfast.models.ask import AskModels
    from holdfast.search.ask import AskScores

# --- Relevance floor: if nothing is relevant, the answer is empty (RECALL-10).
#
# The evidence for a document is the share of the question's words that it has, weighted by rarity, and its
# cosine. Among many documents one is near any question by accident, so a large store needs more evidence.
# The numbers were fitted to labelled questions (training/floor.py).


Scores = NDArray[np.float32]


def above_floor(
    retriever: Retriever,
    answer: RetrievalScores,
    best: NDArray[np.int64],
    cosines: Cosines,
    vectors: GatheredVectors | None,
    windows: Sequence[Window] = (),
    fused: Scores | None = None,
    likely: bool = False,
) -> NDArray[np.bool_]:
    """Return the candidates with enough evidence; if there is one, outliers of `fused` are returned too.

    `vectors` holds those of the candidates. `likely`: it is known from elsewhere that something answers the question.
    """
    shares = answer.words.shares(best)
    if windows:
        shares = shares + _said_then(answer, windows, retriever.tables.columns.at[best])
    enough_words: NDArray[np.bool_] = shares >= np.float32(max(retriever.settings.floor_share, 1e-6))
    if retriever.embedder is None or answer.meaning is None:
        own = enough_words
    else:
        floor = np.float32(floor_among(answer.meaning.coverage.count, retriever.settings))
        near, most = cosines.bounds(best, vectors)
        thresholds = retriever.embedder.profile.thresholds
        doubtful = np.flatnonzero(
            (evidence(shares, near, thresholds, retriever.settings) < floor)
            & (evidence(shares, most, thresholds, retriever.settings) >= floor)
        )
        exactly = cosines.exactly(best[doubtful].tolist())
        near[doubtful] = [exactly.get(at, 0.0) for at in best[doubtful].tolist()]
        held = evidence(shares, near, thresholds, retriever.settings)
        own = np.where(answer.meaning.coverage.mask[best], held >= floor, enough_words)
    if fused is not None and (likely or own.any()):  # outliers by context too; without a hit they are chance
        mean, spread = spread_of(fused, retriever.tables.columns.absent)
        own |= fused[best] >= mean + max(spread, 1e-6) * retriever.settings.outstanding
    return own


def evidence(shares: Scores, cosines: Scores, thresholds: Thresholds, settings: Ranking) -> Scores:
    """Return the evidence for each document: 0 means no shared word and a cosine at the `related` threshold."""
    steps = (cosines - np.float32(thresholds.related)) / np.float32(thresholds.relevant - thresholds.related)
    steps = np.maximum(steps, np.float32(-settings.floor_against))
    held: Scores = shares + steps * np.float32(settings.floor_meaning)
    return held


def _said_then(answer: RetrievalScores, windows: Sequence[Window], at: NDArray[np.int64]) -> Scores:
    """Count the words of a named time as present in documents of that time."""
    naming = {term for window in windows for term in terms(window.phrase)}
    share = len(naming.intersection(answer.question.terms)) / max(len(answer.question.terms), 1)
    said: Scores = said_in(windows, at) * np.float32(share)
    return said


def floor_among(count: int, settings: Ranking) -> float:
    """Return the evidence that exceeds chance among `count` documents."""
    return settings.floor_rise * math.log(max(count, 1) / settings.floor_even)


# --- From positions to hits: read from the store, each thing once, with the reasons it was found.


# A system turn in the log is a stored text like any other: it never poses as authored (INV-2).
_PROVENANCE_OF_ROLE = {
    Role.USER: Provenance.USER_STATED,
    Role.ASSISTANT: Provenance.ASSISTANT_DERIVED,
    Role.SYSTEM: Provenance.TOOL_DERIVED,
    Role.TOOL: Provenance.TOOL_DERIVED,
}


def read_nouns(tables: CandidateTables, positions: Sequence[int], chars: int | None = None) -> dict[int, Turn | Record]:
    found: dict[int, Turn | Record] = {}
    for table, start, nums in zip(tables.parts, tables.starts, tables.numbers(positions), strict=True):
        read = table.view.turns(nums, chars) if table.space is Space.TURN else table.view.records(nums)
        found.update({start + num: noun for num, noun in read.items()})
    return found


def held_words(tables: CandidateTables, terms: Sequence[str], positions: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return which of these terms each document has, from the index, so that no text is tokenised again."""
    found: dict[int, list[str]] = {at: [] for at in positions}
    for table, start, nums in zip(tables.parts, tables.starts, tables.numbers(positions), strict=True):
        if not nums:
            continue
        for term, (holders, _) in zip(terms, table.holders.of(terms), strict=True):
            places = np.searchsorted(holders, nums)
            for place, num in zip(places.tolist(), nums, strict=True):
                if place < len(holders) and holders[place] == num:
                    found[start + num].append(term)
    return {at: tuple(held) for at, held in found.items()}


def turn_ids_of(noun: Turn | Record) -> tuple[str, ...]:
    return noun.turn_ids if isinstance(noun, Record) else (noun.id,)


def provenance_of(noun: Turn | Record) -> Provenance:
    if isinstance(noun, Record):
        return noun.provenance
    if noun.origin is Origin.USER_PASTED:  # the user's paste, not the user's words
        return Provenance.TOOL_DERIVED
    if noun.origin is Origin.AGENT:
        return Provenance.AGENT_NOTED
    return _PROVENANCE_OF_ROLE[noun.role]


class HitCollector:
    """The hits so far. A record and the turn it came from are one hit, the better of the two."""

    def __init__(self, limit: int, read: dict[str, Turn] | None = None) -> None:
        self.hits: list[Hit] = []
        self._limit = limit
        self._read = {} if read is None else read
        self._covered: set[str] = set()

    @property
    def full(self) -> bool:
        return len(self.hits) >= self._limit

    def add(
        self, noun: Turn | Record, scores: Mapping[str, float], words: tuple[str, ...], outdated_by: str | None
    ) -> None:
        turn_ids = turn_ids_of(noun)
        if self.full or (turn_ids and self._covered.issuperset(turn_ids)):
            return
        self._covered.update(turn_ids)
        record = noun if isinstance(noun, Record) else None
        turn = noun if isinstance(noun, Turn) else None
        if turn is not None:
            self._read[turn.id] = turn
        self.hits.append(
            Hit(
                id=noun.id,
                kind=record.kind if record else Kind.TURN,
                text=noun.text,
                score=round(scores["score"], 6),
                raw=round(scores["raw"], 6),
                at=noun.at,
                session=turn.session if turn else None,
                turn_ids=turn_ids,
                provenance=provenance_of(noun),
                confidence=record.confidence if record else 1.0,
                role=turn.role if turn else None,
                words=words,
                lexical=round(scores["lexical"], 6),
                semantic=round(scores["semantic"], 6),
                namespace=noun.namespace,
                outdated_by=outdated_by,
                speaker=str(noun.metadata.get("speaker") or noun.metadata.get("name") or ""),
                lead=str(record.metadata.get("lead") or "") if record else "",
            )
        )


# --- Current statements come before those they replaced, when both answer a question (RECALL-10).
#
# Admission links a statement to the one it replaced or revised; that decides first. Not every statement becomes a
# record, so the first hits are also compared with each other, by the same rules.


_TELLS = 0.5  # probability of being worth keeping from which a turn that ends in a question tells something too
_AS_WELL = 0.8  # of the words that the earlier holds: the later is about what was asked too
_RELATED = 0.33  # of its nearness: "I moved to Ghent" is less near to "where do I live?" than "I live in Porto"
_ASKED_CHARS = 100  # a longer request mostly tells something too: with 400, BEAM's recall@10 falls from .62 to .43
_COMPARED_CHARS = 20_000  # of two texts, one of which may have replaced the other
_QUESTION = re.compile(
    r"\w[\"'”’)]*\s?[?？؟][\"'”’) ]*$|^(?:who|what|when|where|which|why|how|tell me|remind me|list|summari[sz]e|do"
    r"|does|did|is|are|was|were|can|could|will|would|have|has)\b",
    re.IGNORECASE,
)
_STATES = re.compile(r"[.!;\n](?=\s+\S)")
"""A sentence next to the question: the turn says something too."""
_TRUST = (Provenance.USER_STATED, Provenance.AUTHORED)


def current_first(
    order: Sequence[int],
    nouns: Mapping[int, Turn | Record],
    links: Sequence[tuple[int, int]],
    provenance: Mapping[int, Provenance],
    words: NDArray[np.float32],
    cosines: Mapping[int, float],
    named: frozenset[str],
    replaced: Mapping[int, int] | None = None,
    ask: AskScores | None = None,
) -> tuple[list[int], dict[int, int]]:
    """Return the positions with each replaced one right after what replaced it, and the map from older to newer.

    `links` are positions too; `order` is best first; `named` are the question's names, numbers and identifiers. Two
    hits are compared with each other if the later has the question's words as well as the earlier: then both are about
    what was asked. Where the ask encoder has read both, it must agree.
    """
    place = {at: number for number, at in enumerate(order)}
    successor = {
        old: new
        for old, new in _among(nouns, links)
        if (words[new] >= _AS_WELL * words[old] > 0 or cosines.get(new, 0.0) >= _RELATED * cosines.get(old, 0.0) > 0)
        and not _asks_for_old(nouns[old].text, nouns[new].text, named)
    } | dict(replaced or {})
    if ask is not None:
        successor = {old: new for old, new in successor.items() if ask.agrees(old, new)}
    for number, first in enumerate(order):
        for second in order[number + 1 :]:
            older, newer = sorted((first, second), key=lambda at: (nouns[at].at, at))
            if older in successor or words[newer] < _AS_WELL * words[older] or not words[older] > 0:
                continue
            if _replaced(nouns[older], nouns[newer], provenance[older], provenance[newer]):
                successor[older] = newer
    ranked = list(order)
    for older in sorted(successor, key=lambda at: place[at]):
        newer = _last(older, successor)
        if ranked.index(older) < ranked.index(newer):
            ranked.remove(newer)
            ranked.insert(ranked.index(older), newer)
    return ranked, successor


def _among(nouns: Mapping[int, Turn | Record], links: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The links between those that are compared; what was replaced twice is replaced by the last, whether or not the
    one in between is among them.
    """
    following: dict[int, list[int]] = {}
    for old, new in links:
        following.setdefault(old, []).append(new)
    found = []
    for old in sorted(following.keys() & nouns.keys()):
        seen, open_ones = {old}, list(following[old])
        while open_ones:
            new = open_ones.pop()
            if new in seen:
                continue
            seen.add(new)
            if new in nouns:
                found.append((old, new))
            else:
                open_ones += following.get(new, ())
    return found


def _asks_for_old(older: str, newer: str, named: frozenset[str]) -> bool:
    """Return True if the question names something that only the older one has: then the older one is wanted."""
    only = named.intersection(terms(older[:_COMPARED_CHARS])) if named else named
    return bool(only) and not only <= set(terms(newer[:_COMPARED_CHARS]))


def _replaced(older: Turn | Record, newer: Turn | Record, of: Provenance, by: Provenance) -> bool:
    """Only the user's own words say what is no longer so, and only of the user's own words (MERGE-5)."""
    if of not in _TRUST or by not in _TRUST or older.text == newer.text:
        return False
    if older.at == newer.at and (isinstance(older, Record) or isinstance(newer, Record)):
        return False  # said at once: a record and the turn it came from, or two of one turn
    from holdfast.admit.supersede import replaces  # its patterns take long to load: few first questions need them

    found = replaces(newer.text, older.text)
    return found is not None and found.sure


def _last(at: int, successor: Mapping[int, int]) -> int:
    """The end of a chain of replacements; a chain that closes on itself ends where it closes."""
    seen = {at}
    while at in successor and successor[at] not in seen:
        at = successor[at]
        seen.add(at)
    return at


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
    ask: AskModels | None = None,
) -> Hits:
    """`views` are the namespace asked and, behind it, `global`. `read` is given the turns of the hits, by id."""
    watch = _Stopwatch()
    ranking = tuned(settings, Ranking)
    asked = read_question(query.text[: ranking.question_chars], now)
    by_formula = settings.recall.ranker == "seed"  # nothing else moves a hit
    if not by_formula and query.kind in (None, Kind.TURN) and asked.intent in (Intent.THEMES, Intent.RECENT):
        from holdfast.search.overview import overview

        turns, reason = overview(views[0], query, asked, embedder, cache, settings, now)
        watch.stage(asked.intent.value, len(turns), ", ".join(window.phrase for window in asked.windows))
        return Hits(_in_this_order(turns, query.limit, read), watch.receipt(reason, None))
    tables = _read_tables(views, query, cache, settings)
    speaker = named_speaker(tables.parts[0], query.text, ranking)
    replies = asks_for_replies(query.text)
    gathers = asked.intent is Intent.GATHER and not by_formula and query.kind in (None, Kind.TURN)
    if gathers and ask is None:
        ranking = replace(ranking, weights=replace(ranking.weights, **GATHER_WEIGHTS))
    retriever = Retriever(tables, embedder, cache, ranking, speaker, replies, ask.encoder if ask else None)
    watch.stage("shelves", tables.count, "turns and records that may be found")
    answer = retriever.ask(topic_of(query.text) if gathers else query.text, watch.stage)
    windows = _windows(retriever, asked, now)
    out = barred(tables, query)
    count = max(ranking.rescore, 4 * query.limit)
    note, preferred = "", np.float32(0)
    if by_formula:
        from holdfast.search.seed import seed_scores

        angles = None if answer.meaning is None else answer.meaning.statement.copy()
        fused = seed_scores(tables, angles, query.session or query.current, now, ranking)
        best = _candidates(fused, out, count, tables.columns)
        if angles is not None:  # the formula's own cosine, not the one that the scan is aimed with
            exactly = retriever.cosines(answer).exactly(best.tolist())
            angles[list(exactly)] = list(exactly.values())
            fused = seed_scores(tables, angles, query.session or query.current, now, ranking)
        vectors = retriever.vectors(answer, best)
    else:
        answering, note = _with_sides(retriever, answer, asked)
        preferred = preference(tables, replies, ranking)
        own = answering + tables.columns.own * preferred
        wanted = boosts(tables, wanted_marks(query.text), windows, ranking)
        if wanted is not None:
            own += wanted
        for table, start in zip(tables.parts, tables.starts, strict=True):
            for nums, _ in table.holders.of(identifiers(answer.question.terms)):
                own[start + nums] += np.float32(ranking.identifier_preference)
        spoken = None if speaker is None else speaker.turns
        fused = own if gathers else with_session_prior(tables, own, spoken, ranking)
        best = _candidates(fused, out, count + ranking.echo_among, tables.columns)
        vectors = retriever.vectors(answer, best)
        if answer.meaning is not None and vectors is not None and not gathers:
            if spoken is not None:
                own[spoken] += np.float32(ranking.speaker_preference)
            near = _top(best, fused, ranking.echo_among, tables.columns)
            first = _in_order(near, own, tables.columns)  # by their own scores, without context
            asks = (tables.columns.marks[first] & np.uint8(Mark.QUESTION)) > 0
            first = first[~asks | (tables.columns.prior[first] >= _TELLS)]  # what only asks tells nothing
            fused[near] += feedback(tables, answer.meaning, vectors, first, near, ranking)
        best = _top(best, fused, count, tables.columns)  # none of the others was raised
    watch.stage("weighed", len(windows), note or "times that the question names")
    best = _in_order(best, fused, tables.columns)
    cosines = retriever.cosines(answer)
    cosines.expect(best[: _read_at_once(query)].tolist())
    chance = None
    if ask is not None and ask.abstention is not None:
        from holdfast.search.ask import answer_chance  # only who has the model loads it

        chance = answer_chance(answer, best, cosines.bounds(best, vectors)[0], ask.abstention)
        if chance is not None and chance < ask.abstention.threshold:
            best = best[:0]
            watch.stage("abstain", 0, f"the probability that anything stored answers this is {chance:.2f}")
    order = best[above_floor(retriever, answer, best, cosines, vectors, windows, fused, chance is not None)].tolist()
    watch.stage("floor", len(order), "candidates above the floor")
    if gathers:
        from holdfast.search.overview import gathered

        order = gathered(tables, order, out, fused, asks_for_own_words(query.text), ranking)
        watch.stage("gather", len(order), "spread over the sessions that speak of it")
    degraded = answer.question.degraded
    if query.rerank_s > 0 and ask is not None and ask.reranker is not None:
        from holdfast.search.rerank import RERANKED, rerank

        nouns = read_nouns(tables, order[: 2 * RERANKED])  # a record and its turn are one hit
        order, count, trouble = rerank(tables, order, nouns, fused, query.text, ask.reranker, query.rerank_s)
        watch.stage("rerank", count, "hits read together with the question")
        degraded = degraded or trouble
    found = HitCollector(query.limit, read)
    # Who asks about a time wants what held then; else what holds now comes before what it replaced.
    compared = 1 if windows or query.as_of is not None or by_formula or gathers else ranking.compared
    hit_scores = _HitScores(fused, tables.columns.own, preferred, answer.words.scores, cosines, answer.ask)
    _read(found, tables, order, query, answer.question.terms, compared, hit_scores, by_formula)
    watch.stage("read", len(found.hits))
    return Hits(found.hits, watch.receipt(_reason(answer, found.hits), degraded))


# --- candidate tables


def _read_tables(
    views: Sequence[tuple[str, Snapshot]], query: Query, cache: BlockCache, settings: Settings
) -> CandidateTables:
    if query.kind is None:
        spaces = [Space.TURN, Space.RECORD]
    else:
        spaces = [Space.TURN] if query.kind is Kind.TURN else [Space.RECORD]
    max_chars = tuned(settings, IndexSizes).max_chars
    tables = [
        read_table(view, namespace, space, cache, max_chars, common=number > 0, digests=query.kind is Kind.SUMMARY)
        for number, (namespace, view) in enumerate(views)
        for space in spaces
    ]
    filled = [tables[0], *(table for table in tables[1:] if table.pool.count)]
    return side_by_side(filled, cache, tuned(settings, Ranking).answer_words)


# --- sides and times of the question


def _with_sides(retriever: Retriever, answer: RetrievalScores, asked: ParsedQuestion) -> tuple[Scores, str]:
    """A comparison needs both events, a question of several parts each part: what answers one answers the whole."""
    others = (asked.sides or asked.parts)[:_MOST_ASKED]
    if not others:
        return answer.raw, ""
    best: Scores = np.maximum.reduce([retriever.ask(text).raw for text in others])
    if asked.sides:  # the question as a whole counts as much as its better side
        return ((answer.raw + best) / np.float32(np.sqrt(2.0))).astype(np.float32), "both sides of a comparison asked"
    return np.maximum(answer.raw, best), "each part asked on its own"


def _windows(retriever: Retriever, asked: ParsedQuestion, now: datetime) -> list[Window]:
    """Return the asked times; an event that defines one ("before the move") is looked up first."""
    if asked.ahead:  # what is planned was said before its time
        return []
    windows = list(asked.windows)
    for anchor in asked.anchors[:_MOST_ASKED]:
        event = retriever.ask(anchor.words)
        if not len(event.raw):
            continue
        at = int(event.raw.argmax())
        best = np.array([at])
        if above_floor(retriever, event, best, retriever.cosines(event), retriever.vectors(event, best))[0]:
            (noun,) = read_nouns(retriever.tables, [at]).values()
            windows.append(anchor.window(noun.at, now))
    return windows


def _in_this_order(turns: Sequence[Turn], limit: int, read: dict[str, Turn] | None) -> list[Hit]:
    """Return hits for turns that no topic was looked for in; the score only keeps their order."""
    found = HitCollector(limit, read)
    for rank, turn in enumerate(turns):
        score = float(len(turns) - rank)
        found.add(turn, {"score": score, "raw": score, "lexical": 0.0, "semantic": 0.0}, (), None)
    return found.hits


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
    """Return the best `count` of these positions, unsorted; among equals the later line of the log, then a record.

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
class _HitScores:
    fused: Scores
    own: Scores
    preferred: np.float32
    words: Scores
    cosines: Cosines
    ask: AskScores | None

    def at(self, position: int, cosine: float) -> dict[str, float]:
        return {
            "score": float(self.fused[position]),
            "raw": float(self.fused[position] - self.own[position] * self.preferred),
            "lexical": float(self.words[position]),
            "semantic": cosine,
        }


def _read(
    found: HitCollector,
    tables: CandidateTables,
    order: list[int],
    query: Query,
    terms: Sequence[str],
    compared: int,
    hit_scores: _HitScores,
    by_formula: bool,
) -> None:
    """Read the hits; the first few are compared, so that none comes before what replaced it."""
    most = max(_read_at_once(query), compared)
    nouns, cosines = read_nouns(tables, order[:most], query.chars), hit_scores.cosines.exactly(order[:most])
    first = {at: nouns[at] for at in order[:compared] if at in nouns}
    outdated: dict[int, int] = {}
    if compared > 1:
        links = _links(tables, order)
        ended = _successors(tables, first, links, terms, named_terms(query.text), query.chars)
        first |= {at: noun for at, noun in ended.values() if at not in first}
        nouns |= first
        provenances = {at: provenance_of(noun) for at, noun in first.items()}
        ranked, outdated = current_first(
            list(first), first, links, provenances, hit_scores.words, cosines, named_terms(query.text),
            {old: new for old, (new, _) in ended.items()}, hit_scores.ask,
        )  # fmt: skip
        if hit_scores.ask is not None:
            own = {at: first[at] for at in ranked if provenances[at] in _TRUST}
            ranked = hit_scores.ask.newer_first(tables, ranked, own, query.text)
        # What an agent noted comes after what the user said (TRUST-2).
        ranked.sort(key=lambda at: provenances[at] is Provenance.AGENT_NOTED)
        order = ranked + [at for at in order[compared:] if at not in first]
    rest = order if by_formula else _statements_first(order, nouns, query.text, tables.columns.prior)
    while rest and not found.full:
        part, rest = rest[:most], rest[most:]
        unread = [at for at in part if at not in nouns]
        if unread:
            nouns, cosines = read_nouns(tables, unread, query.chars) | nouns, hit_scores.cosines.exactly(part)
        words = held_words(tables, terms, part)
        for at in part:
            newer = first.get(outdated.get(at, -1))
            found.add(
                nouns[at], hit_scores.at(at, cosines.get(at, 0.0)), words[at], None if newer is None else newer.id
            )


def _statements_first(
    order: list[int], nouns: Mapping[int, Turn | Record], question: str, prior: NDArray[np.float32]
) -> list[int]:
    """Put turns that only ask behind the others (BEL-5); the same question is no hit, the same statement is first."""
    asked, most = folded(question), 2 * len(question)  # a much longer text says something else
    same = {at for at in order if at in nouns and len(nouns[at].text) <= most and folded(nouns[at].text) == asked}
    kept = [at for at in order if at not in same or not _QUESTION.search(nouns[at].text)]
    asks = {at for at in kept if at in nouns and only_asks(nouns[at]) and not (at < len(prior) and prior[at] >= _TELLS)}
    return sorted(kept, key=lambda at: (at not in same, at in asks))


def only_asks(noun: Turn | Record) -> bool:
    """Return whether a turn of the user's holds nothing but questions: it is no evidence of anything."""
    if not isinstance(noun, Turn) or noun.role is not Role.USER or len(noun.text) > _ASKED_CHARS:
        return False
    return _QUESTION.search(noun.text) is not None and not _STATES.search(noun.text)


def _successors(
    tables: CandidateTables,
    first: Mapping[int, Turn | Record],
    links: Sequence[tuple[int, int]],
    terms_asked: Sequence[str],
    named: frozenset[str],
    chars: int | None,
) -> dict[int, tuple[int, Turn]]:
    """Return for hits whose statement was replaced the turn that replaced it, whether or not it was found itself.

    A turn may hold several statements: it counts as replaced only if the question's words are in one that was.
    """
    view = tables.parts[0].view
    linked = {old for old, _ in links}
    older = {at: noun for at, noun in first.items() if at in linked and isinstance(noun, Turn)}
    words = {at: set(terms_asked).intersection(terms(noun.text[:_COMPARED_CHARS])) for at, noun in older.items()}
    ended = [
        (at, newest.turn_ids[-1])
        for at, record, newest in view.replaced(list(older))
        if newest.turn_ids and len(words[at].intersection(terms(record.text))) * 2 >= len(words[at])
    ]
    newer = view.turns_by_id([turn_id for _, turn_id in ended], chars) if ended else {}
    return {
        at: (newer[turn_id].seq, newer[turn_id])
        for at, turn_id in ended
        if turn_id in newer
        and newer[turn_id].seq != at
        and not _asks_for_old(older[at].text, newer[turn_id].text, named)
    }


def _links(tables: CandidateTables, order: Sequence[int]) -> list[tuple[int, int]]:
    """(older, newer) by admission's links, as positions; the turns of the namespace are the first table."""
    turns = tables.parts[0]
    if turns.space is not Space.TURN:
        return []
    own = [at for at in order if at < turns.pool.size]
    return sorted(turns.view.successors(own)) if own else []  # in which order rows come is the engine's to choose


def _reason(answer: RetrievalScores, hits: Sequence[Hit]) -> str:
    if not answer.question.terms and answer.meaning is None:
        return "the question holds no word to look for"
    retriever = "words and meaning" if answer.meaning is not None else "words"
    return f"looked by {retriever}; {len(hits)} found" if hits else f"looked by {retriever}; nothing is close enough"
