"""A run of the janitor as a line of the log: which records it lowered or culled, and what they were (INV-3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from holdfast.model import Metadata, Provenance

__all__ = ["Lowered", "Tidying", "pack_tidying", "period_of", "read_tidying"]


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
