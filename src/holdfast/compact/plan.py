"""What compacting some turns would give: guidance that stays word for word, and a summary for each cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.admit.secrets import mask
from holdfast.compact.abstract import abstract, deserves
from holdfast.compact.prepare import Part, Summary
from holdfast.compact.summarize import summarize
from holdfast.log.acts import COLLECTION, PARTIAL, CompactedRecord, elevated
from holdfast.log.messages import new_id
from holdfast.model import Kind, Origin, Provenance, Role, Turn
from holdfast.models.chat import Chat
from holdfast.rules.booster import Booster, surface_hint
from holdfast.rules.detect import norms
from holdfast.rules.text import Norm
from holdfast.settings import CompactSettings
from holdfast.text.sentences import sentences

# --- Which turns are summarised together: neighbours in time, in groups of about the same size (COMP-1).


def clusters(turns: Iterable[Turn], size: int = CompactSettings().size) -> list[tuple[Turn, ...]]:
    """Chronological clusters of at most `size` turns, the same whatever order they come in; none for no turns.

    Of n turns by (time, id), c = ceil(n / size) clusters are made, and turn i goes to floor(i * c / n). Ids of turns
    that were kept at once have no order, so their places in the log stand for them.
    """
    ordered = sorted(turns, key=lambda turn: (turn.at, turn.seq, turn.id))
    n = len(ordered)
    c = -(-n // size)
    found: list[list[Turn]] = [[] for _ in range(c)]
    for i, turn in enumerate(ordered):
        found[i * c // n].append(turn)
    return [tuple(cluster) for cluster in found]


# --- Which words survive word for word: the rules that the user gave (COMP-2, COMP-3).
#
# A turn of the usual length is kept whole, so that a rule keeps its reasons; of a page only its rules are kept, and the
# rest of it may be summarised.


@dataclass(frozen=True, slots=True)
class Shard:
    """Guidance of one turn, in its words; a secret in it is masked, as in every record (ADMIT-7)."""

    turn: Turn
    text: str
    modality: str
    cue: str
    reason: str
    whole: bool = True
    """It stands for the whole turn; else the rest of the turn is summarised, or stays."""


@dataclass(frozen=True, slots=True)
class Protected:
    shards: tuple[Shard, ...]
    parts: tuple[Part, ...]
    """What is left to be summarised, turn by turn."""


def protect(turns: Sequence[Turn], booster: Booster, settings: CompactSettings) -> Protected:
    """Only the user's own channel gives guidance: an assistant's or a tool's rule is text like any other."""
    shards: list[Shard] = []
    parts: list[Part] = []
    doubtful: list[Turn] = []
    for turn in turns:
        found: list[Norm] = []
        if turn.origin is Origin.USER and turn.stability >= settings.stability:
            found = norms(turn.text[: settings.turn_chars], in_doubt=True)
            if not found and len(turn.text) <= settings.shard_chars and surface_hint(turn.text):
                doubtful.append(turn)
                continue
        if not found:
            parts.append(_part(turn, turn.text))
            continue
        shards.append(_shard(turn, found, settings))
        if len(turn.text) > settings.shard_chars:
            parts.append(_part(turn, _without(turn.text, found)))
    for turn, cosine in zip(doubtful, _nearest(doubtful, booster), strict=True):
        if cosine >= booster.threshold:
            reason = f"reads like guidance (cosine {cosine:.2f} to what guidance sounds like)"
            shards.append(Shard(turn, mask(turn.text).text, "prescription", "", reason))
        else:
            parts.append(_part(turn, turn.text))
    order = {turn.id: number for number, turn in enumerate(turns)}
    return Protected(
        tuple(sorted(shards, key=lambda shard: order[shard.turn.id])),
        tuple(sorted(parts, key=lambda part: order[part.turn.id])),
    )


def _nearest(turns: Sequence[Turn], booster: Booster) -> list[float]:
    """Of each turn the cosine of its sentence that sounds most like guidance."""
    hinted = [[one for one in sentences(turn.text) if surface_hint(one)] or [turn.text] for turn in turns]
    cosines = iter(booster.protects([sentence for one in hinted for sentence in one]))
    return [max(next(cosines) for _ in one) for one in hinted]


def _part(turn: Turn, text: str) -> Part:
    return Part(turn, mask(text).text)


def _shard(turn: Turn, found: Sequence[Norm], settings: CompactSettings) -> Shard:
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


@dataclass(frozen=True)
class Plan:
    """Everything that one compaction will write."""

    told: tuple[CompactedRecord, ...]
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


def _guidance(shard: Shard, namespace: str, now: datetime) -> CompactedRecord:
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


def _summary(summary: Summary, session: str, mean_g: float, reason: str, now: datetime) -> CompactedRecord:
    told = (
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
