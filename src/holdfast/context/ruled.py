"""The operator's rules as they stand in the frame, made once and kept while the files stay as they are (CTX-7).

Rules are escaped, counted and explained when they change, not with every turn: 2,000 of them would take 50 ms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_

from holdfast.context.authored import Node
from holdfast.context.budget import KnownRules, Pieces, Verdict, known_rules
from holdfast.context.frame import Frame, Tier
from holdfast.context.render import Item, render
from holdfast.context.result import Considered
from holdfast.context.tiers import Candidate, hard_and_soft
from holdfast.models.tokens import TokenCounter

__all__ = ["Ruled", "RulesInFrame", "receipt_line"]

_MOST_KEPT = 64  # sessions whose rules are kept ready
_SHOWN_CHARS = 160


@dataclass(frozen=True)
class RulesInFrame:
    hard: Sequence[Item]
    soft: Sequence[Candidate]
    prefix: str
    """The frame's words and the rules: the bytes that every block of the session begins with."""
    hard_tokens: int
    known: KnownRules
    bodies: Mapping[Item, int]
    """Tokens of the guidelines."""
    considered: Sequence[Considered]
    """The receipt's lines about the rules."""


class Ruled:
    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._kept: dict[str, tuple[list[Node], RulesInFrame]] = {}

    def of(self, frame: Frame, nodes: Sequence[Node], pieces: Pieces) -> RulesInFrame:
        nodes_before, made = self._kept.get(frame.mark, (None, None))
        if made is None or nodes_before is None or not _same(nodes_before, nodes):
            made = self._make(frame, nodes, pieces)
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[frame.mark] = (list(nodes), made)
        pieces.know(made.bodies)
        return made

    def _make(self, frame: Frame, nodes: Sequence[Node], pieces: Pieces) -> RulesInFrame:
        hard, soft = hard_and_soft(nodes)
        items = [one.item for one in hard if not one.out]
        prefix = render(frame, {Tier.HARD: items}).removesuffix(frame.closing)
        tokens = self._counter.count(prefix[len(frame.opening) :]) if items else 0
        considered = [
            Considered(
                one.item.id, Tier.HARD.value, one.item.kind, one.item.origin, beginning(one.item),
                pieces.body(one.item), not one.out, one.reason,
            )
            for one in hard
        ]  # fmt: skip
        bodies = {one.item: pieces.body(one.item) for one in soft}
        known = known_rules(items, soft)
        behind = [replace(one, told=receipt_line(one, bodies[one.candidate.item])) for one in known.behind]
        return RulesInFrame(items, soft, prefix, tokens, replace(known, behind=behind), bodies, considered)


def receipt_line(verdict: Verdict, tokens: int) -> Considered:
    item, candidate = verdict.candidate.item, verdict.candidate
    return Considered(
        id=item.id,
        tier=verdict.tier.value,
        kind=item.kind,
        origin=item.origin,
        text=beginning(item),
        tokens=tokens,
        included=verdict.included,
        reason=verdict.reason,
        at=item.at,
        score=candidate.score,
        similarity=round(candidate.similarity, 4),
        turn_ids=candidate.turn_ids,
    )


def beginning(item: Item) -> str:
    return item.text if len(item.text) <= _SHOWN_CHARS else item.text[: _SHOWN_CHARS - 1] + "…"


def _same(before: Sequence[Node], now: Sequence[Node]) -> bool:
    """Nodes of files that did not change are the same objects."""
    return len(before) == len(now) and all(map(is_, before, now))
