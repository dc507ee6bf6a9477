"""What every engine keeps in the same way: small numbers for names, and what a record's notches mean."""

from __future__ import annotations

from holdfast.model import Kind, Provenance, Role

__all__ = ["KINDS", "ROLES", "SLOTS", "kind_number", "lowered", "role_number"]

# Stored as numbers: only ever append.
ROLES = (Role.USER, Role.ASSISTANT, Role.SYSTEM, Role.TOOL)
KINDS = (Kind.TURN, Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.GUIDANCE, Kind.SUMMARY, Kind.EPISODE)
SLOTS = 16
"""Embedding models that a namespace keeps the vectors of; the seventeenth takes the place of the first."""
_BEST_FIRST = tuple(Provenance)
_DIGITS = 6  # of a confidence: .9 times .8 is .72
_ROLE_NUMBER = {role: number for number, role in enumerate(ROLES)}
_KIND_NUMBER = {kind: number for number, kind in enumerate(KINDS)}


def role_number(role: Role) -> int:
    return _ROLE_NUMBER[role]


def kind_number(kind: Kind) -> int:
    return _KIND_NUMBER[kind]


def lowered(provenance: Provenance, confidence: float, notches: int, factor: float) -> tuple[Provenance, float]:
    """Who vouches for a record, and how surely, so many notches down; there is nothing below the last."""
    if not notches:
        return provenance, confidence
    down = min(_BEST_FIRST.index(provenance) + notches, len(_BEST_FIRST) - 1)
    return _BEST_FIRST[down], round(confidence * factor, _DIGITS)
