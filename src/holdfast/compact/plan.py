"""What compacting some turns would give: guidance that stays word for word, and a summary for each cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.compact.abstract import abstract, deserves
from holdfast.compact.booster import Booster
from holdfast.compact.clusters import clusters
from holdfast.compact.digest import Part, Summary
from holdfast.compact.protect import Shard, protect
from holdfast.compact.summarize import summarize
from holdfast.log.compaction import COLLECTION, PARTIAL, Told, elevated
from holdfast.log.ids import new_id
from holdfast.model import Kind, Provenance, Role, Turn
from holdfast.models.chat import Chat
from holdfast.settings import CompactSettings

__all__ = ["Plan", "make_plan"]


@dataclass(frozen=True)
class Plan:
    """Everything that one compaction will write."""

    told: tuple[Told, ...]
    clusters: int
    removed: int
    """Turns that a summary or a shard stands for."""
    notes: tuple[str, ...]
    """What did not go as well as it could have: a model that failed, a cluster that was declined."""


def make_plan(
    turns: Sequence[Turn],
    namespace: str,
    booster: Booster,
    chat: Chat | None,
    means: Sequence[float],
    settings: CompactSettings,
    now: datetime,
    on_cluster: Callable[[int], None] = lambda turns: None,
) -> Plan:
    """`means` are the mean G of the namespace's earlier clusters; `on_cluster` is told how many turns it has done."""
    protected = protect(turns, booster, settings)
    told = [_guidance(shard, namespace, now) for shard in protected.shards]
    stood_for = {shard.turn.id for shard in protected.shards if shard.whole}
    parts = {part.turn.id: part for part in protected.parts}
    notes = [booster.trouble] if booster.trouble else []
    formed = clusters([part.turn for part in protected.parts], settings.size)
    means_now = [_mean_g(cluster) for cluster in formed]
    of_namespace = [*means, *means_now]  # the first run must have a best fifth too
    for cluster, mean in zip(formed, means_now, strict=True):
        model = chat if chat is not None and deserves(mean, of_namespace, settings) else None
        summary, reason = _summarise([parts[turn.id] for turn in cluster], model, settings)
        if reason:
            notes.append(reason)
        if summary is not None:
            told.append(_summary(summary, cluster[0].session, mean, reason, now))
            stood_for.update(summary.turn_ids)
        on_cluster(len(cluster))
    return Plan(tuple(told), len(formed), len(stood_for), tuple(dict.fromkeys(notes)))


def _summarise(parts: Sequence[Part], chat: Chat | None, settings: CompactSettings) -> tuple[Summary | None, str]:
    if chat is not None:
        outcome = abstract(parts, chat, settings)
        return outcome.summary, outcome.reason
    summary = summarize(parts, settings)
    return summary, "" if summary else f"{len(parts)} turns stay as they are: no digest of them is shorter"


def _mean_g(cluster: Sequence[Turn]) -> float:
    said = [turn.signals["g"] for turn in cluster if turn.role is Role.USER]
    return sum(said) / len(said) if said else 0.0


def _guidance(shard: Shard, namespace: str, now: datetime) -> Told:
    return Told(
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


def _summary(summary: Summary, session: str, mean_g: float, reason: str, now: datetime) -> Told:
    told = (
        f"{summary.method}: alignment {summary.alignment:.2f}, coverage {summary.coverage:.2f}, "
        f"of {len(summary.turn_ids)} turns"
    )
    return Told(
        id=new_id("r", now),
        kind=Kind.SUMMARY,
        text=summary.text,
        provenance=Provenance.EPISODE_SUMMARY,
        confidence=round(summary.confidence, 4),
        turn_ids=summary.turn_ids,
        since=summary.since,
        until=summary.until,
        what="summarised",
        reason=f"{told}; {reason}" if reason else told,
        details={
            "session": session,
            "method": summary.method,
            "alignment": round(summary.alignment, 4),
            "coverage": round(summary.coverage, 4),
            "decay_rate": round(summary.decay_rate, 4),
            "mean_g": round(mean_g, 4),
        },
    )
