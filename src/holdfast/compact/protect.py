"""Which words survive word for word: the rules that the user gave (COMP-2, COMP-3).

A turn of the usual length is kept whole, so that a rule keeps its reasons; of a page only its rules are kept, and the
rest of it may be summarised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.admit.secrets import mask
from holdfast.admit.sentences import sentences
from holdfast.compact.booster import Booster, surface_hint
from holdfast.compact.deontic import Norm, norms
from holdfast.compact.digest import Part
from holdfast.model import Origin, Turn
from holdfast.settings import CompactSettings

__all__ = ["Protected", "Shard", "protect"]


@dataclass(frozen=True, slots=True)
class Shard:
    """Guidance of one turn, in its words; a secret in it is masked, as in every record (ADMIT-7)."""

    turn: Turn
    text: str
    modality: str
    cue: str
    reason: str
    whole: bool = True
    """It stands for the whole turn; else the rest of the turn is summarised, or stays."""


@dataclass(frozen=True, slots=True)
class Protected:
    shards: tuple[Shard, ...]
    parts: tuple[Part, ...]
    """What is left to be summarised, turn by turn."""


def protect(turns: Sequence[Turn], booster: Booster, settings: CompactSettings) -> Protected:
    """Only the user's own channel gives guidance: an assistant's or a tool's rule is text like any other."""
    shards: list[Shard] = []
    parts: list[Part] = []
    doubtful: list[Turn] = []
    for turn in turns:
        found: list[Norm] = []
        if turn.origin is Origin.USER and turn.stability >= settings.stability:
            found = norms(turn.text[: settings.turn_chars], in_doubt=True)
            if not found and len(turn.text) <= settings.shard_chars and surface_hint(turn.text):
                doubtful.append(turn)
                continue
        if not found:
            parts.append(_part(turn, turn.text))
            continue
        shards.append(_shard(turn, found, settings))
        if len(turn.text) > settings.shard_chars:
            parts.append(_part(turn, _without(turn.text, found)))
    for turn, cosine in zip(doubtful, _nearest(doubtful, booster), strict=True):
        if cosine >= booster.threshold:
            reason = f"reads like guidance (cosine {cosine:.2f} to what guidance sounds like)"
            shards.append(Shard(turn, mask(turn.text).text, "prescription", "", reason))
        else:
            parts.append(_part(turn, turn.text))
    order = {turn.id: number for number, turn in enumerate(turns)}
    return Protected(
        tuple(sorted(shards, key=lambda shard: order[shard.turn.id])),
        tuple(sorted(parts, key=lambda part: order[part.turn.id])),
    )


def _nearest(turns: Sequence[Turn], booster: Booster) -> list[float]:
    """Of each turn the cosine of its sentence that sounds most like guidance."""
    hinted = [[one for one in sentences(turn.text) if surface_hint(one)] or [turn.text] for turn in turns]
    cosines = iter(booster.protects([sentence for one in hinted for sentence in one]))
    return [max(next(cosines) for _ in one) for one in hinted]


def _part(turn: Turn, text: str) -> Part:
    return Part(turn, mask(text).text)


def _shard(turn: Turn, found: Sequence[Norm], settings: CompactSettings) -> Shard:
    whole = len(turn.text) <= settings.shard_chars
    text = turn.text if whole else "\n".join(norm.text for norm in found)
    first = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return Shard(turn, mask(text).text, first.modality, first.cue, f"{first.modality} by {first.cue!r}{more}", whole)


def _without(text: str, found: Sequence[Norm]) -> str:
    left, at = [], 0
    for norm in found:
        left.append(text[at : norm.start])
        at = norm.stop
    return "".join([*left, text[at:]])
