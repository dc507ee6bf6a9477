"""What assembling gives: the messages, the frame's text, and a receipt that names every candidate (CTX-8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.context.frame import Tier
from holdfast.model import Receipt

__all__ = ["Considered", "Context", "ContextReceipt", "Message", "TierUse"]

_RECALLED = Tier.RECALLED.value
Message = Mapping[str, object]
"""A chat message as the host has it: role, content, and whatever else it carries."""


@dataclass(frozen=True)
class Considered:
    """One candidate: which tier it would stand in, what it costs, whether it is in, and why."""

    id: str
    tier: str
    kind: str
    origin: str
    text: str
    """Its beginning."""
    tokens: int
    included: bool
    reason: str
    at: datetime | None = None
    score: float = 0.0
    """Of the search, for recalled ones."""
    similarity: float = 0.0
    """Cosine with the question; 0 where meaning is silent."""
    turn_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class TierUse:
    """What one tier was given and what it took."""

    tier: str
    candidates: int
    included: int
    tokens: int
    limit: int | None
    """None: never cut."""


@dataclass(frozen=True)
class ContextReceipt(Receipt):
    """Why a context holds what it holds."""

    budget: int = 0
    """τ: tokens for everything that is added."""
    tokens: int = 0
    frame_tokens: int = 0
    """Of the frame's own words and lines."""
    counter: str = ""
    query: str = ""
    """What was looked for."""
    tiers: tuple[TierUse, ...] = ()
    candidates: tuple[Considered, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Context:
    """The host's messages with what memory adds to them."""

    messages: Sequence[Message]
    """The input unchanged plus one system message that holds the frame; on a failure the very list that was given."""
    text: str
    """The frame alone; empty when there is nothing to add."""
    tokens: int
    receipt: ContextReceipt

    @property
    def recalled(self) -> list[str]:
        """What was found for these messages and is in: it is counted as retrieved (KEEP-1)."""
        return [one.id for one in self.receipt.candidates if one.included and one.tier == _RECALLED]

    @property
    def degraded(self) -> str | None:
        """None, or what was missing and what that cost."""
        return self.receipt.degraded
