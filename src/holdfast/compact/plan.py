"""Planning a compaction: guidance that is kept verbatim, and one summary per cluster of turns.

Clusters are neighbours in time, of about equal size (COMP-1). Rules that the user gave survive verbatim (COMP-2,
COMP-3): a turn of ordinary length is kept whole, so that a rule keeps its reasons; of a page only the rules are kept,
and the rest may be summarised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.admit.secrets import mask
from holdfast.compact.abstract import abstract, deserves_model
from holdfast.compact.prepare import CompactSizes, Excerpt
from holdfast.compact.summarize import Summary, summarize
from holdfast.log.acts import COLLECTION, PARTIAL, CompactedRecord, elevated
from holdfast.log.messages import new_id
from holdfast.model import Kind, Origin, Provenance, Role, Turn
from holdfast.models.chat import Chat
from holdfast.rules.booster import Booster, surface_hint
from holdfast.rules.detect import OWN, Norm, norms
from holdfast.text.words import sentences


@dataclass(frozen=True)
class Plan:
    """Everything that one compaction will write."""

    records: tuple[CompactedRecord, ...]
    clusters: int
    removed: int
    """Turns that a summary or a shard replaces in the active view."""
    notes: tuple[str, ...]
    """Problems: a model that failed, a cluster that was declined."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Guidance from one turn, verbatim; secrets are masked, as in every record (ADMIT-7)."""

    turn: Turn
    text: str
    modality: str
    cue: str
    reason: str
    whole: bool = True
    """True if it replaces the whole turn; otherwise the rest of the turn is summarised or stays."""


def make_plan(
    turns: Sequence[Turn],
    namespace: str,
    booster: Booster,
    chat: Chat | None,
    means: Sequence[float],
    settings: CompactSizes,
    now: datetime,
    on_cluster: Callable[[int], None] = lambda turns: None,
) -> Plan:
    """Plan the compaction of turns.

    `means` are the mean G of the namespace's earlier clusters; `on_cluster` is called with the number of turns done.
    """
    shards, excerpts = _protect(turns, booster, settings)
    records = [_guidance_record(shard, namespace, now) for shard in shards]
    removed = {shard.turn.id for shard in shards if shard.whole}
    by_turn = {excerpt.turn.id: excerpt for excerpt in excerpts}
    notes = [booster.trouble] if booster.trouble else []
    formed = clusters([excerpt.turn for excerpt in excerpts], settings.size)
    scores = [[turn.signals["g"] for turn in cluster if turn.role is Role.USER] for cluster in formed]
    means_now = [sum(some) / len(some) if some else 0.0 for some in scores]
    namespace_means = [*means, *means_now]  # the first run must have a top fifth too
    for cluster, mean in zip(formed, means_now, strict=True):
        model = chat if chat is not None and deserves_model(mean, namespace_means, settings) else None
        summary, reason = _summarise([by_turn[turn.id] for turn in cluster], model, settings)
        if reason:
            notes.append(reason)
        if summary is not None:
            records.append(_summary_record(summary, cluster[0].session, mean, reason, now))
            removed.update(summary.turn_ids)
        on_cluster(len(cluster))
    return Plan(tuple(records), len(formed), len(removed), tuple(dict.fromkeys(notes)))


def clusters(turns: Iterable[Turn], size: int = CompactSizes().size) -> list[tuple[Turn, ...]]:
    """Return chronological clusters of at most `size` turns, independent of the input order.

    Of n turns by (time, id), c = ceil(n / size) clusters are made, and turn i goes to floor(i * c / n). The ids of
    turns that were stored at the same moment have no order, so their positions in the log are used instead.
    """
    ordered = sorted(turns, key=lambda turn: (turn.at, turn.seq, turn.id))
    n = len(ordered)
    c = -(-n // size)
    found: list[list[Turn]] = [[] for _ in range(c)]
    for i, turn in enumerate(ordered):
        found[i * c // n].append(turn)
    return [tuple(cluster) for cluster in found]


def _protect(turns: Sequence[Turn], booster: Booster, settings: CompactSizes) -> tuple[list[Shard], list[Excerpt]]:
    """Split turns into guidance shards and excerpts to summarise; only the user's own words give guidance."""
    shards: list[Shard] = []
    excerpts: list[Excerpt] = []
    doubtful: list[Turn] = []
    for said in turns:
        turn, found = said, list[Norm]()
        if turn.origin is Origin.USER and turn.stability >= settings.stability:
            turn = replace(turn, text=mask(turn.text).text)
            found = norms(turn.text[: settings.turn_chars], in_doubt=True, own=OWN)
            if not found and surface_hint(turn.text) and len(turn.text) <= settings.shard_chars:
                doubtful.append(turn)
                continue
        if not found:
            excerpts.append(_excerpt(turn, turn.text))
            continue
        shards.append(_shard(turn, found, settings))
        if len(turn.text) > settings.shard_chars:
            excerpts.append(_excerpt(turn, _without(turn.text, found)))
    for turn, cosine in zip(doubtful, _guidance_cosines(doubtful, booster), strict=True):
        if cosine >= booster.threshold:
            reason = f"reads like guidance (cosine {cosine:.2f} to what guidance sounds like)"
            shards.append(Shard(turn, mask(turn.text).text, "prescription", "", reason))
        else:
            excerpts.append(_excerpt(turn, turn.text))
    order = {turn.id: number for number, turn in enumerate(turns)}
    return (
        sorted(shards, key=lambda shard: order[shard.turn.id]),
        sorted(excerpts, key=lambda excerpt: order[excerpt.turn.id]),
    )


def _guidance_cosines(turns: Sequence[Turn], booster: Booster) -> list[float]:
    """Return for each turn the cosine of its sentence that sounds most like guidance."""
    hinted = [[one for one in sentences(turn.text) if surface_hint(one)] or [turn.text] for turn in turns]
    cosines = iter(booster.protects([sentence for one in hinted for sentence in one]))
    return [max(next(cosines) for _ in one) for one in hinted]


def _excerpt(turn: Turn, text: str) -> Excerpt:
    return Excerpt(turn, mask(text).text)


def _shard(turn: Turn, found: Sequence[Norm], settings: CompactSizes) -> Shard:
    whole = len(turn.text) <= settings.shard_chars
    text = turn.text if whole else "\n".join(norm.text for norm in found)
    first = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return Shard(turn, mask(text).text, first.modality, first.cue, f"{first.modality} by {first.cue!r}{more}", whole)


def _without(text: str, found: Sequence[Norm]) -> str:
    left, at = [], 0
    for norm in found:
        left.append(text[at : norm.start])
        at = norm.stop
    return "".join([*left, text[at:]])


def _summarise(excerpts: Sequence[Excerpt], chat: Chat | None, settings: CompactSizes) -> tuple[Summary | None, str]:
    if chat is not None:
        outcome = abstract(excerpts, chat, settings)
        return outcome.summary, outcome.reason
    summary = summarize(excerpts, settings)
    return summary, "" if summary else f"{len(excerpts)} turns stay as they are: no digest of them is shorter"


def _guidance_record(shard: Shard, namespace: str, now: datetime) -> CompactedRecord:
    return CompactedRecord(
        id=new_id("r", now),
        kind=Kind.GUIDANCE,
        text=shard.text,
        provenance=Provenance.USER_STATED,
        confidence=1.0,
        turn_ids=(shard.turn.id,),
        since=shard.turn.at,
        until=shard.turn.at,
        what="protected",
        reason=f"kept word for word: {shard.reason}",
        details={
            COLLECTION: elevated(namespace),
            "session": shard.turn.session,
            "modality": shard.modality,
            "cue": shard.cue,
            **({} if shard.whole else {PARTIAL: True}),
        },
    )


def _summary_record(summary: Summary, session: str, mean_g: float, reason: str, now: datetime) -> CompactedRecord:
    quality = (
        f"{summary.method}: alignment {summary.alignment:.2f}, coverage {summary.coverage:.2f}, "
        f"of {len(summary.turn_ids)} turns"
    )
    return CompactedRecord(
        id=new_id("r", now),
        kind=Kind.SUMMARY,
        text=summary.text,
        provenance=Provenance.EPISODE_SUMMARY,
        confidence=round(summary.confidence, 4),
        turn_ids=summary.turn_ids,
        since=summary.since,
        until=summary.until,
        what="summarised",
        reason=f"{quality}; {reason}" if reason else quality,
        details={
            "session": session,
            "method": summary.method,
            "alignment": round(summary.alignment, 4),
            "coverage": round(summary.coverage, 4),
            "decay_rate": round(summary.decay_rate, 4),
            "mean_g": round(mean_g, 4),
        },
    )
