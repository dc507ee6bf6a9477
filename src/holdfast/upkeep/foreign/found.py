"""What was read of another system."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.upkeep.memo import Example, Memo

__all__ = ["Foreign"]


@dataclass(frozen=True)
class Foreign:
    system: str
    memos: tuple[Memo, ...]
    authored: bool = False
    """A person wrote them as rules and notes."""
    links: int = 0
    """Things in it that point to others …"""
    dangling: tuple[Example, ...] = ()
    """… and those that point to nothing."""
