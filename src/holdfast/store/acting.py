"""Records that acts of the log make, for every engine: what the operator had remembered, what a compaction told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from holdfast.log.compaction import COLLECTION, Told, elevated
from holdfast.model import Action, Kind, Provenance, Record
from holdfast.store.nouns import COMPACTION

__all__ = ["remembered_record", "told_record"]


def remembered_record(action: Action) -> Record:
    said = cast("Mapping[str, str]", action.payload)
    # Only these two: what a caller gave must not pose as what Holdfast notes on records of its own.
    metadata = {name: said[name] for name in ("key", "given") if name in said}
    return Record(
        id=action.subject,
        namespace="",  # rows know it by number
        kind=Kind(said["kind"]),
        text=said["text"],
        provenance=Provenance(said["provenance"]),
        confidence=float(said["confidence"]),
        evidence_count=1,
        at=action.at,
        valid_from=action.at,
        metadata=metadata,
    )


def told_record(told: Told, action: Action, namespace: str) -> Record:
    """What a compaction told, as a record of the namespace."""
    # The line may come from another namespace's log, and names that one.
    own = {COLLECTION: elevated(namespace)} if COLLECTION in told.details else {}
    return Record(
        id=told.id,
        namespace="",  # rows know it by number
        kind=told.kind,
        text=told.text,
        provenance=told.provenance,
        confidence=told.confidence,
        evidence_count=len(told.turn_ids),
        at=told.until,
        valid_from=told.since,
        metadata={COMPACTION: action.subject, **told.details, **own},
    )
