"""Small numbers that stand for names in every engine's rows and blocks."""

from __future__ import annotations

from holdfast.model import Kind, Role

__all__ = ["KINDS", "ROLES", "kind_number", "role_number"]

# Stored as numbers: only ever append.
ROLES = (Role.USER, Role.ASSISTANT, Role.SYSTEM, Role.TOOL)
KINDS = (Kind.TURN, Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.GUIDANCE, Kind.SUMMARY, Kind.EPISODE)
_ROLE_NUMBER = {role: number for number, role in enumerate(ROLES)}
_KIND_NUMBER = {kind: number for number, kind in enumerate(KINDS)}


def role_number(role: Role) -> int:
    return _ROLE_NUMBER[role]


def kind_number(kind: Kind) -> int:
    return _KIND_NUMBER[kind]
