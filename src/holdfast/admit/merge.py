"""What becomes of a new statement beside what is already remembered: added, merged, a replacement, or nothing new.

The cosine only proposes. Two texts merge when it is high and nothing that decides differs (MERGE-1, MERGE-3); one
replaces another when a reason can be told (MERGE-4) and its source is no worse (MERGE-5). In doubt both stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.admit.replacement import reading_of
from holdfast.admit.similarity import Comparison, Likeness, compare
from holdfast.admit.supersede import replaces
from holdfast.admit.topics import same_matter
from holdfast.model import Kind, Provenance
from holdfast.models.embedder import Thresholds
from holdfast.settings import MergeSettings

__all__ = [
    "Add",
    "Drop",
    "Merge",
    "Neighbour",
    "Statement",
    "Supersede",
    "Verdict",
    "decide",
    "trust",
]


@dataclass(frozen=True, slots=True)
class Statement:
    """A candidate that passed the quality floor."""

    text: str
    kind: Kind
    provenance: Provenance
    confidence: float
    at: datetime
    turn_ids: tuple[str, ...] = ()
    evidence_count: int = 1
    supersedes: str | None = None
    """The record an extractor says it replaces. A proposal only (ADMIT-2)."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A live record of the same namespace, and how near it is."""

    id: str
    text: str
    cosine: float
    kind: Kind
    provenance: Provenance
    confidence: float
    evidence_count: int
    at: datetime
    turn_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Add:
    """Keep it as a record of its own."""

    reason: str
    beside: tuple[str, ...] = ()
    """Records it may replace: unsure, so both stay live."""
    revises: tuple[str, ...] = ()
    """Live records on the same matter that it is newer than: who asks about it wants this one first."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Make it one with a record; these are the record's values from now on."""

    into: str
    text: str
    kept: str
    """Whose text it is: "new" or "old"."""
    provenance: Provenance
    confidence: float
    evidence_count: int
    turn_ids: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Supersede:
    """Add it, and retire these records in the same transaction."""

    old: tuple[str, ...]
    reason: str
    revises: tuple[str, ...] = ()
    """As in Add: older records on the same matter that stay live."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Nothing new; to be counted."""

    reason: str
    known_as: str
    """The record that says it already."""


Verdict = Add | Merge | Supersede | Drop

_TRUST = {provenance: len(Provenance) - place for place, provenance in enumerate(Provenance)}
_DERIVED = frozenset({Kind.SUMMARY, Kind.EPISODE, Kind.TURN})
"""They tell what was said, not what holds: no claim merges into them or retires them."""


def trust(provenance: Provenance) -> int:
    """How far a source is believed; more is better (MERGE-2's order)."""
    return _TRUST[provenance]


def decide(
    new: Statement,
    neighbours: Sequence[Neighbour],
    thresholds: Thresholds,
    settings: MergeSettings | None = None,
) -> Verdict:
    """What happens to a new statement, given the nearest live records. Order of the neighbours does not matter."""
    settings = settings or MergeSettings()
    same = thresholds.same if settings.same is None else settings.same
    nearest = sorted(
        (near for near in neighbours if near.kind not in _DERIVED), key=lambda near: (-near.cosine, near.id)
    )
    if new.kind in _DERIVED or not nearest:
        return Add("nothing like it is remembered" if not nearest else "a summary stands for itself")
    guarded = ""
    for near in nearest:
        if near.cosine < same * settings.reworded:
            break
        comparison = compare(new.text, near.text)
        if near.cosine < same and comparison.likeness is not Likeness.SAME:
            continue
        if verdict := _merge(new, near, comparison):
            return verdict
        guarded = guarded or f"close to {near.id} ({near.cosine:.2f}), but {comparison.reason}"
    kept = _retire(new, nearest, thresholds, settings) or Add(
        guarded or f"nothing remembered says it; the nearest is {nearest[0].id} ({nearest[0].cosine:.2f})"
    )
    return replace(kept, revises=_revised(new, nearest, kept, thresholds))


# --- one claim -------------------------------------------------------------------------------------------------------


def _merge(new: Statement, old: Neighbour, comparison: Comparison) -> Merge | Drop | None:
    """The two as one (MERGE-2); None where that would lose something."""
    if comparison.likeness is Likeness.DIFFERENT:
        return None
    ours, theirs = trust(new.provenance), trust(old.provenance)
    if ours < theirs and comparison.likeness is Likeness.MORE:
        return None  # the better source's text would stay, and what the new one adds would be lost
    wins = ours > theirs or (ours == theirs and _better_phrased(new.text, old.text, comparison.likeness))
    seen = set(new.turn_ids) <= set(old.turn_ids) and bool(new.turn_ids)
    surer = ours == theirs and new.confidence > old.confidence
    if not wins and not surer and seen:
        return Drop(f"{old.id} says it already, from the same turn", old.id)
    return Merge(
        into=old.id,
        text=new.text if wins else old.text,
        kept="new" if wins else "old",
        provenance=new.provenance if wins else old.provenance,
        confidence=new.confidence if ours > theirs or surer else old.confidence,
        # The same turn read twice is no second witness.
        evidence_count=old.evidence_count + (0 if seen else new.evidence_count),
        turn_ids=tuple(dict.fromkeys((*old.turn_ids, *new.turn_ids))),
        reason=f"{comparison.reason}; {_why_kept(wins, ours, theirs, comparison.likeness)}",
    )


def _better_phrased(new: str, old: str, likeness: Likeness) -> bool:
    """Among equal sources: the more specific text, then the one with fewer words around the same content."""
    if likeness is not Likeness.SAME:
        return likeness is Likeness.MORE
    ours, theirs = len(reading_of(new).words), len(reading_of(old).words)
    return (ours, -len(new.split())) > (theirs, -len(old.split()))


def _why_kept(wins: bool, ours: int, theirs: int, likeness: Likeness) -> str:
    kept = "the new text is kept" if wins else "the text that was there is kept"
    if ours != theirs:
        return f"{kept}: its source is better"
    return f"{kept}: it is more specific" if likeness is not Likeness.SAME else kept


# --- another value ---------------------------------------------------------------------------------------------------


def _retire(
    new: Statement, nearest: list[Neighbour], thresholds: Thresholds, settings: MergeSettings
) -> Supersede | Add | None:
    """The records that the statement replaces, or that it may replace; None when it replaces nothing."""
    retired: dict[str, str] = {}
    beside: dict[str, str] = {}
    findings = {near.id: replaces(new.text, near.text) for near in nearest if near.cosine >= settings.floor}
    meant = [id for id, found in findings.items() if found is not None and (found.sure or found.alone)]
    for near in nearest:
        found = findings.get(near.id)
        proposed = new.supersedes == near.id and near.cosine >= thresholds.related
        if found is None and not proposed:
            continue
        reason = found.reason if found else "the extractor proposed it"
        certain = found is not None and (found.sure or (found.alone and meant == [near.id]))
        if not (settings.supersede and (proposed or certain)):
            beside[near.id] = f"unsure whether it replaces it ({reason})"
        elif trust(new.provenance) < trust(near.provenance):
            beside[near.id] = f"{new.provenance.value} does not replace {near.provenance.value} ({reason})"
        elif new.at < near.at:
            beside[near.id] = f"it was said before that ({reason})"
        else:
            retired[near.id] = reason
    if retired:
        return Supersede(tuple(retired), "; ".join(f"{id}: {reason}" for id, reason in retired.items()))
    if beside:
        return Add("; ".join(f"kept beside {id}: {reason}" for id, reason in beside.items()), tuple(beside))
    return None


def _revised(
    new: Statement, nearest: list[Neighbour], verdict: Add | Supersede, thresholds: Thresholds
) -> tuple[str, ...]:
    """Records of no better source that stay live and are older news of the same matter."""
    retired = verdict.old if isinstance(verdict, Supersede) else ()
    beside = verdict.beside if isinstance(verdict, Add) else ()
    return tuple(
        near.id
        for near in nearest
        if near.id not in retired
        and near.at < new.at
        and trust(new.provenance) >= trust(near.provenance)
        and (near.id in beside or same_matter(new.text, near.text, near.cosine >= thresholds.boost))
    )
