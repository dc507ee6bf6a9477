"""Search: words and meaning over turns and records, fused, filtered, rescored and explained."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from holdfast.model import Hit, Hits, Kind, Origin, Provenance, Receipt, Record, Role, Stage, Turn
from holdfast.models.embedder import Embedder
from holdfast.moments import to_micros
from holdfast.recall.cache import BlockCache
from holdfast.recall.lexical import score_words
from holdfast.recall.marks import wanted_marks
from holdfast.recall.pool import Pool
from holdfast.recall.question import asks_for_replies, named_speaker, read
from holdfast.recall.rank import answering, preferences, with_context
from holdfast.recall.semantic import Meant, exact, scan_shelves
from holdfast.recall.shelf import Shelves, read_shelf
from holdfast.recall.when import read_question
from holdfast.settings import Settings
from holdfast.store.codes import kind_number
from holdfast.store.protocol import Snapshot, Space
from holdfast.words import terms

__all__ = ["Query", "search"]

_FEW, _CROWD = 10, 500  # turns among which the profile's `related` and `relevant` are more than chance
_BELOW = 1e-3  # how far a replaced turn is put below its successor
_SHOWN_CHARS = 20_000  # of a hit's text are read for the words it shares with the question

# A system turn in the log is a stored text like any other: it never poses as authored (INV-2).
_PROVENANCE_OF_ROLE = {
    Role.USER: Provenance.USER_STATED,
    Role.ASSISTANT: Provenance.ASSISTANT_DERIVED,
    Role.SYSTEM: Provenance.TOOL_DERIVED,
    Role.TOOL: Provenance.TOOL_DERIVED,
}


@dataclass(frozen=True)
class Query:
    text: str
    limit: int = 10
    kind: Kind | None = None
    session: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None


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
    view: Snapshot,
    namespace: str,
    query: Query,
    embedder: Embedder | None,
    cache: BlockCache,
    settings: Settings,
    now: datetime,
) -> Hits:
    watch = _Stopwatch()
    shelves = Shelves(
        [read_shelf(view, namespace, space, cache, settings.index.max_chars) for space in _spaces(query.kind)]
    )
    asked = read_question(query.text, now)
    speaker = named_speaker(shelves.parts[0], query.text, settings.recall)
    question = read(query.text, speaker, embedder, settings.recall)
    watch.stage("question", len(question.terms), "meaning is silent" if question.vector is None else "")
    words = score_words(shelves, question.terms, settings.recall)
    watch.stage("words", int(np.count_nonzero(words)), " ".join(question.terms[:12]))
    meaning = None
    if question.vector is not None and embedder is not None:
        meaning = scan_shelves(shelves, embedder.profile.fingerprint, question.vector, cache)
        watch.stage("meaning", int(np.count_nonzero(meaning.heard)))
    raw = answering(shelves, words, meaning, settings.recall)
    windows = () if asked.ahead else asked.windows
    fused = raw + preferences(shelves, wanted_marks(query.text), asks_for_replies(query.text), windows, settings.recall)
    if speaker is not None:
        fused[speaker.turns] += np.float32(settings.recall.speaker_preference)
    fused = with_context(shelves, fused, settings.recall)
    allowed = shelves.joined([_allowed(shelf.view, shelf.pool, query) for shelf in shelves.parts])
    best = _top(np.where(allowed, fused, -np.inf), max(settings.recall.rescore, 4 * query.limit))
    best = best[allowed[best]]
    cosines = _cosines(shelves, best, embedder, question.vector)
    best = best[_above_floor(words[best], cosines[best], _relevant(embedder, meaning))]
    if query.as_of is None:
        _lower_replaced(view.replaced_turns(), best, fused)
    ranking = _Ranking(best, fused[best], raw[best], shelves.column("at")[best]).best()
    watch.stage("fused", len(best), "candidates above the floor")
    hits = _read_hits(shelves, ranking, words, cosines, question.terms, query.limit)
    watch.stage("read", len(hits))
    return Hits(hits, watch.receipt(_reason(question.terms, hits, question.vector is not None), question.degraded))


def _cosines(
    shelves: Shelves, best: NDArray[np.int64], embedder: Embedder | None, question: NDArray[np.float32] | None
) -> NDArray[np.float32]:
    """The candidates' cosines with the question in full precision, by position; 0 for the rest."""
    cosines = np.zeros(sum(shelf.pool.size for shelf in shelves.parts), np.float32)
    if embedder is None or question is None:
        return cosines
    for shelf, start, nums in zip(shelves.parts, shelves.starts, shelves.numbers(best.tolist()), strict=True):
        space = Space.RECORD if shelf.space is Space.RECORD else Space.TOLD
        for num, cosine in exact(shelf.view, space, embedder.profile.fingerprint, question, nums).items():
            cosines[start + num] = cosine
    return cosines


def _spaces(kind: Kind | None) -> list[Space]:
    if kind is None:
        return [Space.TURN, Space.RECORD]
    return [Space.TURN] if kind is Kind.TURN else [Space.RECORD]


def _allowed(view: Snapshot, pool: Pool, query: Query) -> NDArray[np.bool_]:
    """Which documents the filters let through."""
    allowed = pool.exists.copy()
    hidden = view.hidden(pool.space)
    if hidden:
        allowed[hidden] = False
    if query.kind is not None and pool.space is Space.RECORD:
        allowed &= pool.sort == kind_number(query.kind)
    if query.session is not None:
        number = view.session_number(query.session)
        allowed &= (pool.session == (number or 0)) if pool.space is Space.TURN else np.bool_(False)
        if number is None:
            allowed[:] = False
    if query.since is not None:
        allowed &= pool.at >= to_micros(query.since)
    if query.until is not None:
        allowed &= pool.at < to_micros(query.until)
    if query.as_of is not None:
        allowed &= pool.at <= to_micros(query.as_of)
    if pool.space is Space.RECORD:
        moment = None if query.as_of is None else to_micros(query.as_of)
        for num, valid_to in view.retired():  # replaced: served only to who asks about a time before
            if moment is None or valid_to <= moment:
                allowed[num] = False
    return allowed


def _top(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """The positions of the best, in no order."""
    if len(scores) <= count:
        return np.arange(len(scores))
    if len(scores) > 64 * count:  # a sample says where the best begin, and only those are sorted out
        bar = np.partition(scores[::16], -count // 4)[-count // 4]
        few = np.flatnonzero(scores >= bar)
        if len(few) >= count:
            return few[np.argpartition(scores[few], -count)[-count:]]
    return np.argpartition(scores, -count)[-count:]


def _relevant(embedder: Embedder | None, meaning: Meant | None) -> float:
    """The cosine that is more than chance: among many turns one lies near any question by accident."""
    if embedder is None or meaning is None:
        return 1.0
    thresholds = embedder.profile.thresholds
    crowd = min(1.0, math.log1p(np.count_nonzero(meaning.heard) / _FEW) / math.log1p(_CROWD / _FEW))
    return thresholds.related + crowd * (thresholds.relevant - thresholds.related)


def _above_floor(words: NDArray[np.float32], cosines: NDArray[np.float32], relevant: float) -> NDArray[np.bool_]:
    """A hit shares a word with the question, or is nearer to it than chance."""
    floor: NDArray[np.bool_] = (words > 0) | (cosines >= relevant) | True
    return floor


@dataclass(frozen=True)
class _Ranking:
    """Candidates with the score that ranks them, their score before preferences, and when they were said."""

    places: NDArray[np.int64]
    fused: NDArray[np.float32]
    raw: NDArray[np.float32]
    times: NDArray[np.int64]

    def best(self) -> list[tuple[int, float, float]]:
        """(position, fused, raw), best first; of equals the one said later, then the later line of the log."""
        order = np.lexsort((-self.places, -self.times, -self.fused))
        return [(int(self.places[i]), float(self.fused[i]), float(self.raw[i])) for i in order]


def _lower_replaced(replaced: Sequence[tuple[int, int]], best: NDArray[np.int64], fused: NDArray[np.float32]) -> None:
    """A turn whose statement was replaced ranks below the turn that replaced it, when both match (RECALL-10)."""
    if not replaced:
        return
    matched = {int(at) for at in best}
    for old, new in replaced:  # turns come first in the joined columns, so a turn's place in the log is its position
        if old in matched and new in matched and fused[old] >= fused[new]:
            fused[old] = fused[new] - np.float32(_BELOW)


def _read_hits(
    shelves: Shelves,
    ranking: Sequence[tuple[int, float, float]],
    words: NDArray[np.float32],
    cosines: NDArray[np.float32],
    asked: Sequence[str],
    limit: int,
) -> list[Hit]:
    """The best that say something new: a record and the turn it came from are one hit, the better of the two."""
    hits: list[Hit] = []
    told: set[str] = set()
    for start in range(0, len(ranking), 2 * limit):
        part = ranking[start : start + 2 * limit]
        found = _read_nouns(shelves, [at for at, _, _ in part])
        for at, fused, raw in part:
            turn_ids = _turn_ids(found[at])
            if turn_ids and told.issuperset(turn_ids):
                continue
            told.update(turn_ids)
            hits.append(_hit(found[at], fused, raw, float(words[at]), float(cosines[at]), asked))
            if len(hits) == limit:
                return hits
    return hits


def _read_nouns(shelves: Shelves, places: Sequence[int]) -> dict[int, Turn | Record]:
    found: dict[int, Turn | Record] = {}
    for shelf, start, nums in zip(shelves.parts, shelves.starts, shelves.numbers(places), strict=True):
        read = shelf.view.turns(nums) if shelf.space is Space.TURN else shelf.view.records(nums)
        found.update({start + num: noun for num, noun in read.items()})
    return found


def _turn_ids(noun: Turn | Record) -> tuple[str, ...]:
    return noun.turn_ids if isinstance(noun, Record) else (noun.id,)


def _hit(noun: Turn | Record, fused: float, raw: float, lexical: float, semantic: float, asked: Sequence[str]) -> Hit:
    shared = set(terms(noun.text[:_SHOWN_CHARS])) if lexical > 0 else set()
    record = noun if isinstance(noun, Record) else None
    turn = noun if isinstance(noun, Turn) else None
    return Hit(
        id=noun.id,
        kind=record.kind if record else Kind.TURN,
        text=noun.text,
        score=round(fused, 6),
        raw=round(raw, 6),
        at=noun.at,
        session=turn.session if turn else None,
        turn_ids=_turn_ids(noun),
        provenance=_provenance(noun),
        confidence=record.confidence if record else 1.0,
        role=turn.role if turn else None,
        words=tuple(term for term in asked if term in shared),
        lexical=round(lexical, 6),
        semantic=round(semantic, 6),
    )


def _provenance(noun: Turn | Record) -> Provenance:
    if isinstance(noun, Record):
        return noun.provenance
    if noun.origin is Origin.USER_PASTED:  # the user's paste, not the user's words
        return Provenance.TOOL_DERIVED
    return _PROVENANCE_OF_ROLE[noun.role]


def _reason(asked: Sequence[str], hits: Sequence[Hit], meaning: bool) -> str:
    if not asked and not meaning:
        return "the question holds no word to look for"
    legs = "words and meaning" if meaning else "words"
    return f"looked by {legs}; {len(hits)} found" if hits else f"looked by {legs}; nothing is close enough"
