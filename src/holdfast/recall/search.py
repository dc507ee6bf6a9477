"""Search: words and meaning over turns and records, fused, filtered, rescored and explained."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError
from holdfast.model import Hit, Hits, Kind, Origin, Provenance, Receipt, Record, Role, Stage, Turn
from holdfast.models.embedder import Embedder
from holdfast.moments import to_micros
from holdfast.recall.cache import BlockCache
from holdfast.recall.fuse import Leg, Mix
from holdfast.recall.lexical import score_words
from holdfast.recall.pool import Pool, read_pool
from holdfast.recall.semantic import rescore, scan
from holdfast.recall.words import query_terms, script_of, terms
from holdfast.settings import Settings
from holdfast.store.codes import kind_number, role_number
from holdfast.store.protocol import Snapshot, Space

__all__ = ["Query", "search"]

_FULL_PREFERENCE = 10  # the root of the number of documents from which the preference counts in full
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
    view: Snapshot, namespace: str, query: Query, embedder: Embedder | None, cache: BlockCache, settings: Settings
) -> Hits:
    watch = _Stopwatch()
    asked = query_terms(query.text[: settings.recall.question_chars], settings.recall.question_terms)
    question, degraded = _embed(query.text[: settings.recall.question_chars], embedder)
    watch.stage("question", len(asked), "meaning is silent" if question is None else "")
    spaces = _spaces(query.kind)
    pools = [read_pool(view, namespace, space, cache, settings.index.max_chars) for space in spaces]
    lexical = score_words(view, pools, asked, settings.recall)
    watch.stage("words", sum(int(np.count_nonzero(scores)) for scores in lexical), " ".join(asked[:12]))
    # One list of candidates out of both spaces: positions in the joined arrays.
    exists = _joined([pool.exists for pool in pools])
    words = Leg.over(_joined(lexical), exists)
    meaning = None
    if question is not None and embedder is not None:
        fingerprint = embedder.profile.fingerprint
        scanned = [scan(view, namespace, pool, fingerprint, question, cache) for pool in pools]
        meaning = Leg.over(_joined([scores for scores, _ in scanned]), _joined([heard for _, heard in scanned]))
        watch.stage("meaning", int(np.count_nonzero(meaning.heard)))
    mix = Mix(words, meaning, settings.recall.dense_weight)
    allowed = _joined([_allowed(view, pool, query) for pool in pools])
    preference = _preference(settings.recall.user_preference, sum(pool.count for pool in pools))
    preferred = _joined([_own_words(pool, preference) for pool in pools])
    best = _candidates(mix, allowed, preferred, query.limit, settings.recall.rescore)
    if meaning is not None and question is not None and embedder is not None:
        for pool, start in zip(pools, _starts(pools), strict=True):
            nums = [int(at) - start for at in best if start <= at < start + pool.size]
            part = meaning.scores[start : start + pool.size]
            rescore(view, pool.space, embedder.profile.fingerprint, question, nums, part)
    best = best[_above_floor(mix, best, _relevant(embedder, mix))]
    raw = mix.at(best)
    fused = raw + preferred[best]
    if query.as_of is None:
        _lower_replaced(view.replaced_turns(), best, fused)
    ranking = _Ranking(best, fused, raw, _joined([pool.at for pool in pools])[best]).best()
    watch.stage("fused", len(best), "candidates above the floor")
    hits = _read_hits(view, pools, ranking, mix, asked, query.limit)
    watch.stage("read", len(hits))
    return Hits(hits, watch.receipt(_reason(asked, hits, question is not None), degraded))


def _embed(text: str, embedder: Embedder | None) -> tuple[NDArray[np.float32] | None, str | None]:
    """The question's vector; None when the semantic leg must stay silent, with the reason if something is broken."""
    if embedder is None or not text.strip():
        return None, None
    scripts = embedder.profile.scripts
    if scripts and script_of(text) not in scripts:
        return None, None
    try:
        vector = embedder.embed([text])[0]
    except ModelError as error:
        return None, f"words only: {error}"
    return (vector, None) if vector.any() else (None, None)


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


def _preference(full: float, count: int) -> float:
    """In standard scores a direct hit among n stands about √n above the rest; a preference must stay below that."""
    return full * min(1.0, math.sqrt(count) / _FULL_PREFERENCE)


def _own_words(pool: Pool, preference: float) -> NDArray[np.float32]:
    """The preference for what the user said and for records, 0 for assistants, tools and systems.

    An offset, not a factor: a standard score may be negative, and a negative one times .7 would rise (RECALL-2).
    """
    if pool.space is Space.RECORD:
        return np.full(pool.size, preference, np.float32)
    own: NDArray[np.bool_] = pool.sort == role_number(Role.USER)
    return own.astype(np.float32) * np.float32(preference)


def _candidates(
    mix: Mix, allowed: NDArray[np.bool_], preferred: NDArray[np.float32], limit: int, rescored: int
) -> NDArray[np.int64]:
    """Positions worth a closer look: the best of the mix. Codes err by .005: less than the gap to the rest."""
    fused = mix.at()
    fused += preferred
    fused[~allowed] = -np.inf
    best = _top(fused, max(rescored, 4 * limit))
    return best[allowed[best]]


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


def _relevant(embedder: Embedder | None, mix: Mix) -> float:
    """The cosine that is more than chance: among many turns one lies near any question by accident."""
    if embedder is None or mix.meaning is None:
        return 1.0
    thresholds = embedder.profile.thresholds
    crowd = min(1.0, math.log1p(np.count_nonzero(mix.meaning.heard) / _FEW) / math.log1p(_CROWD / _FEW))
    return thresholds.related + crowd * (thresholds.relevant - thresholds.related)


def _above_floor(mix: Mix, best: NDArray[np.int64], relevant: float) -> NDArray[np.bool_]:
    """A hit shares a word with the question, or is nearer to it than chance."""
    floor = mix.words.scores[best] > 0
    if mix.meaning is not None:
        floor |= mix.meaning.scores[best] >= relevant
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


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The arrays of both spaces end to end; most namespaces have one, which needs no copy."""
    filled = [part for part in parts if len(part)]
    return filled[0] if len(filled) == 1 else np.concatenate(parts)


def _starts(pools: Sequence[Pool]) -> list[int]:
    return [sum(pool.size for pool in pools[:number]) for number in range(len(pools))]


def _lower_replaced(replaced: Sequence[tuple[int, int]], best: NDArray[np.int64], fused: NDArray[np.float32]) -> None:
    """A turn whose statement was replaced ranks below the turn that replaced it, when both match (RECALL-10)."""
    if not replaced:
        return
    where = {int(at): number for number, at in enumerate(best)}
    for old, new in replaced:  # turns come first in the joined arrays, so a turn's place in the log is its position
        if old in where and new in where and fused[where[old]] >= fused[where[new]]:
            fused[where[old]] = fused[where[new]] - np.float32(_BELOW)


def _read_hits(
    view: Snapshot,
    pools: Sequence[Pool],
    ranking: Sequence[tuple[int, float, float]],
    mix: Mix,
    asked: Sequence[str],
    limit: int,
) -> list[Hit]:
    """The best that say something new: a record and the turn it came from are one hit, the better of the two."""
    hits: list[Hit] = []
    told: set[str] = set()
    for start in range(0, len(ranking), 2 * limit):
        part = ranking[start : start + 2 * limit]
        found = _read_nouns(view, pools, [at for at, _, _ in part])
        for at, fused, raw in part:
            turn_ids = _turn_ids(found[at])
            if turn_ids and told.issuperset(turn_ids):
                continue
            told.update(turn_ids)
            semantic = 0.0 if mix.meaning is None else float(mix.meaning.scores[at])
            hits.append(_hit(found[at], fused, raw, float(mix.words.scores[at]), semantic, asked))
            if len(hits) == limit:
                return hits
    return hits


def _read_nouns(view: Snapshot, pools: Sequence[Pool], places: Sequence[int]) -> dict[int, Turn | Record]:
    found: dict[int, Turn | Record] = {}
    for pool, start in zip(pools, _starts(pools), strict=True):
        nums = [at - start for at in places if start <= at < start + pool.size]
        read = view.turns(nums) if pool.space is Space.TURN else view.records(nums)
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
