"""The receipt of an assembly: every candidate with its tier, cost and reason, and what each tier took (CTX-8)."""

from __future__ import annotations

from collections import Counter

from holdfast.context.budget import Allotment, Pieces, Verdict
from holdfast.context.frame import Tier
from holdfast.context.result import Considered, TierUse
from holdfast.context.ruled import RulesInFrame, receipt_line

__all__ = ["considered", "tier_uses"]

_LONG_CHARS = 4000  # a candidate that is left out and longer than this is not escaped just to tell its tokens


def considered(made: Allotment, pieces: Pieces) -> list[Considered]:
    """Every candidate but the rules, which are told once for all turns."""
    return [verdict.told or _line(verdict, pieces) for verdict in made.verdicts]


def _line(verdict: Verdict, pieces: Pieces) -> Considered:
    item = verdict.candidate.item
    counted = verdict.included or len(item.text) <= _LONG_CHARS
    return receipt_line(verdict, pieces.body(item) if counted else len(item.text) // 4)


def tier_uses(made: Allotment, ruled: RulesInFrame, pieces: Pieces) -> tuple[TierUse, ...]:
    uses = [TierUse(Tier.HARD.value, len(ruled.considered), len(ruled.hard), ruled.hard_tokens, None)]
    candidates = Counter(verdict.tier for verdict in made.decided)
    candidates[Tier.SOFT] += len(made.behind)
    for tier in (Tier.TAIL, Tier.SOFT, Tier.ELEVATED, Tier.RECALLED):
        items = made.tiers.get(tier, [])
        uses.append(TierUse(tier.value, candidates[tier], len(items), pieces.tier(tier, items), made.limits.get(tier)))
    return tuple(uses)
