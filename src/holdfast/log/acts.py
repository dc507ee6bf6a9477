"""Lines of the log, whole: what a transfer carries from one store to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from holdfast.model import Action, Kind, Metadata, NewTurn, Provenance


@dataclass(frozen=True)
class TurnLine:
    """A turn as it was handed over, with the place the log gave it. What was derived from it is no part of it."""

    seq: int
    id: str
    session: str
    index: int
    recorded_at: datetime
    turn: NewTurn


@dataclass(frozen=True)
class ActLine:
    """An operator's act, or a model's output, of whatever kind."""

    seq: int
    recorded_at: datetime
    action: Action


Line = TurnLine | ActLine


# --- A compaction as a line of the log: what was made of which turns, whole, so that a rebuild asks nobody
# (INV-3).


PARTIAL = "partial"
"""The key in the metadata of guidance that keeps only the rules of its turn; the rest of the turn is elsewhere."""


COLLECTION = "collection"
"""The key in the metadata of guidance that says where it belongs."""


def elevated(namespace: str) -> str:
    """Where the guidance of a namespace belongs (COMP-2)."""
    return f"elevated:user:{namespace}"


def compact_stage(session: str) -> str:
    """The cursor of a session: turns up to this index have left its active view. It stands one above the index."""
    return f"compact:{session}"


@dataclass(frozen=True)
class Told:
    """A record that a compaction makes: the summary of a cluster, or the guidance that a turn gave."""

    id: str
    kind: Kind
    text: str
    provenance: Provenance
    confidence: float
    turn_ids: tuple[str, ...]
    since: datetime
    until: datetime
    what: str
    reason: str
    """For the receipt."""
    details: Metadata = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """It stands for all of its turns; the guidance of a long turn stands only for the rules in it."""
        return PARTIAL not in self.details


@dataclass(frozen=True)
class Compacted:
    session: str
    after: int
    upto: int
    """Where the session's cursor stood, and where it stands now."""
    cause: str
    told: tuple[Told, ...]
    removed: int
    """Turns that left the active view."""

    @property
    def stage(self) -> str:
        return compact_stage(self.session)


def pack_compaction(made: Compacted) -> Metadata:
    return {
        "session": made.session,
        "after": made.after,
        "upto": made.upto,
        "cause": made.cause,
        "removed": made.removed,
        "told": [
            {
                "id": one.id,
                "kind": one.kind.value,
                "text": one.text,
                "provenance": one.provenance.value,
                "confidence": one.confidence,
                "turns": list(one.turn_ids),
                "since": one.since.isoformat(),
                "until": one.until.isoformat(),
                "what": one.what,
                "reason": one.reason,
                "details": dict(one.details),
            }
            for one in made.told
        ],
    }


def read_compaction(payload: Metadata) -> Compacted:
    return Compacted(
        session=str(payload["session"]),
        after=int(str(payload["after"])),
        upto=int(str(payload["upto"])),
        cause=str(payload["cause"]),
        removed=int(str(payload["removed"])),
        told=tuple(_told(one) for one in cast("Sequence[Mapping[str, object]]", payload["told"])),
    )


def _told(said: Mapping[str, object]) -> Told:
    return Told(
        id=str(said["id"]),
        kind=Kind(str(said["kind"])),
        text=str(said["text"]),
        provenance=Provenance(str(said["provenance"])),
        confidence=float(str(said["confidence"])),
        turn_ids=tuple(str(one) for one in cast("Sequence[str]", said["turns"])),
        since=datetime.fromisoformat(str(said["since"])),
        until=datetime.fromisoformat(str(said["until"])),
        what=str(said["what"]),
        reason=str(said["reason"]),
        details=cast("Metadata", said["details"]),
    )


# --- A run of the janitor as a line of the log: which records it lowered or culled, and what they were (INV-3).


def period_of(moment: datetime) -> str:
    """The week a run belongs to, and its name: there is one a week."""
    year, week, _ = moment.isocalendar()
    return f"{year}-W{week:02d}"


@dataclass(frozen=True)
class Lowered:
    """Records that were vouched for alike: who and how surely, before and after, and why."""

    before: tuple[Provenance, float]
    after: tuple[Provenance, float]
    told: str
    """For the receipts."""
    records: tuple[str, ...]


@dataclass(frozen=True)
class Tidying:
    factor: float
    """What the confidence of the lowered was multiplied by."""
    lowered: tuple[Lowered, ...]
    culled: tuple[str, ...]
    told: str
    """Why those were culled."""


def pack_tidying(made: Tidying) -> Metadata:
    return {
        "factor": made.factor,
        "lowered": [
            {
                "was": {"provenance": one.before[0].value, "confidence": one.before[1]},
                "is": {"provenance": one.after[0].value, "confidence": one.after[1]},
                "told": one.told,
                "records": list(one.records),
            }
            for one in made.lowered
        ],
        "culled": list(made.culled),
        "told": made.told,
    }


def read_tidying(payload: Metadata) -> Tidying:
    return Tidying(
        factor=float(str(payload["factor"])),
        lowered=tuple(_lowered(one) for one in cast("Sequence[Mapping[str, object]]", payload["lowered"])),
        culled=tuple(str(one) for one in cast("Sequence[str]", payload["culled"])),
        told=str(payload["told"]),
    )


def _lowered(said: Mapping[str, object]) -> Lowered:
    return Lowered(
        _trusted(cast("Mapping[str, object]", said["was"])),
        _trusted(cast("Mapping[str, object]", said["is"])),
        str(said["told"]),
        tuple(str(one) for one in cast("Sequence[str]", said["records"])),
    )


def _trusted(said: Mapping[str, object]) -> tuple[Provenance, float]:
    return Provenance(str(said["provenance"])), float(str(said["confidence"]))
