"""The receipt of an assembly: every candidate with its tier, cost and reason, and what each tier took (CTX-8)."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.context.budget import Allotment, Pieces
from holdfast.context.frame import Tier
from holdfast.context.result import Considered, TierUse
from holdfast.context.ruled import RulesInFrame, beginning

__all__ = ["considered", "tier_uses"]

_LONG_CHARS = 4000  # a candidate that is left out and longer than this is not escaped just to tell its tokens


def considered(made: Allotment, pieces: Pieces) -> Iterator[Considered]:
    """Every candidate but the rules, which are told once for all turns."""
    for verdict in made.verdicts:
        item = verdict.candidate.item
        counted = verdict.included or len(item.text) <= _LONG_CHARS
        yield Considered(
            id=item.id,
            tier=verdict.tier.value,
            kind=item.kind,
            origin=item.origin,
            text=beginning(item),
            tokens=pieces.body(item) if counted else len(item.text) // 4,
            included=verdict.included,
            reason=verdict.reason,
            at=item.at,
            score=verdict.candidate.score,
            similarity=round(verdict.candidate.similarity, 4),
            turn_ids=verdict.candidate.turn_ids,
        )


def tier_uses(made: Allotment, ruled: RulesInFrame, pieces: Pieces) -> tuple[TierUse, ...]:
    uses = [TierUse(Tier.HARD.value, len(ruled.considered), len(ruled.hard), ruled.hard_tokens, None)]
    for tier in (Tier.TAIL, Tier.SOFT, Tier.ELEVATED, Tier.RECALLED):
        items = made.tiers.get(tier, [])
        candidates = sum(verdict.tier is tier for verdict in made.verdicts)
        uses.append(TierUse(tier.value, candidates, len(items), pieces.tier(tier, items), made.limits.get(tier)))
    return tuple(uses)
