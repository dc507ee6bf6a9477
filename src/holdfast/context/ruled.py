"""The operator's rules as they stand in the frame, made once and kept while the files stay as they are (CTX-7).

Rules are escaped, counted and explained when they change, not with every turn nor for every session: 2,000 of them
would take 140 ms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_

from holdfast.context.authored import Node
from holdfast.context.budget import KnownRules, Pieces, Verdict, known_rules
from holdfast.context.frame import Frame, Tier
from holdfast.context.lookalikes import skeleton
from holdfast.context.render import Item, render
from holdfast.context.result import Considered
from holdfast.context.tiers import Candidate, hard_and_soft
from holdfast.models.tokens import TokenCounter

__all__ = ["Ruled", "RulesInFrame", "receipt_line"]

_MOST_KEPT = 64  # sessions whose rules are kept ready …
_MOST_FILES = 16  # … and sets of files that they are read from
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


class _Read:
    """Rules of the same files, and how they stand in the frames that were asked for."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = list(nodes)
        self.made: dict[str, RulesInFrame] = {}
        """By the frame's mark."""
        self._seen = skeleton("\n".join(f"{node.path} {' '.join(node.heading)} {node.text}" for node in nodes)).lower()

    def like(self, frame: Frame) -> RulesInFrame | None:
        """How they stand in another frame, if they are written and counted alike in this one: a text that holds the
        frame's own mark is not.
        """
        if frame.mark in self._seen:
            return None
        return next((made for mark, made in self.made.items() if mark not in self._seen), None)


class Ruled:
    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._kept: dict[tuple[str, ...], _Read] = {}
        """By the files they stand in."""

    def of(self, frame: Frame, nodes: Sequence[Node], pieces: Pieces) -> RulesInFrame:
        files = tuple(dict.fromkeys(node.path for node in nodes))
        read = self._kept.get(files)
        if read is None or not _same(read.nodes, nodes):
            if len(self._kept) >= _MOST_FILES:
                self._kept.clear()
            read = self._kept[files] = _Read(nodes)
        made = read.made.get(frame.mark)
        if made is None:
            made = self._make(frame, nodes, pieces, read.like(frame))
            if len(read.made) >= _MOST_KEPT:
                read.made.clear()
            read.made[frame.mark] = made
        pieces.know(made.bodies)
        return made

    def _make(self, frame: Frame, nodes: Sequence[Node], pieces: Pieces, like: RulesInFrame | None) -> RulesInFrame:
        hard, soft = ((), ()) if like else hard_and_soft(nodes)
        items = like.hard if like else [one.item for one in hard if not one.out]
        prefix = render(frame, {Tier.HARD: items}).removesuffix(frame.closing)
        tokens = self._counter.count(prefix[len(frame.opening) :]) if items else 0
        if like:
            return replace(like, prefix=prefix, hard_tokens=tokens)
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
